"""Is one graph found from another?  Only the first is there at the start, so directions of laws count."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from egraph_opt.check.terms import Builder
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.saturation import saturate_terms
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.selection import select


def finds(
    operands: Operands,
    start: Any,
    goal: Any,
    rulesets: Iterable[str] | None = None,
    *,
    guards: bool = False,
    nodes: int = 5_000,
    rounds: int = 12,
    seconds: float = 30,
    **limits: int,
) -> bool:
    """Whether saturating `start` alone builds `goal` in its class.

    Where `proves` has both terms in the e-graph from the start, here the goal has to be written by laws.

    Args:
        guards: keep the conditions that bound growth; by default laws fire wherever they hold.
    """
    lowered, root = _lowered(operands, start)
    snapshot, _ = saturate_terms(
        lowered,
        select(rulesets),
        limits,
        nodes=nodes,
        rounds=rounds,
        seconds=seconds,
        strict=True,
        guards=guards,
    )
    wanted, aim = _lowered(operands, goal)
    return _class_of(snapshot, lowered, wanted, aim) == int(snapshot.term_classes[root])


def _lowered(operands: Operands, term: Any) -> tuple[Lowered, int]:
    builder = Builder(operands, 17)
    index = builder.term(term)
    builder.lowered.outputs = [index]
    return builder.lowered, index


def _class_of(snapshot: Snapshot, start: Lowered, goal: Lowered, aim: int) -> int:
    """The class in which the terms of the goal are written, or -1; terms stand in order of their operands."""
    leaves = {
        term.attributes[0]: int(snapshot.term_classes[k])
        for k, term in enumerate(start.terms)
        if term.operator == "leaf"
    }
    classes: list[int] = []
    for term in goal.terms:
        if term.operator == "leaf":
            classes.append(leaves.get(term.attributes[0], -1))
            continue
        flat: list[int] = []
        for item in term.operands:
            flat.extend(classes[k] for k in (item if isinstance(item, tuple) else (item,)))
        node = -1 if -1 in flat else snapshot.find(term.operator, term.attributes, tuple(flat))
        classes.append(-1 if node < 0 else int(snapshot.node_class[node]))
    return classes[aim]

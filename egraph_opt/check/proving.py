"""Attempts to prove two terms equal: both are in an e-graph, and saturation is to make them one class."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from egraph_opt.check.terms import Builder
from egraph_opt.egraph.saturation import saturate_terms
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.selection import select


@dataclass(frozen=True)
class Proof:
    """What became of an attempt to prove two terms equal.

    Attributes:
        proved: they are one class.
        stop: why saturation ended: "proved", "saturated", or the limit ("nodes", "rounds", "seconds").
        nodes: e-nodes at the end.
    """

    proved: bool
    stop: str
    nodes: int


def prove(
    operands: Operands,
    left: Any,
    right: Any,
    rulesets: Iterable[str] | None = None,
    *,
    guards: bool = True,
    nodes: int = 20_000,
    seconds: float = 60,
    **limits: int,
) -> Proof:
    """Try to prove two terms equal: saturate a little, look, and saturate more; see `proves`."""
    pairs = list(zip(left, right, strict=True)) if isinstance(left, tuple) else [(left, right)]
    builder = Builder(operands, 17)
    roots = [builder.term(side) for pair in pairs for side in pair]
    builder.lowered.outputs = roots
    deadline = time.monotonic() + seconds
    for rounds in (2, 4, 8, 16):
        snapshot, report = saturate_terms(
            builder.lowered,
            select(rulesets),
            limits,
            nodes=nodes,
            rounds=rounds,
            seconds=deadline - time.monotonic(),
            strict=True,
            guards=guards,
        )
        classes = snapshot.term_classes[roots].tolist()
        if classes[::2] == classes[1::2]:
            return Proof(True, "proved", report.nodes)
        if report.stop != "rounds":
            break
    return Proof(False, report.stop, report.nodes)


def proves(
    operands: Operands,
    left: Any,
    right: Any,
    rulesets: Iterable[str] | None = None,
    *,
    guards: bool = True,
    nodes: int = 20_000,
    **limits: int,
) -> bool:
    """Whether two terms are one class after saturation under the rulesets (default: all exact ones).

    Both are in the e-graph from the start.  Without `guards` laws fire wherever they hold.
    `left` and `right` may be tuples of terms of one length: then each pair is to be one class.
    """
    return prove(operands, left, right, rulesets, guards=guards, nodes=nodes, **limits).proved

"""Nodes of a piece that another node of their class makes needless, with what it adds.

`presolve` drops those that another one without further children dominates, on arrays; here a node may also
need classes that the solution has anyway (landmarks) or can add at little cost.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice

from egraph_opt.extraction.presolve.landmarks import Sets, bits_of, members, needs_of
from egraph_opt.extraction.presolve.working_piece import WorkingPiece

ADDED = 3
"""How many classes a node may need provided to take another's place."""

COMPARED = 16
"""How many nodes of a class the others are compared with."""


@dataclass(frozen=True)
class Needs:
    """What is needed anyway.

    Attributes:
        sets: the landmarks of each class.
        masks: of each node, the classes that it uses as bits.
        least: of each class, what its cheapest node costs.
    """

    sets: Sets
    masks: list[int]
    least: list[float]

    @classmethod
    def of(cls, work: WorkingPiece, sets: Sets) -> Needs:
        least = [min((work.cost[k] for k in nodes), default=0.0) for nodes in work.options]
        return cls(sets, [bits_of(below) for below in work.children], least)


def _dominates(work: WorkingPiece, needs: Needs | None, strong: int, weak: int, needed: int) -> bool:
    """Whether ``strong``, with what it adds to the classes ``needed`` by ``weak``, is not more expensive.

    A class that it adds is taken from those needed by one node, unless the solution has it below already;
    either way no cycle arises, as what ``weak`` needs does not use the class of both.
    """
    if work.cost[strong] > work.cost[weak] * (1 + 1e-12):
        return False
    extra = _beyond(work, needs, strong, weak, needed)
    if len(extra) > ADDED:
        return False
    cost, tie = work.cost[strong], work.tie[strong]
    room = work.cost[weak] * (1 + 1e-12) - cost
    if needs is not None and any(needs.least[child] > room for child in extra):
        return False
    for child in extra:
        added = _provider(work, needs, child, weak, needed)
        if added < 0:
            return False
        cost, tie = cost + work.cost[added], tie + work.tie[added]
    limit = work.cost[weak]
    if cost < limit * (1 - 1e-9):
        return True
    return cost <= limit * (1 + 1e-12) and tie <= work.tie[weak]


def _beyond(work: WorkingPiece, needs: Needs | None, strong: int, weak: int, needed: int) -> Collection[int]:
    """What ``strong`` uses that ``weak`` does not need."""
    if needs is None:
        return work.children[strong] - work.children[weak]
    bits = needs.masks[strong] & ~needed
    return range(ADDED + 1) if bits.bit_count() > ADDED else members(bits)


def _provider(work: WorkingPiece, needs: Needs | None, here: int, weak: int, needed: int) -> int:
    """The cheapest node of a class that uses only ``needed`` and costs no more than ``weak``; or -1."""
    best, limit = -1, work.cost[weak] * (1 + 1e-12)
    if needs is None and not work.is_leaf(here):
        return -1
    for node in work.options[here]:
        if work.cost[node] > limit or (needs is not None and needs.masks[node] & ~needed):
            continue
        if best < 0 or (work.cost[node], work.tie[node]) < (work.cost[best], work.tie[best]):
            best = node
    return best


def _shared(work: WorkingPiece, needs: Needs | None, strong: int) -> set[int]:
    """What a node must use as well for ``strong`` to dominate it: without landmarks all but leaves."""
    if needs is not None:
        return set()
    return {child for child in work.children[strong] if not work.is_leaf(child)}


def drop_dominated(work: WorkingPiece, here: int, needs: Needs | None = None) -> None:
    """Drop the nodes of a class that are no cheaper than another with what that needs beyond them."""
    options = work.options[here]
    if len(options) < 2:
        return
    ranked = sorted(
        options, key=lambda k: (work.cost[k], len(work.children[k]), work.tie[k], k not in work.chosen, k)
    )
    left: list[tuple[int, set[int]]] = []
    for node in ranked:
        below = work.children[node]
        needed = 0 if needs is None else needs_of(needs.sets, below)
        compared = (other for other, shared in islice(left, COMPARED) if shared <= below)
        by = next((other for other in compared if _dominates(work, needs, other, node, needed)), -1)
        if by < 0:
            left.append((node, _shared(work, needs, node)))
            continue
        if node in work.chosen:
            work.chosen.add(by)
            added = _beyond(work, needs, by, node, needed)
            work.chosen.update(_provider(work, needs, child, node, needed) for child in added)
        work.drop_node(node)

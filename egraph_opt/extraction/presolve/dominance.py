"""Nodes of a piece that another node of their class makes needless, with what it adds.

`presolve` drops those that another one without further children dominates, on arrays; here a node may also
need classes that the solution has anyway (landmarks) or can add at little cost.

What every derivation of a class needs: its *landmarks*.

A class is a landmark of another if every acyclic solution that holds the other holds it, built before it.
They come as the greatest solution of

    L(c) = {c} + what L(d) of the children d of k have together, as far as all nodes k of c agree,

as in planning without deletes (Keyder, Richter and Helmert, 2010), of which extraction is an instance (Imai
and Fukunaga, 2015, whose integer program uses them likewise).  A node one of whose children has the node's
own class as a landmark is in no solution.  Sets are bits of integers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

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


@dataclass(frozen=True)
class _Weak:
    """A node that others may dominate, all of which ask the same of the classes that they add.

    Attributes:
        needed: the classes that it needs, as bits.
        providers: of a class the cheapest node that uses only these, or -1, where that was asked.
    """

    node: int
    needed: int
    providers: dict[int, int] = field(default_factory=dict)


def _dominates(work: WorkingPiece, needs: Needs | None, strong: int, weaker: _Weak) -> bool:
    """Whether ``strong``, with what it adds to the classes that a weak node needs, is not more expensive.

    A class that it adds is taken from those needed by one node, unless the solution has it below already;
    either way no cycle arises, as what ``weak`` needs does not use the class of both.
    """
    weak = weaker.node
    if work.cost[strong] > work.cost[weak] * (1 + 1e-12):
        return False
    extra = _beyond(work, needs, strong, weaker)
    if len(extra) > ADDED:
        return False
    cost, tie = work.cost[strong], work.tie[strong]
    room = work.cost[weak] * (1 + 1e-12) - cost
    if needs is not None and any(needs.least[child] > room for child in extra):
        return False
    for child in extra:
        added = _provider(work, needs, child, weaker)
        if added < 0:
            return False
        cost, tie = cost + work.cost[added], tie + work.tie[added]
    limit = work.cost[weak]
    if cost < limit * (1 - 1e-9):
        return True
    return cost <= limit * (1 + 1e-12) and tie <= work.tie[weak]


def _beyond(work: WorkingPiece, needs: Needs | None, strong: int, weak: _Weak) -> Collection[int]:
    """What ``strong`` uses that a weak node does not need."""
    if needs is None:
        return work.children[strong] - work.children[weak.node]
    bits = needs.masks[strong] & ~weak.needed
    return range(ADDED + 1) if bits.bit_count() > ADDED else members(bits)


def _provider(work: WorkingPiece, needs: Needs | None, here: int, weak: _Weak) -> int:
    """The cheapest node of a class that uses only what a weak one needs and costs no more; or -1."""
    if here not in weak.providers:
        weak.providers[here] = _cheapest(work, needs, here, weak)
    return weak.providers[here]


def _cheapest(work: WorkingPiece, needs: Needs | None, here: int, weak: _Weak) -> int:
    best, limit, beyond = -1, work.cost[weak.node] * (1 + 1e-12), ~weak.needed
    if needs is None and not work.is_leaf(here):
        return -1
    for node in work.options[here]:
        if work.cost[node] > limit or (needs is not None and needs.masks[node] & beyond):
            continue
        if best < 0 or (work.cost[node], work.tie[node]) < (work.cost[best], work.tie[best]):
            best = node
    return best


def _shared(work: WorkingPiece, needs: Needs | None, strong: int) -> set[int]:
    """What a node must use as well for ``strong`` to dominate it: without landmarks all but leaves."""
    if needs is not None:
        return set()
    return {child for child in work.children[strong] if not work.is_leaf(child)}


def drop_needless(work: WorkingPiece, here: int, needs: Needs | None = None) -> None:
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
        weak = _Weak(node, 0 if needs is None else needs_of(needs.sets, below))
        compared = (other for other, shared in islice(left, COMPARED) if shared <= below)
        by = next((other for other in compared if _dominates(work, needs, other, weak)), -1)
        if by < 0:
            left.append((node, _shared(work, needs, node)))
            continue
        if node in work.chosen:
            work.chosen.add(by)
            added = _beyond(work, needs, by, weak)
            work.chosen.update(_provider(work, needs, child, weak) for child in added)
        work.drop_node(node)


Sets = list[int]
"""Per class a set of classes as bits; -1, all bits, where the class cannot be built."""


def landmarks(options: Sequence[Sequence[int]], children: Sequence[Collection[int]]) -> Sets:
    """The landmarks of each class.

    Args:
        options: the nodes of each class.
        children: the child classes of each node.
    """
    found = [-1] * len(options)
    users: list[list[int]] = [[] for _ in options]
    for here, nodes in enumerate(options):
        for node in nodes:
            for child in children[node]:
                users[child].append(here)
    above = [sorted(set(row)) for row in users]
    queue = deque(here for here, nodes in enumerate(options) if any(not len(children[k]) for k in nodes))
    waiting = bytearray(len(options))
    for here in queue:
        waiting[here] = 1
    while queue:
        here = queue.popleft()
        waiting[here] = 0
        common, bit = -1, 1 << here
        for node in options[here]:
            needs = 0
            for child in children[node]:
                needs |= found[child]
            if not needs & bit:  # unbuilt children have all bits
                common &= needs
        if common == -1:
            continue
        common |= bit
        if common != found[here]:
            found[here] = common
            for user in above[here]:
                if not waiting[user]:
                    waiting[user] = 1
                    queue.append(user)
    return found


def needs_of(sets: Sets, children: Iterable[int]) -> int:
    """The landmarks of a node: those of its children together."""
    needs = 0
    for child in children:
        needs |= sets[child]
    return needs


def bits_of(classes: Iterable[int]) -> int:
    """A set of classes as bits."""
    bits = 0
    for here in classes:
        bits |= 1 << here
    return bits


def members(bits: int) -> list[int]:
    """The classes of a set."""
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found

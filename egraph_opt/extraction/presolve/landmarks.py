"""What every derivation of a class needs: its *landmarks*.

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

"""An elimination order of small width: few classes are needed and undecided at any time."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from egraph_opt.extraction.piece import Piece

NARROW = 6
"""Classes needed and undecided at any time up to which an order will do."""


def elimination_order(piece: Piece) -> list[list[int]]:
    """The components, users first, such that few classes are needed and undecided at any time.

    The order in which they were found where that is narrow, else that or a greedy one, whichever is narrower.
    """
    component = piece.component.tolist()
    groups: list[list[int]] = [[] for _ in range(max(component, default=-1) + 1)]
    for here, number in enumerate(component):
        groups[number].append(here)
    found = list(range(len(groups) - 1, -1, -1))
    if _found_width(piece, len(groups)) > NARROW:
        below = _below(piece, groups)
        other = _greedy_order(groups, below, component)
        found = min(found, other, key=lambda order: _width(order, groups, below))
    return [groups[number] for number in found]


def _found_width(piece: Piece, count: int) -> int:
    """How many classes are needed and undecided at most in the order in which components were found."""
    node, child = piece.pairs
    user, own = count - 1 - piece.component[piece.owners[node]], count - 1 - piece.component
    outside = user < own[child]
    first = np.full(len(own), count, np.int64)
    np.minimum.at(first, child[outside], user[outside])
    waits = first < own
    change = np.bincount(first[waits], minlength=count + 1) - np.bincount(own[waits], minlength=count + 1)
    return int(np.cumsum(change).max(initial=0))


def _below(piece: Piece, groups: list[list[int]]) -> list[set[int]]:
    """What each component uses of others."""
    below: list[set[int]] = []
    for group in groups:
        reach = {child for here in group for node in piece.options[here] for child in piece.children[node]}
        below.append(reach.difference(group))
    return below


def _width(order: list[int], groups: list[list[int]], below: list[set[int]]) -> tuple[int, int]:
    """How many classes are needed and undecided, at most and in all."""
    pending: set[int] = set()
    widest = total = 0
    for number in order:
        pending.difference_update(groups[number])
        pending |= below[number]
        widest = max(widest, len(pending))
        total += len(pending)
    return widest, total


def _greedy_order(groups: list[list[int]], below: list[set[int]], component: list[int]) -> list[int]:
    """Of the components all of whose users are decided, next the one that adds the fewest classes to the
    frontier, the latest found where several do."""
    users: list[set[int]] = [set() for _ in groups]
    for number, reach in enumerate(below):
        for child in reach:
            users[component[child]].add(number)
    using: list[list[int]] = [[] for _ in component]
    for number, reach in enumerate(below):
        for child in reach:
            using[child].append(number)
    missing = [len(above) for above in users]
    added = [len(reach) - len(group) for reach, group in zip(below, groups, strict=True)]
    seen = [False] * len(component)
    found = 0
    heap: list[tuple[int, int, int]] = []
    order: list[int] = []

    def offer(number: int) -> None:
        nonlocal found
        found += 1
        heappush(heap, (added[number], -found, number))

    for number in range(len(groups) - 1, -1, -1):
        if not missing[number]:
            offer(number)
    done = [False] * len(groups)
    while heap:
        number = heappop(heap)[2]
        if done[number]:
            continue
        done[number] = True
        order.append(number)
        for child in sorted(below[number]):
            if not seen[child]:
                seen[child] = True
                for user in using[child]:
                    added[user] -= 1
                    if not missing[user] and not done[user]:
                        offer(user)
        for other in sorted({component[child] for child in below[number]}):
            missing[other] -= 1
            if not missing[other]:
                offer(other)
    return order

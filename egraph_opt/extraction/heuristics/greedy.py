"""Greedy extraction of a DAG: each class takes the node that is cheapest with all that is below it.

What is below is counted once.  Classes are settled in the order of their cost, as in Knuth's
generalisation of Dijkstra's algorithm (1977), so that a choice never changes once it is made and no cycle
can arise.  What is below a class is a set of classes, numbered as they are settled and held as bits in
blocks.  A class shares with what is below it all blocks but those that it changes, so a chain of n classes
takes n, not n * n, of memory, up to many thousands of classes.

Extraction by tree cost, where a value that is used twice is paid twice: for comparisons in research.

The tree cost of a network with skip connections doubles with every layer, so costs are summed as integers of
any length, which is exact: the sums of floats are sums of multiples of one small power of two.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush

import numpy as np

from egraph_opt.extraction.piece import Choice, Piece
from egraph_opt.extraction.problem import ExtractionProblem, choosable
from egraph_opt.extraction.structure import Ints, invert

BLOCK = 512
"""Classes per block."""

Blocks = tuple[int, ...]
Weight = tuple[int, float, int]
"""Price, tie, and the number of nodes that are not the incumbent's."""


def greedy(piece: Piece) -> Choice:
    """A choice for every class of the piece; acyclic, but not optimal where things are shared."""
    users = piece.users
    missing = [len(below) for below in piece.children]
    choice = [-1] * len(piece.classes)
    number = [0] * len(piece.classes)
    sets: list[Blocks] = [()] * len(piece.classes)
    total: list[Weight] = [(0, 0.0, 0)] * len(piece.classes)
    weights: list[Weight] = []
    heap: list[tuple[int, float, int, int]] = []

    def own(node: int) -> Weight:
        return piece.price[node], piece.tie[node], 0 if piece.kept[node] else 1

    for node, count in enumerate(missing):
        if not count:
            heappush(heap, (*own(node), node))
    while heap:
        cost, tie, moved, node = heappop(heap)
        here = piece.owner[node]
        if choice[here] >= 0:
            continue
        choice[here] = node
        number[here] = len(weights)
        weights.append(own(node))
        total[here] = (cost, tie, moved)
        sets[here] = _with(_union(piece.children[node], sets, total), number[here])
        for above in users[here]:
            missing[above] -= 1
            if not missing[above] and choice[piece.owner[above]] < 0:
                heappush(heap, (*_weigh(own(above), piece.children[above], sets, total, weights), above))
    return choice


def _with(blocks: Blocks, number: int) -> Blocks:
    block, bit = divmod(number, BLOCK)
    longer = list(blocks) + [0] * (block + 1 - len(blocks))
    longer[block] |= 1 << bit
    return tuple(longer)


def _by_cost(children: tuple[int, ...], total: list[Weight]) -> list[int]:
    return sorted(children, key=lambda child: total[child], reverse=True)


def _join(left: Blocks, right: Blocks) -> Blocks:
    if len(left) < len(right):
        left, right = right, left
    joined = [a if a is b else a | b for a, b in zip(left, right, strict=False)]
    return (*joined, *left[len(right) :])


def _union(children: tuple[int, ...], sets: list[Blocks], total: list[Weight]) -> Blocks:
    blocks: Blocks = ()
    for child in _by_cost(children, total):
        blocks = sets[child] if not blocks else _join(blocks, sets[child])
    return blocks


def _weigh(
    own: Weight, children: tuple[int, ...], sets: list[Blocks], total: list[Weight], weights: list[Weight]
) -> Weight:
    """What a node costs with everything below it: the most expensive child, and what the others add to it."""
    order = _by_cost(children, total)
    below = total[order[0]]
    cost, tie, moved = own[0] + below[0], own[1] + below[1], own[2] + below[2]
    union = sets[order[0]]
    for i, child in enumerate(order[1:], 2):
        other = sets[child]
        for block, bits in enumerate(other):
            if block < len(union):
                if bits is union[block]:
                    continue
                bits &= ~union[block]
            while bits:
                low = bits & -bits
                extra = weights[block * BLOCK + low.bit_length() - 1]
                cost, tie, moved = cost + extra[0], tie + extra[1], moved + extra[2]
                bits ^= low
        if i < len(order):
            union = _join(union, other)
    return cost, tie, moved


def tree(problem: ExtractionProblem) -> Ints:
    """The choice of least tree cost for every class that can be built, by Knuth's algorithm (1977)."""
    can = choosable(problem)
    cost = _exact(np.where(can, problem.cost, 0.0).tolist())
    user_ptr, user = invert(problem.child_ptr, problem.child, problem.n_classes)
    first, users = user_ptr.tolist(), user.tolist()
    missing = np.diff(problem.child_ptr).tolist()
    of_class, tie, usable = problem.node_class.tolist(), problem.tie.tolist(), can.tolist()
    choice = [-1] * problem.n_classes
    heap = [(cost[k], tie[k], k) for k in np.flatnonzero(can & (np.diff(problem.child_ptr) == 0)).tolist()]
    heap.sort()
    while heap:
        total, _, node = heappop(heap)
        here = of_class[node]
        if choice[here] >= 0:
            continue
        choice[here] = node
        for above in users[first[here] : first[here + 1]]:
            cost[above] += total
            missing[above] -= 1
            if not missing[above] and usable[above]:
                heappush(heap, (cost[above], tie[above], above))
    return np.array(choice, np.int32)


def _exact(costs: list[float]) -> list[int]:
    """The costs as integers, all scaled by the same power of two."""
    finest = min((math.frexp(cost)[1] for cost in costs if cost), default=0)
    scaled = []
    for cost in costs:
        top, bottom = cost.as_integer_ratio()
        shift = 53 - finest
        scaled.append((top << shift) // bottom if shift >= 0 else (top >> -shift) // bottom)
    return scaled

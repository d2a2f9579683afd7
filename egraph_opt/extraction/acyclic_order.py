"""Search by acyclic-order programs: fix an order of the classes, solve without cycles, change the order.

Under an order in which the incumbent is acyclic, only the nodes whose children (those that could be on a cycle
with them) come earlier may be chosen.  The program needs no rows against cycles, its relaxation is nearly
integral, and the incumbent is one of its solutions: a large-neighbourhood search that never gets worse.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from egraph_opt.extraction.checking import better
from egraph_opt.extraction.piece import Choice, Piece
from egraph_opt.extraction.program import Effort, solve, structural_rows
from egraph_opt.extraction.structure import Floats, Mask


def improve(
    piece: Piece,
    start: Choice,
    *,
    iterations: int,
    effort: Callable[[], Effort | None],
    seed: int,
    bound: float = 0.0,
) -> Choice:
    """The best solution found from ``start`` in so many orders.

    Args:
        effort: what the next program may spend, or None to stop.
        bound: a known lower bound of the cost; the search stops when it is reached.
    """
    random = np.random.default_rng(seed)
    best, value = start, piece.value(start)
    for iteration in range(iterations):
        spend = effort()
        if spend is None or value[0] <= bound * (1 + 1e-9):
            break
        usable = usable_under(piece, random_order(piece, best, random))
        answer = solve(
            piece, [structural_rows(piece, usable)], usable, spend, start=best, seed=seed + iteration
        )
        if answer.choice is not None and better(piece.value(answer.choice), value):
            best, value = answer.choice, piece.value(answer.choice)
    return best


def random_order(piece: Piece, choice: Choice, random: np.random.Generator) -> Floats:
    """A key for each class: the classes of ``choice`` stay in topological order, others go early or late."""
    n = len(piece.classes)
    order = piece.order(choice)
    assert order is not None, "the incumbent of a search is acyclic"
    keys = random.random(n)
    keys = np.where(random.random(n) < 0.5, -keys, 1.0 + keys)
    keys[order] = np.arange(len(order)) / max(len(order), 1)
    return keys


def usable_under(piece: Piece, keys: Floats) -> Mask:
    """The nodes that an order allows, less those that cannot be part of a solution then."""
    node, child = piece.cyclic_pairs
    usable = np.ones(len(piece.nodes), np.bool_)
    usable[node[keys[child] >= keys[piece.owners[node]]]] = False
    return completed(piece, usable)


def completed(piece: Piece, usable: Mask) -> Mask:
    """The usable nodes that can be built from usable nodes and that the roots can reach through such."""
    users: list[list[int]] = [[] for _ in piece.classes]
    missing = [-1] * len(piece.nodes)
    ready = []
    for node in np.flatnonzero(usable).tolist():
        below = piece.children[node]
        missing[node] = len(below)
        for child in below:
            users[child].append(node)
        if not below:
            ready.append(node)
    built = [False] * len(piece.classes)
    for node in ready:
        here = piece.owner[node]
        if not built[here]:
            built[here] = True
            for above in users[here]:
                missing[above] -= 1
                if not missing[above]:
                    ready.append(above)
    result = np.zeros(len(piece.nodes), np.bool_)
    seen = [False] * len(piece.classes)
    stack = list(piece.roots)
    for root in stack:
        seen[root] = True
    while stack:
        for node in piece.options[stack.pop()]:
            if missing[node] == 0:
                result[node] = True
                for child in piece.children[node]:
                    if not seen[child]:
                        seen[child] = True
                        stack.append(child)
    return result

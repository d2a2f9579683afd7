"""Search by acyclic-order programs: fix an order of the classes, solve without cycles, change the order.

Under an order in which the incumbent is acyclic, only the nodes whose children (those that could be on a
cycle with them) come earlier may be chosen.  The problem needs no rows against cycles, its relaxation is
nearly integral, and the incumbent is one of its solutions: a large-neighbourhood search that never gets
worse.  In large pieces most rounds free only a region; outside of it the incumbent's choices stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from heapq import heapify, heappop, heappush

import numpy as np

from egraph_opt.extraction.dynamic_programming.frontier import dynamic_program
from egraph_opt.extraction.piece import Choice, Piece
from egraph_opt.extraction.presolve.presolve import presolve
from egraph_opt.extraction.programs.linear import structural_rows
from egraph_opt.extraction.programs.program import smaller_tie, solve_with_ties
from egraph_opt.extraction.programs.solver import Effort
from egraph_opt.extraction.solution import better
from egraph_opt.extraction.structure import Floats, Mask

LARGEST, SMALLEST, FIRST = 2500, 200, 800
"""Nodes of the region that a round frees in a piece that is larger; it grows while programs are easy."""

ALONE_STEPS = 1000
"""Steps of dynamic programming for each node of a part where there is no solver to ask."""

OVERHEAD = 1 / 25
"""Work of a round per node of the piece, before anything is solved."""


def improve(
    piece: Piece,
    start: Choice,
    *,
    iterations: int,
    effort: Callable[[], Effort | None],
    seed: int,
    work: float = float("inf"),
    bound: float = 0.0,
    ties_only: bool = False,
) -> Choice:
    """The best solution found from ``start`` in so many rounds.

    Args:
        effort: what the next program may spend, or None to stop.
        work: how many nodes may be given to the solver in all.
        bound: a known lower bound of the cost; the search stops when it is reached.
        ties_only: leave the cost as it is, which has been searched for, and look for a smaller tie while
            there are any.
    """
    random = np.random.default_rng(seed)
    best, value = start, piece.value(start)
    left, size = work, LARGEST if work == float("inf") else FIRST
    for iteration in range(iterations):
        spend = effort()
        if spend is None or left <= 0 or value[0] <= bound * (1 + 1e-9):
            break
        usable = np.ones(len(piece.nodes), np.bool_)
        if len(piece.nodes) > size and (iteration % 16 != 15 or work < float("inf")):
            usable = region(piece, best, size, random)
        usable &= allowed_under(piece, random_order(piece, best, usable, random))
        found, spent = resolve(piece, usable, best, spend, seed + iteration, ties_only=ties_only)
        left -= spent + OVERHEAD * len(piece.nodes)
        if work < float("inf"):
            size = max(SMALLEST, size // 2) if spent > work / 8 else size
            size = min(LARGEST, size * 3 // 2) if spent < work / 30 else size
        if better(piece.value(found), value):
            best, value = found, piece.value(found)
        elif ties_only:
            break
    return best


def random_order(piece: Piece, choice: Choice, nodes: Mask, random: np.random.Generator) -> Floats:
    """A key for each class, in a random order in which the classes can be built from the given nodes.

    The classes of ``choice`` come after what their chosen nodes use; any other class comes once it has a node
    whose children are there, or, for about half of them, as late as possible.
    """
    keys = np.full(len(piece.classes), np.inf)
    rank = random.random(len(piece.classes))
    rank = np.where(random.random(len(piece.classes)) < 0.5, rank, 1.0 + rank).tolist()
    missing = [-1] * len(piece.nodes)
    heap: list[tuple[float, int]] = []
    for node in np.flatnonzero(nodes).tolist():
        here = piece.owner[node]
        missing[node] = len(piece.children[node])
        if not missing[node] and choice[here] in (-1, node):
            heap.append((rank[here], here))
    heapify(heap)
    placed = 0
    while heap:
        here = heappop(heap)[1]
        if keys[here] != np.inf:
            continue
        keys[here] = placed
        placed += 1
        for above in piece.users[here]:
            missing[above] -= 1
            if not missing[above]:
                other = piece.owner[above]
                if choice[other] in (-1, above):
                    heappush(heap, (rank[other], other))
    return keys


def allowed_under(piece: Piece, keys: Floats) -> Mask:
    """The nodes whose children on possible cycles have smaller keys."""
    node, child = piece.cyclic_pairs
    allowed = np.ones(len(piece.nodes), np.bool_)
    allowed[node[keys[child] >= keys[piece.owners[node]]]] = False
    return allowed


def region(piece: Piece, choice: Choice, largest: int, random: np.random.Generator) -> Mask:
    """About ``largest`` nodes, of the classes around a random used class, and the chosen nodes everywhere."""
    used = [here for here, node in enumerate(choice) if node >= 0]
    start = used[int(random.integers(len(used)))]
    seen, queue, size = {start}, [start], 0
    users = piece.users
    for here in queue:
        size += len(piece.options[here])
        if size > largest:
            break
        around = [child for node in piece.options[here] for child in piece.children[node]]
        for other in (*around, *(piece.owner[node] for node in users[here])):
            if other not in seen:
                seen.add(other)
                queue.append(other)
    free = np.zeros(len(piece.classes), np.bool_)
    free[queue] = True
    mask = free[piece.owners]
    mask[[node for node in choice if node >= 0]] = True
    return mask


def resolve(
    piece: Piece, usable: Mask, best: Choice, effort: Effort, seed: int, *, ties_only: bool = False
) -> tuple[Choice, int]:
    """The best choice among the usable nodes, which hold ``best`` and allow no cycle; the work it took."""
    problem = replace(piece.problem, cost=np.where(usable, piece.problem.cost, np.inf))
    presolved = presolve(problem, np.array(best, np.int32))
    work = 0
    choices = []
    for part in presolved.pieces:
        alone = effort.trust.withdrawn
        start = part.incumbent or []  # there is one in every part, as `best` is usable
        found = dynamic_program(part, (ALONE_STEPS if alone else 20) * len(part.nodes))
        if found is None and not alone:
            everything = np.ones(len(part.nodes), np.bool_)
            rows = [structural_rows(part, everything)]
            solved = smaller_tie if ties_only else solve_with_ties
            answer = solved(part, rows, everything, effort, start=start, seed=seed)
            found, work = answer.choice, work + answer.work
        choices.append(start if found is None else found)
    return presolved.postsolve(choices).tolist(), work

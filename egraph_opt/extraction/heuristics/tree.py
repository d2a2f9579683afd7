"""Extraction by tree cost, where a value that is used twice is paid twice: for comparisons in research.

The tree cost of a network with skip connections doubles with every layer, so costs are summed as integers of
any length, which is exact: the sums of floats are sums of multiples of one small power of two.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush

import numpy as np

from egraph_opt.extraction.problem import ExtractionProblem, choosable
from egraph_opt.extraction.structure import Ints, invert


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

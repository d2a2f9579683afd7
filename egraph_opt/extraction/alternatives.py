"""What else could compute a class, and what that would cost: the best solution with each other node."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from egraph_opt.errors import ExtractionError
from egraph_opt.extraction.problem import ExtractionProblem, choosable, has_solution
from egraph_opt.extraction.registry import ExtractorLike, Solve, extract, extractor_named, solution_of
from egraph_opt.extraction.solution import Solution, check, measure, used_part
from egraph_opt.extraction.structure import Ints, invert

PATIENCE = 100
"""Problems solved for one node, before the first solution that uses it will do."""


@dataclass(frozen=True, eq=False)
class Alternative:
    """A solution without the chosen node of a class.

    Attributes:
        node: the node of the class that is used instead, or -1 where the class is not used at all.
        solution: the cheapest solution of that kind.
        difference: what it costs more than the solution that it is compared with.
        proved: that both are the cheapest of their kind, so that the difference is exact.
    """

    node: int
    solution: Solution
    difference: float
    proved: bool

    @property
    def cost(self) -> float:
        """The cost of the solution."""
        return self.solution.cost


def alternatives(
    problem: ExtractionProblem,
    solution: Solution,
    class_: int,
    extractor: ExtractorLike = "auto",
    *,
    iterations: int = 200,
    seconds: float | None = None,
    seed: int = 0,
) -> list[Alternative]:
    """For each node of a class the cheapest solution that uses it, and the cheapest without the class.

    The one of ``solution`` comes first, with a difference of 0, then the others, cheapest first.  Nodes that
    no solution of finite cost can use are left out.

    Args:
        extractor, iterations, seconds, seed: for each of the problems that are solved, as in `extract`.

    Raises:
        ExtractionError: ``solution`` is none of the problem, there is no such class, an unknown extractor.
    """
    name = extractor_named(extractor).name
    check(problem, solution)
    if not 0 <= class_ < problem.n_classes:
        raise ExtractionError(f"there is no class {class_}; classes are 0 to {problem.n_classes - 1}")
    deadline = None if seconds is None else time.monotonic() + seconds

    def solve(part: ExtractionProblem) -> Solution | None:
        if not has_solution(part):
            return None
        left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
        return extract(part, extractor, iterations=iterations, seconds=left, seed=seed)

    chosen = int(solution.choice[class_])
    found = [Alternative(chosen, solution, 0.0, solution.proved)]
    for node in np.flatnonzero((problem.node_class == class_) & choosable(problem)).tolist():
        best = None if node == chosen else _cheapest_with(problem, node, solve)
        if best is not None:
            found.append(_against(solution, node, solution_of(problem, *best, name)))
    if chosen >= 0:
        without = np.where(problem.node_class == class_, np.inf, problem.cost)
        other = solve(replace(problem, cost=without))
        if other is not None:
            other = solution_of(problem, other.choice, other.lower_bound, name)
            found.append(_against(solution, -1, other))
    return [found[0], *sorted(found[1:], key=lambda one: (one.difference, one.node))]


def _against(solution: Solution, node: int, other: Solution) -> Alternative:
    return Alternative(node, other, other.cost - solution.cost, other.proved and solution.proved)


@dataclass(frozen=True, eq=False)
class _Chain:
    """A node, a user of its class, a user of that one's class and so on, all to be chosen."""

    nodes: tuple[int, ...]
    solution: Solution


def _cheapest_with(problem: ExtractionProblem, node: int, solve: Solve) -> tuple[Ints, float] | None:
    """The cheapest solution that uses a node, and a bound of what such solutions cost; None if there is none.

    Made a root, the class is there, but maybe no node uses it.  Then each node that can use it is tried
    in turn, and if no node uses that one, the users of its class: the chain of the least bound first.
    """
    user_ptr, user = invert(problem.child_ptr, problem.child, problem.n_classes)
    start = _solve_chain(problem, (node,), solve)
    chains = [] if start is None else [start]
    best: Ints | None = None
    value, unresolved, solved = (math.inf, math.inf), math.inf, 1
    while chains and (best is None or solved < PATIENCE):
        if solved < PATIENCE:
            chain = min(chains, key=lambda one: one.solution.lower_bound)
        else:
            chain = max(chains, key=lambda one: len(one.nodes))
        if chain.solution.lower_bound >= value[0] * (1 - 1e-9):
            break
        chains.remove(chain)
        used = used_part(problem, chain.solution.choice)
        if used[problem.node_class[node]] >= 0:
            if measure(problem, used) < value:
                best, value = used, measure(problem, used)
            if not chain.solution.proved:
                unresolved = min(unresolved, chain.solution.lower_bound)
            continue
        top = problem.node_class[chain.nodes[-1]]
        inside = set(problem.node_class[list(chain.nodes)].tolist())
        for above in np.unique(user[user_ptr[top] : user_ptr[top + 1]]).tolist():
            if int(problem.node_class[above]) not in inside:
                longer = _solve_chain(problem, (*chain.nodes, above), solve)
                solved += 1
                if longer is not None:
                    chains.append(longer)
    if best is None:
        return None
    return best, min([value[0], unresolved, *(chain.solution.lower_bound for chain in chains)])


def _solve_chain(problem: ExtractionProblem, nodes: tuple[int, ...], solve: Solve) -> _Chain | None:
    classes = problem.node_class[list(nodes)]
    out = np.isin(problem.node_class, classes)
    out[list(nodes)] = False
    roots = np.union1d(problem.roots, classes)
    solution = solve(replace(problem, cost=np.where(out, np.inf, problem.cost), roots=roots))
    return None if solution is None else _Chain(nodes, solution)

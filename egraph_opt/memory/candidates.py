"""Near-optimal solutions that need less memory, found by extracting again under other costs.

What a solution needs at its peak is no sum over its nodes, so extraction cannot minimise it.  But e-nodes may
be penalised for the bytes that they write: all of them (a ladder of weights), or those that are in use at the
peak of the solution before, more with every round until the solution changes (a subgradient method: the peak
is the largest of sums).  Every solution found that way is measured by a schedule of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from egraph_opt.extraction.problem import ExtractionProblem
from egraph_opt.extraction.solution import Solution, measure
from egraph_opt.extraction.structure import Floats, Ints

LADDER = (0.01, 0.1, 1.0, 10.0)
"""What all bytes that the optimum writes cost together, as multiples of its cost."""

ROUNDS = 10
"""How often the penalty of what is in use at the peak rises."""

STEP = 0.02
"""By how much in the first round, relative to the cost and the peak; doubled where nothing changed."""


@dataclass(frozen=True)
class Need:
    """What a solution needs: bytes at its peak, and the classes in use then."""

    peak: int
    classes: Sequence[int]


@dataclass(frozen=True)
class Candidate:
    """A solution with both its figures: per class a node or -1, and the classes in use at the peak."""

    cost: float
    peak: int
    choice: Ints
    classes: Sequence[int]


def candidates(
    problem: ExtractionProblem,
    known: Sequence[Ints],
    size: Floats,
    need: Callable[[Ints], Need],
    solve: Callable[[ExtractionProblem], Ints],
    *,
    enough: Callable[[Candidate], bool] = lambda candidate: False,
    late: Callable[[], bool] = lambda: False,
) -> list[Candidate]:
    """Distinct solutions, in the order in which they were found.

    Args:
        problem: with the costs that count.
        known: solutions to begin with, the optimum first.
        size: per e-node the bytes that it writes.
        need: measures a solution.
        solve: a cheap solution of a problem with other costs.
        enough: whether a known solution makes searching needless.
        late: whether to stop with what was found.
    """
    found: dict[bytes, Candidate] = {}

    def add(choice: Ints) -> Candidate:
        key = choice.tobytes()
        if key not in found:
            needed = need(choice)
            found[key] = Candidate(measure(problem, choice)[0], needed.peak, choice, needed.classes)
        return found[key]

    for choice in known:
        if enough(add(choice)):
            return list(found.values())
    optimum = add(known[0])
    written = float(size[optimum.choice[optimum.choice >= 0]].sum())
    price = (optimum.cost or 1.0) / max(written, 1.0)
    for weight in LADDER:
        if not late():
            add(solve(_penalised(problem, weight * price * size)))
    penalty = np.zeros(problem.n_classes)
    step = STEP * (optimum.cost or 1.0)
    lead = optimum
    for _ in range(ROUNDS):
        if late() or not lead.peak:
            break
        penalty[list(lead.classes)] += step / lead.peak
        before = len(found)
        lead = add(solve(_penalised(problem, penalty[problem.node_class] * size)))
        if len(found) == before:
            step *= 2
    return list(found.values())


def _penalised(problem: ExtractionProblem, more: Floats) -> ExtractionProblem:
    return replace(problem, cost=problem.cost + more)


def as_solution(candidate: Candidate | Solution, optimum: Solution) -> Solution:
    """A candidate with the lower bound of the optimum."""
    bound = min(optimum.lower_bound, candidate.cost)
    proved = bound >= candidate.cost * (1 - 1e-9)
    return replace(optimum, choice=candidate.choice, cost=candidate.cost, lower_bound=bound, proved=proved)

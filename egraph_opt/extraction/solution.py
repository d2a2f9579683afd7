"""What extraction returns, what makes a choice a solution, and what a choice costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from egraph_opt.errors import ExtractionError
from egraph_opt.extraction.problem import ExtractionProblem
from egraph_opt.extraction.structure import Ints, cycle_in, entries, pointers, reached, topological


@dataclass(frozen=True)
class PieceReport:
    """What is known of one part of a problem that was solved by itself.

    Attributes:
        nodes: how many nodes there were to choose from.
        cost: of what was chosen.
        lower_bound: no solution of the piece costs less.
        proved: the cost is optimal, up to a relative 1e-9.
        roots: the classes that it provides to the others.
        checked: how many statements of the solver were checked for it.
        refused: how many of them were wrong, by what was wrong; they were not used.
    """

    nodes: int
    cost: float
    lower_bound: float
    proved: bool
    roots: tuple[int, ...]
    checked: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Solution:
    """What was extracted.

    Attributes:
        choice: per class the chosen node, or -1 if the class is not used.
        cost: the sum over the chosen nodes.
        lower_bound: no solution costs less.
        proved: the cost is optimal, up to a relative 1e-9.
        extractor: the name of the extractor.
        pieces: the parts that were solved apart; what had to be chosen anyway is in none of them.
        interrupted: the search was stopped, and this is the best it had.
    """

    choice: Ints
    cost: float
    lower_bound: float
    proved: bool
    extractor: str
    pieces: tuple[PieceReport, ...] = ()
    interrupted: bool = False

    @property
    def gap(self) -> float:
        """(cost - lower_bound) / cost; 0 where the cost is 0."""
        return (self.cost - self.lower_bound) / self.cost if self.cost > 0 else 0.0

    @property
    def refused(self) -> dict[str, int]:
        """How many statements of the solver were wrong, by what was wrong; none of them was used."""
        total: Counter[str] = Counter()
        for piece in self.pieces:
            total.update(piece.refused)
        return dict(total)

    @property
    def nodes(self) -> Ints:
        """The chosen nodes, in their order in the problem."""
        return np.sort(self.choice[self.choice >= 0])


def check(problem: ExtractionProblem, solution: Solution | Ints) -> None:
    """Raise unless ``solution`` (or a choice: per class a node or -1) is one of the problem.

    It must provide the roots, hold every child of what it chooses, choose nodes of the right class and of
    finite cost, use each chosen class, and be acyclic.  A `Solution` must also cost what it says, and no less
    than its bound.

    Raises:
        ExtractionError: naming the class that is wrong.
    """
    choice = solution.choice if isinstance(solution, Solution) else solution
    _check_entries(problem, choice)
    missing = problem.roots[choice[problem.roots] < 0]
    if len(missing):
        raise ExtractionError(f"root class {missing[0]} has no chosen node")
    classes = np.flatnonzero(choice >= 0).astype(np.int32)
    nodes = choice[classes]
    at, owner = entries(problem.child_ptr, nodes)
    below = problem.child[at]
    lost = np.flatnonzero(choice[below] < 0)
    if len(lost):
        raise ExtractionError(
            f"class {below[lost[0]]} has no chosen node, but the choice of class "
            f"{classes[owner[lost[0]]]} uses it"
        )
    endless = np.flatnonzero(~np.isfinite(problem.cost[nodes]))
    if len(endless):
        raise ExtractionError(f"class {classes[endless[0]]} has a chosen node of infinite cost")
    unused = np.flatnonzero((choice >= 0) & (used_part(problem, choice) < 0))
    if len(unused):
        raise ExtractionError(f"class {unused[0]} has a chosen node, but no root needs it")
    children = chosen_children(problem, choice)
    if topological(children) is None:
        cycle = [int(classes[i]) for i in cycle_in(children)]
        steps = " needs class ".join(map(str, [*cycle, cycle[0]]))
        raise ExtractionError(f"the choice is cyclic: class {steps}")
    if isinstance(solution, Solution):
        _check_figures(problem, solution)


def _check_figures(problem: ExtractionProblem, solution: Solution) -> None:
    cost = measure(problem, solution.choice)[0]
    if solution.cost != cost:
        raise ExtractionError(f"the solution says that it costs {solution.cost}, but it costs {cost}")
    if not solution.lower_bound <= cost or (solution.proved and solution.lower_bound != cost):
        raise ExtractionError(f"a cost of {cost} contradicts the lower bound {solution.lower_bound}")


def used_part(problem: ExtractionProblem, choice: Ints) -> Ints:
    """The part of a choice that the roots use, the rest set to -1."""
    chosen = np.flatnonzero(choice >= 0).astype(np.int32)
    at, owner = entries(problem.child_ptr, choice[chosen])
    ptr = pointers(chosen[owner], problem.n_classes)
    return np.where(reached(problem.roots, ptr, problem.child[at]), choice, -1).astype(np.int32)


def measure(problem: ExtractionProblem, choice: Ints) -> tuple[float, float]:
    """Cost and tie of a choice, each chosen node once; sums are rounded once, so order does not matter."""
    nodes = choice[choice >= 0]
    return math.fsum(problem.cost[nodes].tolist()), math.fsum(problem.tie[nodes].tolist())


def better(new: tuple[float, float], old: tuple[float, float]) -> bool:
    """Whether a (cost, tie) is a reason to change: never for a higher cost, never for rounding noise."""
    if new[0] > old[0]:
        return False
    if old[0] - new[0] > 1e-9 * old[0]:
        return True
    return new[1] < old[1] - 1e-9 * abs(old[1])


def _check_entries(problem: ExtractionProblem, choice: Ints) -> None:
    if choice.shape != (problem.n_classes,) or choice.dtype.kind not in "iu":
        raise ExtractionError(
            f"a choice holds one integer for each of {problem.n_classes} classes, "
            f"not {choice.dtype} {choice.shape}"
        )
    chosen = np.flatnonzero(choice >= 0)
    outside = chosen[choice[chosen] >= problem.n_nodes]
    if len(outside):
        raise ExtractionError(f"class {outside[0]} chooses node {choice[outside[0]]}, which does not exist")
    foreign = chosen[problem.node_class[choice[chosen]] != chosen]
    if len(foreign):
        node = choice[foreign[0]]
        raise ExtractionError(
            f"class {foreign[0]} chooses node {node}, which belongs to class {problem.node_class[node]}"
        )


def chosen_children(problem: ExtractionProblem, choice: Ints) -> list[list[int]]:
    """Per class that a complete choice uses, in order, the positions among these of what its node uses."""
    classes = np.flatnonzero(choice >= 0)
    local = np.full(problem.n_classes, -1, np.int32)
    local[classes] = np.arange(len(classes), dtype=np.int32)
    nodes = choice[classes]
    at, _ = entries(problem.child_ptr, nodes)
    below = local[problem.child[at]].tolist()
    bounds = [0, *np.cumsum(np.diff(problem.child_ptr)[nodes]).tolist()]
    return [below[a:b] for a, b in pairwise(bounds)]

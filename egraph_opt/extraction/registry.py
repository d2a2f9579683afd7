"""The extractors by name, and `extract`, which runs one of them and vouches for the result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from egraph_opt.errors import EgraphOptError, ExtractionError, UnknownExtractorError
from egraph_opt.extraction.heuristics.greedy import tree
from egraph_opt.extraction.piece import Found, Piece
from egraph_opt.extraction.presolve.presolve import presolve
from egraph_opt.extraction.problem import ExtractionProblem, least_costs
from egraph_opt.extraction.programs.trust import Trust
from egraph_opt.extraction.solution import PieceReport, Solution, better, check, measure, used_part
from egraph_opt.extraction.strategies.budget import Budget
from egraph_opt.extraction.strategies.isomorphism import IsomorphicPieces
from egraph_opt.extraction.strategies.steps import greedy_piece, time_shares
from egraph_opt.extraction.strategies.treatments import default_piece, draft_piece, exact_piece, ilp_piece
from egraph_opt.extraction.structure import Ints
from egraph_opt.imports import raised_at

ITERATIONS = 200
"""Programs for any one piece where the caller does not say."""

Pieces = tuple[PieceReport, ...]
Outcome = tuple[Ints, float, Pieces]
"""A choice, a lower bound, and the pieces."""

Run = Callable[[ExtractionProblem, "Ints | None", Budget], Outcome]
"""(problem, incumbent or None, budget) -> what was found."""


@dataclass(frozen=True)
class Extractor:
    """How to choose.

    Attributes:
        name: as `extract` takes it.
        exact_for: what its result is optimal for when it is given the time.
        anytime: whether it can be stopped early with the best so far.
        run: how it chooses.
    """

    name: str
    exact_for: Literal["tree", "dag", "nothing"]
    anytime: bool
    run: Run


Solve = Callable[[ExtractionProblem], Solution | None]
"""The best solution of a problem; None where there is none, or no time to find it."""


def _by_pieces(solve_piece: Callable[[Piece, Budget], Found]) -> Run:
    def run(problem: ExtractionProblem, incumbent: Ints | None, budget: Budget) -> Outcome:
        presolved = presolve(problem, incumbent)
        pieces = presolved.pieces
        isomorphic = IsomorphicPieces(pieces)
        shares = time_shares(pieces, isomorphic.distinct)
        budget = budget.for_size(sum(len(pieces[number].nodes) for number in shares))

        trust: dict[int, Trust] = {}

        def solve(number: int) -> Found:
            stopped = budget.stop is not None and budget.stop()
            how = greedy_piece if stopped else solve_piece
            limits = budget.slice(shares[number]).for_piece()
            trust[number] = limits.trust
            return how(pieces[number], limits)

        found = isomorphic.solve(solve)
        choice = presolved.postsolve(piece.choice for piece in found)
        bound = presolved.bound(piece.bound for piece in found)
        reports = tuple(
            _report(piece, part, trust.get(number, Trust()))
            for number, (piece, part) in enumerate(zip(pieces, found, strict=True))
        )
        return choice, max(bound, presolved.floor), reports

    return run


def _report(piece: Piece, found: Found, trust: Trust) -> PieceReport:
    cost = piece.value(found.choice)[0]
    proved = found.bound >= cost * (1 - 1e-9)
    roots = tuple(piece.classes[here] for here in piece.roots)
    bound = cost if proved else found.bound
    return PieceReport(len(piece.nodes), cost, bound, proved, roots, trust.checked, dict(trust.refused))


def _tree(problem: ExtractionProblem, incumbent: Ints | None, budget: Budget) -> Outcome:
    floor = presolve(problem, None).floor
    return used_part(problem, tree(problem)), floor, ()


EXTRACTORS: dict[str, Extractor] = {
    extractor.name: extractor
    for extractor in (
        Extractor("auto", "nothing", True, _by_pieces(default_piece)),
        Extractor("draft", "nothing", True, _by_pieces(draft_piece)),
        Extractor("greedy-dag", "nothing", False, _by_pieces(greedy_piece)),
        Extractor("tree", "tree", False, _tree),
        Extractor("ilp", "nothing", True, _by_pieces(ilp_piece)),
        Extractor("exact", "dag", True, _by_pieces(exact_piece)),
    )
}
"""All extractors by name."""


Choosing = Callable[[ExtractionProblem], ArrayLike]
"""An extractor of one's own: per class the node that it chooses, -1 for a class that is not needed."""

ExtractorLike = str | Choosing


def extractor_named(extractor: ExtractorLike) -> Extractor:
    """The extractor of a name, or a function as one.

    Raises:
        UnknownExtractorError: there is none; suggests the nearest.
    """
    if isinstance(extractor, str) and extractor in EXTRACTORS:
        return EXTRACTORS[extractor]
    if not callable(extractor):
        raise UnknownExtractorError(str(extractor), EXTRACTORS)
    name = getattr(extractor, "__name__", type(extractor).__name__)
    return Extractor(name, "nothing", False, partial(_by_function, extractor, name))


def _by_function(
    choose: Choosing, name: str, problem: ExtractionProblem, incumbent: Ints | None, budget: Budget
) -> Outcome:
    """What a function chooses; the bound is one that takes no search."""
    try:
        choice = np.asarray(choose(problem))
    except (EgraphOptError, MemoryError):
        raise
    except Exception as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        raise ExtractionError(f"{raised_at(error)}extractor {name}: {told}") from error
    if choice.shape != (problem.n_classes,) or choice.dtype.kind not in "iu":
        wanted = f"whole numbers, one for each of {problem.n_classes} classes"
        raise ExtractionError(
            f"extractor {name}: returns {choice.dtype} of shape {choice.shape}, not {wanted}"
        )
    try:
        used = used_part(problem, choice.astype(np.int32))
        check(problem, used)
    except (ExtractionError, IndexError) as error:
        raise ExtractionError(f"extractor {name}: what it returns is no solution: {error}") from error
    return used, presolve(problem, None).floor, ()


def extract(
    problem: ExtractionProblem,
    extractor: ExtractorLike = "auto",
    *,
    incumbent: Ints | None = None,
    iterations: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    stop: Callable[[], bool] | None = None,
) -> Solution:
    """Choose a node for every class that the roots need.

    The same arguments give the same solution, unless ``seconds`` cut the search short.

    Args:
        problem: what to choose from.
        extractor: a name in `EXTRACTORS`, or a function of a problem that returns per class the node that it
            chooses, -1 where none is needed; what it returns is checked.
        incumbent: a known solution (per class a node or -1), such as the original graph.  The result is never
            worse, and where nothing is better it is the incumbent itself.  It may cost infinity, or hold
            classes that no root needs, but must be complete and acyclic; `selection` makes one from nodes.
        iterations: the most programs that are solved for any one piece; by default 200, or what the seconds
            allow where those are given.
        seconds: a budget that the search uses until the optimum is proved; beside ``iterations`` only an
            emergency stop.  With 0 there is no search: the result is the incumbent as it is, or, where there
            is none of finite cost, the greedy choice.
        seed: of the random orders.
        stop: called again and again; once it says yes, the result is the best found so far (for Ctrl-C see
            `strategies.budget`).  What it raises ends the search and is passed on.

    Raises:
        ExtractionError: no solution of finite cost, a malformed incumbent, seconds that are negative or no
            number, an unknown extractor, one that raises or returns no solution.
    """
    wanted = extractor_named(extractor)
    if seconds is not None and not seconds >= 0:
        raise ExtractionError(f"seconds={seconds!r}: must be 0 or more, or None for no stop")
    deadline = None if seconds is None else time.monotonic() + seconds
    stopped = None if stop is None else _Remembered(stop)
    known = None if incumbent is None else _usable_incumbent(problem, incumbent)
    if seconds == 0 and known is not None:
        return solution_of(problem, known, _floor(problem), wanted.name)
    run = (EXTRACTORS["greedy-dag"] if seconds == 0 else wanted).run
    budget = Budget(
        ITERATIONS if iterations is None else iterations,
        deadline,
        seed,
        persistent=iterations is None and seconds is not None,
        stop=stopped,
    )
    choice, bound, pieces = run(problem, known, budget)
    if known is not None and not better(measure(problem, choice), measure(problem, known)):
        choice = known
    check(problem, choice)
    interrupted = stopped is not None and stopped()
    return solution_of(problem, choice, bound, wanted.name, pieces=pieces, interrupted=interrupted)


class _Remembered:
    """A question whose yes is final."""

    def __init__(self, stop: Callable[[], bool]) -> None:
        self.stop, self.stopped = stop, False

    def __call__(self) -> bool:
        self.stopped = self.stopped or self.stop()
        return self.stopped


def solution_of(
    problem: ExtractionProblem,
    choice: Ints,
    bound: float,
    extractor: str,
    *,
    pieces: Pieces = (),
    interrupted: bool = False,
) -> Solution:
    """A choice with its figures; ``bound`` may be above its cost by rounding."""
    cost = measure(problem, choice)[0]
    proved = bound >= cost * (1 - 1e-9)
    lower = cost if proved else bound
    return Solution(choice, cost, lower, proved, extractor, pieces, interrupted)


def _floor(problem: ExtractionProblem) -> float:
    """A lower bound that takes no time: the cheapest node of each root."""
    least = least_costs(problem, np.arange(problem.n_nodes))
    return math.fsum(least[np.unique(problem.roots)].tolist())


def _usable_incumbent(problem: ExtractionProblem, incumbent: Ints) -> Ints | None:
    """The used part of an incumbent, None if it costs infinity."""
    choice = np.asarray(incumbent)
    finite = replace(problem, cost=np.where(np.isfinite(problem.cost), problem.cost, 0.0))
    try:
        if choice.shape == (problem.n_classes,):
            choice = used_part(finite, choice.astype(np.int32))
        check(finite, choice)
    except (ExtractionError, IndexError) as error:
        raise ExtractionError(f"the incumbent is no solution: {error}") from error
    return choice if np.isfinite(problem.cost[choice[choice >= 0]]).all() else None

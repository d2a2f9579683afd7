"""The 0/1 program of a piece, solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import highspy
import numpy as np

from egraph_opt.extraction.checking import better
from egraph_opt.extraction.piece import Choice, Piece
from egraph_opt.extraction.programs.highs import Effort, cost_scale, model_of, solver_of
from egraph_opt.extraction.programs.rows import Rows
from egraph_opt.extraction.structure import Floats, Mask

TIE_NODES = 2_000
"""Larger programs are not solved again for ties."""


@dataclass(frozen=True)
class Answer:
    """What the solver found: a choice (maybe none, maybe cyclic), a bound, and how much work it was.

    ``work`` counts nodes in the program and simplex iterations, about 6,000 a second.
    """

    choice: Choice | None
    bound: float
    optimal: bool
    work: int


def solve(
    piece: Piece,
    rows: Sequence[Rows],
    usable: Mask,
    effort: Effort,
    *,
    start: Choice | None = None,
    objective: Floats | None = None,
    seed: int = 0,
    columns: int = 0,
) -> Answer:
    """Minimise the cost (or another ``objective`` over nodes) under the rows.

    The bound is valid even where a limit stopped the solver.

    Args:
        columns: further ones that the rows use, between 0 and 1.
    """
    cost = np.array(piece.cost) if objective is None else objective
    scale = cost_scale(cost[usable])
    solver = solver_of(effort, seed)
    solver.passModel(model_of(piece, rows, usable, cost / scale, columns=columns))
    if start is not None:
        _offer(solver, piece, start)
    solver.run()
    return _answer(solver, piece, usable, scale)


def solve_with_ties(
    piece: Piece,
    rows: Sequence[Rows],
    usable: Mask,
    effort: Effort,
    *,
    start: Choice | None = None,
    seed: int = 0,
    columns: int = 0,
) -> Answer:
    """`solve`, and once more for the smallest tie among the choices of that cost, where ties can differ."""
    answer = solve(piece, rows, usable, effort, start=start, seed=seed, columns=columns)
    if answer.choice is None or len(piece.nodes) > TIE_NODES:
        return answer
    value = piece.value(answer.choice)
    tie = np.array(piece.tie)
    if value[1] <= 0 or not tie[usable].any():
        return answer
    again = solve(
        piece,
        [*rows, _cost_row(piece, usable, value[0])],
        usable,
        effort,
        start=answer.choice,
        objective=tie,
        seed=seed,
        columns=columns,
    )
    if again.choice is None or not better(piece.value(again.choice), value):
        return replace(answer, work=answer.work + again.work)
    return replace(answer, choice=again.choice, work=answer.work + again.work)


def _cost_row(piece: Piece, usable: Mask, limit: float) -> Rows:
    """The cost is at most ``limit``, scaled so that the solver's tolerance is small beside it."""
    scale = limit / 1e4 or 1.0
    cost = np.minimum(
        np.array(piece.cost) / scale, 2e4
    )  # more expensive nodes are out anyway, and spoil the scaling
    column = np.flatnonzero(usable & (cost > 0))
    value = cost[column]
    return Rows(
        np.zeros(len(column), np.int64),
        column.astype(np.int64),
        value,
        np.array([-np.inf]),
        np.array([limit / scale]),
    )


def _offer(solver: highspy.Highs, piece: Piece, start: Choice) -> None:
    chosen = np.array(start)
    values = np.zeros(len(piece.nodes) + len(chosen))
    values[chosen[chosen >= 0]] = 1.0
    values[len(piece.nodes) :] = chosen >= 0
    solver.setSolution(len(values), np.arange(len(values), dtype=np.int32), values)


def _answer(solver: highspy.Highs, piece: Piece, usable: Mask, scale: float) -> Answer:
    optimal = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    info = solver.getInfo()
    values = np.array(solver.getSolution().col_value)
    work = int(usable.sum()) + max(info.simplex_iteration_count, 0)
    bound = info.mip_dual_bound * scale if np.isfinite(info.mip_dual_bound) else 0.0
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible or not len(values):
        return Answer(None, max(bound, 0.0), False, work)
    return Answer(_rounded(piece, values[: len(piece.nodes)]), max(bound, 0.0), optimal, work)


def _rounded(piece: Piece, values: Floats) -> Choice | None:
    picked: Choice = [-1] * len(piece.classes)
    for node in np.flatnonzero(values > 0.5).tolist():
        picked[piece.owner[node]] = node
    part = [-1] * len(picked)
    stack = list(piece.roots)
    while stack:  # a class that no root needs may be switched on in a solution where it costs nothing
        here = stack.pop()
        if part[here] < 0:
            if picked[here] < 0:
                return None
            part[here] = picked[here]
            stack.extend(piece.children[picked[here]])
    return part

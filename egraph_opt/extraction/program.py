"""The 0/1 program of a piece, solved by HiGHS.

Columns: ``x[k]``, node k is chosen; ``y[c]``, class c is used.  Rows:

- the nodes of a class sum to its use: ``sum(x[k] for k in c) == y[c]``, and ``y == 1`` for the roots;
- what is used is there: for each class c and child d, ``sum(x[k] for k in c that use d) <= y[d]``;
- *loop rows* against cycles: for a set S of classes, ``y[c] <= sum(x[k] for k in ext(S))`` for each c in S,
  where ext(S) are the nodes of classes of S that use no class of S.  (In an acyclic solution, some used class
  of S comes before the others.)  They are as many as the caller asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import highspy
import numpy as np
import numpy.typing as npt

from egraph_opt.extraction.checking import better
from egraph_opt.extraction.piece import Choice, Piece
from egraph_opt.extraction.structure import Floats, Mask

TIE_NODES = 2_000
"""Larger programs are not solved again for ties."""

Loop = tuple[int, ...]
"""Classes on a cycle, sorted."""


@dataclass(frozen=True)
class Effort:
    """What one call of the solver may spend: counts, and seconds as an emergency stop.

    ``checks`` limits how often branch and bound, its cutting rounds at the root included, looks whether to go
    on: places in the algorithm, not in time.
    """

    mip_nodes: int = 1000
    checks: int | None = None
    simplex_iterations: int = 2_000_000
    seconds: float | None = None
    gap: float = 0.0


@dataclass(frozen=True)
class Answer:
    """What the solver found: a choice (maybe none, maybe cyclic), a bound, and how much work it was.

    ``work`` counts nodes in the program and simplex iterations, about 6,000 a second.
    """

    choice: Choice | None
    bound: float
    optimal: bool
    work: int


@dataclass(frozen=True)
class Rows:
    """Sparse rows ``lower <= a @ column <= upper``."""

    row: npt.NDArray[np.int64]
    column: npt.NDArray[np.int64]
    value: Floats
    lower: Floats
    upper: Floats


def structural_rows(piece: Piece, usable: Mask) -> Rows:
    """The rows for one node per class and for children, over the usable nodes only."""
    n, m = len(piece.nodes), len(piece.classes)
    nodes = np.flatnonzero(usable)
    node, child = piece.pairs
    keep = usable[node]
    node, child = node[keep], child[keep]
    keys, row = np.unique(piece.owners[node].astype(np.int64) * m + child, return_inverse=True)
    classes = np.arange(m)
    return Rows(
        row=np.concatenate([piece.owners[nodes], classes, m + row, m + np.arange(len(keys))]),
        column=np.concatenate([nodes, n + classes, node, n + keys % max(m, 1)]),
        value=np.concatenate([np.ones(len(nodes)), -np.ones(m), np.ones(len(node)), -np.ones(len(keys))]),
        lower=np.concatenate([np.zeros(m), np.full(len(keys), -np.inf)]),
        upper=np.zeros(m + len(keys)),
    )


def loop_rows(piece: Piece, loops: Iterable[Loop]) -> Rows:
    """The loop rows of each given set of classes."""
    row: list[int] = []
    column: list[int] = []
    value: list[float] = []
    count = 0
    for loop in loops:
        inside = set(loop)
        outer = [k for c in loop for k in piece.options[c] if inside.isdisjoint(piece.children[k])]
        for c in loop:  # with y[c] = sum of its nodes, those in ext(S) cancel
            own = [k for k in piece.options[c] if not inside.isdisjoint(piece.children[k])]
            others = [k for k in outer if piece.owner[k] != c]
            row += [count] * (len(own) + len(others))
            column += own + others
            value += [1.0] * len(own) + [-1.0] * len(others)
            count += 1
    return Rows(
        np.array(row, np.int64),
        np.array(column, np.int64),
        np.array(value),
        np.full(count, -np.inf),
        np.zeros(count),
    )


def solve(
    piece: Piece,
    rows: Sequence[Rows],
    usable: Mask,
    effort: Effort,
    *,
    relaxed: bool = False,
    start: Choice | None = None,
    objective: Floats | None = None,
    seed: int = 0,
) -> Answer:
    """Minimise the cost (or another ``objective`` over nodes) under the rows.

    ``relaxed`` drops integrality.  The bound is valid even where a limit stopped the solver.
    """
    n, m = len(piece.nodes), len(piece.classes)
    cost = np.array(piece.cost) if objective is None else objective
    scale = float(cost[usable].max(initial=0.0)) / 1000.0 or 1.0
    solver = _solver(effort, seed)
    solver.passModel(_model(piece, rows, usable, cost / scale, relaxed))
    if effort.checks is not None:
        _stop_after(solver, effort.checks)
    if start is not None and not relaxed:
        _offer(solver, piece, start, n, m)
    solver.run()
    return _answer(solver, piece, usable, scale, relaxed)


def relax(piece: Piece, rows: Sequence[Rows], effort: Effort) -> tuple[Floats | None, float]:
    """The values of the relaxation's columns (None where it was not solved to the end) and its cost."""
    cost = np.array(piece.cost)
    scale = float(cost.max(initial=0.0)) / 1000.0 or 1.0
    solver = _solver(effort, 0)
    solver.passModel(_model(piece, rows, np.ones(len(cost), np.bool_), cost / scale, True))
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None, 0.0
    return np.array(solver.getSolution().col_value), solver.getInfo().objective_function_value * scale


def solve_with_ties(
    piece: Piece,
    rows: Sequence[Rows],
    usable: Mask,
    effort: Effort,
    *,
    start: Choice | None = None,
    seed: int = 0,
) -> Answer:
    """`solve`, and once more for the smallest tie among the choices of that cost, where ties can differ."""
    answer = solve(piece, rows, usable, effort, start=start, seed=seed)
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
    )
    if again.choice is None or not better(piece.value(again.choice), value):
        return replace(answer, work=answer.work + again.work)
    return replace(answer, choice=again.choice, work=answer.work + again.work)


def _cost_row(piece: Piece, usable: Mask, limit: float) -> Rows:
    """No dearer than ``limit``, scaled so that the solver's tolerance is small beside it."""
    scale = limit / 1e4 or 1.0
    cost = np.minimum(np.array(piece.cost) / scale, 2e4)  # dearer nodes are out anyway, and spoil the scaling
    column = np.flatnonzero(usable & (cost > 0))
    value = cost[column]
    return Rows(
        np.zeros(len(column), np.int64),
        column.astype(np.int64),
        value,
        np.array([-np.inf]),
        np.array([limit / scale]),
    )


def _solver(effort: Effort, seed: int) -> highspy.Highs:
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    options: dict[str, bool | int | float | str] = {
        "output_flag": False,
        "threads": 1,
        "parallel": "off",
        "random_seed": seed % 2_000_000_000,
        "mip_rel_gap": max(effort.gap, 1e-9),
        "mip_abs_gap": 1e-9,
        "mip_max_nodes": effort.mip_nodes,
        "simplex_iteration_limit": effort.simplex_iterations,
    }
    if effort.seconds is not None:
        options["time_limit"] = max(effort.seconds, 0.0)
    for name, value in options.items():
        solver.setOptionValue(name, value)
    return solver


def _stop_after(solver: highspy.Highs, checks: int) -> None:
    left = checks

    def count(event: highspy.highs.HighsCallbackEvent) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            event.interrupt()

    solver.cbMipInterrupt.subscribe(count)


def _model(piece: Piece, rows: Sequence[Rows], usable: Mask, cost: Floats, relaxed: bool) -> highspy.HighsLp:
    n, m = len(piece.nodes), len(piece.classes)
    offsets = np.cumsum([0, *(len(block.lower) for block in rows)])
    row = np.concatenate([block.row + offset for block, offset in zip(rows, offsets, strict=False)])
    order = np.argsort(row, kind="stable")
    counts = np.bincount(row, minlength=int(offsets[-1]))
    forced = np.zeros(m)
    forced[piece.roots] = 1.0
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = n + m, int(offsets[-1])
    model.col_cost_ = np.concatenate([np.where(usable, cost, 0.0), np.zeros(m)])
    model.col_lower_ = np.concatenate([np.zeros(n), forced])
    model.col_upper_ = np.concatenate([usable.astype(np.float64), np.ones(m)])
    model.row_lower_ = np.concatenate([block.lower for block in rows])
    model.row_upper_ = np.concatenate([block.upper for block in rows])
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.num_col_, model.a_matrix_.num_row_ = n + m, int(offsets[-1])
    model.a_matrix_.start_ = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    model.a_matrix_.index_ = np.concatenate([block.column for block in rows])[order].astype(np.int32)
    model.a_matrix_.value_ = np.concatenate([block.value for block in rows])[order]
    if not relaxed:
        whole, part = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
        model.integrality_ = [whole] * n + [part] * m
    return model


def _offer(solver: highspy.Highs, piece: Piece, start: Choice, n: int, m: int) -> None:
    values = np.zeros(n + m)
    chosen = np.array(start)
    values[chosen[chosen >= 0]] = 1.0
    values[n:] = chosen >= 0
    solution = highspy.HighsSolution()
    solution.col_value = values
    solver.setSolution(solution)


def _answer(solver: highspy.Highs, piece: Piece, usable: Mask, scale: float, relaxed: bool) -> Answer:
    optimal = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    info = solver.getInfo()
    values = np.array(solver.getSolution().col_value)
    work = int(usable.sum()) + max(info.simplex_iteration_count, 0)
    if relaxed:
        bound = info.objective_function_value * scale if optimal else 0.0
        return Answer(None, bound, optimal, work)
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

"""Programs as HiGHS takes them, and what a run of it may spend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import highspy
import numpy as np

from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.programs.rows import Rows
from egraph_opt.extraction.structure import Floats, Mask


@dataclass(frozen=True)
class Effort:
    """What one call of the solver may spend: counts, and seconds as an emergency stop.

    ``checks`` limits how often branch and bound, its cutting rounds at the root included, looks whether to go
    on: places in the algorithm, not in time; ``root_checks`` how often before it branches, where each may
    take as long as many later.  ``stop`` is called there, too, and between simplex iterations.
    ``heuristics`` is the share of branch and bound that looks for better solutions.
    """

    mip_nodes: int = 1000
    checks: int | None = None
    root_checks: int | None = None
    simplex_iterations: int = 2_000_000
    seconds: float | None = None
    gap: float = 0.0
    heuristics: float = 0.05
    stop: Callable[[], bool] | None = None


def cost_scale(cost: Floats) -> float:
    """What costs are divided by, so that the solver's tolerances are small beside the largest."""
    return float(cost.max(initial=0.0)) / 1000.0 or 1.0


def solver_of(effort: Effort, seed: int) -> highspy.Highs:
    """A solver on one thread, which gives the same answer every time unless the seconds run out."""
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    options: dict[str, bool | int | float | str] = {
        "output_flag": False,
        "threads": 1,
        "parallel": "off",
        "random_seed": seed % 2_000_000_000,
        "mip_rel_gap": max(effort.gap, 1e-9),
        "mip_abs_gap": 1e-9,
        "mip_heuristic_effort": effort.heuristics,
        "mip_max_nodes": effort.mip_nodes,
        "mip_allow_restart": False,  # which begins again with cuts that it had
        "simplex_iteration_limit": effort.simplex_iterations,
    }
    if effort.seconds is not None:
        options["time_limit"] = max(effort.seconds, 0.0)
    for name, value in options.items():
        solver.setOptionValue(name, value)
    if effort.checks is not None:
        _stop_after(solver, effort.checks, effort.root_checks or effort.checks)
    if effort.stop is not None:
        _stop_when(solver, effort.stop)
    return solver


def _stop_after(solver: highspy.Highs, checks: int, at_root: int) -> None:
    done = 0

    def count(event: highspy.highs.HighsCallbackEvent) -> None:
        nonlocal done
        done += 1
        if done > checks or (done > at_root and event.data_out.mip_node_count == 0):
            event.interrupt()

    solver.cbMipInterrupt.subscribe(count)


def _stop_when(solver: highspy.Highs, stop: Callable[[], bool]) -> None:
    """End the run when asked to; Python's signal handlers run in here, too, while the solver is at work."""

    def ask(event: highspy.highs.HighsCallbackEvent) -> None:
        if stop():
            event.interrupt()

    solver.cbMipInterrupt.subscribe(ask)
    solver.cbSimplexInterrupt.subscribe(ask)


def model_of(
    piece: Piece, rows: Sequence[Rows], usable: Mask, cost: Floats, *, columns: int = 0, relaxed: bool = False
) -> highspy.HighsLp:
    """The program, with so many further columns; ``relaxed`` drops integrality."""
    n, m = len(piece.nodes), len(piece.classes) + columns
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

"""HiGHS: what a run of it may spend, and what it says, which nobody believes before `trust` looked.

Silence of libraries that write to the standard output themselves, where answers of ours are read.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import highspy
import numpy as np

from egraph_opt.extraction.programs.linear import LinearProgram, Rows
from egraph_opt.extraction.programs.trust import Statement, Trust
from egraph_opt.extraction.structure import Floats, Ints


@dataclass(frozen=True)
class Effort:
    """What one call of the solver may spend: counts, and seconds as an emergency stop.

    ``checks`` limits how often branch and bound, its cutting rounds at the root included, looks whether to go
    on: places in the algorithm, not in time.  ``stop`` is called there, too, and between simplex iterations.
    ``trust`` is what is left of it in the solver, for this piece.
    """

    mip_nodes: int = 1000
    checks: int | None = None
    simplex_iterations: int = 2_000_000
    seconds: float | None = None
    gap: float = 0.0
    stop: Callable[[], bool] | None = None
    trust: Trust = field(default_factory=Trust)


class ProgramSolver:
    """One program in the solver, on one thread: the same answer every time unless the seconds run out.

    Attributes:
        program, integers: what is solved.
        first: the solution that it starts from, if there is one.
        raised: what ``effort.stop`` raised during a run, which is the caller's and no failure of the solver.
    """

    def __init__(self, program: LinearProgram, effort: Effort, *, seed: int = 0, integers: int = 0) -> None:
        """Take a program whose first ``integers`` columns are whole numbers; 0 for a linear program."""
        self.program, self.integers = program, integers
        self.first: Floats | None = None
        self.raised: BaseException | None = None
        self._effort = effort
        self._deadline = None if effort.seconds is None else time.monotonic() + effort.seconds
        self._solver: highspy.Highs | None = None
        self._todo: list[Callable[[highspy.Highs], object]] = [
            lambda solver: self._set_up(solver, seed),
            lambda solver: solver.passModel(_model(program, integers)),
        ]

    def add(self, rows: Rows) -> None:
        """Add rows."""
        order = np.argsort(rows.row, kind="stable")
        starts = np.searchsorted(rows.row[order], np.arange(len(rows.lower))).astype(np.int32)
        entries = rows.column[order].astype(np.int32), rows.value[order]
        count = len(rows.lower)
        self._todo.append(
            lambda solver: solver.addRows(count, rows.lower, rows.upper, len(order), starts, *entries)
        )

    def bound(self, columns: Ints, lower: Floats, upper: Floats) -> None:
        """Change the bounds of columns."""
        self._todo.append(lambda solver: solver.changeColsBounds(len(columns), columns, lower, upper))

    def price(self, cost: Floats) -> None:
        """Change the costs of all columns."""
        places = np.arange(len(cost), dtype=np.int32)
        self._todo.append(lambda solver: solver.changeColsCost(len(cost), places, cost))

    def start(self, values: Floats) -> None:
        """Begin with a value for every column."""
        self.first = values
        places = np.arange(len(values), dtype=np.int32)
        self._todo.append(lambda solver: solver.setSolution(len(values), places, values))

    def run(self) -> Statement:
        """Solve it as it is now, from where the last run ended."""
        with quiet():
            if self._solver is None:
                self._solver = highspy.Highs()  # type: ignore[no-untyped-call]
            for change in self._todo:
                change(self._solver)
            self._todo.clear()
            if self._deadline is not None:
                left = max(0.0, self._deadline - time.monotonic())
                self._solver.setOptionValue("time_limit", self._solver.getRunTime() + left)
            self._solver.run()
        status, info = self._solver.getModelStatus(), self._solver.getInfo()
        solution = self._solver.getSolution()
        feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        return Statement(
            optimal=status == highspy.HighsModelStatus.kOptimal,
            infeasible=status == highspy.HighsModelStatus.kInfeasible,
            objective=info.objective_function_value,
            bound=info.mip_dual_bound if self.integers else info.objective_function_value,
            values=np.array(solution.col_value if feasible else ()),
            multipliers=np.array(solution.row_dual if solution.dual_valid and not self.integers else ()),
            work=max(info.simplex_iteration_count, 0),
        )

    def _set_up(self, solver: highspy.Highs, seed: int) -> None:
        effort = self._effort
        options: dict[str, bool | int | float | str] = {
            "output_flag": False,
            "threads": 1,
            "parallel": "off",
            "random_seed": seed % 2_000_000_000,
            "mip_rel_gap": max(effort.gap, 1e-9),
            "mip_abs_gap": 1e-9,
            "mip_max_nodes": effort.mip_nodes,
            "mip_allow_restart": False,  # which begins again with cuts that it had
            "simplex_iteration_limit": effort.simplex_iterations,
        }
        for name, value in options.items():
            solver.setOptionValue(name, value)
        if effort.checks is not None:
            _stop_after(solver, effort.checks)
        if effort.stop is not None:
            self._stop_when(solver, effort.stop)

    def _stop_when(self, solver: highspy.Highs, stop: Callable[[], bool]) -> None:
        """End a run when asked to; Python's signal handlers run in here, too, while the solver is at work."""

        def ask(event: highspy.highs.HighsCallbackEvent) -> None:
            try:
                stopped = stop()
            except BaseException as error:
                self.raised = error
                raise
            if stopped:
                event.interrupt()

        solver.cbMipInterrupt.subscribe(ask)
        solver.cbSimplexInterrupt.subscribe(ask)


def _stop_after(solver: highspy.Highs, checks: int) -> None:
    done = 0

    def count(event: highspy.highs.HighsCallbackEvent) -> None:
        nonlocal done
        done += 1
        if done > checks:
            event.interrupt()

    solver.cbMipInterrupt.subscribe(count)


def _model(program: LinearProgram, integers: int) -> highspy.HighsLp:
    columns, count = len(program.cost), program.n_rows
    row, column, value = program.entries
    order = np.argsort(row, kind="stable")
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = columns, count
    model.col_cost_ = program.cost / program.scale
    model.col_lower_, model.col_upper_ = program.lower, program.upper
    model.row_lower_, model.row_upper_ = program.sides
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.num_col_, model.a_matrix_.num_row_ = columns, count
    starts = np.cumsum(np.bincount(row, minlength=count))
    model.a_matrix_.start_ = np.concatenate([[0], starts]).astype(np.int32)
    model.a_matrix_.index_ = column[order].astype(np.int32)
    model.a_matrix_.value_ = value[order]
    if integers:
        whole, part = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
        model.integrality_ = [whole] * integers + [part] * (columns - integers)
    return model


STDOUT = 1

_lock = threading.Lock()
_depth = 0
_kept = -1


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Whatever is written to the file descriptor of stdout meanwhile, by C code as well, is dropped.

    HiGHS 1.16 prints its name there before any option can forbid it.  Threads may be in here together; the
    descriptor comes back with the last of them.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _depth, _kept
    with _lock:
        _depth += 1
        if _depth > 1:
            return
        _flush()
        try:
            _kept = os.dup(STDOUT)
        except OSError:  # there is no stdout
            _kept = -1
            return
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, STDOUT)
        os.close(sink)


def _leave() -> None:
    global _depth, _kept
    with _lock:
        _depth -= 1
        if _depth or _kept < 0:
            return
        _flush_c()
        os.dup2(_kept, STDOUT)
        os.close(_kept)
        _kept = -1


def _flush() -> None:
    """What was written before is not lost."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    _flush_c()


def _flush_c() -> None:
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)

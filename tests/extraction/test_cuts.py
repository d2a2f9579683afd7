"""Cycle cuts, relaxations and branches: they cut cycles off and nothing else, and bound from below."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from egraph_opt.extraction.dynamic_programming.frontier import dynamic_program
from egraph_opt.extraction.heuristics.greedy import greedy
from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.presolve.presolve import presolve
from egraph_opt.extraction.programs import cutting_planes
from egraph_opt.extraction.programs.cut_separation import separate_cuts
from egraph_opt.extraction.programs.cutting_planes import mutual_pairs, prove
from egraph_opt.extraction.programs.landmark_cuts import landmark_cuts
from egraph_opt.extraction.programs.linear import CycleCut, Rows, cycle_cut_rows, cycle_cuts, structural_rows
from egraph_opt.extraction.programs.program import Relaxation
from egraph_opt.extraction.programs.solver import Effort
from egraph_opt.extraction.structure import Floats

from .egraphs import all_solutions, optimum, tangled_problem
from .test_contraction import pieces


def held(rows: Rows, values: Floats) -> bool:
    sums = np.bincount(rows.row, rows.value * values[rows.column], minlength=len(rows.lower))
    return bool(((sums >= rows.lower - 1e-9) & (sums <= rows.upper + 1e-9)).all())


def columns_of(piece: Piece, choice: np.ndarray) -> Floats:
    values = np.zeros(len(piece.nodes) + len(piece.classes))
    values[choice[choice >= 0]] = 1.0
    values[len(piece.nodes) :] = choice >= 0
    return values


def cyclic_pieces(count: int) -> list[Piece]:
    return [piece for piece in pieces(count, cyclic=True, classes=7) if len(piece.cyclic_pairs[0])]


def test_every_cycle_cut_holds_for_every_solution() -> None:
    rows = 0
    for piece in cyclic_pieces(60):
        size = min(len(piece.classes), 5)
        sets = [s for k in range(2, size + 1) for s in itertools.combinations(range(size), k)]
        wanted = cycle_cut_rows(piece, cycle_cuts(sets))
        rows += len(wanted.lower)
        for choice in all_solutions(piece.problem):
            assert held(wanted, columns_of(piece, choice))
    assert rows > 100


def relaxation_of(piece: Piece) -> Relaxation:
    usable = np.ones(len(piece.nodes), np.bool_)
    return Relaxation(piece, [structural_rows(piece, usable)], usable, Effort())


def test_separation_bounds_from_below_and_finds_rows_that_help() -> None:
    raised = 0
    for piece in cyclic_pieces(100):
        known: dict[CycleCut, None] = {}
        before = separate_cuts(piece, relaxation_of(piece), {}, rounds=1).bound
        after = separate_cuts(piece, relaxation_of(piece), known, rounds=50)
        assert after.done
        best = optimum(piece.problem)
        assert best is not None
        assert before <= after.bound
        assert piece.lower(after.bound) <= best[0]
        raised += after.bound > before
    assert raised > 5


def test_what_multipliers_prove_is_never_above_the_optimum_whatever_they_are() -> None:
    random, proved = np.random.default_rng(0), 0
    for piece in cyclic_pieces(60):
        best = optimum(piece.problem)
        assert best is not None
        relaxation = relaxation_of(piece)
        relaxed = relaxation.solve()
        assert relaxed is not None
        assert piece.lower(relaxed.bound) <= best[0]
        count = relaxation.program.n_rows
        choices = [np.asarray(choice) for choice in all_solutions(piece.problem)]
        solutions = [(choice[choice >= 0], piece.price_of(choice.tolist())) for choice in choices]
        for size in (0.0, 1.0, 1e3, 1e9, 1e30):
            bound, left = relaxation.program.dual_bound(random.normal(size=count) * size)
            assert bound <= piece.price_of(piece.used(greedy(piece)))
            assert piece.lower(bound) <= best[0]
            assert all(bound + left[nodes].max() <= price for nodes, price in solutions)
        proved += piece.lower(relaxed.bound) == pytest.approx(best[0])
    assert proved > 5


def test_branching_proves_what_dynamic_programming_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        cutting_planes, "landmark_cuts", lambda piece, late: landmark_cuts(piece, late, steps=0)
    )
    monkeypatch.setattr(cutting_planes, "SEPARATIONS", 1)
    branched = 0
    for seed in range(60):
        for piece in presolve(tangled_problem(seed, classes=9), None).pieces:
            start = piece.used(greedy(piece))
            root = prove(piece, start, parts=0, effort=Effort, seed=0)
            found = prove(piece, start, parts=1000, effort=Effort, seed=0)
            solved = dynamic_program(piece, 1_000_000)
            assert solved is not None
            best = piece.value(solved)[0]
            assert root.bound <= found.bound <= best * (1 + 1e-12)
            assert found.bound == pytest.approx(best, rel=1e-9)
            assert piece.value(found.choice)[0] == pytest.approx(best, rel=1e-9)
            branched += root.bound < best * (1 - 1e-6)
    assert branched > 30


def test_bounds_of_a_proof_that_is_cut_short_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    open_still = 0
    for seed in range(40):
        for piece in presolve(tangled_problem(seed, classes=9), None).pieces:
            solved = dynamic_program(piece, 1_000_000)
            assert solved is not None
            best = piece.value(solved)[0]
            for parts in range(4):
                found = prove(piece, piece.used(greedy(piece)), parts=parts, effort=Effort, seed=0)
                assert found.bound <= best * (1 + 1e-12)
                open_still += found.bound < best * (1 - 1e-9)
    assert open_still > 10


def test_no_program_is_begun_once_the_work_is_done() -> None:
    (piece, *_) = cyclic_pieces(50)
    start = piece.used(greedy(piece))
    assert prove(piece, start, parts=1000, effort=Effort, seed=0, work=0).choice == start
    assert mutual_pairs(piece) == sorted(mutual_pairs(piece))

"""Cycle cuts and precedence: they cut cycles off and nothing else."""

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
from egraph_opt.extraction.programs.highs import Effort
from egraph_opt.extraction.programs.precedence import precedence
from egraph_opt.extraction.programs.program import solve
from egraph_opt.extraction.programs.relaxation import Relaxation
from egraph_opt.extraction.programs.rows import CycleCut, Rows, cycle_cut_rows, cycle_cuts, structural_rows
from egraph_opt.extraction.structure import Floats

from .egraphs import Node, all_solutions, leafy_problem, optimum, problem_of
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


def test_separation_bounds_from_below_and_finds_rows_that_help() -> None:
    raised = 0
    for piece in cyclic_pieces(100):
        usable = np.ones(len(piece.nodes), np.bool_)
        structure = structural_rows(piece, usable)
        known: dict[CycleCut, None] = {}
        before = separate_cuts(piece, structure, usable, known, Effort(), rounds=1).bound
        after = separate_cuts(piece, structure, usable, known, Effort(), rounds=50)
        rows = [structure, cycle_cut_rows(piece, after.binding)]
        needed = Relaxation(piece, rows, usable, Effort()).solve()
        assert needed is not None
        assert needed.cost == pytest.approx(after.bound)
        best = optimum(piece.problem)
        assert best is not None
        assert before <= after.bound + 1e-9
        assert after.bound <= best[0] + 1e-6
        raised += after.bound > before + 1e-6
    assert raised > 5


def test_programs_with_precedence_give_acyclic_optima() -> None:
    compared = 0
    for piece in cyclic_pieces(100):
        orders = precedence(piece, 10_000)
        assert orders is not None
        usable = np.ones(len(piece.nodes), np.bool_)
        rows = [structural_rows(piece, usable), orders.rows]
        answer = solve(piece, rows, usable, Effort(), columns=orders.columns)
        assert answer.choice is not None
        assert piece.order(answer.choice) is not None
        best = optimum(piece.problem)
        assert best is not None
        assert piece.value(answer.choice)[0] == pytest.approx(best[0])
        assert answer.bound == pytest.approx(best[0])
        compared += 1
    assert compared > 50


def test_a_ring_needs_precedence_only_of_neighbours() -> None:
    count = 60
    nodes: list[Node] = [(here, ((here + 1) % count,), 1.0, 0.0) for here in range(count)]
    nodes += [(here, (), 100.0, 0.0) for here in range(count)]
    (piece,) = presolve(problem_of(nodes, [0, 7]), None, at_any_cost=True).pieces
    orders = precedence(piece, 10_000)
    assert orders is not None
    assert len(orders.rows.lower) < 4 * count
    assert precedence(piece, count) is None


def test_proofs_go_on_with_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting_planes, "CYCLE_CUTS_FIRST", 0)
    for seed in range(60):
        problem = leafy_problem(seed, cyclic=True, classes=8)
        for piece in presolve(problem, None).pieces:
            found = prove(piece, piece.used(greedy(piece)), rounds=5, effort=Effort, seed=0)
            assert piece.value(found.choice)[0] == pytest.approx(found.bound)
            solved = dynamic_program(piece, 100_000)
            assert solved is not None
            assert found.bound == pytest.approx(piece.value(solved)[0])


def test_no_program_is_begun_once_the_work_is_done() -> None:
    (piece, *_) = cyclic_pieces(50)
    start = piece.used(greedy(piece))
    assert prove(piece, start, rounds=5, effort=Effort, seed=0, work=0).choice == start
    assert mutual_pairs(piece) == sorted(mutual_pairs(piece))

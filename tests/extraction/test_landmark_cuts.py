"""Landmark cuts and entrance cuts: they hold for every solution, and bound the optimum from below."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from egraph_opt.extraction.heuristics.greedy import greedy
from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.presolve.presolve import presolve
from egraph_opt.extraction.programs.cut_separation import entrances
from egraph_opt.extraction.programs.cutting_planes import prove
from egraph_opt.extraction.programs.landmark_cuts import landmark_cuts
from egraph_opt.extraction.programs.linear import cycle_cut_rows, structural_rows
from egraph_opt.extraction.programs.program import Relaxation
from egraph_opt.extraction.programs.solver import Effort

from .egraphs import Node, all_solutions, optimum, problem_of
from .test_contraction import pieces
from .test_cuts import columns_of, held


def some_pieces(count: int) -> Iterator[Piece]:
    for cyclic in (False, True):
        yield from pieces(count, cyclic=cyclic, classes=7)


def test_every_landmark_cut_holds_for_every_solution() -> None:
    cuts = 0
    for piece in some_pieces(40):
        rows = cycle_cut_rows(piece, landmark_cuts(piece).cuts)
        cuts += len(rows.lower)
        for choice in all_solutions(piece.problem):
            assert held(rows, columns_of(piece, choice))
    assert cuts > 80


def test_the_bound_is_below_the_optimum_and_often_equal() -> None:
    equal, compared = 0, 0
    for piece in some_pieces(60):
        best = optimum(piece.problem)
        assert best is not None
        found = landmark_cuts(piece)
        assert found.bound <= best[0] * (1 + 1e-12)
        assert (found.left >= 0).all()
        equal += found.bound == pytest.approx(best[0])
        compared += 1
    assert equal > compared / 2


def test_what_is_left_of_a_cost_leaves_out_no_solution_that_is_good_enough() -> None:
    left_out = 0
    for piece in some_pieces(30):
        found = landmark_cuts(piece)
        best = optimum(piece.problem)
        assert best is not None
        for cost in (best[0], best[0] * 1.2, best[0] * 2):
            usable = found.usable(cost)
            left_out += int((~usable).sum())
            for choice in all_solutions(piece.problem):
                chosen = choice[choice >= 0]
                if piece.problem.cost[chosen].sum() <= cost:
                    assert usable[chosen].all()
    assert left_out > 30


def test_costs_of_any_size_give_a_bound() -> None:
    for scale in (1e-305, 1e-9, 1e9, 1e300):
        for piece in some_pieces(5):
            scaled = replace(piece, cost=[cost * scale for cost in piece.cost])
            assert landmark_cuts(scaled).bound == pytest.approx(landmark_cuts(piece).bound * scale)


def test_it_stops_when_it_is_late_or_has_taken_its_steps() -> None:
    piece = next(found for found in some_pieces(50) if len(landmark_cuts(found).cuts) > 1)
    assert landmark_cuts(piece, late=lambda: True).cuts == []
    assert landmark_cuts(piece, steps=0).bound == 0.0


def test_entrance_cuts_hold_for_every_solution_and_are_violated() -> None:
    found = 0
    for piece in some_pieces(60):
        usable = np.ones(len(piece.nodes), np.bool_)
        relaxed = Relaxation(piece, [structural_rows(piece, usable)], usable, Effort()).solve()
        assert relaxed is not None
        cuts = entrances(piece, *np.split(relaxed.values, [len(piece.nodes)]))
        rows = cycle_cut_rows(piece, cuts)
        for choice in all_solutions(piece.problem):
            assert held(rows, columns_of(piece, choice))
        for number in range(len(cuts)):
            here = rows.row == number
            assert (rows.value[here] * relaxed.values[rows.column[here]]).sum() > 1e-3
        found += len(cuts)
    assert found > 8


def ladder(steps: int) -> Piece:
    """A network of steps, each with two forms that convert to each other, and kernels of one or two steps.

    Its relaxation uses a little of everything: every kernel leads to half of what the next ones need.
    """
    nodes: list[Node] = [(0, (), 1.0, 0.0), (1, (0,), 3.0, 0.0)]
    for step in range(1, steps):
        plain, laid = 2 * step, 2 * step + 1
        nodes += [(plain, (laid,), 2.0, 0.0), (laid, (plain,), 2.0, 0.0)]
        nodes += [(plain, (plain - 2,), 5.0, 0.0), (laid, (laid - 2,), 4.0, 0.0)]
        if step > 1:
            nodes += [(plain, (plain - 4,), 8.5, 0.0), (laid, (laid - 4, plain - 2), 4.5, 0.0)]
    (piece,) = presolve(problem_of(nodes, [2 * steps - 2]), None, at_any_cost=True).pieces
    return piece


def test_a_ladder_of_formats_is_proved_by_its_landmarks_alone() -> None:
    piece = ladder(40)
    found = prove(piece, piece.used(greedy(piece)), parts=0, effort=Effort, seed=0)
    best = prove(piece, found.choice, parts=1000, effort=Effort, seed=0)
    assert piece.value(best.choice)[0] == pytest.approx(best.bound)
    assert found.bound == pytest.approx(best.bound, rel=0.02)

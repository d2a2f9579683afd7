"""What contraction leaves of a piece has the piece's optimum; landmarks are in all solutions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from egraph_opt.extraction.dynamic_programming.frontier import dynamic_program
from egraph_opt.extraction.heuristics.greedy import greedy
from egraph_opt.extraction.piece import Choice, Found, Piece
from egraph_opt.extraction.presolve.contraction import contract
from egraph_opt.extraction.presolve.dominance import landmarks, members, needs_of
from egraph_opt.extraction.presolve.presolve import presolve
from egraph_opt.extraction.programs.cutting_planes import prove
from egraph_opt.extraction.programs.landmark_cuts import landmark_cuts
from egraph_opt.extraction.programs.solver import Effort
from egraph_opt.extraction.strategies.steps import solve_decomposed

from .egraphs import all_solutions, leafy_problem, problem_of, random_problem, residual


def pieces(count: int, cyclic: bool, classes: int = 12) -> list[Piece]:
    """The undecided pieces of random problems."""
    problems = [leafy_problem(seed, cyclic, classes) for seed in range(count)]
    return [piece for problem in problems for piece in presolve(problem, None).pieces]


def best_of(piece: Piece) -> Choice:
    best = dynamic_program(piece, 1_000_000)
    assert best is not None
    return best


@pytest.mark.parametrize("cyclic", [True, False])
@pytest.mark.parametrize("ties", [True, False])
def test_the_optimum_stays(cyclic: bool, ties: bool) -> None:
    shrunk = 0
    for whole in pieces(150, cyclic):
        piece = whole if ties else replace(whole, tie=[0.0] * len(whole.nodes))
        contracted = contract(piece, piece.used(greedy(piece)))
        choice = contracted.postsolve([best_of(part) for part in contracted.pieces])
        assert piece.order(choice) is not None
        assert piece.value(choice) == pytest.approx(piece.value(best_of(piece)))
        shrunk += sum(len(part.nodes) for part in contracted.pieces) < len(piece.nodes)
    assert shrunk > 50


@pytest.mark.parametrize("late", [True, False])
def test_the_optimum_stays_among_the_nodes_that_a_better_solution_may_have(late: bool) -> None:
    left_out = 0
    for piece in pieces(150, cyclic=True):
        start = piece.used(greedy(piece))
        usable = landmark_cuts(piece).usable(piece.value(start)[0])
        contracted = contract(piece, start, lambda: late, usable)
        choice = contracted.postsolve([best_of(part) for part in contracted.pieces])
        assert piece.order(choice) is not None
        assert piece.value(choice) == pytest.approx(piece.value(best_of(piece)))
        assert all(usable[node] for node in choice if node >= 0)
        left_out += int((~usable).sum())
    assert left_out > 50


def test_the_start_stays_a_solution_that_costs_no_more() -> None:
    for piece in pieces(150, cyclic=True):
        start = piece.used(greedy(piece))
        contracted = contract(piece, start)
        kept = [part.incumbent for part in contracted.pieces]
        choice = contracted.postsolve([row for row in kept if row is not None])
        assert len([row for row in kept if row is not None]) == len(contracted.pieces)
        assert piece.order(choice) is not None
        cost, tie = piece.value(start)
        assert piece.value(choice) <= (cost + 1e-9, tie)


def test_parts_add_up_to_a_bound_and_a_solution() -> None:
    def solve(part: Piece, share: float, left: float) -> Found:
        assert 0 < share <= 1
        assert left >= 0
        return prove(part, part.used(greedy(part)), parts=1000, effort=Effort, seed=0)

    for piece in pieces(60, cyclic=True):
        found = solve_decomposed(piece, piece.used(greedy(piece)), solve, best_of, lambda: False)
        best = piece.value(best_of(piece))
        assert piece.value(found.choice) == pytest.approx(best)
        assert found.bound == pytest.approx(best[0])


def test_classes_that_convert_into_each_other_for_nothing_become_one() -> None:
    problem, _ = residual(40)
    free = replace(problem, cost=np.where(problem.cost == 0.5, 0.0, problem.cost))
    pieces = presolve(free, None).pieces
    left = [contract(piece, piece.used(greedy(piece))) for piece in pieces]
    assert sum(len(piece.nodes) for piece in pieces) > 100
    assert not [part for contracted in left for part in contracted.pieces]


def test_landmarks_are_in_every_solution() -> None:
    some = 0
    for seed in range(300):
        problem = random_problem(seed, cyclic=True, max_classes=7)
        options: list[list[int]] = [[] for _ in range(problem.n_classes)]
        for node in np.flatnonzero(np.isfinite(problem.cost)).tolist():
            options[problem.node_class[node]].append(node)
        sets = landmarks(options, [problem.children(node).tolist() for node in range(problem.n_nodes)])
        needs = needs_of(sets, problem.roots.tolist())
        solutions = all_solutions(problem)
        assert bool(solutions) == (needs >= 0)
        for choice in solutions:
            assert (choice[members(needs)] >= 0).all()
        some += bool(solutions) and len(members(needs)) > len(problem.roots)
    assert some > 30


def test_what_needs_its_own_class_has_all_landmarks() -> None:
    # 1 is built by 2 or alone; 2 only by 1; so the node of 1 that uses 2 is in no solution
    nodes = [(0, (1, 2), 1.0, 0.0), (0, (), 99.0, 0.0), (1, (2,), 0.0, 0.0), (1, (3,), 5.0, 0.0)]
    nodes += [(2, (1,), 1.0, 0.0), (3, (), 1.0, 0.0), (3, (1,), 0.5, 0.0)]
    problem = problem_of(nodes, [0])
    options = [[0, 1], [2, 3], [4], [5, 6]]
    sets = landmarks(options, [problem.children(node).tolist() for node in range(7)])
    assert [members(row) for row in sets] == [[0], [1, 3], [1, 2, 3], [3]]
    assert needs_of(sets, [2]) >> 1 & 1

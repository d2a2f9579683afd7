"""Presolve keeps the optimum, and takes away what it should."""

from __future__ import annotations

import numpy as np
import pytest

from egraph_opt.extraction.dynamic_programming.frontier import dynamic_program
from egraph_opt.extraction.presolve.presolve import presolve

from .egraphs import Node, optimum, problem_of, random_problem


def test_dominated_self_referring_and_unreachable_nodes_go() -> None:
    nodes = [
        (0, (1,), 1.0, 0.0),
        (0, (1, 2), 1.0, 0.0),  # a superset of the children, no cheaper
        (0, (0,), 0.0, 0.0),  # itself
        (0, (3,), 9.0, 0.0),
        (1, (), 1.0, 0.0),
        (1, (), 2.0, 0.0),
        (2, (), 1.0, 0.0),
        (3, (), 1.0, 0.0),
        (4, (), 1.0, 0.0),  # no node uses it
    ]
    presolved = presolve(problem_of(nodes, [0]), None)
    (piece,) = presolved.pieces
    assert sorted(piece.nodes) == [0, 3, 4, 7]
    assert presolved.floor == 1.0


def test_a_node_of_the_incumbent_is_kept_unless_another_is_better_or_needs_less() -> None:
    nodes = [(0, (), 1.0, 0.0), (0, (), 1.0, 0.0), (0, (1,), 1.0, 0.0), (1, (), 0.0, 0.0)]
    problem = problem_of(nodes, [0])
    assert presolve(problem, np.array([1, -1])).fixed.tolist() == [1, -1]
    assert presolve(problem, np.array([2, 3])).fixed.tolist() == [0, -1]
    assert presolve(problem, None).fixed.tolist() == [0, -1]


def test_forced_classes_cut_a_chain_into_pieces() -> None:
    nodes: list[Node] = []
    for here in range(10):  # a step in two ways that need classes of their own, between forced classes
        base = 3 * here
        below = (base + 3,) if here < 9 else ()
        nodes += [(base, (base + 1,), 1.0, 0.0), (base, (base + 2,), 2.0, 0.0)]
        nodes += [(base + 1, below, 2.0, 0.0), (base + 2, below, 1.5, 0.0)]
    presolved = presolve(problem_of(nodes, list(range(0, 30, 3))), None)
    assert len(presolved.pieces) == 10
    assert presolved.floor == 10.0


@pytest.mark.parametrize("cyclic", [False, True])
def test_the_optimum_of_the_pieces_is_the_optimum_of_the_whole(cyclic: bool) -> None:
    solved = 0
    for seed in range(1000, 1200):
        problem = random_problem(seed, cyclic)
        best = optimum(problem)
        if best is None:
            continue
        presolved = presolve(problem, None)
        assert presolved.floor <= best[0] + 1e-9
        choices = [dynamic_program(piece, 100_000) for piece in presolved.pieces]
        choice = presolved.postsolve([found for found in choices if found is not None])
        nodes = choice[choice >= 0]
        assert (problem.cost[nodes].sum(), problem.tie[nodes].sum()) == pytest.approx(best)
        solved += 1
    assert solved > 60

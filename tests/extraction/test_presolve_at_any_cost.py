"""What is left out of a problem before it is priced changes no solution, whatever the prices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from egraph_opt.errors import ExtractionError
from egraph_opt.extraction import check, extract
from egraph_opt.extraction.presolve.presolve import presolve_at_any_cost

from .egraphs import optimum, random_problem, residual


@pytest.mark.parametrize("cyclic", [False, True])
def test_reduced_problems_have_the_optimum_of_the_whole_at_any_prices(cyclic: bool) -> None:
    rng = np.random.default_rng(3)
    solved = smaller = 0
    for seed in range(150):
        problem = random_problem(seed, cyclic)
        if optimum(problem) is None:
            with pytest.raises(ExtractionError, match="class"):
                presolve_at_any_cost(problem)
            continue
        reduced = presolve_at_any_cost(problem)
        smaller += len(reduced.node) < problem.n_nodes
        for _ in range(3):
            cost = np.where(np.isfinite(problem.cost), rng.integers(0, 5, problem.n_nodes), np.inf)
            priced = replace(problem, cost=cost)
            found = reduced.lift(extract(reduced.at(cost), "exact"), cost)
            check(priced, found)
            best = optimum(priced)
            assert best is not None
            assert found.cost == pytest.approx(best[0]) and found.proved, seed
            solved += 1
    assert solved > 150
    assert smaller > 50


def test_choices_go_down_and_up_again() -> None:
    gone = 0
    for seed in range(150):
        problem = random_problem(seed, cyclic=True)
        if optimum(problem) is None:
            continue
        reduced = presolve_at_any_cost(problem)
        choice = extract(problem, "tree").choice
        small = reduced.down(choice)
        assert small is not None
        np.testing.assert_array_equal(reduced.up(small), choice)
        assert reduced.down(None) is None
        assert reduced.down(choice[:-1]) is None
        lost = np.where(reduced.problem.roots.size > 0, -1, choice)
        gone += reduced.problem.roots.size > 0 and reduced.down(lost) is None
    assert gone > 30


def test_bounds_of_what_is_settled_are_added() -> None:
    problem, _ = residual(30)
    reduced = presolve_at_any_cost(problem)
    greedy = reduced.lift(extract(reduced.at(problem.cost), "greedy-dag"), problem.cost)
    check(problem, greedy)
    assert 0 < greedy.lower_bound <= extract(problem, "exact").cost <= greedy.cost

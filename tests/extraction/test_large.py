"""Long and large problems: deep graphs do not recurse, and memory grows with the size, not its square."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from egraph_opt.errors import ExtractionError
from egraph_opt.extraction import EXTRACTORS, ExtractionProblem, check, extract
from egraph_opt.extraction.dynamic_programming import component_solutions
from egraph_opt.extraction.dynamic_programming.component_solutions import (
    ComponentForm,
    LocalSolution,
    StepBudget,
)

from .egraphs import Node, chain, problem_of, residual


@pytest.mark.parametrize("name", sorted(EXTRACTORS))
def test_a_chain_of_twenty_thousand(name: str) -> None:
    problem = chain(20_000)
    solution = extract(problem, name)
    check(problem, solution)
    assert solution.cost == 20_000.0


def test_the_greedy_choice_takes_memory_in_proportion_to_the_chain() -> None:
    def coupled(length: int) -> ExtractionProblem:  # a second way to each value keeps the chain in one piece
        nodes: list[Node] = [(0, (), 1.0, 0.0), (1, (), 1.0, 0.0)]
        for here in range(2, length):
            nodes += [(here, (here - 1,), 1.0, 0.0), (here, (here - 2,), 2.5, 0.0)]
        return problem_of(nodes, [length - 1])

    peaks = []
    for length in (2_000, 16_000):
        problem = coupled(length)
        tracemalloc.start()
        extract(problem, "greedy-dag")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 12 * peaks[0]


@pytest.mark.parametrize("name", ["auto", "exact"])
@pytest.mark.parametrize("layers", [300, 3_000])
def test_a_residual_network_in_two_layouts_is_solved_to_the_optimum(name: str, layers: int) -> None:
    problem, best = residual(layers)
    solution = extract(problem, name)
    check(problem, solution)
    assert solution.cost == best
    assert solution.proved


@pytest.mark.parametrize("name", ["greedy-dag", "tree"])
def test_a_residual_network_goes_through_the_simple_extractors(name: str) -> None:
    problem, best = residual(3_000)
    solution = extract(problem, name)
    check(problem, solution)
    assert best <= solution.cost
    assert solution.lower_bound <= best


def test_the_same_arguments_give_the_same_solution() -> None:
    rng = np.random.default_rng(5)
    nodes = []
    for here in range(120):  # too wide for dynamic programming
        for _ in range(4):
            below = tuple(rng.integers(0, 120, 2).tolist()) if here > 20 else ()
            nodes.append((here, below, float(rng.integers(1, 9)), 0.0))
    problem = problem_of(nodes, list(range(110, 120)))
    first, second = (extract(problem, "auto", seed=1, iterations=10) for _ in range(2))
    check(problem, first.choice)
    np.testing.assert_array_equal(first.choice, second.choice)
    assert first.lower_bound == second.lower_bound
    assert first.cost <= extract(problem, "greedy-dag").cost


def test_a_time_budget_of_zero_gives_the_incumbent_as_it_is_or_the_greedy_choice() -> None:
    problem, best = residual(30)
    unconverted = replace(problem, cost=np.where(problem.cost == 0.5, np.inf, problem.cost))
    incumbent = extract(unconverted).choice
    greedy = extract(problem, "greedy-dag")
    for name in EXTRACTORS:
        solution = extract(problem, name, incumbent=incumbent, seconds=0)
        check(problem, solution)
        np.testing.assert_array_equal(solution.choice, incumbent)
        assert solution.lower_bound <= best < solution.cost
        np.testing.assert_array_equal(extract(problem, name, seconds=0).choice, greedy.choice)
    endless = replace(
        problem, cost=np.where(np.arange(problem.n_nodes) == incumbent[60], np.inf, problem.cost)
    )
    check(endless, extract(endless, incumbent=incumbent, seconds=0))


@pytest.mark.parametrize("seconds", [-1.0, math.nan])
def test_a_time_budget_is_a_number(seconds: float) -> None:
    with pytest.raises(ExtractionError, match="must be 0 or more"):
        extract(chain(3), seconds=seconds)


def test_isomorphic_layers_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    worked_out: list[int] = []

    def counted(form: ComponentForm, demand: int, budget: StepBudget) -> list[LocalSolution] | None:
        worked_out[-1] += 1
        return found(form, demand, budget)

    found = component_solutions._local_solutions
    monkeypatch.setattr(component_solutions, "_local_solutions", counted)
    for layers in (60, 600):
        worked_out.append(0)
        problem, best = residual(layers)
        assert extract(problem, "exact").cost == best
    assert 0 < worked_out[1] <= worked_out[0] + 4  # the first and the last layer differ

"""Random small e-graphs, cyclic and not, against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from egraph_opt.errors import ExtractionError
from egraph_opt.extraction import EXTRACTORS, check, extract
from egraph_opt.extraction.solution import measure
from egraph_opt.extraction.strategies import steps

from .egraphs import leafy_problem, optimum, random_problem


@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize("block", range(8))
def test_exact_finds_the_optimum_and_no_extractor_beats_it(block: int, cyclic: bool) -> None:
    for seed in range(block * 25, block * 25 + 25):
        problem = random_problem(seed, cyclic)
        best = optimum(problem)
        for name in EXTRACTORS:
            if best is None:
                with pytest.raises(ExtractionError, match="class"):
                    extract(problem, name, iterations=20)
                continue
            solution = extract(problem, name, iterations=20)
            check(problem, solution)
            assert solution.cost >= best[0] - 1e-6, (name, seed)
            assert solution.lower_bound <= best[0] + 1e-6, (name, seed)
            assert solution.cost == pytest.approx(measure(problem, solution.choice)[0])
            if name == "exact":
                assert solution.cost == pytest.approx(best[0]), seed
                assert solution.proved, seed
                assert solution.gap == 0.0, seed
                assert measure(problem, solution.choice)[1] == pytest.approx(best[1]), seed


def test_auto_proves_every_small_random_problem() -> None:
    proved = 0
    for seed in range(100):
        problem = random_problem(seed, cyclic=True)
        best = optimum(problem)
        if best is not None:
            solution = extract(problem)
            assert solution.cost == pytest.approx(best[0])
            assert solution.proved
            proved += 1
    assert proved > 30


def test_the_incumbent_is_never_made_worse() -> None:
    for seed in range(150):
        problem = random_problem(seed, cyclic=True)
        if optimum(problem) is None:
            continue
        incumbent = extract(problem, "tree").choice
        for name in EXTRACTORS:
            solution = extract(problem, name, incumbent=incumbent, iterations=5)
            assert measure(problem, solution.choice) <= measure(problem, incumbent), (name, seed)


def test_an_optimal_incumbent_is_returned_as_it_is() -> None:
    kept = 0
    for seed in range(150):
        problem = random_problem(seed, cyclic=True)
        if optimum(problem) is None:
            continue
        incumbent = extract(problem, "exact").choice
        for name in EXTRACTORS:
            np.testing.assert_array_equal(extract(problem, name, incumbent=incumbent).choice, incumbent)
        kept += 1
    assert kept > 50


def test_programs_alone_prove_the_same_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = [leafy_problem(seed, cyclic=seed % 3 > 0, classes=6 + seed % 7) for seed in range(60)]
    best = [extract(problem, "exact").cost for problem in problems]
    monkeypatch.setattr(steps, "dynamic_program", lambda *arguments: None)
    for problem, cost in zip(problems, best, strict=True):
        for name in ("auto", "exact", "ilp"):
            solution = extract(problem, name)
            assert solution.cost >= cost - 1e-9
            assert solution.lower_bound <= cost + 1e-9
            if name != "ilp":
                assert solution.proved
                assert solution.cost == pytest.approx(cost)

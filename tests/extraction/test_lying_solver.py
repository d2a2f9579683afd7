"""Whatever a solver says, no claim is wrong: each lie on random cyclic problems beside brute force."""

from __future__ import annotations

from functools import cache

import pytest
from extraction_cases import brute_force

from egraph_opt.extraction import ExtractionProblem, Solution, check, extract
from egraph_opt.extraction.programs import cutting_planes
from egraph_opt.extraction.programs.landmark_cuts import landmark_cuts
from egraph_opt.extraction.strategies import steps, treatments

from .egraphs import tangled_problem
from .lying_solver import LIES, lie

COUNT = 60


@cache
def problems() -> list[tuple[ExtractionProblem, float]]:
    """Random cyclic problems with the least cost of each."""
    found = [tangled_problem(seed) for seed in range(COUNT)]
    return [(problem, brute_force(problem)) for problem in found]


def without_other_proofs(patch: pytest.MonkeyPatch) -> None:
    """So that the solver is asked at all where problems are this small."""
    for user in (cutting_planes, steps):
        patch.setattr(user, "landmark_cuts", lambda piece, late: landmark_cuts(piece, late, steps=0))
    for name in ("solve_narrow", "solve_wide"):
        patch.setattr(treatments, name, lambda piece, late, *most: None)


def right(problem: ExtractionProblem, found: Solution, best: float) -> bool:
    """Whether all that a solution claims is so; raises where it is none."""
    check(problem, found)
    slack = 1e-9 * max(best, 1.0)
    assert found.cost >= best - slack
    assert found.lower_bound <= best + slack
    assert not found.proved or found.cost <= best + slack
    return found.cost <= best + slack


@pytest.mark.parametrize("name", LIES)
def test_no_claim_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lie(monkeypatch, name)
    without_other_proofs(monkeypatch)
    asked = 0
    for problem, best in problems():
        found = extract(problem, "auto", iterations=2)
        right(problem, found, best)
        asked += sum(piece.checked for piece in found.pieces)
        if name == "the truth":
            assert found.proved
            assert not found.refused
    assert asked > 0.8 * COUNT


@pytest.mark.parametrize("name", LIES)
def test_good_graphs_are_found_by_other_methods(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lie(monkeypatch, name)
    for problem, best in problems():
        found = extract(problem, "auto")
        assert right(problem, found, best)
        assert found.proved


@pytest.mark.parametrize("extractor", ["ilp", "exact", "draft"])
def test_other_extractors_claim_nothing_wrong(extractor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without_other_proofs(monkeypatch)
    for name in LIES:
        with monkeypatch.context() as patch:
            lie(patch, name)
            for problem, best in problems()[:20]:
                right(problem, extract(problem, extractor, iterations=5), best)


def test_what_is_refused_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    without_other_proofs(monkeypatch)
    lie(monkeypatch, "a bound of infinity")
    said = [extract(problem, "auto", iterations=2).refused for problem, _ in problems()]
    reasons = {reason for refused in said for reason in refused}
    assert reasons == {"a lower bound above the cost of a solution that is known"}
    assert all(count == 1 for refused in said for count in refused.values())  # then nothing more is asked

"""The figures that the pages show are those of the committed results, and those are what a run gives."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import counts
import figures
import onnx
import pytest
import result_files
from built_graphs import built_models
from compare_figures import differing
from model_files import trained_models
from models import COUNTED, results_of
from models import figures as figures_of

from egraph_opt import Result
from egraph_opt.verification import verify

TRAINED = result_files.results("trained")["models"]

MOST_E_NODES = 3_000
"""Under ascend: what is larger takes longer, and `make bench` and `counts.py` alone look at it."""

QUICK = sorted(name for name, recorded in TRAINED.items() if recorded["ascend"]["e_nodes"] <= MOST_E_NODES)


@pytest.mark.parametrize("page", figures.PAGES, ids=lambda page: page.stem)
def test_a_page_shows_the_figures_of_the_committed_results(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert figures.filled(text) == text, "run `make tables`"


def test_every_kind_of_figures_is_shown_once() -> None:
    shown = [name for page in figures.PAGES for _, name, _ in figures.MARKED.findall(page.read_text("utf-8"))]
    assert sorted(shown) == sorted(figures.FIGURES)


def test_a_page_that_says_something_else_is_filled_anew() -> None:
    text = "before\n<!-- figures: versions -->\nMade with love.\n<!-- end -->\nafter\n"
    assert figures.versions() in figures.filled(text)
    assert "love" not in figures.filled(text)


def test_rows_that_newer_results_contradict_are_found() -> None:
    assert differing({"a": 100.0, "b": 100.0, "c": 1.0}, {"a": 100.5, "b": 102.0}) == ["b"]


def test_the_recorded_models_are_those_of_the_wheels() -> None:
    assert sorted(TRAINED) == sorted(trained_models())


class Optimized(NamedTuple):
    """A trained model under every cost model, and what was counted."""

    name: str
    path: Path
    results: dict[str, Result]
    counted: dict[str, counts.Counts]


def results_and_counts(path: Path) -> tuple[dict[str, Result], dict[str, counts.Counts]]:
    """What `results_of` gives, counted on the way."""
    saturated, result, counted = counts.counted_optimization(path, "nodes")
    results = {"nodes": result}
    results |= {cost: saturated.extract(cost, verify=False, restarts=True) for cost in COUNTED}
    _, results["ascend"], under_ascend = counts.counted_optimization(path, "ascend")
    return results, {"nodes": counted, "ascend": under_ascend}


@pytest.fixture(scope="module", params=QUICK)
def optimized(request: pytest.FixtureRequest) -> Optimized:
    path = trained_models()[request.param]
    return Optimized(request.param, path, *results_and_counts(path))


def test_what_is_counted_is_what_the_results_are_made_of(tmp_path: Path) -> None:
    path = built_models(tmp_path)["built/attention"]
    results, counted = results_and_counts(path)
    assert figures_of(results) == figures_of(results_of(path, verify=False))
    assert counted == counts.counts_of(path)


def test_a_trained_model_comes_back_as_the_results_say_and_answers_as_before(optimized: Optimized) -> None:
    path, recorded, results = optimized.path, TRAINED[optimized.name], optimized.results
    found = figures_of(results)
    assert found["graph"] == recorded["graph"]
    assert (found["nodes"]["runtime"], found["nodes"]["file"]) == (
        recorded["nodes"]["runtime"],
        recorded["nodes"]["file"],
    )
    original = onnx.load(path)
    for cost, result in results.items():
        for key in ("before", "after"):
            assert found[cost][key] == pytest.approx(recorded[cost][key], rel=1e-6), (cost, key)
        assert found[cost].get("e_nodes", 0) < 2 * recorded[cost].get("e_nodes", 1), result.report.rulesets
        assert not [warning for warning in result.report.warnings if "left out" in warning]
        assert list(result.model.graph.input) == list(original.graph.input)
        assert list(result.model.graph.output) == list(original.graph.output)
        if cost in figures.SATURATED:  # `make bench` verifies the others
            checked = verify(path, result.model, seeds=1)
            assert checked.status == "passed", (cost, checked.detail)


def test_no_count_of_a_trained_model_rises_by_more_than_a_tenth(optimized: Optimized) -> None:
    lines = counts.risen(optimized.counted, counts.baseline()[optimized.name])
    assert not lines, f"{optimized.name}: {'; '.join(lines)}; {counts.RENEW}"

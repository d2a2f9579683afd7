"""A function chooses as an extractor does; what it returns is checked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from onnx import parser

from egraph_opt import optimize
from egraph_opt.errors import ExtractionError
from egraph_opt.extraction import ExtractionProblem, extract
from egraph_opt.model.provenance import said_of

PROBLEM = (
    ExtractionProblem(  # class 0: by class 1 (1 + 3), or alone (5); class 1: alone (3), or by class 0 (0)
        node_class=np.array([0, 0, 1, 1]),
        child_ptr=np.array([0, 1, 1, 1, 2]),
        child=np.array([1, 0]),
        cost=np.array([1.0, 5.0, 3.0, 0.0]),
        roots=np.array([0]),
    )
)

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 3] x) => (float[2, 3] y) {
   t = Transpose <perm = [1, 0]> (x)
   u = Transpose <perm = [1, 0]> (t)
   y = Relu (u)
}"""


def choosing(*nodes: int) -> Callable[[ExtractionProblem], npt.NDArray[np.int64]]:
    return lambda problem: np.array(nodes)


def as_before(problem: ExtractionProblem) -> npt.NDArray[np.int32]:
    """The best that is known of, by the engine itself."""
    return extract(problem, "greedy-dag").choice


def test_what_a_function_chooses_is_the_solution_with_a_bound() -> None:
    found = extract(PROBLEM, choosing(1, 2))
    assert (found.cost, found.choice.tolist(), found.extractor) == (5.0, [1, -1], "<lambda>")
    assert not found.proved
    assert found.lower_bound <= 4.0


def test_it_is_never_worse_than_an_incumbent() -> None:
    assert extract(PROBLEM, choosing(1, -1), incumbent=np.array([0, 2])).cost == 4.0


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        ((0, 3), "is no solution"),  # a cycle
        ((0, -1), "is no solution"),
        ((0, 99), "is no solution"),
        ((0,), "returns int64 of shape (1,), not whole numbers, one for each of 2 classes"),
        ((0.5, 2.0), "returns float64"),
    ],
)
def test_what_is_no_solution_is_an_error(nodes: tuple[int, ...], told: str) -> None:
    with pytest.raises(ExtractionError, match="extractor <lambda>") as found:
        extract(PROBLEM, choosing(*nodes))
    assert told in str(found.value)


def test_an_exception_names_the_function_and_its_line() -> None:
    def divides(problem: ExtractionProblem) -> npt.NDArray[np.int32]:
        return np.array([1 // (problem.n_classes - 2)])

    with pytest.raises(ExtractionError, match=r"extractor divides: ZeroDivisionError") as found:
        extract(PROBLEM, divides)
    assert Path(__file__).name in str(found.value)


def test_models_are_extracted_by_a_function() -> None:
    result = optimize(parser.parse_model(MODEL), "nodes", extractor=as_before)
    assert result.report.nodes.runtime_after == 1
    entries = {entry.key: entry.value for entry in result.model.metadata_props}
    assert said_of(entries)["extractor"] == "as_before"
    assert result.report.verification.status == "passed"

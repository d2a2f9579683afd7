"""A function of a law raises: the law is left out where it did, or altogether where that is no answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, parser

from egraph_opt import optimize
from egraph_opt.check import check_law
from egraph_opt.errors import LawError
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Law, Operands, Tensor, absent, hosted, rewrite
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.checking import denied_functions
from egraph_opt.laws.law import registered
from egraph_opt.operators import reduce


@hosted()
def is_long(x: Fact) -> bool:
    assert x.shape is not None
    return x.shape[1] == 3


def where_it_holds(x: Tensor) -> Iterator[Any]:
    """Relu(Relu(x)) = Relu(x)"""
    yield rewrite(relu(relu(x)), relu(x), is_long(x), because="a test")


def where_it_does_not(x: Tensor) -> Iterator[Any]:
    """Relu(Relu(x)) = Relu(x)"""
    yield rewrite(relu(relu(x)), relu(x), absent(is_long(x)), because="a test")


def where_it_is_a_value(x: Tensor) -> Iterator[Any]:
    """Relu(Relu(x)) = ReduceSum(Relu(x)) of no axes, which are kept or not"""
    yield rewrite(
        relu(relu(x)), reduce("ReduceSum", relu(relu(x)), (1,), is_long(x)), is_long(x), because="a test"
    )


def _examples(rng: np.random.Generator) -> Iterator[Any]:
    g = Operands(rng)
    yield g.near_miss(relu(relu(g.input((3,)))), why="it has no second axis")
    yield g.fires(relu(relu(g.input((2, 3)))))


def law_of(function: Callable[..., Any]) -> Law:
    text = (function.__doc__ or "").splitlines()[0]
    return Law("testing", function.__name__, text, "algebra", "bitwise", function, _examples)


def model() -> ModelProto:
    """Relu twice: of a matrix, and of a vector, which has no second axis."""
    parsed = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x, float[3] v)
        => (float[2, 3] y, float[3] w) { a = Relu (x) y = Relu (a) b = Relu (v) w = Relu (b) }""")
    assert isinstance(parsed, ModelProto)
    return parsed


@pytest.mark.parametrize(("function", "left"), [(where_it_holds, 3), (where_it_does_not, 4)])
def test_it_is_left_out_there_or_altogether(
    function: Callable[..., Any], left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = law_of(function)
    monkeypatch.setitem(registered, law.key, law)
    result = optimize(model(), "nodes", rewrites=["testing"])
    (warning,) = result.report.warnings
    assert law.key in warning and "is_long raised IndexError" in warning
    assert ("left out where" in warning) == (left == 3)
    assert len(result.model.graph.node) == left
    assert result.report.verification.status == "passed"


def test_the_gate_refuses_it() -> None:
    with pytest.raises(LawError, match="is_long raised IndexError"):
        check_law(law_of(where_it_holds))


def test_a_no_that_is_a_value_counts() -> None:
    assert denied_functions(law_of(where_it_holds)) == set()
    assert denied_functions(law_of(where_it_does_not)) == {is_long}
    assert denied_functions(law_of(where_it_is_a_value)) == {is_long}

"""What a user hands over: what says something works, and what says nothing is an error of ours at once."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import parser

import egraph_opt
from egraph_opt import EgraphOptError, Limits, Report, Result, optimize, saturate
from egraph_opt.errors import ArgumentError, LimitsError, UnknownExtractorError


@pytest.fixture
def model() -> onnx.ModelProto:
    return parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y)'
        "{ a = Transpose <perm = [1, 0]> (x) b = Transpose <perm = [1, 0]> (a) y = Relu (b) }"
    )


@pytest.mark.parametrize(
    "rewrites", ["default", "transpose", "default, -concat", ["transpose"], ("default",)]
)
@pytest.mark.parametrize("limits", [{"nodes": 1000}, Limits(rounds=7), {}])
def test_rulesets_and_limits_are_given_as_is_easiest(
    model: onnx.ModelProto, rewrites: Any, limits: Any
) -> None:
    result = optimize(model, "nodes", rewrites=rewrites, limits=limits)
    assert [node.op_type for node in result.model.graph.node] == ["Relu"]


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"limits": {"node": 100}}, LimitsError, "no limit 'node': did you mean 'nodes'?"),
        ({"limits": 100}, LimitsError, "give Limits(nodes=100), or {'nodes': 100}"),
        ({"limits": {"nodes": "many"}}, LimitsError, "must be a positive number"),
        ({"rewrites": 5}, ArgumentError, "rewrites=5"),
        ({"rewrites": ["default", 5]}, ArgumentError, "names of rulesets and laws"),
        ({"measure": "yes"}, ArgumentError, "measure: True, False, how many graphs are timed, or a Runner"),
        ({"seed": "x"}, ArgumentError, "seed: a whole number, not 'x' (str)"),
        ({"opset": "new"}, ArgumentError, "opset: a whole number, such as 17, not 'new' (str)"),
        ({"opset": True}, ArgumentError, "opset: a whole number"),
        ({"verify": "no"}, ArgumentError, "verify: True or False, not 'no' (str)"),
        ({"strict": 1}, ArgumentError, "strict: True or False, not '1' (int)"),
        ({"assume": 5}, ArgumentError, 'assume: by name, such as {"batch": 8}'),
        ({"input_shapes": [1, 3]}, ArgumentError, "input_shapes: by name"),
        ({"extractor": 5}, UnknownExtractorError, "known are auto, draft, exact"),
    ],
)
def test_an_argument_that_says_nothing_is_an_error(
    model: onnx.ModelProto, given: dict[str, Any], error: type[EgraphOptError], told: str
) -> None:
    with pytest.raises(error) as found:
        optimize(model, "nodes", **given)
    assert told in str(found.value)


@pytest.mark.parametrize("source", [5, None, b"model", [1]])
def test_what_is_no_model_is_an_error(source: Any) -> None:
    for run in (optimize, saturate):
        with pytest.raises(ArgumentError, match="a model is a path, a ModelProto or"):
            run(source)


def test_what_comes_out_is_shown_in_a_line(model: onnx.ModelProto) -> None:
    result, saturated = optimize(model, "nodes"), saturate(model)
    assert isinstance(result, Result) and isinstance(result.report, Report)
    shown = "<Report: optimized, run-time nodes 3 -> 1, nodes 3 -> 1 nodes, verification passed>"
    assert repr(result.report) == shown
    assert repr(result) == f"<Result of <ModelProto>: {shown}>"
    assert repr(saturated).startswith("<Saturated <ModelProto>: 3 run-time nodes, ")
    assert repr(saturate(model, limits={"seconds": 0})).startswith(
        "<Saturated <ModelProto>: no time was given"
    )


def test_so_is_all_that_can_be_reached_from_there(model: onnx.ModelProto) -> None:
    result, saturated = optimize(model, "nodes"), saturate(model)
    for shown in (*result.iterations, saturated.region, saturated.loaded, saturated.original):
        assert len(repr(shown)) < 1500, type(shown)
    assert len(repr(saturated.saturated_for)) < 500


def test_the_version_is_that_of_the_package() -> None:
    assert egraph_opt.__version__.count(".") == 2

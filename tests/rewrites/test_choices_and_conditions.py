"""Choices of what is made alike, joined conditions, places behind transposes, casts of what is selected."""

from __future__ import annotations

from collections import Counter

import pytest
from onnx import parser

from egraph_opt import optimize


def _left(signature: str, body: str, opset: int) -> dict[str, int]:
    """The operators that are left of a graph for the fewest nodes; a wrong output raises."""
    text = f'<ir_version: 8, opset_import: ["" : {opset}]> g {signature} {{ {body} }}'
    result = optimize(parser.parse_model(text), cost="nodes", strict=True)
    assert result.report.verification.status == "passed"
    again = optimize(result.model, cost="nodes")
    assert len(again.model.graph.node) == len(result.model.graph.node)
    return dict(Counter(n.op_type for n in result.model.graph.node if n.op_type != "Constant"))


OPSETS = (11, 13, 17, 21)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(
    ("signature", "body", "left"),
    [
        pytest.param(
            "(float[N, 5, H, W] x) => (int64[N, H, W] y)",
            "t = Transpose <perm = [0, 2, 3, 1]> (x) y = ArgMax <axis = 3, keepdims = 0> (t)",
            {"ArgMax": 1},
            id="classes in NHWC",
        ),
        pytest.param(
            "(float[3, 8, 4] x) => (int64[3, 4] y)",
            "t = Transpose <perm = [0, 2, 1]> (x) y = ArgMin <axis = -1, keepdims = 0> (t)",
            {"ArgMin": 1},
            id="classes first",
        ),
        pytest.param(
            "(float[N, 6] x) => (int64[N, 1] y)",
            "t = Neg (x) y = ArgMax <axis = 1> (t)",
            {"ArgMin": 1},
            id="negated distances",
        ),
        pytest.param(
            "(float[N, 6] x) => (float[N, 6] y)",
            "a = Neg (x) b = Floor (a) y = Neg (b)",
            {"Ceil": 1},
            id="ceil",
        ),
        pytest.param(
            "(float16[N, 6] x, int64[2] i) => (float16[N, 2] y)",
            "a = Cast <to = 1> (x) b = Gather <axis = 1> (a, i) y = Cast <to = 10> (b)",
            {"Gather": 1},
            id="gathered in float32",
        ),
        pytest.param(
            "(bool[N, 1] c, float[N, 6] x, float[6] z) => (float[N, 6] y)",
            "a = Relu (x) b = Relu (z) y = Where (c, a, b)",
            {"Where": 1, "Relu": 1},
            id="a function of either",
        ),
        pytest.param(
            "(bool[N, 6] c, float[N, 6] x, float[6] z, float[N, 6] v) => (float[N, 6] y)",
            "a = Add (x, v) b = Add (z, v) w = Where (c, a, b) y = Where (c, w, z)",
            {"Where": 1, "Add": 1},
            id="a choice within a choice",
        ),
        pytest.param(
            "(bool[N, 6] c, bool[6] d) => (bool[N, 6] y)",
            "n = Not (d) m = Not (c) a = And (n, c) b = And (m, d) y = Or (a, b)",
            {"Xor": 1},
            id="exclusive",
        ),
        pytest.param(
            "(bool[N, 6] c, bool[6] d) => (bool[N, 6] y)",
            "a = And (c, d) n = Not (c) b = Or (n, a) y = And (b, d)",
            {"And": 1, "Not": 1, "Or": 1},
            id="known beside",
        ),
        pytest.param(
            "(bool[N, 6] c, bool[6] d, float[N, 6] x) => (float[N, 6] y)",
            "a = And (d, c) b = Or (a, c) r = Relu (x) y = Where (b, r, x)",
            {"Where": 1, "Relu": 1},
            id="absorbed",
        ),
    ],
)
def test_fewest_nodes(signature: str, body: str, left: dict[str, int], opset: int) -> None:
    assert _left(signature, body, opset) == left


@pytest.mark.parametrize("opset", OPSETS[1:])
@pytest.mark.parametrize("of", ["float", "int64"])
def test_comparisons_that_are_joined(of: str, opset: int) -> None:
    signature = f"({of}[N, 6] x, {of}[6] z) => (bool[N, 6] y)"
    assert _left(signature, "a = Equal (z, x) b = Less (x, z) y = Or (a, b)", opset) == {"LessOrEqual": 1}
    both = "a = LessOrEqual (x, z) b = GreaterOrEqual (x, z) y = And (a, b)"
    assert _left(signature, both, opset) == {"Equal": 1}


def test_two_masks_are_one_where_it_is_smaller() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]> g
      (float[2, 12, 128, 128] x, bool[2, 1, 1, 128] m, bool[1, 1, 128, 128] n) => (float[2, 12, 128, 128] y)
      <float far = {-1e9}> { a = Where (m, x, far) y = Where (n, a, far) }"""
    result = optimize(parser.parse_model(text), cost="ascend", strict=True)
    assert [n.op_type for n in result.model.graph.node] == ["And", "Where"]


@pytest.mark.parametrize(
    ("signature", "body", "left"),
    [
        pytest.param(
            "(float[N, 6] x, float[6] z) => (bool[N, 6] y)",
            "a = Less (x, z) b = Greater (x, z) y = Or (a, b)",
            {"Less": 1, "Greater": 1, "Or": 1},
            id="NaN is neither",
        ),
        pytest.param(
            "(bool[N, 6] c, bool[N, 6] d, float[N, 6] x, float[6] z) => (float[N, 6] y)",
            "a = Where (d, x, z) y = Where (c, a, x)",
            {"Where": 2},
            id="another condition",
        ),
    ],
)
def test_what_has_to_stay(signature: str, body: str, left: dict[str, int]) -> None:
    assert _left(signature, body, 11) == left

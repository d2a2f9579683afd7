"""Behind operators that nobody knows: types are not known, and what was there is written back."""

from __future__ import annotations

import pytest
from onnx import parser

from egraph_opt import optimize

TEXT = """
<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
behind (float[2, 8, 16] x, float[16] s, float[16] b) => (float[2, 8, 4] y)
<float[16, 4] w, int64[3] shape = {2, 8, 16}, float root = {1.4142135}, float one = {1.0}, float half = {0.5}>
{
    q = com.microsoft.QuickGelu <alpha = 1.0> (x)
    r = Reshape (q, shape)
    n = LayerNormalization <axis = -1> (r, s, b)
    p = MatMul (n, w)
    d = Div (p, root)
    e = Erf (d)
    a = Add (e, one)
    m = Mul (p, a)
    y = Mul (m, half)
}
"""


@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_what_follows_an_unknown_operator_is_written(cost: str) -> None:
    weights = ", ".join(["0.25"] * 64)
    result = optimize(parser.parse_model(TEXT.replace("w,", f"w = {{{weights}}},")), cost)
    assert result.report.verification.status == "passed"
    assert result.report.status in ("optimized", "unchanged")
    assert {"QuickGelu", "LayerNormalization"} <= {node.op_type for node in result.model.graph.node}

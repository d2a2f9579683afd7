"""What stands behind a GroupNormalization goes into it; nothing becomes one."""

from __future__ import annotations

import onnx
import pytest
from onnx import parser

from egraph_opt import optimize

HEAD = '<ir_version: 8, opset_import: ["" : 21]>'


def _kinds(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


@pytest.mark.parametrize("op", ["Mul", "Add", "Sub", "Div"])
@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_constants_behind_go_into_it(op: str, cost: str) -> None:
    model = parser.parse_model(
        f"""{HEAD} g (float[N, 4, 3, W] x) => (float[N, 4, 3, W] z)
        <float[4] s = {{1.0, -2.0, 0.5, 3.0}}, float[4] b = {{0.0, 1.0, -1.0, 0.25}},
         float[4, 1, 1] c = {{2.0, 0.5, -1.0, 4.0}}>
        {{ y = GroupNormalization <num_groups = 2> (x, s, b) z = {op} (y, c) }}"""
    )
    assert _kinds(optimize(model, cost=cost, strict=True).model) == ["GroupNormalization"]


def test_what_exporters_spell_stays() -> None:
    """Onnxruntime's GroupNormalization of one large number throughout is no number."""
    model = parser.parse_model(
        f"""{HEAD} g (float[N, 4, 3, W] x) => (float[N, 4, 3, W] z)
        <float[2] s = {{1.0, 1.0}}, float[2] b = {{0.0, 0.0}}, int64[3] rows = {{0, 2, -1}}>
        {{ r = Reshape (x, rows) y = InstanceNormalization (r, s, b) d = Shape (x) z = Reshape (y, d) }}"""
    )
    result = optimize(model, cost="nodes", strict=True)
    assert "InstanceNormalization" in _kinds(result.model)

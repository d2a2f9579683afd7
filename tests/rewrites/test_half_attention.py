"""Attention of float16, the Softmax of which exporters compute in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from tests.knowledge_bases.graphs import Graph, check_settled, outcome

HALF = TensorProto.FLOAT16


def _attention(
    lead: list[Any], opset: int, mask: str = "", inside: int = TensorProto.FLOAT, kind: str = "Softmax"
) -> onnx.ModelProto:
    """Softmax(q @ k' * 0.5 + mask) @ v, the Softmax between casts, the mask in front of them or between."""
    g = Graph()
    rank = len(lead) + 2
    q, k, v = (
        g.input(name, [*lead, length, size], HALF)
        for name, length, size in (("q", 32, 16), ("k", 48, 16), ("v", 48, 8))
    )
    turned = g.add("Transpose", k, perm=[*range(rank - 2), rank - 1, rank - 2])
    s = g.add("Mul", g.add("MatMul", q, turned), g.constant(0.5, np.float16))
    if mask == "half":
        s = g.add("Add", s, g.input("m", [32, 48], HALF))
    wide = g.add("Cast", s, to=inside)
    if mask == "wide":
        wide = g.add("Add", wide, g.input("m", [32, 48], inside))
    y = g.add("MatMul", g.add("Cast", g.add(kind, wide, axis=rank - 1), to=HALF), v)
    return g.model(y, opset=opset, dtypes={y: HALF})


@pytest.mark.parametrize(("lead", "mask"), [(["N", 3], ""), ([2, 3], "half"), ([6], "half")])
def test_it_is_one_operator_that_says_so(lead: list[Any], mask: str) -> None:
    model = _attention(lead, 23, mask)
    counts = check_settled(model, "ascend:910b4")
    assert counts["Attention"] == 1 and not counts["Cast"] and not counts["Softmax"]
    (node,) = (n for n in outcome(model, "ascend:910b4").model.graph.node if n.op_type == "Attention")
    (precision,) = (a.i for a in node.attribute if a.name == "softmax_precision")
    assert precision == TensorProto.FLOAT


@pytest.mark.parametrize(("lead", "opset"), [([2, 3], 13), ([6], 17)])
def test_where_onnx_has_no_attention_it_is_recognised_and_keeps_its_casts(
    lead: list[Any], opset: int
) -> None:
    old, new = (outcome(_attention(lead, version, "half"), "ascend:910b4") for version in (opset, 23))
    assert old.report.cost.after <= new.report.cost.after * (1 + 1e-9)
    assert old.counts["Cast"] == 2


@pytest.mark.parametrize("changed", [{"mask": "wide"}, {"inside": TensorProto.DOUBLE}, {"kind": "Hardmax"}])
def test_what_the_operator_does_not_compute_is_none(changed: dict[str, Any]) -> None:
    counts = outcome(_attention([2, 3], 23, **changed)).counts
    assert not counts["Attention"] and counts["Cast"] == 2

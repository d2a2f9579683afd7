"""A part of a projection that is shifted has another bias."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Dims, Graph, check_settled


def _parts(g: Graph, x: str, sizes: list[int], axis: int, opset: int) -> list[str]:
    if opset >= 13:
        return g.add_many("Split", x, g.constant(np.array(sizes)), outputs=len(sizes), axis=axis)
    return g.add_many("Split", x, outputs=len(sizes), axis=axis, split=sizes)


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize("dims", [["N", 6], [2, "L", 6]])
@pytest.mark.parametrize("gemm", [True, False])
def test_a_forget_gate_that_is_biased_by_one(opset: int, dims: Dims, gemm: bool) -> None:
    """TensorFlow's BasicLSTMCell: its gates are one product, and forget is shifted behind."""
    g = Graph(x=dims, c=[*dims[:-1], 8])
    w, b = g.weight(6, 32), g.weight(32)
    gates = g.add("Gemm", "x", w, b) if gemm and len(dims) == 2 else g.add("Add", g.add("MatMul", "x", w), b)
    i, j, f, o = _parts(g, gates, [8] * 4, len(dims) - 1, opset)
    kept = g.add("Mul", "c", g.add("Sigmoid", g.add("Add", f, g.constant(1.0))))
    state = g.add("Add", kept, g.add("Mul", g.add("Sigmoid", i), g.add("Tanh", j)))
    y = g.add("Mul", g.add("Tanh", state), g.add("Sigmoid", o))
    counts = check_settled(g.model(y, state, opset=opset))
    assert counts["Add"] + counts["Gemm"] == 2 and counts["MatMul"] + counts["Gemm"] == 1


@pytest.mark.parametrize("opset", [11, 17])
def test_a_number_for_each_column_of_the_last_part(opset: int) -> None:
    """dt_bias of Mamba."""
    g = Graph(x=["N", "L", 6])
    projected = g.add("Add", g.add("MatMul", "x", g.weight(6, 11)), g.weight(11))
    gate, step = _parts(g, projected, [8, 3], 2, opset)
    step = g.add("Softplus", g.add("Add", step, g.weight(3)))
    assert check_settled(g.model(gate, step, opset=opset))["Add"] == 1


def test_what_varies_or_comes_behind_a_function_is_left_alone() -> None:
    g = Graph(x=["N", 6])
    g.input("s", [3], TensorProto.FLOAT)
    projected = g.add("Add", g.add("MatMul", "x", g.weight(6, 6)), g.weight(6))
    first, last = _parts(g, projected, [3, 3], 1, 17)
    shifted = g.add("Add", g.add("Tanh", last), g.constant(2.0))
    counts = check_settled(g.model(g.add("Mul", g.add("Add", first, "s"), shifted)))
    assert counts["Add"] + counts["Gemm"] == 3

"""What a report advises: sizes that never change, where nodes compute nothing but sizes."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import numpy_helper, parser

from egraph_opt import optimize
from egraph_opt.cost_models.ascend import Ascend

HEAD = """
<ir_version: 8, opset_import: ["" : 17]>
head (float[1, 4, height, width] x) => (float[A, B] y)
<int64[1] first = {2}, int64[1] second = {3}, int64 zero = {0}, int64 one = {1}, int64[2] rows = {-1, 1}>
{
    s = Shape (x)
    h = Gather (s, first)
    w = Gather (s, second)
    hs = Squeeze (h)
    ws = Squeeze (w)
    i = Range (zero, hs, one)
    j = Range (zero, ws, one)
    column = Reshape (i, rows)
    both = Concat <axis = 0> (h, w)
    grid = Expand (column, both)
    row = Add (grid, j)
    shift = Cast <to = 1> (row)
    top = ReduceMax <axes = [0, 1], keepdims = 0> (x)
    y = Add (top, shift)
}
"""
"""A grid of anchors, as detectors add it to what they find."""


def test_sizes_that_would_make_nodes_constant_are_named_and_do_so() -> None:
    model = parser.parse_model(HEAD)
    free = optimize(model, "nodes", assume={"height": 64}).report
    (hint,) = optimize(model, "nodes").report.hints
    assert "compute sizes alone" in hint and "--input-shape x:1,4,128,128 leaves at most 2" in hint
    assert f"hint: {hint.split(' (')[0]}" in " ".join(str(optimize(model, "nodes").report).split())
    fixed = optimize(model, "nodes", input_shapes={"x": (1, 4, 128, 128)}).report
    assert fixed.nodes.runtime_after == fixed.nodes.after == 2
    assert not fixed.hints
    assert all("height" not in text for text in free.hints)


def test_where_little_would_be_saved_there_is_no_hint() -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) { a = Relu (x) y = Exp (a) }'
    )
    assert optimize(parser.parse_model(text), "nodes").report.hints == ()


def test_under_ascend_free_sizes_are_said_to_cost_and_guessed_ones_are_named() -> None:
    graph = "g (float[N,4,height] x) => (float[N,4,height] y) { y = Relu (x) }"
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {graph}')
    (hint,) = optimize(model, "ascend", verify=False).report.hints
    assert hint == (
        "priced at N = 1, height = 128, which nobody has said; built for any size the model takes about"
        " 3 times as long: --input-shape x:1,4,128"
    )
    (known,) = optimize(model, "ascend", verify=False, assume={"N": 2, "height": 16}).report.hints
    assert known == "built for any size the model takes about 3 times as long: --input-shape x:2,4,16"
    fixed = optimize(model, "ascend", verify=False, input_shapes={"x": (2, 4, 16)}).report
    assert fixed.hints == ()
    free = Ascend(dynamic_factor=1.0)
    assert optimize(model, free, verify=False).report.hints == ()


QUANTIZED = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 64] x) => (float[1, 64] y)
<float scale = {0.5}, int8 zero = {0}>
{
    v0 = DequantizeLinear (w0, scale, zero)
    v1 = DequantizeLinear (w1, scale, zero)
    v2 = DequantizeLinear (w2, scale, zero)
    a = MatMul (x, v0)
    b = Tanh (a)
    c = MatMul (b, v1)
    d = Tanh (c)
    y = MatMul (d, v2)
}
"""


def quantized(nodes: str = QUANTIZED) -> onnx.ModelProto:
    """Three products with quantised weights."""
    model = parser.parse_model(nodes)
    rng = np.random.default_rng(0)
    for name in ("w0", "w1", "w2"):
        weight = rng.integers(-127, 127, (64, 64)).astype(np.int8)
        model.graph.initializer.append(numpy_helper.from_array(weight, name))
    return model


def test_weights_that_each_run_makes_floats_are_named_and_how_to_be_rid_of_that() -> None:
    (hint,) = optimize(quantized(), "nodes").report.hints
    assert hint == (
        "3 weights are made floats in each run: --fold-quantized does it once, and makes the file 36.00 KiB"
        " larger"
    )
    folded = optimize(quantized(), "nodes", limits={"fold_quantized": True}).report
    assert not folded.hints and folded.nodes.runtime_after == 5


def test_where_nodes_run_quantised_weights_stay_so_without_a_hint() -> None:
    pairs = QUANTIZED.replace(
        "a = MatMul (x, v0)",
        "q = QuantizeLinear (x, scale, zero) r = DequantizeLinear (q, scale, zero) a = MatMul (r, v0)",
    )
    assert optimize(quantized(pairs), "nodes").report.hints == ()

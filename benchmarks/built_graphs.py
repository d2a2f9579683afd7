"""Small graphs in ONNX's text format, for speeds and counts: what does not depend on installed models."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import onnx

TEN_NODES = """
<ir_version: 9, opset_import: ["": 17]>
ten_nodes (float[1, 3, 16, 16] x) => (float[1, 10] y)
<float[8, 3, 3, 3] w1, float[8] s, float[8] b, float[8] m, float[8] v, float[8, 8, 3, 3] w2,
 float[1, 8, 1, 1] t, int64[2] flat = {1, -1}, float[2048, 10] w3>
{
    c1 = Conv <pads = [1, 1, 1, 1]> (x, w1)
    n1 = BatchNormalization (c1, s, b, m, v)
    r1 = Relu (n1)
    c2 = Conv <pads = [1, 1, 1, 1]> (r1, w2)
    a2 = Add (c2, t)
    t1 = Transpose <perm = [0, 2, 3, 1]> (a2)
    t2 = Transpose <perm = [0, 3, 1, 2]> (t1)
    r2 = Relu (t2)
    f = Reshape (r2, flat)
    y = MatMul (f, w3)
}"""

ATTENTION = """
<ir_version: 9, opset_import: ["": 17]>
attention (float[N, 16, 32] x) => (float[N, 16, 32] y)
<float[32, 32] q, float[32, 32] k, float[32, 32] v, float[32, 32] o, float scale = {0.3},
 int64[3] back = {0, 16, 32}, int64[4] heads = {0, 16, 4, 8}>
{
    xq = MatMul (x, q)
    xk = MatMul (x, k)
    xv = MatMul (x, v)
    rq = Reshape (xq, heads)
    rk = Reshape (xk, heads)
    rv = Reshape (xv, heads)
    tq = Transpose <perm = [0, 2, 1, 3]> (rq)
    tk = Transpose <perm = [0, 2, 3, 1]> (rk)
    tv = Transpose <perm = [0, 2, 1, 3]> (rv)
    product = MatMul (tq, tk)
    scaled = Mul (product, scale)
    weights = Softmax <axis = -1> (scaled)
    mixed = MatMul (weights, tv)
    turned = Transpose <perm = [0, 2, 1, 3]> (mixed)
    joined = Reshape (turned, back)
    projected = MatMul (joined, o)
    y = Add (x, projected)
}"""

VIEWS = """
<ir_version: 9, opset_import: ["": 17]>
views (float[2, 3, 4, 5] x) => (float[2, 3, 4, 5] y)
<int64[2] a = {6, 20}, int64[3] b = {2, 12, 5}, int64[4] c = {2, 3, 4, 5}, int64[1] zero = {0},
 int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3}, int64[1] axis = {1}>
{
    r1 = Reshape (x, a)
    r2 = Reshape (r1, b)
    r3 = Reshape (r2, c)
    s1 = Slice (r3, zero, one, axis)
    s2 = Slice (r3, one, two, axis)
    s3 = Slice (r3, two, three, axis)
    j = Concat <axis = 1> (s1, s2, s3)
    y = Neg (j)
}"""

BUILT = {"ten_nodes": TEN_NODES, "attention": ATTENTION, "views": VIEWS}


def built_model(text: str) -> onnx.ModelProto:
    """The model of a text; what it declares and nobody computes are weights, of small numbers."""
    model = onnx.parser.parse_model(text)
    for value in model.graph.value_info:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        numbers = 0.1 + np.arange(math.prod(shape), dtype=np.float32).reshape(shape) % 17 / 16
        model.graph.initializer.append(onnx.numpy_helper.from_array(numbers.astype(np.float32), value.name))
    del model.graph.value_info[:]
    onnx.checker.check_model(model, full_check=True)
    return model


def built_models(folder: Path) -> dict[str, Path]:
    """Name and path of every graph here, written to a folder."""
    found = {}
    for name, text in BUILT.items():
        path = folder / f"{name}.onnx"
        onnx.save(built_model(text), path)
        found[f"built/{name}"] = path
    return found

"""Graphs that once came out wrong, cut down to what it took; each is checked as the random ones are."""

from __future__ import annotations

import onnx
import pytest

from .checking import check

FOUND = {
    "before opset 13 a softmax takes in all axes from its own on": """<ir_version: 8, opset_import: ["": 12]>
        g (float[N, 3, 2] x) => (float[?, ?, ?] y) {
            a = Transpose<perm = [0, 2, 1]>(x)
            y = Softmax<axis = 2>(a)
        }""",
    "an empty input equals the empty constant that a slice of it is": """<ir_version: 8, opset_import: ["": 17]>
        g (float[0, 3] x) => (float[?, ?] y, float[?, ?] z) <int64[1] a = {0}, int64[1] b = {2}> {
            s = Slice(x, a, b, a)
            y = Relu(s)
            z = Concat<axis = 0>(s, x)
        }""",
    "an infinite bias swallows all shifts behind it": """<ir_version: 8, opset_import: ["": 16]>
        g (float[N, 2, 5] x) => (float[?, ?, ?] y)
        <float[2, 2, 1] w = {1, 2, -1, 1}, float[2] b = {1, 2}, float[2] one = {1, 1}, float[2, 1] d = {2, -1}> {
            i = Constant<value = float {-inf}>()
            c = Conv(x, w, b)
            s = Add(c, i)
            n = BatchNormalization(s, b, one, b, one)
            y = Add(n, d)
        }""",
    "a constant that is negated twice is itself": """<ir_version: 8, opset_import: ["": 14]>
        g (float[N, 2, 5] x) => (float[?, ?, ?] y)
        <float[2] s = {0, 2}, float[2] one = {1, 1}, float[1] zero = {-0}, float[1] c = {-1.5}> {
            n = BatchNormalization(x, s, one, s, one)
            m = Sub(zero, n)
            y = Sub(c, m)
        }""",
    "nothing is subtracted": """<ir_version: 8, opset_import: ["": 17]>
        g (float[L, 6] x) => (float[?, ?] y) <float[6, 1] w, float[1, 1] c = {-2}, float[1, 1] zero = {0}> {
            p = Gemm<alpha = -1.0>(x, w, c)
            y = Sub(p, zero)
        }""".replace("float[6, 1] w", "float[6, 1] w = {1, 2, 0, 4, -1, 0}"),
    "onnxruntime pools no float64 as a whole": """<ir_version: 8, opset_import: ["": 16]>
        g (double[1, 4, 3] x) => (double[?, ?, ?] y, double[?, ?, ?] z) {
            y = MaxPool<kernel_shape = [3]>(x)
            z = ReduceMax<axes = [2]>(x)
        }""",
}


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_what_once_was_wrong_is_right(text: str) -> None:
    model = onnx.parser.parse_model(text)
    assert [finding for seed in range(2) for finding in check(model, seed)] == []

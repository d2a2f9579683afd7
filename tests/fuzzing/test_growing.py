"""Graphs that once grew far beyond their size stay small, and the search for more of them works."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from .growing import COSTS, MOST, changed, height, random_genome

GREW = {
    "a slice that takes nothing, behind a product": """<ir_version: 10, opset_import: ["": 17]>
        g (float[1,1,9] x) => (float[?,?,?] y)
        <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3}, int64[1] four = {4},
         int64[1] most = {9223372036854775807}, float[1,1,1] c = {-2},
         float[9,1] w = {1, 1, 1, 1, 1, 1, 1, 1, 1}> {
            a = Slice(x, zero, four, one)
            b = MatMul(a, w)
            d = Add(c, b)
            e = Slice(d, one, most, two)
            y = Slice(e, two, three, two)
        }""",
    "a clip to what is less than its least": """<ir_version: 10, opset_import: ["": 17]>
        g (int64[3,1,4] x, int64[3] t) => (int64[?,?] y) <int64 low = {5}, int64 high = {2}, int64[1] axis = {0}> {
            a = Transpose<perm = [1, 0, 2]>(x)
            b = Clip(a, low, high)
            c = Expand(b, t)
            y = Squeeze(c, axis)
        }""",
    "products of nothing": """<ir_version: 10, opset_import: ["": 17]>
        g (uint64[0,3] x) => (uint64[?,?] y)
        <int64[2] dims = {3, 0}, int64[1] zero = {0}, int64[1] two = {2}, uint64[1] k = {3}> {
            a = Reshape<allowzero = 1>(x, dims)
            b = Slice(a, zero, two, zero)
            y = Mul(b, k)
        }""",
    "a pool of three axes behind transposes, a scale and a shift": """<ir_version: 10, opset_import: ["": 17]>
        g (float[1,2,3,4,3] x) => (float[?,?,?,?,?] y)
        <float[1,2,1,1,1] s = {0.5, 2}, float[1,2,1,1,1] c = {1, -1}> {
            a = Mul(x, s)
            b = Add(a, c)
            d = Transpose<perm = [0, 1, 4, 3, 2]>(b)
            e = Transpose<perm = [0, 1, 4, 2, 3]>(d)
            y = MaxPool<kernel_shape = [3, 3, 3], pads = [1, 1, 1, 1, 1, 1]>(e)
        }""",
}

LARGER = {("a pool of three axes behind transposes, a scale and a shift", "ascend"): 80.0}
"""What is still more than it should be."""


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("name", GREW)
def test_what_grew_stays_small(name: str, cost: str) -> None:
    found = height(onnx.parser.parse_model(GREW[name]), cost)
    assert found.stop == "saturated"
    assert found.score <= LARGER.get((name, cost), MOST)


def test_a_genome_is_the_same_graph_again_and_changes_by_little() -> None:
    rng = np.random.default_rng(5)
    genome = next(g for g in (random_genome(rng) for _ in range(50)) if g.model() is not None)
    assert genome.model() == genome.model()
    others = [changed(genome, rng) for _ in range(20)]
    assert all(abs(len(other.genes) - len(genome.genes)) <= 1 for other in others)
    assert any(other != genome for other in others)

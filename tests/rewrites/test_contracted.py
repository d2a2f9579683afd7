"""Constants, zeros, repetitions and parts among what products and convolutions sum over."""

import numpy as np
import onnx
import pytest

from ..knowledge_bases.graphs import Dims, Graph, outcome


def beside(dims: Dims, part: np.ndarray, axis: int, *, turned: bool, kernel: int = 0) -> onnx.ModelProto:
    """x beside a constant, multiplied with a matrix, or convolved."""
    g = Graph(x=dims)
    both = ["x", g.constant(part.astype(np.float32))]
    y = g.add("Concat", *(both[::-1] if turned else both), axis=axis)
    size = int(dims[axis]) + part.shape[axis]
    if not kernel:
        return g.model(g.add("MatMul", y, g.weight(size, 7)))
    weight = g.weight(5, size, kernel, kernel)
    return g.model(g.add("Conv", y, weight, g.weight(5), pads=[kernel // 2] * 4))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kernel", [0, 1, 3])
def test_a_constant_part_is_a_summand(turned: bool, kernel: int) -> None:
    shape, axis = ([2, 6, 5, 4], 1) if kernel else ([2, 5, 6], 2)
    part = np.random.default_rng(0).standard_normal([2 if k == axis else n for k, n in enumerate(shape)])
    result = outcome(beside(shape, part, axis, turned=turned, kernel=kernel), "ascend")
    assert result.counts["Concat"] == 0
    assert result.report.cost.after < 0.9 * result.report.cost.before


@pytest.mark.parametrize("kernel", [0, 3])
def test_zeros_are_left_out(kernel: int) -> None:
    shape, axis = ([2, 6, 5, 4], 1) if kernel else ([2, 5, 6], 2)
    part = np.zeros([3 if k == axis else n for k, n in enumerate(shape)])
    result = outcome(beside(shape, part, axis, turned=False, kernel=kernel))
    assert result.counts == {"Conv" if kernel else "MatMul": 1}


@pytest.mark.parametrize("opset", [11, 21])
def test_what_is_there_several_times_is_there_once(opset: int) -> None:
    g = Graph(x=["N", 5, 4])
    three = g.add("MatMul", g.add("Tile", "x", g.constant([1, 1, 3])), g.weight(12, 7))
    two = g.add("MatMul", g.add("Concat", "x", "x", axis=2), g.weight(8, 7))
    result = outcome(g.model(g.add("Mul", three, g.add("Tanh", two)), opset=opset), "ascend")
    assert (result.counts["Tile"], result.counts["Concat"]) == (0, 0)


def split_sum(dims: Dims, parts: int, nested: bool) -> onnx.ModelProto:
    """The sum of convolutions of equal parts of the channels."""
    g = Graph(x=dims)
    size = int(dims[1]) // parts
    bounds = [[g.constant([n]) for n in (size * k, size * k + size, 1)] for k in range(parts)]
    made = [g.add("Conv", g.add("Slice", "x", *b), g.weight(6, size, 3, 3), g.weight(6)) for b in bounds]
    while len(made) > 1:
        made = [g.add("Add", *made[:2]), *made[2:]] if nested else [*made[2:], g.add("Add", *made[:2])]
    return g.model(made[0])


@pytest.mark.parametrize(("parts", "nested"), [(3, True), (4, True), (4, False)])
@pytest.mark.parametrize("dims", [["N", 12, 9, 9], [2, 24, 8, "W"]])
def test_a_sum_of_parts_is_one_convolution(dims: Dims, parts: int, nested: bool) -> None:
    result = outcome(split_sum(dims, parts, nested))
    assert result.counts == {"Conv": 1}
    assert result.report.saturation.stop == "saturated"

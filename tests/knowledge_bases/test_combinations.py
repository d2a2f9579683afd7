"""Knowledge bases together, where passes in a fixed order stop half-way: parts, joins, views and shapes."""

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from .graphs import Graph, check_settled, optimized, outcome

FAR = 2**63 - 1
ALONE = ("concat", "slice", "split", "gather")
"""Rulesets that take part, none of which gets there by itself."""


def cut(g: Graph, x: str, axis: int, start: int, end: int, step: int = 1) -> str:
    return g.add("Slice", x, *(g.constant([v]) for v in (start, end, axis, step)))


def dim(g: Graph, x: str, axis: int) -> str:
    """One dim as a vector: Shape, Gather, Unsqueeze."""
    scalar = g.add("Gather", g.add("Shape", x), g.constant(axis), axis=0)
    return g.add("Unsqueeze", scalar, g.constant([0]))


def takes_several(model: onnx.ModelProto, settled: Counter[str]) -> None:
    """All rulesets reach what none of them reaches alone."""
    assert check_settled(model) == settled
    for ruleset in ALONE:
        alone = optimized(model, rewrites=[ruleset])
        assert sum(alone.values()) > sum(settled.values()), ruleset


def test_an_empty_slice_between_two_concats_leaves_one() -> None:
    g = Graph(x=["N", 3, 2], y=["N", 4, 2])
    inner = g.add("Concat", "x", "y", axis=1)
    empty = cut(g, inner, -2, 7, FAR)
    model = g.model(g.add("Concat", empty, g.add("Concat", inner, empty, "x", axis=1), axis=1))
    assert check_settled(model) == Counter(Concat=1)


def test_an_empty_slice_whose_bounds_are_computed_between_two_concats_leaves_one() -> None:
    g = Graph(x=["N", 3, 2], y=["N", 4, 2])
    inner = g.add("Concat", "x", "y", axis=1)
    bounds = dim(g, inner, 1), g.constant([FAR]), g.constant([1])
    empty = g.add("Relu", g.add("Slice", inner, *bounds))
    model = g.model(g.add("Concat", inner, g.add("Concat", empty, "x", axis=-2), axis=1))
    assert check_settled(model) == Counter(Concat=1)


@pytest.mark.parametrize("between", [(), ("Relu",), ("Relu", "Sigmoid", "Neg")])
def test_slices_over_height_width_height_width_are_one(between: tuple[str, ...]) -> None:
    g = Graph(x=["N", 3, 32, 32])
    y = "x"
    for k, (axis, start, end) in enumerate([(2, 1, 31), (3, 2, 30), (-2, 3, FAR), (-1, 0, -4)]):
        y = cut(g, y, axis, start, end)
        if k < len(between):
            y = g.add(between[k], y)
    counts = check_settled(g.model(y))
    assert counts == Counter(Slice=1) + Counter(between)


def test_slices_with_ends_that_are_computed_of_shapes_are_one() -> None:
    g = Graph(x=["N", 3, 32, "W"])
    y = g.add("Slice", "x", g.constant([4]), dim(g, "x", 2), g.constant([2]))
    y = g.add("Slice", y, g.constant([2]), dim(g, y, 3), g.constant([3]))
    y = cut(g, y, 2, 0, 20)
    y = g.add("Slice", y, g.constant([1]), dim(g, y, 3), g.constant([-1]))
    assert check_settled(g.model(y)) == Counter(Slice=1)


def test_shape_arithmetic_on_static_shapes_is_one_constant() -> None:
    g = Graph(x=[2, 6, 8])
    y = g.add("Transpose", g.add("Relu", "x"), perm=[0, 2, 1])
    half = g.add("Div", dim(g, y, 1), g.constant([2]))
    count = g.add("Concat", dim(g, "x", 0), half, g.add("Mul", half, dim(g, y, 2)), axis=0)
    padded = g.add("Where", g.add("Less", count, g.constant([5])), g.constant([5]), count)
    total = g.add("Add", padded, g.add("ReduceSum", g.add("Shape", "x"), keepdims=1))
    result = outcome(g.model(total, dtypes={total: TensorProto.INT64}))
    assert not result.counts
    assert result.report.nodes.after <= 1


def test_parts_put_together_again_through_slices_gathers_and_splits_are_the_whole() -> None:
    g = Graph(x=["N", 8, 4])
    first = cut(g, "x", 1, 0, 2)
    second = g.add("Gather", "x", g.constant([2, 3]), axis=1)
    third, fourth = g.add_many("Split", cut(g, "x", -2, 4, FAR), g.constant([3, 1]), outputs=2, axis=1)
    left = g.add("Concat", first, cut(g, "x", 1, 5, 5), second, axis=1)
    right = g.add("Concat", third, fourth, axis=1)
    model = g.model(g.add("Sin", g.add("Concat", left, right, axis=1)))
    takes_several(model, Counter(Sin=1))


def test_a_function_of_every_part_is_one_of_the_whole() -> None:
    g = Graph(x=["N", 6, 4])
    parts = [g.add("Relu", g.add("Gather", "x", g.constant([2 * k, 2 * k + 1]), axis=1)) for k in range(3)]
    nested = g.add("Concat", parts[0], g.add("Concat", *parts[1:], axis=1), axis=1)
    takes_several(g.model(g.add("Sin", nested)), Counter(Relu=1, Sin=1))


def test_transposes_and_views_between_two_slices_do_not_keep_them_apart() -> None:
    g = Graph(x=["N", 12, 8])
    y = g.add("Transpose", cut(g, "x", 1, 2, 10), perm=[0, 2, 1])
    y = g.add("Transpose", cut(g, g.add("Mul", y, g.weight(8)), 2, 1, 5), perm=[0, 2, 1])
    model = g.model(g.add("Relu", y))
    assert check_settled(model) == Counter(Slice=1, Mul=1, Relu=1)


def attention(blocks: int, *, dynamic: bool) -> onnx.ModelProto:
    """Self-attention from fused projections, two heads of four; targets computed of shapes if `dynamic`."""
    g = Graph(x=["N", "L", 8])
    x = "x"
    for _ in range(blocks):
        y = g.add("Add", g.add("MatMul", x, g.weight(8, 24)), g.weight(24))
        heads, flat = g.constant([0, 0, 3, 2, 4]), g.constant([0, 0, 8])
        if dynamic:
            batch, length = dim(g, x, 0), dim(g, x, 1)
            heads = g.add("Concat", batch, length, g.constant([3, 2, 4]), axis=0)
            flat = g.add("Concat", batch, length, g.constant([-1]), axis=0)
        parts = g.add("Transpose", g.add("Reshape", y, heads), perm=[2, 0, 3, 1, 4])
        q, k, v = (g.add("Gather", parts, g.constant(index), axis=0) for index in (0, -2, 2))
        keys = g.add("Transpose", k, perm=[0, 1, 3, 2])
        scores = g.add("Softmax", g.add("Div", g.add("MatMul", q, keys), g.constant(2.0)), axis=-1)
        mixed = g.add("Transpose", g.add("MatMul", scores, v), perm=[0, 2, 1, 3])
        x = g.add("Add", g.add("MatMul", g.add("Reshape", mixed, flat), g.weight(8, 8)), x)
    return g.model(x)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_fused_attention_is_three_products_or_one_and_a_split_as_the_target_likes(dynamic: bool) -> None:
    model = attention(1, dynamic=dynamic)
    three = outcome(model, "flops")
    assert not any(three.counts[name] for name in ("Div", "Mul", "Shape", "Concat"))
    assert three.counts["MatMul"] in (4, 6)
    one = outcome(model, "ascend")
    assert not any(one.counts[name] for name in ("Gather", "Slice", "Shape"))
    assert one.counts["Div"] + one.counts["Mul"] <= 1  # the kernel of attention scales for nothing
    assert (one.counts["MatMul"], one.counts["Split"]) == (4, 1)
    few = outcome(model, "nodes")
    assert few.counts["MatMul"] == 4
    assert not any(few.counts[name] for name in ("Shape", "Concat"))


def test_blocks_in_a_row_are_each_what_one_alone_is() -> None:
    one, two = (optimized(attention(count, dynamic=True), "nodes") for count in (1, 2))
    assert two == one + one


def test_a_gather_of_an_unused_projection_leaves_only_what_is_used() -> None:
    g = Graph(x=["N", "L", 8])
    y = g.add("MatMul", "x", g.weight(8, 24))
    heads = g.add("Transpose", g.add("Reshape", y, g.constant([0, 0, 3, 2, 4])), perm=[2, 0, 3, 1, 4])
    value = g.add("Gather", heads, g.constant(2), axis=0)
    model = g.model(g.add("Exp", g.add("Mul", value, g.constant(np.float32(0.5)))))
    counts = check_settled(model, "flops")
    assert counts.pop("Squeeze", 0) <= 1  # the axis of the three projections
    assert counts == Counter(MatMul=1, Reshape=1, Transpose=1, Exp=1)


def test_gated_parts_of_a_product_with_a_computed_middle() -> None:
    g = Graph(x=["N", "L", 8])
    y = g.add("Add", g.add("MatMul", "x", g.weight(8, 16)), g.weight(16))
    half = g.add("Div", dim(g, y, 2), g.constant([2]))
    value = g.add("Slice", y, g.constant([0]), half, g.constant([2]))
    gate = g.add("Slice", y, half, g.constant([FAR]), g.constant([-1]))
    model = g.model(g.add("Mul", value, g.add("Sigmoid", gate)))
    assert check_settled(model) == Counter(MatMul=1, Add=1, Split=1, Sigmoid=1, Mul=1)

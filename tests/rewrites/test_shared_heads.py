"""Grouped-query attention does not repeat its heads, and rotary embeddings have no negation."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, check_settled, check_untouched, optimized, outcome


def _attention(
    groups: int, count: int, *, opset: int, mask: bool = False, by: str = "Expand", length: int = 12
) -> onnx.ModelProto:
    """Queries of `groups * count` heads; keys and values of `groups`, repeated by an operator."""
    depth, heads = 8, groups * count
    g = Graph(q=["N", heads, length, depth], k=["N", groups, length, depth], v=["N", groups, length, depth])

    def repeated(x: str) -> str:
        if by == "Gather":
            return g.add("Gather", x, g.constant(np.repeat(np.arange(groups), count)), axis=1)
        if by == "Split":
            each = g.add_many("Split", x, g.constant([1] * groups), outputs=groups, axis=1)
            return g.add("Concat", *(head for head in each for _ in range(count)), axis=1)
        y = g.add("Unsqueeze", x, g.constant([2]))
        if by == "Concat":
            return g.add(
                "Reshape", g.add("Concat", *[y] * count, axis=2), g.constant([0, heads, length, depth])
            )
        if by == "a computed Expand":
            batch = g.add("Shape", x, end=1)
            target = g.add("Concat", batch, g.constant([groups, count, length, depth]), axis=0)
        else:
            target = g.constant([1, groups, count, length, depth])
        return g.add("Reshape", g.add("Expand", y, target), g.constant([0, heads, length, depth]))

    scores = g.add("MatMul", "q", g.add("Transpose", repeated("k"), perm=[0, 1, 3, 2]))
    scores = g.add("Mul", scores, g.constant(np.float32(depth**-0.5)))
    if mask:
        scores = g.add("Add", scores, g.input("m", [1, 1, length, length]))
    y = g.add("MatMul", g.add("Softmax", scores, axis=-1), repeated("v"))
    return g.model(y, opset=opset)


@pytest.mark.parametrize(("groups", "count"), [(2, 4), (1, 3), (4, 2)])
@pytest.mark.parametrize("opset", [13, 17, 23])
def test_heads_are_not_repeated(groups: int, count: int, opset: int) -> None:
    model = _attention(groups, count, opset=opset)
    assert not {"Expand", "Tile"} & set(optimized(model))
    result = outcome(model, "ascend:910b4")
    assert not {"Expand", "Tile"} & set(result.counts)
    assert result.report.cost.after < 0.8 * result.report.cost.before


@pytest.mark.parametrize("mask", [False, True])
def test_one_head_for_all_is_one_operator(mask: bool) -> None:
    """ONNX's Attention has groups of heads of its own."""
    whole = _attention(1, 3, opset=23, mask=mask)
    assert optimized(whole) == {"Attention": 1}
    check_settled(whole, "ascend:910b4")


def test_nor_where_their_shape_is_computed() -> None:
    assert not {"Expand", "Tile"} & set(optimized(_attention(2, 4, opset=17, by="a computed Expand")))


@pytest.mark.parametrize(
    ("by", "groups", "opset"), [("Gather", 2, 13), ("Concat", 1, 23), ("Concat", 2, 17), ("Split", 2, 23)]
)
def test_however_they_are_spelled(by: str, groups: int, opset: int) -> None:
    """As cheap as the Attention of as many heads as there are."""
    whole, once = (_attention(groups, count, opset=opset, by=by) for count in (3, 1))
    result, least = outcome(whole, "ascend:910b4"), outcome(once, "ascend")
    assert not {"Expand", "Tile", "Concat", "Gather"} & set(result.counts)
    assert result.report.cost.after < 1.2 * least.report.cost.after


@pytest.mark.parametrize("opset", [17, 23])
def test_a_mask_is_repeated_where_that_is_less(opset: int) -> None:
    result = outcome(_attention(2, 4, opset=opset, mask=True), "ascend:910b4")
    assert result.counts["Expand"] <= 1
    check_settled(_attention(2, 4, opset=opset, mask=True), "ascend:910b4")


def _rotated(
    axis: int, dims: list[int | str], *, known: bool, last: bool = False, opset: int = 17
) -> onnx.ModelProto:
    g = Graph(x=dims)
    half = int(dims[axis]) // 2
    one, other = (
        g.add("Slice", "x", g.constant([a]), g.constant([b]), g.constant([axis]))
        for a, b in ((0, half), (half, 2 * half))
    )
    parts = [one, g.add("Neg", other)] if last else [g.add("Neg", other), one]
    turned = g.add("Concat", *parts, axis=axis)
    shape = [int(dims[axis]), *[1] * (len(dims) - axis - 1)]
    cosines, sines = (
        g.weight(*shape) if known else g.input(name, shape, TensorProto.FLOAT) for name in ("cos", "sin")
    )
    return g.model(g.add("Add", g.add("Mul", "x", cosines), g.add("Mul", turned, sines)), opset=opset)


@pytest.mark.parametrize(("axis", "dims"), [(3, ["N", 8, 16, 32]), (2, [2, "L", 6]), (1, ["N", 4, 5])])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("opset", [13, 21])
def test_a_rotation_by_known_angles_has_no_negation(
    axis: int, dims: list[int | str], last: bool, opset: int
) -> None:
    assert optimized(_rotated(axis, dims, known=True, last=last, opset=opset))["Neg"] == 0


def test_one_by_computed_angles_keeps_it() -> None:
    assert optimized(_rotated(3, ["N", 8, 16, 32], known=False))["Neg"] == 1


def test_one_head_for_all_broadcasts_as_before() -> None:
    g = Graph(q=["N", 6, 5, 4], k=["N", 6, 4, 7])
    check_untouched(g.model(g.add("MatMul", "q", "k")), "nodes")

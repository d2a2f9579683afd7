"""Reductions of equal parts of an axis are one reduction of a view."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import TensorProto

from egraph_opt import saturate

from ..knowledge_bases.graphs import Dims, Graph, check_settled, check_untouched, optimized, outcome


def reduced(g: Graph, kind: str, x: str, axes: list[int], opset: int) -> str:
    """Reduced along axes, which stay."""
    if opset >= 18 or (opset >= 13 and kind == "ReduceSum"):
        return g.add(kind, x, g.constant(axes), keepdims=1)
    return g.add(kind, x, axes=axes, keepdims=1)


def stripes(x: Dims, count: int, width: int, axis: int, opset: int, **how: Any) -> onnx.ModelProto:
    """Reductions of so many slices of an axis, joined."""
    g, kind, axes = Graph(), how.get("kind", "ReduceMean"), how.get("axes", [axis])
    dtype = how.get("dtype", TensorProto.FLOAT)
    g.input("x", x, dtype)
    pooled = []
    for k in range(count):
        bounds = (k * how.get("step", width), k * how.get("step", width) + width)
        part = g.add("Slice", "x", *(g.constant([n]) for n in (*bounds, axis)))
        pooled.append(reduced(g, kind, part, axes, opset))
    joined = g.add("Concat", *pooled, axis=axis)
    return g.model(joined, opset=opset, dtypes={joined: dtype})


@pytest.mark.parametrize("opset", [11, 13, 21])
@pytest.mark.parametrize("kind", ["ReduceMean", "ReduceMax", "ReduceSum"])
def test_stripes_of_a_tensor_are_one_reduction(kind: str, opset: int) -> None:
    shapes: tuple[tuple[Dims, int], ...] = ((["N", 12, 5], 1), ([2, 3, 12], 2))
    for x, axis in shapes:
        model = stripes(x, 3, 4, axis, opset, kind=kind)
        assert optimized(model) == {"Reshape": 1, kind: 1}
        check_settled(model, "ascend")


@pytest.mark.parametrize("pool", ["GlobalAveragePool", "GlobalMaxPool"])
def test_stripes_of_images_that_a_split_takes_are_one_reduction(pool: str) -> None:
    """Person re-identification: six stripes."""
    g = Graph(x=["N", 8, 24, 8])
    parts = g.add_many("Split", "x", g.constant([4] * 6), outputs=6, axis=2)
    model = g.model(g.add("Concat", *(g.add(pool, part) for part in parts), axis=2))
    for cost in ("nodes", "ascend"):
        assert outcome(model, cost).counts.total() == 2
    check_settled(model)


def test_further_axes_and_a_part_of_the_whole() -> None:
    """What is in front of the axis or behind a gap is reduced as it is; the last rows are left out."""
    model = stripes([2, 8, 6, 5], 2, 3, 1, 17, axes=[0, 1, 3])
    assert check_settled(model, "ascend") == {"Slice": 1, "Reshape": 1, "ReduceMean": 1, "Squeeze": 1}


def test_maxima_of_integers_are_joined_and_their_rounded_means_are_not() -> None:
    assert optimized(stripes([6, 4], 2, 3, 0, 13, kind="ReduceMax", dtype=TensorProto.INT64)).total() == 2
    model = stripes([6, 4], 2, 3, 0, 13, kind="ReduceMean", dtype=TensorProto.INT64)
    assert optimized(model)["ReduceMean"] == 2


def test_blocks_of_an_image_are_pooled_along_both_axes() -> None:
    """2 x 2 blocks, as adaptive pools are exported: less by far than four means."""
    g = Graph(x=[1, 4, 8, 8])
    rows = []
    for i in (0, 4):
        blocks = [g.add("Slice", "x", *map(g.constant, ([i, j], [i + 4, j + 4], [2, 3]))) for j in (0, 4)]
        rows.append(g.add("Concat", *(g.add("ReduceMean", b, axes=[2, 3]) for b in blocks), axis=3))
    model = g.model(g.add("Concat", *rows, axis=2), opset=17)
    result = outcome(model, "ascend")
    assert result.counts["ReduceMean"] == 1
    assert result.report.cost.after < 0.4 * result.report.cost.before


@pytest.mark.parametrize(
    ("how", "kind"),
    [({"step": 3}, "ReduceMean"), ({"kind": "ReduceProd"}, "ReduceProd")],
    ids=["they overlap", "products overflow in one order only"],
)
def test_other_parts_are_left_alone(how: dict[str, Any], kind: str) -> None:
    assert optimized(stripes(["N", 8, 3], 2, 4, 1, 17, **how))[kind] == 2


def test_parts_in_another_order_are_left_alone() -> None:
    g = Graph(x=["N", 8])
    parts = g.add_many("Split", "x", g.constant([4, 4]), outputs=2, axis=1)
    pooled = [reduced(g, "ReduceMax", part, [1], 17) for part in reversed(parts)]
    check_untouched(g.model(g.add("Concat", *pooled, axis=1)))


def test_many_stripes_are_few_e_nodes() -> None:
    region = saturate(stripes(["N", 64, 5], 32, 2, 1, 17)).region
    assert region is not None
    assert region.saturation.stop == "saturated"
    assert region.saturation.nodes < 20 * 65

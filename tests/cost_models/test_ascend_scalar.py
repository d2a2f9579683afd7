"""What is done one by one on Ascend: picked, written, sorted, or looked through."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from onnx import TensorProto as T
from onnx import parser

from egraph_opt import optimize
from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.cost_models.ascend_soc import socs
from egraph_opt.facts.fact import Fact
from egraph_opt.rewrites.conditions.formats import IMAGES

CHIPS = {soc: Ascend(soc) for soc in socs()}
ASCEND = CHIPS["310p3"]
ANCHORS = 321_408
every_chip = pytest.mark.parametrize("model", CHIPS.values(), ids=CHIPS)


def f32(*shape: int) -> Fact:
    return Fact(T.FLOAT, shape)


def i64(*shape: int) -> Fact:
    return Fact(T.INT64, shape)


def node(op: str, inputs: list[Fact], output: Fact, **attributes: object) -> NodeView:
    return NodeView(op, "", attributes, tuple(inputs), (output,))


def scatter(count: int, dtype: int = T.FLOAT) -> NodeView:
    x, updates = Fact(dtype, (count, 7)), Fact(dtype, (count,))
    return node("ScatterND", [x, i64(count, 2), updates], x)


def rows(count: int, width: int = 64) -> NodeView:
    return node("Gather", [f32(4000, width), i64(count)], f32(count, width), axis=0)


def column(count: int) -> NodeView:
    return node("Gather", [f32(count, 7), i64()], f32(count), axis=1)


def largest(count: int, extent: int = 2) -> NodeView:
    return node("ArgMax", [f32(count, extent)], i64(count), axis=1)


def best(count: int) -> NodeView:
    kept = min(count, 4096)
    return node("TopK", [f32(1, count), i64(1)], f32(1, kept), axis=1)


MEASURED = [
    (scatter(ANCHORS), 125_100),
    (node("ScatterND", [f32(64, 214_272), i64(64, 3941, 2), f32(64, 3941)], f32(64, 214_272)), 103_000),
    (largest(ANCHORS), 19_400),
    (rows(214_272), 1260),
    (column(ANCHORS), 915),
    (best(ANCHORS), 400),
]
"""Microseconds of a profile of PointPillars on 310P3: Yanguan619/OpenPCDet npu/PERFORMANCE.md."""


@pytest.mark.parametrize(("view", "micros"), MEASURED, ids=[f"{view.op_type} {us}" for view, us in MEASURED])
def test_what_the_parameters_were_fitted_on_is_priced_within_a_tenth(view: NodeView, micros: float) -> None:
    assert ASCEND.cost(view) == pytest.approx(micros, rel=0.1)


KINDS: list[Callable[[int], NodeView]] = [scatter, rows, column, largest, best]


@every_chip
@pytest.mark.parametrize("kind", KINDS, ids=[kind.__name__ for kind in KINDS])
def test_prices_grow_with_the_count_and_not_faster(model: Ascend, kind: Callable[[int], NodeView]) -> None:
    counts = [1, 2, 4, 7, 8, 9, 16, 17, 40, 41, 100, 1000, 10_000, 100_000, 1_000_000]
    costs = [model.cost(kind(count)) for count in counts]
    for (less, before), (more, after) in pairwise(zip(counts, costs, strict=True)):
        assert before <= after <= 1.5 * before * more / less


@every_chip
@pytest.mark.parametrize("kind", KINDS, ids=[kind.__name__ for kind in KINDS])
def test_four_of_anything_cost_a_few_launches_at_most(model: Ascend, kind: Callable[[int], NodeView]) -> None:
    assert model.cost(kind(4)) < 3 * model.soc.fixed_vector_us + 1


def test_a_scatter_of_a_computed_shape_is_small() -> None:
    assert ASCEND.cost(scatter(4, T.INT64)) < 5


@pytest.mark.parametrize("width", [1, 2, 4, 8, 15, 16, 17, 64, 100])
def test_longer_rows_are_no_cheaper_to_pick(width: int) -> None:
    assert ASCEND.cost(rows(10_000, width)) <= ASCEND.cost(rows(10_000, width + 1))


def test_results_side_by_side_are_found_together() -> None:
    """The largest of two channels of an image is no work of the scalar unit for each pixel."""
    pixels = node("ArgMax", [f32(1, 2, 400, 400)], i64(1, 400, 400), axis=1)
    assert ASCEND.cost(pixels) < ASCEND.cost(largest(160_000)) / 50


def cut(width: int, rows: int = ANCHORS, *, whole: int = 40) -> NodeView:
    """Columns of a matrix."""
    bounds = [Fact(T.INT64, (1,), const=True, value=(k,)) for k in (0, width, 1)]
    return node("Slice", [f32(rows, whole), *bounds], f32(rows, width))


@every_chip
@pytest.mark.parametrize("shape", [(1000, 20), (1000, 20, 1), (1000, 20, 7), (20, 300), (1, 5000)])
def test_the_best_of_several_cost_no_less_than_the_best(model: Ascend, shape: tuple[int, ...]) -> None:
    """On 310P3 ArgMax of [1000, 20] was 62.6 us, TopK of one 5.3."""
    found = (shape[0], 1, *shape[2:])
    extreme = node("ArgMax", [f32(*shape)], i64(*found), axis=1)
    sorted_ = NodeView("TopK", "", {"axis": 1}, (f32(*shape), i64(1)), (f32(*found), i64(*found)))
    last = NodeView("TopK", "", {}, sorted_.inputs, sorted_.outputs)
    assert model.cost(sorted_) >= 0.9 * model.cost(extreme)
    if len(shape) == 2:
        assert model.cost(last) == model.cost(sorted_)


def test_every_second_element_costs_the_same_with_an_axis_of_one_behind() -> None:
    """Of [100000, 64] 128.3 us, of [100000, 64, 1] 33.6."""
    lists = [Fact(T.INT64, (1,), const=True, value=(n,)) for n in (0, 64, 1, 2)]
    flat = node("Slice", [f32(100_000, 64), *lists], f32(100_000, 32))
    behind = node("Slice", [f32(100_000, 64, 1), *lists], f32(100_000, 32, 1))
    assert ASCEND.cost(behind) == ASCEND.cost(flat)


def test_columns_that_are_cut_take_a_block_for_each_row() -> None:
    """16 float16 are a block: one column takes as long as they do, and no longer than the next."""
    costs = [ASCEND.cost(cut(width)) for width in range(1, 40)]
    assert costs[0] == costs[15] < costs[16]
    assert all(before <= after <= 1.2 * before for before, after in pairwise(costs))
    bounds = [Fact(T.INT64, (1,), const=True, value=(k,)) for k in (0, 1, 0)]
    row = node("Slice", [f32(32, ANCHORS), *bounds], f32(1, ANCHORS))
    assert ASCEND.cost(row) < costs[0] / 5


def test_a_split_into_columns_costs_no_more_than_slices_and_a_concat_what_a_split_does() -> None:
    wide, columns = f32(ANCHORS, 7), (f32(ANCHORS, 1),) * 7
    split = NodeView("Split", "", {"axis": 1}, (wide,), columns)
    concat = NodeView("Concat", "", {"axis": 1}, columns, (wide,))
    assert ASCEND.cost(split) == ASCEND.cost(concat) <= 7 * ASCEND.cost(cut(1, whole=7))


@pytest.mark.parametrize("op", ["GatherElements", "GatherND"])
def test_elements_are_picked_like_those_of_a_column(op: str) -> None:
    indices = i64(1000, 100) if op == "GatherElements" else i64(1000, 100, 2)
    one_by_one = node(op, [f32(1000, 100), indices], f32(1000, 100), axis=1)
    assert ASCEND.cost(one_by_one) == pytest.approx(ASCEND.cost(column(100_000)), rel=0.1)


@pytest.mark.parametrize("parameter", ["clock_ghz", "vector_cores", "scatter_cores"])
def test_a_faster_chip_is_never_slower(parameter: str) -> None:
    faster = Ascend(**{parameter: 2 * getattr(ASCEND.soc, parameter)})
    assert all(faster.cost(kind(5000)) <= ASCEND.cost(kind(5000)) for kind in KINDS)


def test_transposed_convolutions_of_a_profile_are_priced_within_a_quarter() -> None:
    """Three kernels of PointPillars, in NC1HWC0: 7,330 us in float32 and 4,230 in float16."""
    for width, micros in ((4, 7330), (2, 4230)):
        model, total = Ascend(float_bytes=width).in_format(IMAGES), 0.0
        for channels, height, side, stride in ((64, 248, 216, 1), (128, 124, 108, 2), (256, 62, 54, 4)):
            w = Fact(T.FLOAT, (channels, 128, stride, stride), const=True)
            y = f32(1, 128, height * stride, side * stride)
            view = node("ConvTranspose", [f32(1, channels, height, side), w], y, strides=(stride, stride))
            total += model.device_time(view)
        assert total == pytest.approx(micros, rel=0.25)


def told(text: str) -> tuple[list[str], float]:
    """What the report of a model says of prices without measurements, and what its result costs."""
    report = optimize(parser.parse_model(HEADER + text), cost="ascend", verify=False).report
    return [line for line in report.warnings if "no measurement" in line], report.cost.after


HEADER = '<ir_version: 8, opset_import: ["" : 17]>'


CUMULATED = ASCEND.cost(node("CumSum", [f32(1000, 1000), i64()], f32(1000, 1000)))


def test_what_nobody_measured_is_reported_with_its_share_of_the_chosen_graph() -> None:
    """The products have many alternatives, none of which is part of the cost."""
    (remark,), cost = told("""g (float[1000,1000] x, float[1000,1000] z) => (float[1000,1000] y)
        <int64 axis = {1}> { p = CumSum (x, axis) a = Mul (z, p) b = Mul (z, x) y = Add (a, b) }""")
    assert remark == f"the price of CumSum rests on no measurement: {CUMULATED / cost:.0%} of the cost"
    assert told("g (float[1000,1000] x) => (float[1000,1000] y) { y = Relu (x) }")[0] == []


def test_what_nobody_measured_counts_as_often_as_a_body_runs() -> None:
    (remark,), cost = told("""g (float[1000,1000] x) => (float[1000,1000] y)
        <int64 axis = {1}, int64 count = {4}, bool go = {1}> {
            e = Sin (x)
            r = Loop (count, go, e) <body = once (int64 i, bool g, float[1000,1000] x0)
                => (bool h, float[1000,1000] x1) { h = Identity (g) x1 = CumSum (x0, axis) }>
            y = Cos (r)
        }""")
    once = ASCEND.cost(
        node("CumSum", [Fact(T.FLOAT), i64()], Fact(T.FLOAT))
    )  # what a loop carries has no shape
    # The launch of the Loop is a guess as well, what it runs is not.
    share = (4 * once + ASCEND.soc.fixed_control_us) / cost
    assert remark == f"the price of CumSum, Loop rests on no measurement: {share:.0%} of the cost"

"""Sizes at which prices are measured: those at which the model runs, inner ones as a run has them."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import parser

from egraph_opt import Limits, optimize
from egraph_opt.cost.model import NodeView
from egraph_opt.cost.registry import cost_model
from egraph_opt.cost_models.onnxruntime import OnnxRuntime
from egraph_opt.measurement.store import Store
from egraph_opt.pipeline import sizes
from egraph_opt.pipeline.stages import saturate

MODEL = OnnxRuntime(seconds=0.0, store=Store(None))


def model(body: str) -> onnx.ModelProto:
    return parser.parse_model(
        f"""
        <ir_version: 8, opset_import: ["" : 17]>
        sizes (float[L] x) => (float[M] y)
        <int64[2] rows = {{-1, 24}}, int64[1] flat = {{-1}}>
        {{ {body} }}
        """
    )


def test_a_length_that_does_not_run_is_replaced_by_one_that_does() -> None:
    """One element is no row of 24."""
    saturated = saturate(model("a = Reshape (x, rows) b = Relu (a) y = Reshape (b, flat)"), target=MODEL)
    assert saturated.points(MODEL)["L"] % 24 == 0


def test_given_sizes_are_kept_where_the_model_runs_on_them() -> None:
    saturated = saturate(model("a = Reshape (x, rows) b = Relu (a) y = Reshape (b, flat)"), target=MODEL)
    assert saturated.points(MODEL, {"L": 240})["L"] == 240


FIVE = parser.parse_model(
    """
    <ir_version: 8, opset_import: ["" : 17]>
    five (float[A, B, C, D, E] x) => (float[A, B, C, D, E] y) { a = Relu (x) y = Relu (a) }
    """
)


def _drawn(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, int]]:
    """The sizes at which inputs are asked for from here on, of which none are made."""
    asked: list[dict[str, int]] = []

    def feeds(
        proto: object, points: dict[str, int], *rest: object
    ) -> tuple[dict[str, object], dict[str, int]]:
        asked.append(points)
        return {}, points

    monkeypatch.setattr(sizes, "_feeds", feeds)
    return asked


def test_inputs_of_many_dims_are_drawn_at_small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four dims of 128 each were 268 million elements of every input."""
    drawn = _drawn(monkeypatch)
    points = saturate(FIVE).points(cost_model("nodes"))
    assert drawn == [points]
    assert points == {"A": 1, "B": 32, "C": 32, "D": 32, "E": 32}


@pytest.mark.parametrize(("seconds", "runs"), [(1000.0, 1), (1.0, 0)])
def test_sizes_that_are_large_for_the_limit_are_taken_without_a_run(
    seconds: float, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = _drawn(monkeypatch)
    said = dict.fromkeys("ABCDE", 24)
    saturated = replace(saturate(FIVE), limits=Limits(seconds=seconds))
    assert saturated.points(cost_model("nodes"), said=said) == said
    assert len(drawn) == runs


def test_runs_for_sizes_take_half_of_what_is_left_and_are_in_a_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, ends = [0.0], []

    def take_long(
        loaded: object, region: object, points: dict[str, int], *rest: object, end: float
    ) -> object:
        ends.append(end)
        clock[0] += 7.0
        return points

    saturated = replace(saturate(FIVE), seconds={"load": 4.0}, limits=Limits(seconds=10.0))
    for name in ("perf_counter", "monotonic"):
        monkeypatch.setattr(f"egraph_opt.pipeline.limits.time.{name}", lambda: clock[0])
    monkeypatch.setattr("egraph_opt.pipeline.saturated.true_sizes", take_long)
    result = saturated.extract("nodes", verify=False)
    assert ends == [3.0]
    assert result.report.seconds["price"] >= 7.0


def test_a_run_for_sizes_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by the 30 s that it may take where there are more."""
    given = []

    def never(*arguments: object, seconds: float) -> object:
        given.append(seconds)
        raise OSError

    monkeypatch.setattr(sizes, "apart", never)
    saturated = saturate(FIVE)
    assert saturated.region is not None
    now = time.monotonic()
    for end in (now + 2.0, now + 100.0, now - 1.0):
        points = dict.fromkeys("ABCDE", 2)
        assert (
            sizes.sizes_that_run(saturated.loaded, saturated.region, points, sizes.PLAIN, end=end) == points
        )
    assert len(given) == 2
    assert given[0] <= 2.0 < given[1] == sizes.SECONDS


def test_what_only_a_run_tells_is_seen_in_one() -> None:
    """How many elements are not 0: of random ones all are."""
    saturated = saturate(model("i = NonZero (x) j = Cast <to = 1> (i) y = Reshape (j, flat)"), target=MODEL)
    points = saturated.points(MODEL)
    inner = {name: size for name, size in points.items() if name != "L"}
    assert inner
    assert set(inner.values()) == {points["L"]}


BRANCHES = """
<ir_version: 8, opset_import: ["" : 17]>
branches (float[L] x, bool c) => (float[M] y)
<int64[1] flat = {-1}>
{
    y = If (c) <
        then_branch = taken () => (float[P] p) {
            i = NonZero (x) j = Cast <to = 1> (i) k = Neg (j) p = Reshape (k, flat)
        },
        else_branch = other () => (float[Q] q) {
            w = Floor (x) h = NonZero (w) l = Cast <to = 1> (h)
            m = Concat <axis = 1> (l, l) n = Abs (m) q = Reshape (n, flat)
        }
    >
}
"""


def test_sizes_in_both_branches_are_seen() -> None:
    saturated = saturate(parser.parse_model(BRANCHES), target=MODEL)
    points = saturated.points(MODEL)
    inner = [size for name, size in points.items() if name.startswith("?") and name[1] in "ihkmnpq"]
    assert len(inner) >= 2
    assert set(inner) <= {points["L"], 2 * points["L"]}


def test_a_branch_that_cannot_run_is_taken_to_be_small() -> None:
    """No row of 7 is one of 24: only the branch for which these inputs are made can be seen."""
    text = BRANCHES.replace("m = Concat <axis = 1> (l, l)", "m = Reshape (l, rows)")
    text = text.replace("int64[1] flat = {-1}", "int64[1] flat = {-1}, int64[2] rows = {-1, 24}")
    points = saturate(parser.parse_model(text), target=MODEL).points(MODEL, {"L": 7})
    inner = {size for name, size in points.items() if name.startswith("?")}
    assert inner <= {1, points["L"]}


def test_of_two_branches_the_slower_one_counts() -> None:
    model = OnnxRuntime(seconds=0.0, store=Store(None))
    branches, loop = (NodeView(op, "", {}, (), ()) for op in ("If", "Loop"))
    assert model.of_bodies(branches, [3.0, 5.0]) == 5.0
    assert model.of_bodies(loop, [3.0]) == 3.0
    assert cost_model("nodes").of_bodies(branches, [3.0, 5.0]) == 8.0


def test_inner_sizes_are_not_in_the_report() -> None:
    text = "i = NonZero (x) j = Cast <to = 1> (i) k = Neg (j) l = Neg (k) y = Reshape (l, flat)"
    assert set(optimize(model(text), cost=MODEL).report.cost.points) == {"L"}


@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_every_cost_model_prices_at_sizes_at_which_the_model_runs(cost: str) -> None:
    proto = model("a = Reshape (x, rows) b = Relu (a) y = Reshape (b, flat)")
    assert optimize(proto, cost=cost).report.cost.points["L"] % 24 == 0


PYRAMID = """
<ir_version: 8, opset_import: ["" : 17]>
pyramid (float[N, 3, H, W] x) => (float[A, B, C, D] y)
<float[4] scales = {1, 1, 2, 2}>
{
    a = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)
    b = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (a, v)
    c = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">
        (b, , scales)
    s = Add (a, c)
    r = Relu (s)
    y = Conv <pads = [1, 1, 1, 1]> (r, v)
}
"""


def pyramid() -> onnx.ModelProto:
    proto = parser.parse_model(PYRAMID)
    for name, shape in (("w", (4, 3, 3, 3)), ("v", (4, 4, 3, 3))):
        values = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        proto.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
    return proto


@pytest.mark.parametrize("cost", ["bytes", "flops"])
def test_prices_with_free_dims_are_those_of_the_same_sizes_fixed(cost: str) -> None:
    """What a strided convolution and a Resize add up to has a length that no symbol expresses."""
    free = optimize(pyramid(), cost).report
    assert free.cost.observed and "taken from a run" in str(free)
    fixed = optimize(pyramid(), cost, input_shapes={"x": (1, 3, 128, 128)}).report
    assert fixed.cost.observed == 0
    for part in ("before", "after"):
        assert getattr(free.cost, part) == pytest.approx(getattr(fixed.cost, part), rel=0.02)
    assert free.memory.before == fixed.memory.before

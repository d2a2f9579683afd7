"""An e-graph is priced only under cost models whose rulesets and limits took part in its saturation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from onnx import ModelProto, parser

from egraph_opt import CostModel, NodeView, Saturated, cost_model, optimize, saturate
from egraph_opt.errors import TargetMismatchError, UnknownRulesetError
from egraph_opt.laws.selection import select

POOL = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 64, 48, 48] x) => (float[1, 64, 2, 2] y) {
    y = AveragePool <kernel_shape = [24, 24], strides = [24, 24]> (x)
}
"""
"""A window that Ascend's vector unit has no instruction for: unless it is split, the AI CPU computes it."""


class Plain(CostModel):
    """A node costs 1; the class brings what a test gives it."""

    name = "plain"
    unit = "nodes"

    def __init__(self, limits: dict[str, int] | None = None, rulesets: tuple[str, ...] = ()) -> None:
        self.limits = limits or {}
        self.rulesets = rulesets

    def cost(self, node: NodeView) -> float:
        return 1.0 + node.body_cost


@pytest.fixture(scope="module")
def pool() -> ModelProto:
    return parser.parse_model(POOL)


@pytest.fixture(scope="module")
def without_target(pool: ModelProto) -> Saturated:
    return saturate(pool)


@pytest.fixture(scope="module")
def for_ascend(pool: ModelProto) -> Saturated:
    return saturate(pool, target="ascend")


def choices(saturated: Saturated, cost: str | CostModel) -> list[Any]:
    """Everything that chooses a graph."""
    return [
        lambda: saturated.solve(cost),
        lambda: saturated.extract(cost),
        lambda: saturated.best(2, cost),
        lambda: saturated.alternatives(cost, "y"),
    ]


@pytest.mark.parametrize("number", range(4))
def test_an_e_graph_of_another_target_is_refused_and_not_silently_worse(
    pool: ModelProto, without_target: Saturated, number: int
) -> None:
    with pytest.raises(TargetMismatchError) as caught:
        choices(without_target, "ascend")[number]()
    assert "without the rulesets ascend.fusion, ascend.in_place, ascend.layout, ascend.vector and" in str(
        caught.value
    )
    assert "conv_dilation = none (now 255)" in str(caught.value)
    assert "saturate it again with this cost model as `target`" in str(caught.value)


def test_what_would_have_been_missed_is_a_large_share(pool: ModelProto, for_ascend: Saturated) -> None:
    report = optimize(pool, "ascend", verify=False).report
    assert report.cost.after < report.cost.before / 4
    assert for_ascend.solve("ascend").solution.cost == report.cost.after


def test_cost_models_that_bring_nothing_price_every_e_graph(
    without_target: Saturated, for_ascend: Saturated
) -> None:
    for saturated in (without_target, for_ascend):
        assert [saturated.mismatch(cost) for cost in ("nodes", "flops", "bytes", Plain())] == [""] * 4
        assert saturated.solve("nodes").solution.cost >= 1


def test_other_prices_of_the_same_target_price_its_e_graph(for_ascend: Saturated) -> None:
    half = cost_model("ascend", {"fixed_vector_us": 1.0, "vector_cycles.Add": 0.02})
    assert for_ascend.mismatch(half) == ""
    assert for_ascend.solve(half).solution.cost < for_ascend.solve("ascend").solution.cost


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        (cost_model("ascend", {"pool_window": 100}), "under the limit pool_window = 255 (now 100)"),
        (
            "ascend:910b4",
            "under the limits fused_stages = 4 (now 2), plain_products = 1 (now 2), "
            "resident_pixels = 32768 (now 16384)",
        ),
        (Plain({"pool_window": 7}), "under the limit pool_window = 255 (now 7)"),
        (Plain({"new_limit": 7}), "under the limit new_limit = none (now 7)"),
        (Plain(rulesets=("onnxruntime.layout",)), "without the ruleset onnxruntime.layout"),
    ],
)
def test_a_target_with_another_limit_or_ruleset_is_refused(
    for_ascend: Saturated, cost: str | CostModel, told: str
) -> None:
    assert for_ascend.mismatch(cost) == told
    with pytest.raises(TargetMismatchError):
        for_ascend.solve(cost)


def test_limits_and_rulesets_among_those_of_the_target_are_enough(for_ascend: Saturated) -> None:
    part = Plain({"pool_window": 255}, ("ascend.fusion",))
    assert for_ascend.mismatch(part) == ""
    assert for_ascend.solve(part).solution.cost == 1


def test_of_many_limits_the_first_are_told_and_the_rest_counted(without_target: Saturated) -> None:
    limits = dict.fromkeys("abcde", 1)
    told = "a = none (now 1), b = none (now 1), c = none (now 1), 2 more"
    assert without_target.mismatch(Plain(limits)) == f"under the limits {told}"


def test_a_ruleset_that_was_named_took_part(pool: ModelProto) -> None:
    named = saturate(pool, rewrites=["default", "ascend.fusion"])
    assert named.mismatch(Plain(rulesets=("ascend.fusion",))) == ""


LAW = select((), ["ascend.fusion"])[0].key
"""One of the laws of a ruleset."""


@pytest.mark.parametrize("name", ["ascend.fusion", LAW])
def test_what_was_left_out_by_name_is_not_missed(pool: ModelProto, name: str) -> None:
    rewrites = ["default", f"-{name}"]
    assert saturate(pool, rewrites=rewrites, target="ascend").mismatch("ascend") == ""
    assert optimize(pool, "ascend", rewrites=rewrites).report.status == "optimized"


def test_one_law_of_a_ruleset_is_not_the_ruleset(pool: ModelProto) -> None:
    saturated = saturate(pool, rewrites=["default", LAW])
    assert saturated.mismatch(Plain(rulesets=("ascend.fusion",))) == "without the ruleset ascend.fusion"


def test_a_file_keeps_what_took_part(for_ascend: Saturated, tmp_path: Path) -> None:
    loaded = Saturated.load(for_ascend.save(tmp_path / "pool.npz"))
    assert loaded.saturated_for == for_ascend.saturated_for
    assert loaded.mismatch("ascend") == ""
    with pytest.raises(TargetMismatchError, match="pool_window"):
        loaded.solve(cost_model("ascend", {"pool_window": 100}))


def test_a_ruleset_that_there_is_not_is_an_unknown_one(for_ascend: Saturated) -> None:
    with pytest.raises(UnknownRulesetError, match=r"did you mean 'ascend\.fusion'"):
        for_ascend.solve(Plain(rulesets=("ascend.fusoin",)))


def test_a_model_that_nothing_can_be_done_for_comes_back_under_any_target() -> None:
    old = parser.parse_model(POOL.replace("17", "6"))
    saturated = saturate(old)
    assert saturated.region is None
    assert saturated.extract("ascend").report.status == "unchanged"

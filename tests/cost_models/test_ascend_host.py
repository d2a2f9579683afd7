"""Eager dispatch on Ascend: the host pays for every operator, and waits where a shape is computed."""

from __future__ import annotations

import pytest
from onnx import parser

from egraph_opt import optimize
from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.errors import ParameterError
from egraph_opt.facts.fact import Fact
from egraph_opt.report.figures import CostReport

SMALL, LARGE = Fact(1, (4, 8)), Fact(1, (4096, 8192))
OFFLINE = Ascend()
EAGER = Ascend(dispatch="eager", host_us=20.0, host_wait_us=50.0)


def relu(x: Fact) -> NodeView:
    return NodeView("Relu", "", {}, (x,), (x,))


def test_small_operators_are_bound_by_the_host_and_large_ones_by_the_device() -> None:
    assert OFFLINE.cost(relu(SMALL)) < 20.0
    assert EAGER.cost(relu(SMALL)) == 20.0
    assert EAGER.cost(relu(LARGE)) == OFFLINE.cost(relu(LARGE)) > 20.0


@pytest.mark.parametrize(
    ("target", "wait"),
    [
        (Fact(7, (2,), const=True, value=(8, 4)), 0.0),
        (Fact(7, (2,), value=("n", 4)), 0.0),
        (Fact(7, (2,)), 50.0),
    ],
)
def test_the_host_waits_for_shapes_that_the_device_computes(target: Fact, wait: float) -> None:
    reshape = NodeView("Reshape", "", {}, (SMALL, target), (Fact(1, (8, 4)),))
    assert EAGER.cost(reshape) == 20.0 + wait
    assert OFFLINE.cost(reshape) == OFFLINE.soc.view_us


def test_the_breakdown_says_what_is_the_hosts() -> None:
    shares = EAGER.breakdown(relu(SMALL))
    assert shares == {"host": pytest.approx(20.0 - OFFLINE.cost(relu(SMALL)))}
    assert "host" not in OFFLINE.breakdown(relu(SMALL))


CHAIN = """
<ir_version: 8, opset_import: ["" : 17]>
chain (float[1,16,8,8] x) => (float[1,16,8,8] y) {
    a = Sin(x)
    b = MaxPool<kernel_shape=[3,3], pads=[1,1,1,1]>(a)
    c = Softmax<axis=-1>(b)
    y = MaxPool<kernel_shape=[3,3], pads=[1,1,1,1]>(c)
}
"""


def test_what_is_told_of_a_result_adds_up_to_its_cost() -> None:
    for model in (OFFLINE, EAGER):
        cost = optimize(parser.parse_model(CHAIN), cost=model, verify=False).report.cost
        assert sum(entry.cost for entry in cost.by_operator) == pytest.approx(cost.after)
        assert all(0 < share <= e.cost * 1.001 for e in cost.by_operator for share in e.resources.values())


HEAVY = """
<ir_version: 8, opset_import: ["" : 17]>
heavy (float[2048,2048] x) => (float[2048,2048] y) {
    a = MatMul (x, x)
    b = Relu (a)
    c = Sin (b)
    y = Softmax <axis = -1> (c)
}
"""


def of_sides(text: str, model: Ascend) -> CostReport:
    return optimize(parser.parse_model(text), cost=model, verify=False).report.cost


def test_a_long_kernel_hides_what_the_host_does_for_those_that_follow() -> None:
    """Node by node it is the longer of both, and the sum of that longer than the queue takes."""
    found = of_sides(HEAVY, EAGER)
    host, device = found.sides["host"][1], found.sides["device"][1]
    assert host == 4 * 20.0 < device
    assert 0.9 * device < found.after <= device


@pytest.mark.parametrize(("text", "bound"), [(CHAIN, "host"), (HEAVY, "device")])
def test_the_report_has_both_sums_and_says_which_bounds(text: str, bound: str) -> None:
    report = optimize(parser.parse_model(text), cost=EAGER, verify=False).report
    sums = {side: after for side, (_, after) in report.cost.sides.items()}
    other = min(sums, key=sums.__getitem__)
    assert max(sums, key=sums.__getitem__) == bound
    verdict = f"{bound}-bound, {sums[bound] / sums[other]:.2g} times the {other}"
    assert report.cost.verdict() == verdict
    assert verdict in " ".join(str(report).split())
    assert not optimize(parser.parse_model(text), cost=OFFLINE, verify=False).report.cost.sides


FUSED = """
<ir_version: 8, opset_import: ["" : 17]>
fused (float[1,16,8,8] x) => (float[1,16,8,8] y) <int64[4] d = {16, 16, 1, 1}> {
    w = ConstantOfShape <value = float[1] {0.01}> (d)
    a = Conv (x, w)
    b = Relu (a)
    c = Exp (b)
    y = Neg (c)
}
"""


def test_operators_that_are_launched_one_by_one_share_no_kernel() -> None:
    """Four kernels and two conversions, where an offline model has one kernel between the two."""
    eager = optimize(parser.parse_model(FUSED), cost=EAGER, verify=False).report.cost
    assert {entry.operator: entry.nodes for entry in eager.by_operator if entry.operator != "TransData"} == {
        "Conv": 1, "Exp": 1, "Neg": 1, "Relu": 1,
    }  # fmt: skip
    assert eager.written == pytest.approx(eager.before, rel=1e-3)
    assert Ascend(dispatch="eager", vector_stages=6).soc.vector_stages == 6


def test_another_dispatch_is_refused() -> None:
    with pytest.raises(ParameterError, match="offline"):
        Ascend(dispatch="lazy")


def test_conversions_are_told_with_their_places() -> None:
    cost = optimize(parser.parse_model(CHAIN), cost=OFFLINE, verify=False).report.cost
    (row,) = (entry for entry in cost.by_operator if entry.operator == "TransData")
    assert row.nodes == 4
    assert row.tensors == ("a", "b", "c", "y")
    assert set(row.resources) >= {"conversion"}

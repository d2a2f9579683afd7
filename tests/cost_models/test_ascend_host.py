"""Eager dispatch on Ascend: the host pays for every operator, and waits where a shape is computed."""

from __future__ import annotations

import pytest
from onnx import parser

from egraph_opt import optimize
from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.errors import ParameterError
from egraph_opt.facts.fact import Fact

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


def test_another_dispatch_is_refused() -> None:
    with pytest.raises(ParameterError, match="offline"):
        Ascend(dispatch="lazy")


def test_conversions_are_told_with_their_places() -> None:
    cost = optimize(parser.parse_model(CHAIN), cost=OFFLINE, verify=False).report.cost
    (row,) = (entry for entry in cost.by_operator if entry.operator == "TransData")
    assert row.nodes == 4
    assert row.tensors == ("a", "b", "c", "y")
    assert set(row.resources) >= {"conversion"}

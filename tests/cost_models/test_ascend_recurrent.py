"""Recurrent operators on Ascend: a step waits for the one before, whoever spells it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from onnx import TensorProto

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.cost_models.ascend_cube import GATES
from egraph_opt.cost_models.ascend_soc import socs
from egraph_opt.facts.fact import Fact


def f32(*shape: int, const: bool = False) -> Fact:
    return Fact(TensorProto.FLOAT, shape, const=const)


def recurrent(op: str, steps: int, batch: int = 1, hidden: int = 64, directions: int = 1) -> NodeView:
    gates = GATES[op][0]
    w = f32(directions, gates * hidden, hidden, const=True)
    x, y = f32(steps, batch, hidden), f32(steps, directions, batch, hidden)
    return NodeView(op, "", {"hidden_size": hidden}, (x, w, w), (y,))


@pytest.mark.parametrize("soc", socs())
@pytest.mark.parametrize("op", GATES)
def test_each_step_is_paid(soc: str, op: str) -> None:
    """50 steps of an RNN were 3.46 us on 310P3, as Gemm and Tanh 152.3."""
    model = Ascend(soc)
    one, fifty = (model.cost(recurrent(op, steps)) for steps in (1, 50))
    assert fifty == pytest.approx(50 * one, rel=0.05)
    assert model.cost(recurrent(op, 50, directions=2)) == pytest.approx(2 * fifty, rel=0.05)


@pytest.mark.parametrize("op", GATES)
def test_more_of_anything_costs_no_less(op: str) -> None:
    model = Ascend()
    for grown in (
        [recurrent(op, steps) for steps in (1, 2, 16, 50, 512)],
        [recurrent(op, 16, batch) for batch in (1, 2, 15, 16, 17, 300)],
        [recurrent(op, 16, 2, hidden) for hidden in (1, 8, 16, 17, 64, 600)],
    ):
        assert all(before <= after for before, after in pairwise(map(model.cost, grown)))


def test_an_rnn_costs_what_its_products_and_functions_do() -> None:
    model = Ascend()
    state, weight = f32(1, 64), f32(64, 64, const=True)
    described = {"cube": "Gemm", "operands": 3, "settings": (), "stages": (("Tanh", (), "", 0),)}
    step = NodeView("FusedCube", "egraph_opt.pseudo", described, (state, weight, state), (state,))
    assert model.cost(recurrent("RNN", 50)) == pytest.approx(50 * model.cost(step), rel=0.02)

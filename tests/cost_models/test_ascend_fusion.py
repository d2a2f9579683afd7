"""What a fused kernel costs on Ascend, beside its parts."""

from __future__ import annotations

import pytest

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.cost_models.ascend_soc import socs
from egraph_opt.facts.fact import Fact
from egraph_opt.rewrites.conditions.formats import IMAGES

IMAGE = Fact(1, (1, 64, 56, 56))
WEIGHTS = (Fact(1, (64, 64, 3, 3), const=True), Fact(1, (64,), const=True))
SETTINGS = (("pads", (1, 1, 1, 1)),)
CONV = NodeView("Conv", "", dict(SETTINGS), (IMAGE, *WEIGHTS), (IMAGE,))


def kernel(*stages: tuple[str, Fact | None]) -> NodeView:
    """The convolution with stages behind it, each with its operand from outside."""
    described = tuple((op, (), "" if other is None else "value", 1) for op, other in stages)
    others = tuple(other for _, other in stages if other is not None)
    attributes = {"cube": "Conv", "operands": 3, "settings": SETTINGS, "stages": described}
    return NodeView("FusedCube", "egraph_opt.pseudo", attributes, (IMAGE, *WEIGHTS, *others), (IMAGE,))


def alone(op: str, *operands: Fact) -> NodeView:
    return NodeView(op, "", {}, (IMAGE, *operands), (IMAGE,))


@pytest.mark.parametrize("soc", socs())
@pytest.mark.parametrize("op", ["Relu", "Sigmoid", "Gelu", "Sin"])
def test_a_kernel_costs_no_less_than_its_convolution_and_no_more_than_its_parts(soc: str, op: str) -> None:
    model = Ascend(soc).in_format(IMAGES)
    cube, fused = model.cost(CONV), model.cost(kernel((op, None)))
    assert cube <= fused <= cube + model.cost(alone(op))
    residual = model.cost(kernel(("Add", IMAGE), (op, None)))
    assert fused <= residual <= cube + model.cost(alone("Add", IMAGE)) + model.cost(alone(op))


def test_an_activation_that_fits_beside_the_cube_is_free() -> None:
    model = Ascend("310p3").in_format(IMAGES)
    assert model.cost(kernel(("Relu", None))) == model.cost(CONV)


def test_a_residual_has_to_be_read() -> None:
    model = Ascend("310p3").in_format(IMAGES)
    assert model.cost(CONV) < model.cost(kernel(("Add", IMAGE))) < model.cost(CONV) + 2


def test_stages_that_a_chip_does_not_fuse_cost_what_they_cost_alone() -> None:
    model = Ascend("910b1").in_format(IMAGES)
    assert model.cost(kernel(("Relu", None))) == model.cost(CONV)
    for op in ("Sigmoid", "Tanh"):
        parts = model.cost(CONV) + model.cost(alone(op))
        assert model.cost(kernel((op, None))) == pytest.approx(parts)


def test_a_bias_is_fused_on_every_chip() -> None:
    bias = Fact(1, (1, 64, 1, 1), const=True)
    for soc in socs():
        model = Ascend(soc).in_format(IMAGES)
        assert model.cost(kernel(("Add", bias))) < model.cost(CONV) + 0.5 * model.cost(alone("Add", bias))

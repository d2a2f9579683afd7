"""What a kernel of the vector units costs on Ascend, beside its parts."""

from __future__ import annotations

from typing import Any

import pytest

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.cost_models.ascend_soc import socs
from egraph_opt.facts.fact import Fact

X = Fact(1, (8, 64, 512))
ROW = Fact(1, (512,), const=True)
DOMAIN = "egraph_opt.pseudo"

every_chip = pytest.mark.parametrize("model", [Ascend(soc) for soc in socs()], ids=socs())


Stage = tuple[str, tuple[Any, ...], str, int]


def kernel(*stages: Stage, others: tuple[Fact, ...] = (), to: Fact = X) -> NodeView:
    return NodeView("VectorKernel", DOMAIN, {"stages": stages}, (X, *others), (to,))


def alone(op: str, *operands: Fact, to: Fact = X, **attributes: Any) -> NodeView:
    return NodeView(op, "", attributes, operands or (X,), (to,))


def function(op: str) -> Stage:
    return (op, (), "", 0)


@every_chip
@pytest.mark.parametrize("op", ["Relu", "Exp", "Gelu", "Sqrt"])
def test_a_lone_operator_costs_its_launch_and_all_that_it_moves(model: Ascend, op: str) -> None:
    moving = model._device.operands((X, X))
    assert model.cost(alone(op)) >= model.soc.fixed_vector_us + moving


@every_chip
def test_a_kernel_of_two_is_launched_once_and_moves_no_inner_value(model: Ascend) -> None:
    pair = model.cost(kernel(function("Relu"), function("Relu")))
    single = model.cost(alone("Relu"))
    assert single <= pair < 2 * single - 0.9 * model.soc.fixed_vector_us


@every_chip
def test_the_vector_work_of_all_stages_adds_up(model: Ascend) -> None:
    long = [model.cost(kernel(*[function("Erf")] * count)) - model.soc.fixed_vector_us for count in (2, 4, 6)]
    assert long == pytest.approx([long[0], 2 * long[0], 3 * long[0]])


@every_chip
def test_operands_from_outside_are_read(model: Ascend) -> None:
    column = Fact(1, (8, 64, 1))
    costs = [
        model.cost(kernel(("Add", (), "value", 1), function("Relu"), others=(other,)))
        for other in (ROW, column, X)
    ]
    assert costs[0] < costs[2] and costs[1] < costs[2]
    gate = model.cost(kernel(function("Relu"), ("Mul", (), "first", 1)))
    assert gate < model.cost(kernel(function("Relu"), ("Mul", (), "value", 1), others=(X,)))


@every_chip
def test_a_reduction_behind_its_prologue_writes_what_is_left(model: Ascend) -> None:
    mean = Fact(1, (8, 64, 1))
    square = ("Mul", (), "result", 1)
    fused = model.cost(kernel(square, ("ReduceMean", ((2,), 1), "", 0), to=mean))
    reduction = model.cost(alone("ReduceMean", X, to=mean))
    assert fused < model.cost(alone("Mul", X, X)) + reduction
    assert reduction <= fused


@every_chip
def test_a_kernel_never_costs_more_than_its_stages(model: Ascend) -> None:
    for dtype in (1, 7, 10, 11):  # int64 and double: the AI CPU casts to the latter
        to = Fact(dtype, X.shape)
        stages = (function("Relu"), ("Cast", (dtype,), "", 0))
        parts = model.cost(alone("Relu")) + model.cost(alone("Cast", X, to=to, to_=dtype))
        assert model.cost(kernel(*stages, to=to)) <= parts * (1 + 1e-12)
    double = Fact(11, X.shape)
    assert model.cost(kernel(function("Relu"), ("Cast", (11,), "", 0), to=double)) > model.soc.fixed_aicpu_us


@every_chip
@pytest.mark.parametrize(("op", "inputs"), [("LayerNormalization", (X, ROW, ROW)), ("Gelu", (X,))])
def test_what_an_opset_lacks_costs_what_it_costs_where_it_is(
    model: Ascend, op: str, inputs: tuple[Fact, ...]
) -> None:
    spelled = NodeView(op, DOMAIN, {"axes": (2,), "epsilon": 1e-5}, inputs, (X,))
    assert model.cost(spelled) == model.cost(NodeView(op, "", {"axis": 2, "epsilon": 1e-5}, inputs, (X,)))


def test_what_the_compiler_does_not_know_is_no_kernel() -> None:
    model = Ascend(composite_operators=[{"ops": ["Gelu"], "chips": ["*"]}])
    assert model.cost(NodeView("Mish", DOMAIN, {}, (X,), (X,))) == float("inf")
    assert model.cost(NodeView("Gelu", DOMAIN, {}, (X,), (X,))) < float("inf")


@every_chip
@pytest.mark.parametrize(("op", "inputs"), [("RMSNormalization", (X, ROW)), ("Mish", (X,))])
def test_what_no_source_finds_is_a_kernel_only_where_the_model_has_it(
    model: Ascend, op: str, inputs: tuple[Fact, ...]
) -> None:
    assert model.cost(NodeView(op, DOMAIN, {"axes": (2,), "epsilon": 1e-5}, inputs, (X,))) == float("inf")
    assert model.cost(NodeView(op, "", {"axis": 2, "epsilon": 1e-5}, inputs, (X,))) < float("inf")


SPELLED = (("Neg", (), "", 0), ("Exp", (), "", 0), ("Add", (), "value", 1), ("Div", (), "value", 0))
NUMBER = Fact(1, (), const=True)


@every_chip
def test_a_sigmoid_costs_what_its_spelling_does_however_precise(model: Ascend) -> None:
    spelled = kernel(*SPELLED, others=(NUMBER, NUMBER))
    assert model.cost(alone("Sigmoid")) == pytest.approx(model.cost(spelled), rel=0.01)


@pytest.mark.parametrize(("soc", "factor"), [("310p3", 2.4), ("910b3", 2.4), ("310", 1.0)])
def test_a_precise_sigmoid_computes_in_float32(soc: str, factor: float) -> None:
    """Its own source does so by default on 310P and 910B; the 310 has no such exponential."""
    fast = Ascend(soc, op_select_implmode="high_performance")
    cycles = [one._steps(alone("Sigmoid"), 2.0) for one in (Ascend(soc), fast)]
    assert cycles[0] == pytest.approx(factor * cycles[1], rel=0.05)
    wide = [one._steps(alone("Sigmoid"), 4.0) for one in (Ascend(soc), fast)]
    assert wide[0] == wide[1]


def test_a_precise_sigmoid_behind_a_convolution_is_not_free() -> None:
    """Many pixels of few channels keep the vector unit busier than the cube."""
    x, w = Fact(1, (1, 16, 256, 256)), Fact(1, (16, 16, 1, 1), const=True)
    attributes = {"cube": "Conv", "operands": 2, "settings": (), "stages": (("Sigmoid", (), "", 0),)}
    fused, bare = (
        NodeView("FusedCube", DOMAIN, attributes, (x, w), (x,)),
        NodeView("Conv", "", {}, (x, w), (x,)),
    )
    precise, fast = (
        one.cost(fused) - one.cost(bare) for one in (Ascend(), Ascend(op_select_implmode="high_performance"))
    )
    assert precise > 5.0 > fast >= 0.0

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
@pytest.mark.parametrize(
    ("op", "inputs"), [("LayerNormalization", (X, ROW, ROW)), ("RMSNormalization", (X, ROW)), ("Gelu", (X,))]
)
def test_what_an_opset_lacks_costs_what_it_costs_where_it_is(
    model: Ascend, op: str, inputs: tuple[Fact, ...]
) -> None:
    spelled = NodeView(op, DOMAIN, {"axes": (2,), "epsilon": 1e-5}, inputs, (X,))
    assert model.cost(spelled) == model.cost(NodeView(op, "", {"axis": 2, "epsilon": 1e-5}, inputs, (X,)))


def test_what_the_compiler_does_not_know_is_no_kernel() -> None:
    model = Ascend(composite_operators=[{"ops": ["Gelu"], "chips": ["*"]}])
    assert model.cost(NodeView("Mish", DOMAIN, {}, (X,), (X,))) == float("inf")
    assert model.cost(NodeView("Gelu", DOMAIN, {}, (X,), (X,))) < float("inf")

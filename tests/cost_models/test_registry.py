"""Cost models by name, and facts bound to the point at which they are priced."""

from __future__ import annotations

import pytest

from egraph_opt.cost.model import DEFAULT_LENGTH, CostModel, bind, default_points
from egraph_opt.cost.registry import cost_model, cost_models
from egraph_opt.errors import UnknownCostModelError
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact

FLOAT, INT64 = 1, 7


def test_the_built_in_models_are_registered() -> None:
    assert {"ascend", "bytes", "flops", "nodes"} <= set(cost_models())


@pytest.mark.parametrize("name", ["ascend", "bytes", "flops", "nodes"])
def test_a_model_carries_the_name_it_is_registered_under(name: str) -> None:
    model = cost_model(name)
    assert isinstance(model, CostModel)
    assert model.name == name
    assert model.unit


def test_a_model_stands_for_itself() -> None:
    model = cost_model("nodes")
    assert cost_model(model) is model


def test_a_mistyped_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownCostModelError, match="did you mean 'ascend'") as caught:
        cost_model("ascned")
    assert caught.value.nearest == "ascend"


def test_a_variant_names_the_chip() -> None:
    assert cost_model("ascend:310").soc.cores == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["ascend:310p4", "flops:fast", "ascend:"])
def test_an_unknown_variant_is_an_unknown_model(name: str) -> None:
    with pytest.raises(UnknownCostModelError):
        cost_model(name)


def test_binding_replaces_symbols_in_shape_and_value() -> None:
    length = symbolic.symbol("L")
    longer = symbolic.add(length, 1)
    assert longer is not None
    fact = Fact(INT64, (symbolic.mul(2, length),), value=(longer, 7))
    assert bind(fact, {"L": 5}) == Fact(INT64, (10,), value=(6, 7))


def test_binding_keeps_what_is_unknown_and_defaults_what_is_not_given() -> None:
    assert bind(Fact(FLOAT, (None, symbolic.symbol("L"))), {}).shape == (None, DEFAULT_LENGTH)
    assert bind(Fact(FLOAT, None), {}).shape is None


def test_binding_never_makes_a_negative_dim() -> None:
    assert bind(Fact(FLOAT, (symbolic.sub(symbolic.symbol("L"), 9),)), {"L": 2}).shape == (0,)


def test_binding_a_division_by_zero_leaves_the_dim_unknown() -> None:
    ratio = symbolic.floordiv(symbolic.symbol("a"), symbolic.symbol("b"))
    assert bind(Fact(FLOAT, (ratio,)), {"a": 4, "b": 0}).shape == (None,)


def test_a_static_fact_is_bound_to_itself() -> None:
    fact = Fact(FLOAT, (1, 2))
    assert bind(fact, {"L": 3}) is fact


def test_leading_dims_of_inputs_are_one_and_all_others_a_length() -> None:
    image = Fact(FLOAT, (symbolic.symbol("N"), 3, symbolic.symbol("H"), symbolic.symbol("W")))
    points = default_points([image], ["?later.0"], {"W": 640})
    assert points == {"?later.0": 128, "H": 128, "N": 1, "W": 640}


def test_of_many_dims_each_has_a_smaller_length() -> None:
    """But for those that are given."""
    dims = tuple(symbolic.symbol(name) for name in "NABCD")
    assert default_points([Fact(FLOAT, dims)]) == {"A": 32, "B": 32, "C": 32, "D": 32, "N": 1}
    given = {"A": 512, "N": 16}
    assert default_points([Fact(FLOAT, dims)], given=given) == {"B": 8, "C": 8, "D": 8, **given}
    assert default_points([Fact(FLOAT, dims)], given=dict.fromkeys("ABCD", 512))["A"] == 512


def test_auto_is_few_nodes_and_the_clock() -> None:
    model = cost_model("auto")
    assert (model.name, model.unit, model.confirm) == ("nodes:timed", "nodes", 3)
    assert cost_model("nodes").confirm == 0
    with pytest.raises(UnknownCostModelError, match="did you mean 'auto'"):
        cost_model("atuo")

"""Inputs are aimed at the points of functions, through the constants in front of them."""

from __future__ import annotations

import math

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from egraph_opt.check.feeds.points import AROUND, numbers_between, points_of
from egraph_opt.check.feeds.underflow import EXPONENTS, adds_nothing, underflowing


def _model(*nodes: onnx.NodeProto, **constants: float) -> onnx.ModelProto:
    """A model of x and of numbers, of which `y` is the result."""
    given = [
        numpy_helper.from_array(np.array(number, np.float32), name) for name, number in constants.items()
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, (3,)) for name in "xy")
    return helper.make_model(helper.make_graph(nodes, "points", [x], [y], given))


def _after_line(op_type: str) -> onnx.ModelProto:
    """op(3 - x * 2)"""
    scaled = helper.make_node("Mul", ["c", "x"], ["u"])
    shifted = helper.make_node("Sub", ["d", "u"], ["v"])
    return _model(scaled, shifted, helper.make_node(op_type, ["v"], ["y"]), c=2.0, d=3.0)


def test_inputs_are_aimed_at_what_a_function_takes() -> None:
    points = points_of(_after_line("Mish"))
    assert [3 - 2 * x for x in points.turns] == pytest.approx([-1.1924312145])
    assert points.zeros == (1.5,)
    assert points_of(_after_line("Abs")).turns == ()


def test_settings_say_where_a_function_ends() -> None:
    node = helper.make_node("HardSigmoid", ["x"], ["y"], alpha=0.25, beta=0.5)
    assert points_of(_model(node)) == ((2.0,), (-2.0,), ())


def test_a_threshold_is_where_a_result_leaps() -> None:
    node = helper.make_node("ThresholdedRelu", ["x"], ["y"], alpha=0.5)
    assert points_of(_model(node)).jumps == (0.5,)


def test_a_zero_of_a_sum_of_two_inputs_is_none() -> None:
    assert points_of(_model(helper.make_node("Add", ["x", "x"], ["y"]))).zeros == ()


@pytest.mark.parametrize(
    ("named", "known"), [(1.571, math.pi / 2), (-3.14, -math.pi), (-0.17, -0.1699712075)]
)
def test_a_number_lies_between_one_that_is_known_and_its_rounded_bound(named: float, known: float) -> None:
    found = list(numbers_between([named]))
    assert any(min(named, known) < number < max(named, known) for number in found)
    assert not list(numbers_between([10.0]))


def test_no_number_around_a_point_is_one_of_few_digits() -> None:
    """Near -3, x / 6 + 0.5 is exact for those that differ from it by a power of two."""
    assert all(math.frexp(share)[0] != 0.5 for share in AROUND)


def test_exponents_of_which_a_power_is_subnormal() -> None:
    low, mixed, _ = underflowing(_after_line("Exp"))
    assert sorted(3 - 2 * x for x in low) == pytest.approx(sorted(EXPONENTS))
    assert set(low) < set(mixed)
    tiny = np.finfo(np.float32).tiny
    assert all(0 < np.exp(np.float32(number)) < tiny for number in EXPONENTS)


def test_numbers_of_which_a_power_is_subnormal() -> None:
    model = _model(helper.make_node("Pow", ["x", "c"], ["y"]), c=3.0)
    assert all(0 < abs(x**3) < np.finfo(np.float32).tiny for table in underflowing(model) for x in table)
    assert underflowing(_model(helper.make_node("Pow", ["x", "c"], ["y"]), c=0.5)) == ()
    square = _model(helper.make_node("Mul", ["x", "x"], ["y"]))
    assert all(0 < x * x < np.finfo(np.float32).tiny for table in underflowing(square) for x in table)


def test_products_with_constants_that_are_subnormal() -> None:
    product = helper.make_node("Mul", ["x", "c"], ["y"])
    assert underflowing(_model(product, c=1e-43))
    assert not underflowing(_model(product, c=1e-30))
    assert adds_nothing(_model(product, c=1e-43))
    assert not adds_nothing(_after_line("Exp"))

"""Constants that laws wrote are computed as ONNX's reference does, bit by bit; where onnxruntime reads an
operator otherwise, as that does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from egraph_opt.check import check_example
from egraph_opt.laws import Operands
from egraph_opt.laws.selection import all_laws
from egraph_opt.operators import ConvWindow, conv, none, resize
from egraph_opt.operators.declaration import OnnxForm
from egraph_opt.rebuild import evaluation
from egraph_opt.rewrites.convolution.resized import NEAREST

DOUBLE, INT64 = onnx.TensorProto.DOUBLE, onnx.TensorProto.INT64
SHAPES = [((2, 3), (2, 3)), ((2, 1, 3), (4, 1)), ((), (5,)), ((0, 2), (2,))]


def by_reference(op_type: str, operands: list[np.ndarray], opset: int) -> np.ndarray:
    names = [f"x{k}" for k in range(len(operands))]
    types = [onnx.helper.np_dtype_to_tensor_dtype(a.dtype) for a in operands]
    inputs = [onnx.helper.make_tensor_value_info(n, t, None) for n, t in zip(names, types, strict=True)]
    node = onnx.helper.make_node(op_type, names, ["y"])
    graph = onnx.helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    with np.errstate(all="ignore"):
        (answer,) = ReferenceEvaluator(model).run(None, dict(zip(names, operands, strict=True)))
    return np.asarray(answer)


@pytest.mark.parametrize("op_type", sorted(evaluation._ARITHMETIC))
@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("opset", [7, 13, 21])
def test_arithmetic_is_that_of_the_reference(
    op_type: str, shapes: tuple[tuple[int, ...], ...], opset: int
) -> None:
    rng = np.random.default_rng(7)
    count = evaluation._ARITHMETIC[op_type].nin
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 1e308])
    operands = [np.where(rng.random(s) < 0.3, rng.choice(odd, s), rng.normal(size=s)) for s in shapes[:count]]
    found = evaluation.evaluate_form(
        OnnxForm(op_type, tuple(range(count))), operands, [DOUBLE] * count, DOUBLE, opset
    )
    expected = by_reference(op_type, operands, opset)
    assert found.dtype == expected.dtype == np.float64
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


def test_integers_are_left_to_the_reference() -> None:
    operands = [np.array([7, -7]), np.array([2, 2])]
    found = evaluation.evaluate_form(OnnxForm("Div", (0, 1)), operands, [INT64, INT64], INT64, 17)
    assert found.tolist() == by_reference("Div", operands, 17).tolist() == [3, -3]


@pytest.mark.parametrize("exponent", [np.array([-1, 2, 0]), np.array([-1.0, 0.5, 2.0])])
def test_powers_of_integers_keep_their_type(exponent: np.ndarray) -> None:
    base = np.array([1, 7, -2])
    power = OnnxForm("Pow", (0, 1))
    exponents = DOUBLE if exponent.dtype == np.float64 else INT64
    found = evaluation.evaluate_form(power, [base, exponent], [INT64, exponents], INT64, 17)
    assert found.dtype == np.int64
    assert found.tolist() == ([1, 49, 1] if exponents == INT64 else [1, 2, 4])


@pytest.mark.parametrize("shapes", [*SHAPES, ((), (0,)), ((1,), (3, 1), (2,))])
def test_means_take_operands_of_any_shapes_in_any_order(shapes: tuple[tuple[int, ...], ...]) -> None:
    operands = [np.full(shape, 1.0 + k) for k, shape in enumerate(shapes)]
    expected = np.full(np.broadcast_shapes(*shapes), np.mean([1.0 + k for k in range(len(shapes))]))
    for order in (operands, operands[::-1]):
        form = OnnxForm("Mean", tuple(range(len(order))))
        found = evaluation.evaluate_form(form, order, [DOUBLE] * len(order), DOUBLE, 17)
        np.testing.assert_array_equal(found, expected)


def test_which_element_is_the_nearest_of_a_constant_image_is_up_to_onnxruntime() -> None:
    """A length of 7 times 1.25 is 8.75 to the reference where corners are aligned, and 8 to onnxruntime."""
    g = Operands(np.random.default_rng(0))
    image, scales = g.constant(np.arange(49.0).reshape(1, 1, 7, 7)), g.constant([1.0, 1.0, 1.25, 1.25])
    settings = {**dict(NEAREST), "coordinate_transformation_mode": "align_corners", "antialias": 0}
    settings |= {"nearest_mode": "floor", "keep_aspect_ratio_policy": "stretch"}
    kernel = ConvWindow((1, 1), (0, 0, 0, 0), (1, 1))
    sides = conv(image, g.input((4, 1, 1, 1)), none(), kernel)
    term = resize(sides, none(), scales, none(), tuple(sorted(settings.items())))
    (law,) = (law for law in all_laws() if law.key == "convolution.past_resize")
    tried = check_example(law, replace(g.fires(term), opset=18))
    assert tried.rules and tried.tally.made.total()

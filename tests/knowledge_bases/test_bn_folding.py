"""Knowledge base 15, BNFolding: BatchNormalization becomes part of the linear operator next to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from .graphs import OPSETS, Dims, Graph, check_settled, check_untouched, optimized, outcome

COSTS = ("nodes", "flops", "ascend")
CHANNELS = 6


def _batchnorm(g: Graph, x: str, channels: int = CHANNELS, **attributes: Any) -> str:
    parameters = [g.weight(channels) for _ in range(3)]
    return g.add("BatchNormalization", x, *parameters, g.weight(channels, positive=True), **attributes)


SHAPES: dict[str, tuple[list[int | str], tuple[int, ...], dict[str, Any]]] = {
    "1-d": ([2, 4, "L"], (CHANNELS, 4, 3), {"strides": [2], "pads": [1, 0]}),
    "2-d": ([2, 4, 9, 9], (CHANNELS, 4, 3, 3), {"pads": [1, 1, 1, 1], "dilations": [2, 2]}),
    "asymmetric": (["N", 4, 8, 7], (CHANNELS, 4, 3, 2), {"pads": [0, 1, 2, 0]}),
    "3-d": ([1, 4, 5, 5, 5], (CHANNELS, 4, 2, 2, 2), {}),
    "groups": ([1, 4, 7, 7], (CHANNELS, 2, 3, 3), {"group": 2}),
    "depthwise": ([1, 6, 7, 7], (CHANNELS, 1, 3, 3), {"group": 6}),
    "same": ([1, 4, 8, 8], (CHANNELS, 4, 3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
}
"""Dims of x, of the weight, and attributes of a Conv."""


@pytest.mark.parametrize("opset", [9, *OPSETS])
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "bare"])
def test_a_batchnorm_behind_a_convolution_goes_in(opset: int, bias: bool) -> None:
    g = Graph(x=["N", 4, 9, 9])
    operands = [g.weight(CHANNELS, 4, 3, 3), *([g.weight(CHANNELS)] if bias else [])]
    y = g.add("Relu", _batchnorm(g, g.add("Conv", "x", *operands), epsilon=1e-3))
    assert optimized(g.model(y, opset=opset)) == {"Conv": 1, "Relu": 1}


@pytest.mark.parametrize("kind", list(SHAPES))
def test_convolutions_of_every_kind_take_it_in_from_behind(kind: str) -> None:
    dims, weight, attributes = SHAPES[kind]
    g = Graph(x=dims)
    y = _batchnorm(g, g.add("Conv", "x", g.weight(*weight), g.weight(CHANNELS), **attributes))
    assert optimized(g.model(y)) == {"Conv": 1}


@pytest.mark.parametrize("kind", ["1-d", "2-d", "3-d", "groups", "depthwise"])
def test_convolutions_without_pads_take_it_in_from_the_front(kind: str) -> None:
    dims, weight, attributes = SHAPES[kind]
    g = Graph(x=dims)
    channels = dims[1]
    assert isinstance(channels, int)
    x = _batchnorm(g, "x", channels)
    plain = {name: value for name, value in attributes.items() if name != "pads"}
    y = g.add("Conv", x, g.weight(*weight), g.weight(CHANNELS), **plain)
    assert optimized(g.model(y)) == {"Conv": 1}


def test_with_pads_only_the_scale_goes_in_from_the_front() -> None:
    g = Graph(x=[1, 4, 8, 8])
    y = g.add("Conv", _batchnorm(g, "x", 4), g.weight(CHANNELS, 4, 3, 3), pads=[1, 1, 1, 1])
    counts = optimized(g.model(y))
    assert counts["Conv"] == 1 and counts.total() == 2


@pytest.mark.parametrize("kind", ["1-d", "2-d", "groups"])
def test_transposed_convolutions_take_it_in_from_behind(kind: str) -> None:
    dims, window, group = {
        "1-d": ([1, 4, 9], (4, CHANNELS, 3), 1),
        "2-d": ([1, 4, 9, 9], (4, CHANNELS, 2, 2), 1),
        "groups": ([1, 4, 9, 9], (4, 3, 2, 2), 2),
    }[kind]
    g = Graph(x=dims)
    strides = [2] * (len(dims) - 2)
    y = g.add("ConvTranspose", "x", g.weight(*window), g.weight(CHANNELS), strides=strides, group=group)
    assert optimized(g.model(_batchnorm(g, y))) == {"ConvTranspose": 1}


@pytest.mark.parametrize("opset", OPSETS)
def test_a_matmul_takes_it_in_from_behind(opset: int) -> None:
    g = Graph(x=["N", 5])
    y = _batchnorm(g, g.add("MatMul", "x", g.weight(5, CHANNELS)))
    counts = optimized(g.model(y, opset=opset))
    assert counts in ({"MatMul": 1, "Add": 1}, {"Gemm": 1})


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(
    "attributes", [{}, {"transB": 1, "alpha": 0.5, "beta": 2.0}], ids=["plain", "transposed"]
)
def test_a_gemm_takes_it_in_from_behind(attributes: dict[str, Any], opset: int) -> None:
    g = Graph(x=["N", 5])
    weight = g.weight(CHANNELS, 5) if attributes else g.weight(5, CHANNELS)
    y = _batchnorm(g, g.add("Gemm", "x", weight, g.weight(CHANNELS), **attributes))
    assert optimized(g.model(y, opset=opset)) == {"Gemm": 1}


def test_a_gemm_takes_it_in_from_the_front() -> None:
    g = Graph(x=["N", 5])
    y = g.add("Gemm", _batchnorm(g, "x", 5), g.weight(5, CHANNELS), g.weight(CHANNELS))
    assert optimized(g.model(y)) == {"Gemm": 1}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("cost", COSTS)
def test_matmul_add_transpose_batchnorm_transpose_becomes_matmul_add(cost: str, opset: int) -> None:
    g = Graph(x=[2, 7, 5])
    y = g.add("Add", g.add("MatMul", "x", g.weight(5, CHANNELS)), g.weight(CHANNELS))
    y = _batchnorm(g, g.add("Transpose", y, perm=[0, 2, 1]))
    y = g.add("Transpose", y, perm=[0, 2, 1])
    assert optimized(g.model(y, opset=opset), cost) == {"MatMul": 1, "Add": 1}


@pytest.mark.parametrize("dims", [[1, 4, 9], [1, 4, 9, 8]], ids=["1-d", "2-d"])
@pytest.mark.parametrize("cost", COSTS)
def test_a_batchnorm_of_rows_between_transposes_goes_into_the_convolution(cost: str, dims: Dims) -> None:
    """The channels are the last axis there, and all else is the batch."""
    g = Graph(x=dims)
    y = g.add("Conv", "x", g.weight(CHANNELS, 4, *([3] * (len(dims) - 2))), g.weight(CHANNELS))
    last = [0, *range(2, len(dims)), 1]
    back = [0, len(dims) - 1, *range(1, len(dims) - 1)]
    rows = [dim - 2 for dim in dims[2:] if isinstance(dim, int)]
    y = g.add("Reshape", g.add("Transpose", y, perm=last), g.constant([-1, CHANNELS]))
    y = g.add("Reshape", _batchnorm(g, y), g.constant([1, *rows, CHANNELS]))
    assert optimized(g.model(g.add("Transpose", y, perm=back)), cost) == {"Conv": 1}


@pytest.mark.parametrize("cost", COSTS)
def test_a_batchnorm_between_transposes_that_keep_the_channels_goes_in(cost: str) -> None:
    g = Graph(x=[1, 4, 9, 8])
    y = g.add("Transpose", g.add("Conv", "x", g.weight(CHANNELS, 4, 3, 2)), perm=[0, 1, 3, 2])
    y = g.add("Transpose", _batchnorm(g, y), perm=[0, 1, 3, 2])
    assert optimized(g.model(y), cost) == {"Conv": 1}


def test_a_chain_of_scales_and_shifts_goes_in_with_it() -> None:
    g = Graph(x=[1, 4, 9, 9])
    y = _batchnorm(g, g.add("Conv", "x", g.weight(CHANNELS, 4, 3, 3)))
    y = g.add(
        "Div",
        g.add("Add", _batchnorm(g, g.add("Mul", y, g.constant(0.5))), g.weight(CHANNELS, 1, 1)),
        g.constant(3.0),
    )
    assert check_settled(g.model(y)) == {"Conv": 1}


def test_two_convolutions_that_share_a_weight_get_one_each() -> None:
    g = Graph(x=[1, 4, 9, 9])
    other, weight = g.input("other", [1, 4, 5, 5]), g.weight(CHANNELS, 4, 3, 3)
    y = _batchnorm(g, g.add("Conv", "x", weight))
    z = _batchnorm(g, g.add("Conv", other, weight))
    assert optimized(g.model(y, z)) == {"Conv": 2}


def test_a_convolution_whose_result_is_an_output_too_stays_beside_its_batchnorm() -> None:
    g = Graph(x=[1, 4, 9, 9])
    y = g.add("Conv", "x", g.weight(CHANNELS, 4, 3, 3))
    counts = check_settled(g.model(y, _batchnorm(g, y)))
    assert counts.total() == 2


def test_a_batchnorm_whose_result_is_an_output_and_goes_on_is_folded() -> None:
    g = Graph(x=[1, 4, 9, 9])
    y = _batchnorm(g, g.add("Conv", "x", g.weight(CHANNELS, 4, 3, 3)))
    z = g.add("Relu", g.add("Conv", y, g.weight(2, CHANNELS, 3, 3)))
    assert optimized(g.model(y, z)) == {"Conv": 2, "Relu": 1}


def test_float16_folds_too() -> None:
    dtype, kind = onnx.TensorProto.FLOAT16, np.float16
    rng = np.random.default_rng(0)
    g = Graph()
    x = g.input("x", [1, 4, 9, 9], dtype)
    y = g.add("Conv", x, g.constant(rng.standard_normal((CHANNELS, 4, 1, 1)) / 4, kind))
    parameters = [g.constant(rng.uniform(0.5, 1, CHANNELS), kind) for _ in range(4)]
    y = g.add("BatchNormalization", y, *parameters)
    assert optimized(g.model(y, dtypes={y: dtype}))["BatchNormalization"] == 0


@pytest.mark.parametrize("cost", COSTS)
def test_what_was_folded_stays_as_it_is(cost: str) -> None:
    g = Graph(x=[1, 4, 9, 9])
    y = g.add("Relu", _batchnorm(g, g.add("Conv", "x", g.weight(CHANNELS, 4, 3, 3), pads=[1, 1, 1, 1])))
    y = g.add("Relu", _batchnorm(g, g.add("Conv", y, g.weight(CHANNELS, CHANNELS, 3, 3))))
    assert check_settled(g.model(y), cost) == {"Conv": 2, "Relu": 2}


# --- near misses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["scale", "bias", "mean", "variance"])
def test_a_parameter_that_is_no_constant_keeps_it(which: str) -> None:
    g = Graph(x=[1, 4, 9, 9])
    names = ["scale", "bias", "mean", "variance"]
    parameters = [
        g.input(name, [CHANNELS]) if name == which else g.weight(CHANNELS, positive=name == "variance")
        for name in names
    ]
    if which == "variance":  # of a random input it would be negative
        parameters[3] = g.add("Abs", which)
    y = g.add("Conv", "x", g.weight(CHANNELS, 4, 3, 3))
    assert optimized(g.model(g.add("BatchNormalization", y, *parameters)))["BatchNormalization"] == 1


def test_training_keeps_it() -> None:
    g = Graph(x=[2, 4, 9, 9])
    y = g.add("Conv", "x", g.weight(CHANNELS, 4, 3, 3))
    parameters = [g.weight(CHANNELS) for _ in range(3)]
    outputs = g.add_many(
        "BatchNormalization", y, *parameters, g.weight(CHANNELS, positive=True), outputs=3, training_mode=1
    )
    check_untouched(g.model(*outputs))


def test_a_function_in_between_keeps_it() -> None:
    g = Graph(x=[1, 4, 9, 9])
    y = g.add("Relu", g.add("Conv", "x", g.weight(CHANNELS, 4, 3, 3)))
    assert optimized(g.model(_batchnorm(g, y))).total() == 3


def test_a_weight_that_is_no_constant_keeps_it() -> None:
    g = Graph(x=[1, 4, 9, 9])
    y = g.add("Conv", "x", g.input("weight", [CHANNELS, 4, 3, 3]))
    assert optimized(g.model(_batchnorm(g, y))).total() == 2


def test_channels_that_a_transpose_moved_away_keep_it() -> None:
    g = Graph(x=[1, 4, 9, 9])
    y = g.add("Transpose", g.add("Conv", "x", g.weight(CHANNELS, 4, 3, 3)), perm=[0, 2, 1, 3])
    counts = optimized(g.model(_batchnorm(g, y, 7)))
    assert counts["Conv"] == 1 and counts["Transpose"] == 1 and counts.total() >= 3


def test_the_report_names_what_folded_it() -> None:
    g = Graph(x=[1, 4, 9, 9])
    result = outcome(g.model(_batchnorm(g, g.add("Conv", "x", g.weight(CHANNELS, 4, 3, 3)))))
    assert {"batchnorm", "convolution"} & {law.ruleset for law in result.report.rewrites if law.used}

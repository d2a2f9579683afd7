"""For parameters of `ascend` a graph on which each decides: another value, and other operators are chosen.

The page on cost models has a row for each, and says of the rest why none can.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph


class Flip(NamedTuple):
    """A parameter that is moved, and by how many nodes of each operator the choice differs then."""

    parameter: str
    value: Any
    changes: Mapping[str, int]


class Case(NamedTuple):
    """A graph on a chip with flips of parameters; `given` are parameters that none of these moves."""

    told: str
    model: Callable[[], onnx.ModelProto]
    flips: tuple[Flip, ...]
    chip: str = "310p3"
    given: Mapping[str, Any] = {}
    assume: Mapping[str, Any] | None = None


def block(side: int, channels: int, images: tuple[int, int] = (1, 16)) -> onnx.ModelProto:
    """A residual block whose activations come first; its BatchNormalization may be folded."""
    g = Graph(x=[*images, side, side])
    y = g.add("Conv", "x", g.weight(channels, images[1], 3, 3), pads=[1, 1, 1, 1])
    parameters = [g.weight(channels) for _ in range(3)]
    z = g.add("BatchNormalization", y, *parameters, g.weight(channels, positive=True))
    z = g.add("Conv", g.add("Relu", z), g.weight(channels, channels, 1, 1))
    return g.model(g.add("Add", z, y))


def column() -> onnx.ModelProto:
    """x[:, 2:3] = u as exporters write it."""
    g = Graph(x=[9, 7], u=[9, 1])
    places = np.stack(np.meshgrid(np.arange(9), [2], indexing="ij"), axis=-1)
    return g.model(g.add("ScatterND", "x", g.constant(places), "u"))


def heads(rows: int, inner: int, outer: int, dtype: int = TensorProto.FLOAT) -> onnx.ModelProto:
    """Three products of one operand, which no other function keeps together."""
    g, numbers = Graph(), itertools.count()
    g.input("x", [1, rows, inner], dtype)

    def product() -> str:
        random = np.random.default_rng(next(numbers))
        weight = random.standard_normal((inner, outer))
        return g.add("MatMul", "x", g.constant(weight, onnx.helper.tensor_dtype_to_np_dtype(dtype)))

    if dtype != TensorProto.FLOAT:
        outputs = [product() for _ in range(3)]
        return g.model(*outputs, dtypes=dict.fromkeys(outputs, dtype))
    first, second, third = product(), product(), product()
    softmax = g.add("Softmax", first, axis=-2), g.add("Softmax", second, axis=-1)
    return g.model(*softmax, g.add("Sin", third))


def activations() -> onnx.ModelProto:
    """Two products of one operand, each with a function that a kernel may take in."""
    g = Graph(x=[64, 256])
    parts = [g.add(op, g.add("MatMul", "x", g.weight(256, 256))) for op in ("Relu", "Sigmoid")]
    return g.model(*parts)


def parts(side: int, middle: int, last: int, *, inner: bool) -> onnx.ModelProto:
    """Two thirds of a Transpose's result, of its first axes or of its last."""
    g = Graph(x=[side, middle, last])
    turned = g.add("Transpose", "x", perm=[0, 2, 1] if inner else [1, 0, 2])
    axis, size = (2, middle) if inner else (1, side)
    share = size * 3 // 8
    taken = [
        g.add("Slice", turned, g.constant([begin]), g.constant([begin + share]), g.constant([axis]))
        for begin in (0, size - share)
    ]
    return g.model(g.add("Softmax", taken[0], axis=-1), g.add("Softmax", taken[1], axis=-2))


def upsampled() -> onnx.ModelProto:
    g = Graph(x=[1, 32, 32, 32])
    return g.model(g.add("Softmax", g.add("ConvTranspose", "x", g.weight(32, 32, 3, 3)), axis=1))


def rows(count: int) -> onnx.ModelProto:
    """Two Gathers of eight rows of many."""
    g = Graph(x=[count, 1024])
    taken = [g.add("Gather", "x", g.constant(range(k, k + 8)), axis=0) for k in (0, 8)]
    return g.model(g.add("Softmax", taken[0], axis=-1), g.add("Softmax", taken[1], axis=0))


def twins(channels: int, height: int, width: int, **window: Any) -> onnx.ModelProto:
    """Two convolutions of one image, whose channels end within a block."""
    g = Graph(x=[1, 32, height, width])
    sides = window.pop("sides", (3, 3))
    images = [g.add("Conv", "x", g.weight(channels, 32, *sides), **window) for _ in range(2)]
    return g.model(*(g.add("Softmax", image, axis=axis) for image, axis in zip(images, (1, 2), strict=True)))


def padded(amount: int) -> onnx.ModelProto:
    g = Graph(x=[1, 16, 16, 2000])
    y = g.add("Pad", "x", g.constant([0, 0, 0, amount, 0, 0, 0, amount]))
    return g.model(g.add("Relu", g.add("Conv", y, g.weight(16, 16, 3, 3))))


def strided(step: int) -> onnx.ModelProto:
    """Windows with a pixel between them, of which no rows are made."""
    g = Graph(x=[1, 8, 240 * step])
    return g.model(g.add("Sin", g.add("Conv", "x", g.weight(16, 8, step - 1), g.weight(16), strides=[step])))


def long_kernel(size: int) -> onnx.ModelProto:
    g = Graph(x=[1, 8, 2400])
    return g.model(g.add("Sin", g.add("Conv", "x", g.weight(16, 8, size), g.weight(16))))


def pooled(op: str, height: int, width: int, kernel: tuple[int, int], strides: tuple[int, int]) -> Any:
    g = Graph(x=[1, 16, height, width])
    y = g.add("Conv", "x", g.weight(16, 16, 3, 3), pads=[1, 1, 1, 1])
    return g.model(g.add(op, y, kernel_shape=kernel, strides=strides))


def gelu() -> onnx.ModelProto:
    """Gelu in the words of opset 17, and a product."""
    g = Graph(x=[1, 128, 768])
    erf = g.add("Erf", g.add("Div", "x", g.constant(2**0.5)))
    y = g.add("Mul", g.add("Mul", "x", g.constant(0.5)), g.add("Add", erf, g.constant(1.0)))
    return g.model(g.add("MatMul", y, g.weight(768, 768)))


def squares() -> onnx.ModelProto:
    g = Graph(x=[128, 768])
    return g.model(g.add("Softmax", g.add("Pow", "x", g.constant(2.0)), axis=-1))


def integers(op: str) -> onnx.ModelProto:
    g = Graph()
    x = g.input("x", [1000, 100], TensorProto.INT64)
    parameters = {"keepdims": 0} if op.startswith("Reduce") else {}
    y = g.add(op, g.add("Mul", x, g.constant(3)), g.constant([0] if parameters else 7), **parameters)
    return g.model(y, dtypes={y: TensorProto.INT64})


def matrices() -> onnx.ModelProto:
    g = Graph()
    x = g.input("x", [64, 64], TensorProto.INT64)
    y = g.add("MatMul", x, g.constant(np.arange(4096).reshape(64, 64) % 7))
    return g.model(y, dtypes={y: TensorProto.INT64})


_APART = {"MatMul": 2, "Split": -1}
_ONE_CONVOLUTION = {"Conv": -1, "Split": 1}
_UNFOLDED = {"Add": 1, "Conv": -1, "Mul": 1}
_FOLDED = {"Add": -1, "Conv": 1, "Mul": -1}
_SPLIT = {"Slice": -2, "Split": 1}

CASES = (
    Case(
        "BatchNormalization between convolutions to 256 channels, next to a residual",
        lambda: block(56, 256),
        (
            Flip("cores", 4, _UNFOLDED),
            Flip("clock_ghz", 0.5, _UNFOLDED),
            Flip("cube_efficiency", 0.4, _UNFOLDED),
            Flip("cube_side", 8, _UNFOLDED),
            Flip("block_bytes", 16, _UNFOLDED),
            Flip("fixed_cube_us", 6.0, _UNFOLDED),
        ),
    ),
    Case(
        "the same on 910B1",
        lambda: block(56, 256),
        (Flip("vector_stages", 2, _FOLDED), Flip("vector_cores", 4, _FOLDED)),
        "910b1",
    ),
    Case(
        "the same to 128 channels, of 16 images with 32",
        lambda: block(56, 128, (16, 32)),
        (Flip("buffer_optimize", "off_optimize", _FOLDED),),
    ),
    Case(
        "two functions of products of one operand",
        activations,
        (Flip("fused_stages", 0, {"MatMul": -1, "Split": 1}),),
    ),
    Case(
        "parts of a Transpose that moves rows of 256 elements",
        lambda: parts(256, 16, 256, inner=False),
        (
            Flip("block_move_efficiency", 0.4, {"Transpose": 1}),
            Flip("l2_bytes", 2**21, {"Slice": 2, "Split": -1, "Transpose": 1}),
            Flip("l2_share", 0.1, {"Slice": 2, "Split": -1, "Transpose": 1}),
            Flip("memory_efficiency", 0.5, {"Slice": 2, "Split": -1, "Transpose": 1}),
            Flip("fixed_transpose_us", 3.0, {"Transpose": 1}),
        ),
    ),
    Case(
        "parts of a Transpose of the last axes",
        lambda: parts(16, 64, 256, inner=True),
        (Flip("transpose_efficiency", 0.1, {"Transpose": 1}),),
    ),
    Case(
        "two Gathers of neighbouring rows of 512",
        lambda: rows(512),
        (
            Flip("memory_gbs", 300.0, _SPLIT),
            Flip("l2_speedup", 3.0, _SPLIT),
            Flip("fixed_vector_us", 3.0, _SPLIT),
            Flip("scalar_cycles", {"picked_row": 0.0}, {"Gather": 2, "Slice": -2}),
        ),
    ),
    Case(
        "ConvTranspose without strides",
        upsampled,
        (Flip("conv_transpose_factor", 1.0, {"Conv": -1, "ConvTranspose": 1}),),
    ),
    Case(
        "two convolutions of one image to 24 channels each",
        lambda: twins(24, 200, 200, pads=[1, 1, 1, 1]),
        (
            Flip("transdata_efficiency", 0.2, _ONE_CONVOLUTION),
            Flip("fixed_transdata_us", 6.0, _ONE_CONVOLUTION),
        ),
    ),
    Case(
        "the same with a dilation of 300",
        lambda: twins(24, 240, 600, sides=(3, 1), dilations=[300, 1], pads=[200, 0, 200, 0]),
        (Flip("conv_dilation", 511, {"Transpose": -2}),),
    ),
    Case(
        "a Pad of 300 in front of a convolution",
        lambda: padded(300),
        (Flip("conv_pad", 511, {"Pad": -1}), Flip("slow_conv_factor", 2.0, {"Pad": -1})),
    ),
    Case(
        "a Conv1d with strides of 100",
        lambda: strided(100),
        (Flip("conv_stride", 127, {"Reshape": -2, "Squeeze": 1, "Transpose": -1, "Unsqueeze": 1}),),
    ),
    Case(
        "a Conv1d with strides of 50",
        lambda: strided(50),
        (Flip("l1_bytes", 4096, {"Squeeze": -1, "Unsqueeze": -1}),),
    ),
    Case(
        "a Conv1d with a kernel of 201",
        lambda: long_kernel(201),
        (Flip("row_width", 2048, {"Squeeze": 1, "Unsqueeze": 1}),),
    ),
    Case(
        "MaxPool of 300 elements with strides of 60",
        lambda: pooled("MaxPool", 4, 900, (1, 300), (1, 60)),
        (Flip("pool_kernel", 16, {"MaxPool": 1}),),
    ),
    Case(
        "MaxPool of 20 by 20 elements",
        lambda: pooled("MaxPool", 40, 40, (20, 20), (20, 20)),
        (Flip("pool_window", 400, {"MaxPool": -1}),),
    ),
    Case(
        "MaxPool of 100 elements with strides of 100",
        lambda: pooled("MaxPool", 4, 400, (1, 100), (1, 100)),
        (Flip("pool_stride", 127, {"MaxPool": 1, "ReduceMax": -1, "Reshape": -1}),),
    ),
    Case("Gelu in single operators", gelu, (Flip("composite_operators", [], {"Div": -1}),)),
    Case(
        "the square of a tensor",
        squares,
        (
            Flip("vector_cycles", {"Pow": 0.01}, {"Mul": -1, "Pow": 1}),
            Flip("vector_steps", {"Pow": ["Muls"]}, {"Mul": -1, "Pow": 1}),
        ),
    ),
    Case(
        "Mul and Div on int64 that fits int32",
        lambda: integers("Div"),
        (
            Flip("aicore_types", [], {"Cast": -2}),
            Flip("aicore_casts", [], {"Cast": -2}),
            Flip("kernel_types", ["float", "float16", "bool", "int64"], {"Cast": -2}),
        ),
        assume={"x": (0, 100)},
    ),
    Case(
        "Mul and ReduceSum on int64 that fits int32",
        lambda: integers("ReduceSum"),
        (Flip("family", "910a", {"Cast": 2}),),
        assume={"x": (0, 100)},
    ),
    Case(
        "MatMul on int64 that fits int32",
        matrices,
        (Flip("aicpu_rules", [], {"Cast": -2}),),
        assume={"x": (0, 100)},
    ),
    Case(
        "three products in float64",
        lambda: heads(128, 32, 256, TensorProto.DOUBLE),
        (Flip("aicpu_gops", 0.1, _APART), Flip("fixed_aicpu_us", 10.0, _APART)),
    ),
    Case(
        "three products of 1,501 rows",
        lambda: heads(1501, 256, 200),
        (Flip("matmul_nd", "inner", {"MatMul": 1, "Slice": -1, "Split": -1}),),
    ),
    Case(
        "the Gathers of 1,024 rows, dispatched one by one",
        lambda: rows(1024),
        (
            Flip("host_us", 2.0, {"Slice": 2, "Split": -1}),
            Flip("dispatch", "offline", {"Slice": 2, "Split": -1}),
        ),
        given={"dispatch": "eager"},
    ),
    Case(
        "a column that is written into nine rows",
        column,
        (Flip("scatter_cores", 8, {"Concat": -1, "ScatterND": 1, "Split": -1}),),
    ),
)

DECIDED = {
    "conv_kernel": "5",
    "float_bytes": "10",
    "fused_operators": "11",
    "pool_efficiency": "1",
    "view_us": "2",
    "wide_row_cap": "4",
}
"""Parameters that tests of `test_ascend_decisions.py` move, by the numbers of the decisions there."""

UNABLE = {
    "compiler_passes": "what the compiler does is priced in the original; the best graph has it in any case",
    "fixed_control_us": "no law adds or removes an If, Loop or Scan, but where its condition is known",
    "loop_iterations": "a body is chosen by itself, and iterations multiply all of its choices alike",
    "branch_price": "a branch is chosen by itself: what is cheapest in it does not depend on the other",
    "then_probability": "as branch_price",
    "dynamic_factor": "whether sizes are free is said of the whole model, and prices do not count it",
    "op_select_implmode": "all spellings of an activation have the same exponentials and divisions",
    "precise_steps": "as op_select_implmode",
    "host_wait_us": "no law trades an operator that waits for others: where one can go, it goes",
}
"""Parameters that change what a graph costs, but never which is chosen, and why."""

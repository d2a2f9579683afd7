"""Borders and sizes of images that are dequantized (DQ) are made as bytes.

Pad(DQ(q)) -> DQ(Pad(q))                        with the zero point where it was 0
Resize(DQ(q)) -> DQ(Resize(q))                  to the nearest neighbours
"""

import math
from collections.abc import Iterator

import numpy as np
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, kernel, laws_of, opset, rewrite
from egraph_opt.laws.sorts import Axis, Mode, Number, Pads, Settings, Tensor
from egraph_opt.operators import dequantize, none, pad, resize
from egraph_opt.operators.quantization import BYTES, is_one_scale
from egraph_opt.rewrites.quantization.movement import DOWN
from egraph_opt.rewrites.quantization.round_trips import parameters, positive_scale, zero_of

law = laws_of("quantization", numerics="bitwise", kind="move", serves="traffic")


@hosted()
def border_of_bytes(mode: Mode, p: Pads, v: Number, q: Fact, s: Fact, z: Fact, axis: Axis) -> Number | None:
    """What bytes are padded with instead of v: any where elements are repeated, the zero point for 0."""
    if not is_one_scale(s) and (p[axis] or p[axis + len(p) // 2]):
        return None
    if mode != "constant":
        return 0
    zero = zero_of(z)
    return zero if v == 0 and math.copysign(1.0, v) > 0 and positive_scale(s) is not None else None


@hosted()
def has_bytes(q: Fact, version: int) -> bool:
    """Pad and Resize have a kernel for bytes."""
    return q.dtype in BYTES and version >= 11


def _padded(rng: np.random.Generator) -> Iterator[Example]:
    g, around = Operands(rng), (0, 0, 1, 0, 0, 2)
    for zero, dtype in ((3, TensorProto.UINT8), (-7, TensorProto.INT8)):
        q = g.input(("N", 4, 6), dtype)
        x = dequantize(q, *parameters(g, zero=zero, dtype=tensor_dtype_to_np_dtype(dtype)), 0)
        yield from g.all_fire(*(pad(x, mode, around, 0.0) for mode in ("constant", "edge", "reflect")))
    by_axis = dequantize(g.input((2, 4, 6), TensorProto.UINT8), *parameters(g, shape=(4,)), 1)
    yield from g.all_fire(pad(by_axis, "edge", around, 0.0), pad(by_axis, "constant", around, 0.0))
    yield g.near_miss(pad(by_axis, "edge", (0, 1, 0, 0, 0, 0), 0.0), why="there are more parts than scales")
    x = dequantize(g.input((2, 4, 6), TensorProto.UINT8), *parameters(g), 0)
    yield g.near_miss(pad(x, "constant", around, 0.51), why="no byte is 0.51")
    yield g.near_miss(pad(x, "constant", around, -0.0), why="what is dequantized is no -0.0")
    runtime = dequantize(g.input((2, 4, 6), TensorProto.UINT8), g.input(()), none(), 0)
    yield g.near_miss(pad(runtime, "constant", around, 0.0), why="the scale may be infinite")


@law(examples=_padded)
def border_of_dequantized(q: Tensor, s: Tensor, z: Tensor, a: Axis, m: Mode, p: Pads, v: Number):
    """Pad(DQ(q)) = DQ(Pad(q)), with the zero point where it was 0, along axes of one scale"""
    border = border_of_bytes(m, p, v, q, s, z, a)
    padded, known = pad(dequantize(q, s, z, a), m, p, v), kernel(has_bytes(q, opset()))
    yield rewrite(padded, dequantize(pad(q, m, p, border), s, z, a), known, because=DOWN)


# --- sizes ----------------------------------------------------------------------------------------------


@hosted()
def picks_neighbours(settings: Settings, s: Fact) -> bool:
    """Every element of a resized image is one of the image."""
    given = dict(settings)
    cropped = given.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    return given.get("mode") == "nearest" and not cropped and bool(is_one_scale(s))


def _resized(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    twice, nothing = g.constant(np.array([1, 1, 2, 2], np.float32)), none()
    placed = ("coordinate_transformation_mode", "asymmetric")
    settings = (placed, ("mode", "nearest"), ("nearest_mode", "floor"))
    for dtype in BYTES:
        q = g.input(("N", 2, 3, 4), dtype)
        x = dequantize(q, *parameters(g, dtype=tensor_dtype_to_np_dtype(dtype)), 0)
        yield g.fires(resize(x, nothing, twice, nothing, settings))
    linear = (placed, ("mode", "linear"))
    yield g.near_miss(resize(x, nothing, twice, nothing, linear), why="means are no elements")
    by_axis = dequantize(g.input((1, 2, 3, 4), TensorProto.UINT8), *parameters(g, shape=(2,)), 1)
    yield g.near_miss(resize(by_axis, nothing, twice, nothing, settings), why="a scale for each part")


@law(examples=_resized)
def neighbours_of_dequantized(q: Tensor, s: Tensor, z: Tensor, a: Axis, r: Tensor, c: Tensor, d: Tensor,
                              g: Settings):  # fmt: skip
    """Resize(DQ(q)) = DQ(Resize(q)) to the nearest neighbours, of one scale"""
    known = (picks_neighbours(g, s), kernel(has_bytes(q, opset())))
    made = resize(dequantize(q, s, z, a), r, c, d, g)
    yield rewrite(made, dequantize(resize(q, r, c, d, g), s, z, a), *known, because=DOWN)

"""Laws that change values, to be named by the user: the ruleset `approximate`.

    Resize_linear(x) -> Resize_nearest(x)        likewise cubic
    Resize_cubic(x) -> Resize_linear(x)
    op(x, y) -> Cast_64(op(Cast_32(x), Cast_32(y)))      in float64, computed in float32

What they change is reported, with the largest error that verification saw.  The bounds are what can be said
of all inputs of ordinary size: a nearest element is one of those that were interpolated, float32 has 24 bits,
of which a sum of a few hundred products loses some, and what jumps may land on the other side.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, approximate, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import exp, varies
from egraph_opt.laws.sorts import Axes, Axis, Flag, Float, Settings, String, Tensor
from egraph_opt.operators import batchnorm, binary, cast, none, reduce, resize, softmax, unary, where
from egraph_opt.operators.linear import ConvWindow, GemmSettings, conv, gemm
from egraph_opt.rewrites.conditions.channels import LARGEST, known_elements
from egraph_opt.rewrites.conditions.operands import is_comparison

law = laws_of("approximate", serves="arithmetic")

# --- Resize ------------------------------------------------------------------------------------------------

_INTERPOLATING = ("antialias", "cubic_coeff_a", "exclude_outside", "extrapolation_value")
"""Attributes that mean nothing to the nearest element."""


@hosted()
def to_nearest(settings: Settings) -> Settings | None:
    """The attributes with mode nearest; None where that is the mode, or where regions are cropped."""
    given = dict(settings)
    if given.get("mode") not in ("linear", "cubic"):
        return None
    if given.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        return None
    kept = {name: value for name, value in given.items() if name not in _INTERPOLATING}
    kept["mode"] = "nearest"
    if "nearest_mode" in kept:  # opset 10 has none
        kept["nearest_mode"] = "round_prefer_floor"
    return tuple(sorted(kept.items()))


def _settings(mode: str, **more: Any) -> Settings:
    settings = {
        "coordinate_transformation_mode": "half_pixel",
        "cubic_coeff_a": -0.75,
        "exclude_outside": 0,
        "extrapolation_value": 0.0,
        "nearest_mode": "round_prefer_floor",
    }
    return tuple(sorted({**settings, "mode": mode, **more}.items()))


def _resize_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, 4, 5))
    scales = g.constant(np.array([1, 1, 2, 2], np.float32))
    sizes = g.constant(np.array([1, 3, 9, 7]))
    for mode in ("linear", "cubic"):
        yield g.fires(resize(x, none(), scales, none(), _settings(mode)))
    aligned = _settings("linear", coordinate_transformation_mode="align_corners")
    yield g.fires(resize(g.input((1, 3, 4, 5)), none(), none(), sizes, aligned))
    yield g.near_miss(resize(x, none(), scales, none(), _settings("nearest")), why="it is nearest")
    roi = g.constant(np.array([0, 0, 0, 0, 1, 1, 1, 1], np.float32))
    crop = _settings("linear", coordinate_transformation_mode="tf_crop_and_resize")
    yield g.near_miss(resize(g.input((1, 3, 4, 5)), roi, scales, none(), crop), why="it crops")


@law(
    numerics=approximate(2.0, of="operands"),
    source="Ascend auto-optimizer, ResizeModeToNearest",
    examples=_resize_examples,
)
def resize_to_nearest(x: Tensor, r: Tensor, s: Tensor, z: Tensor, p: Settings):
    """Resize_linear(x) = Resize_nearest(x), likewise cubic"""
    yield rewrite(
        resize(x, r, s, z, p), resize(x, r, s, z, to_nearest(p)), because="forgets how it interpolated"
    )


@hosted()
def to_linear(settings: Settings) -> Settings | None:
    """The attributes with mode linear, of one that is cubic: that alone may leave out what is outside."""
    given = dict(settings)
    if given.get("mode") != "cubic" or given.get("exclude_outside"):
        return None
    return tuple(sorted((given | {"mode": "linear"}).items()))


def _cubic_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, scales = g.input(("N", 3, 4, 5)), g.constant(np.array([1, 1, 2, 2], np.float32))
    yield g.fires(resize(x, none(), scales, none(), _settings("cubic")))
    for mode in ("linear", "nearest"):
        yield g.near_miss(resize(x, none(), scales, none(), _settings(mode)), why="it is not cubic")


@law(
    numerics=approximate(2.0, of="operands"),
    source="Ascend auto-optimizer, ResizeModeToNearest",
    examples=_cubic_examples,
)
def resize_to_linear(x: Tensor, r: Tensor, s: Tensor, z: Tensor, p: Settings):
    """Resize_cubic(x) = Resize_linear(x)"""
    linear = resize(x, r, s, z, to_linear(p))
    yield rewrite(resize(x, r, s, z, p), linear, because="forgets how it interpolated")


# --- float64 in float32 ------------------------------------------------------------------------------------

_BINARY = frozenset(("Add", "Sub", "Mul", "Div", "Pow", "PRelu"))
LARGEST_POWER = 4
_STEEP = frozenset(
    ["Acos", "Acosh", "Asin", "Atanh", "Ceil", "Floor", "Hardmax", "ReduceLogSum", "Round", "Shrink", "Sign",
     "Tan", "ThresholdedRelu"]
)  # fmt: skip
"""Functions that jump somewhere, or are infinitely steep, as the logarithm of numbers that cancel is."""


@hosted()
def are_double(*operands: Fact) -> bool:
    """Float64 all, computed when the model runs, of numbers that float32 has, as far as they are known."""
    known = (v for f in operands for v in known_elements(f) or ())
    held = all(abs(v) <= LARGEST[T.FLOAT] or not math.isfinite(v) for v in known)
    return held and all(f.dtype == T.DOUBLE for f in operands) and not all(f.const for f in operands)


@hosted()
def is_arithmetic(op: str, y: Fact) -> bool:
    """High powers of ordinary numbers are beyond float32."""
    low = y.splat is not None and abs(y.splat) <= LARGEST_POWER
    return op in _BINARY and (op != "Pow" or low)


@hosted()
def is_steady(op: str) -> bool:
    """A little more or less makes little difference; the answer is a float."""
    return op not in ("IsInf", "IsNaN") and not is_steep.function(op)


@hosted()
def is_steep(op: str) -> bool:
    return op in _STEEP


def _single(x: Any) -> Any:
    return cast(x, T.FLOAT)


def _double_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, c = g.input(("N", 4), T.DOUBLE), g.constant(rng.standard_normal(4), T.DOUBLE)
    yield g.fires(exp(x))
    yield g.near_miss(x + g.constant(1e40, T.DOUBLE), why="float32 has no such number")
    yield g.near_miss(c + c, why="a constant is computed once, in float64")
    yield g.near_miss(binary("Pow", x, g.constant(1000.0, T.DOUBLE)), why="that is beyond float32")
    yield g.near_miss(unary("IsNaN", (), x), why="the answer is no float")
    one, other = (g.constant(np.array([a, b]), T.DOUBLE) for a, b in ((1, 1 + 1e-9), (1 + 1e-9, 1)))
    either = where(g.input((3, 1), T.BOOL), one, other)
    yield g.near_miss(softmax("Hardmax", either, 1), why="rounding decides which is the greatest")
    columns = g.input((3, 2000), T.DOUBLE)
    yield g.near_miss(reduce("ReduceLogSum", columns, (0,), 1), why="some columns cancel")


def _steep_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 4), T.DOUBLE)
    yield g.fires(unary("Floor", (), x))
    yield g.fires(binary("Less", x, g.input((4,), T.DOUBLE)))
    yield g.near_miss(exp(x), why="it is steady, and promises more")
    yield g.near_miss(unary("IsNaN", (), x), why="the answer is no float")
    yield g.near_miss(x + g.input((4,), T.DOUBLE), why="the answer is no truth value")


ROUNDED = "the result is rounded to float32"


def _narrowed(make: Any, *operands: Tensor, sound: Any = ()) -> Any:
    narrow = cast(make(*map(_single, operands)), T.DOUBLE)
    return rewrite(make(*operands), narrow, are_double(*operands), sound, because=ROUNDED)


@law(
    numerics=approximate(1e-5, of="operands"),
    source="Ascend auto-optimizer, TypeCast",
    examples=_double_examples,
)
def double_in_float(
    op: String, x: Tensor, y: Tensor, b: Tensor, m: Tensor, v: Tensor,
    s: Settings, a: Axes, axis: Axis, keepdims: Flag, e: Float, window: ConvWindow, products: GemmSettings,
):  # fmt: skip
    """op(x, y) = Cast_64(op(Cast_32(x), Cast_32(y))) in float64"""
    yield _narrowed(lambda x: unary(op, s, x), x, sound=is_steady(op))
    yield _narrowed(lambda x, y: binary(op, x, y), x, y, sound=is_arithmetic(op, y))
    yield _narrowed(lambda x, y: x @ y, x, y)
    yield _narrowed(lambda x: reduce(op, x, a, keepdims), x, sound=is_steady(op))
    yield _narrowed(lambda x: softmax(op, x, axis), x, sound=is_steady(op))
    for bias in ((), (b,)):
        yield _narrowed(lambda x, y, *b: gemm(x, y, *(b or [none()]), products), x, y, *bias)
        yield _narrowed(lambda x, y, *b: conv(x, y, *(b or [none()]), window), x, y, *bias)
    yield _narrowed(lambda *five: batchnorm(*five, e), x, y, b, m, v, sound=guard(varies(x)))


@law(
    numerics=approximate(1.0, of="operands"),
    source="Ascend auto-optimizer, TypeCast",
    examples=_steep_examples,
)
def steep_in_float(op: String, x: Tensor, y: Tensor, s: Settings):
    """op(x) = Cast_64(op(Cast_32(x))) in float64, of what jumps or is steep; comparisons likewise"""
    yield _narrowed(lambda x: unary(op, s, x), x, sound=is_steep(op))
    compared = binary(op, _single(x), _single(y))
    yield rewrite(binary(op, x, y), compared, guard(are_double(x, y)), is_comparison(op), because=ROUNDED)

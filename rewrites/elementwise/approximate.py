"""Laws that change values, for who asks for them by name: the ruleset `approximate`.

    Resize_linear(x) = Resize_nearest(x)        likewise cubic
    op(x, y) = Cast_64(op(Cast_32(x), Cast_32(y)))      in float64, computed in float32

What they change is reported, with the largest error that verification saw.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.compat import Equal, PyObject, String, eq, holds, let, rewrite, rule
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import (
    GemmSettings,
    batchnorm,
    binary,
    cast,
    conv,
    gemm,
    matmul,
    none,
    reduce,
    resize,
    softmax,
    unary,
)
from egraph_opt.operators.declaration import Attributes
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact

# --- Resize ------------------------------------------------------------------------------------------------

_INTERPOLATING = ("antialias", "cubic_coeff_a", "exclude_outside", "extrapolation_value")
"""Attributes that mean nothing to the nearest element."""


@hosted()
def nearest(settings: Attributes) -> Attributes | None:
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


def _settings(mode: str, **more: Any) -> Attributes:
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


@law("approximate", numerics="approximate", examples=_resize_examples)
def resize_to_nearest(x: Tensor, r: Tensor, s: Tensor, z: Tensor, p: PyObject, q: PyObject) -> Iterator[Any]:
    """Resize_linear(x) = Resize_nearest(x), likewise cubic

    Source: Ascend auto-optimizer, ResizeModeToNearest.
    """
    yield rewrite(resize(x, r, s, z, p), resize(x, r, s, z, q), *let(q, nearest, p))


# --- float64 in float32 ------------------------------------------------------------------------------------

_BINARY = frozenset(("Add", "Sub", "Mul", "Div", "Pow", "PRelu"))
_COMPARISONS = frozenset(("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"))


@hosted(default=False)
def are_double(*facts: Fact) -> bool:
    """Float64 all, computed when the model runs."""
    return all(f.dtype == T.DOUBLE for f in facts) and not all(f.const for f in facts)


@hosted(default=False)
def is_arithmetic(op: str) -> bool:
    return op in _BINARY


@hosted(default=False)
def is_comparison(op: str) -> bool:
    return op in _COMPARISONS


@hosted(default=False)
def keeps_type(op: str) -> bool:
    return op not in ("IsInf", "IsNaN")


def _single(x: Any) -> Any:
    return cast(x, PyObject(T.FLOAT))


def _double(x: Any) -> Any:
    return cast(x, PyObject(T.DOUBLE))


def _double_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 4), T.DOUBLE)
    c = g.constant(rng.standard_normal(4), T.DOUBLE)
    w = g.constant(rng.standard_normal((4, 3)), T.DOUBLE)
    yield g.fires(binary("Add", x, c))
    yield g.fires(binary("Less", x, c))
    yield g.fires(unary("Exp", (), x))
    yield g.fires(matmul(x, w))
    yield g.fires(gemm(x, w, none(), GemmSettings()))
    yield g.fires(reduce("ReduceMean", x, (1,), 1))
    yield g.fires(softmax("Softmax", x, 1))
    yield g.near_miss(binary("Add", g.input((4,)), g.input((4,))), why="float32")
    yield g.near_miss(binary("Add", c, c), why="a constant is computed once, in float64")


@law("approximate", numerics="approximate", examples=_double_examples)
def double_in_float(
    op: String,
    x: Tensor,
    y: Tensor,
    b: Tensor,
    m: Tensor,
    v: Tensor,
    z: Tensor,
    p: PyObject,
    k: PyObject,
) -> Iterator[Any]:
    """op(x, y) = Cast_64(op(Cast_32(x), Cast_32(y))) in float64

    Source: Ascend auto-optimizer, TypeCast.
    """
    yield _narrowed(z, unary(op, p, x), unary(op, p, _single(x)), (x,), holds(keeps_type, op))
    pair = binary(op, _single(x), _single(y))
    yield _narrowed(z, binary(op, x, y), pair, (x, y), holds(is_arithmetic, op))
    compared = (holds(are_double, fact(x), fact(y)), holds(is_comparison, op))
    yield rule(eq(z).to(binary(op, x, y)), *compared, then=Equal(z, pair))
    yield _narrowed(z, matmul(x, y), matmul(_single(x), _single(y)), (x, y))
    yield _narrowed(z, reduce(op, x, p, k), reduce(op, _single(x), p, k), (x,))
    yield _narrowed(z, softmax(op, x, p), softmax(op, _single(x), p), (x,))
    for absent in (True, False):
        bias = none() if absent else b
        single = none() if absent else _single(b)
        more = (x, y) if absent else (x, y, b)
        yield _narrowed(z, gemm(x, y, bias, p), gemm(_single(x), _single(y), single, p), more)
        yield _narrowed(z, conv(x, y, bias, p), conv(_single(x), _single(y), single, p), more)
    all_five = (x, y, b, m, v)
    normal = batchnorm(*map(_single, all_five), p)
    yield _narrowed(z, batchnorm(*all_five, p), normal, all_five)


def _narrowed(z: Any, wide: Any, narrow: Any, operands: tuple[Any, ...], *conditions: Any) -> Any:
    of_doubles = holds(are_double, *(fact(x) for x in operands))
    return rule(eq(z).to(wide), of_doubles, *conditions, then=Equal(z, _double(narrow)))

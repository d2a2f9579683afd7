"""What needs no rounding is computed in the type that floats had before a cast that widens.

    Relu(Cast_T(x)) = Cast_T(Relu(x))                  T has every value of x's type; Neg, Abs, Floor, ..
    ReduceMax(Cast_T(x)) = Cast_T(ReduceMax(x))        MaxPool likewise
    Resize(Cast_T(x)) = Cast_T(Resize(x))              to the nearest element
    Cast_T(x) < Cast_T(y) = x < y                      ArgMax(Cast_T(x)) = ArgMax(x), IsNaN and TopK likewise

Integers are compared like floats.

What operators make of numbers of a type is a number of the type, the same in any wider one.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.dtypes import HOLDS, INTEGERS
from egraph_opt.facts.fact import Fact
from egraph_opt.inference.elementwise import COMPARISONS
from egraph_opt.inference.intervals import within
from egraph_opt.inference.numbers import integer_range
from egraph_opt.laws import Example, Operands, equal, guard, hosted, kernel, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axes, Axis, DataType, Flag, Int, Settings, String, Tensor
from egraph_opt.operators import arg_reduce, binary, cast, none, output, pool, reduce, resize, top, unary
from egraph_opt.operators.terms import opset
from egraph_opt.operators.windows import PoolWindow
from egraph_opt.rewrites.conditions.float_types import (
    constants_in_double,
    has_number,
    has_numbers,
    in_double,
    widens,
)
from egraph_opt.rewrites.conditions.operands import beside, either_side, is_comparison
from egraph_opt.rewrites.conditions.values import dtype_of, is_kernel_float, of_one_type
from egraph_opt.rewrites.conditions.windows import always_sees_something
from egraph_opt.rewrites.elementwise.bounds import may_clip
from egraph_opt.rewrites.reductions.reduction import is_extreme

law = laws_of(
    "cast", numerics="bitwise", kind="move", serves="traffic", source="Ascend auto-optimizer, TypeCast"
)

FUNCTIONS = frozenset(("Abs", "Ceil", "Floor", "Neg", "Relu", "Round"))
"""What makes numbers of a float type of numbers of that type, without rounding."""

FORGOTTEN = "the wide type is forgotten"


# --- conditions -------------------------------------------------------------------------------------------


@hosted()
def is_exact(op: str, settings: Settings, x: Fact) -> bool:
    """A function of floats that gives the same number in any wider type."""
    if op == "Clip":
        return all(v is not None and has_number(x.dtype, v) for _, v in settings)
    return op in FUNCTIONS


@hosted()
def is_nearly_exact(op: str, settings: Settings, x: Fact) -> bool:
    """Likewise of finite floats; a bound that is absent is the greatest number of its type.

    A sign sees what float16 rounds to 0, and runtimes leave out the rounding between float32 and float32.
    """
    if op == "Clip":
        return any(v is None for _, v in settings) and all(
            v is None or has_number(x.dtype, v) for _, v in settings
        )
    return op == "Sign" and x.dtype != T.FLOAT16


# --- functions --------------------------------------------------------------------------------------------


def _clip(low: float | None, high: float | None, x: Any) -> Any:
    return unary("Clip", (("max", high), ("min", low)), x)


def _function_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, wide, other = in_double(g)
    for of in (*(partial(unary, op, ()) for op in sorted(FUNCTIONS)), partial(_clip, -0.5, 2.0)):
        yield from g.all_fire(of(wide), cast(of(x), T.DOUBLE))
    yield g.fires(unary("Floor", (), cast(g.input(("N", 4), T.FLOAT16), T.FLOAT)))
    yield from g.near_misses(
        (unary("Relu", (), cast(other, T.FLOAT)), "numbers are rounded"),
        (unary("Exp", (), wide), "the result is rounded"),
        (_clip(0.1, 2.0, wide), "float32 has no such bound"),
        (_clip(0.0, None, wide), "the greatest number is a bound"),
        (unary("Abs", (), cast(g.input((3,), T.INT32), T.FLOAT)), "float32 has 24 bits"),
    )


@law(examples=_function_examples)
def function_of_wide(op: String, s: Settings, x: Tensor, t: DataType):
    """Relu(Cast_T(x)) = Cast_T(Relu(x)) where T has all of x's type; likewise Floor, Abs, Neg, .."""
    known = (widens(x, t), kernel(is_kernel_float(x)), kernel(may_clip(op, t, opset())), guard(varies(x)))
    yield equal(unary(op, s, cast(x, t)), cast(unary(op, s, x), t), is_exact(op, s, x), *known)


@law(numerics="finite")
def extreme_of_wide(op: String, x: Tensor, t: DataType, a: Axes, k: Flag, w: PoolWindow):
    """ReduceMax(Cast_T(x)) = Cast_T(ReduceMax(x)) where T has all of x's type; MaxPool, ReduceMin likewise"""
    wide, known = cast(x, t), (widens(x, t), kernel(is_kernel_float(x)), guard(varies(x)))
    yield equal(reduce(op, wide, a, k), cast(reduce(op, x, a, k), t), is_extreme(op), *known)
    yield equal(pool("MaxPool", wide, w), cast(pool("MaxPool", x, w), t), always_sees_something(w), *known)


@hosted()
def takes_elements(settings: Settings) -> bool:
    """A Resize of which each element is one of the image; what is beyond that is a number of its own."""
    given = dict(settings)
    inside = given.get("coordinate_transformation_mode") != "tf_crop_and_resize"
    return given.get("mode") == "nearest" and inside


def _resized(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    image, twice = g.input(("N", 4, 3, "L"), T.FLOAT16), g.constant(np.array([1, 1, 2, 1.5], np.float32))
    near, roi = (("mode", "nearest"),), g.constant(np.array((0, 0, 0, 0, 1, 1, 2, 2), np.float32))
    linear, crop = (("mode", "linear"),), (("coordinate_transformation_mode", "tf_crop_and_resize"), *near)
    wide = cast(image, T.FLOAT)
    floor = (("coordinate_transformation_mode", "asymmetric"), *near, ("nearest_mode", "floor"))
    sizes, small = g.constant(np.array((1, 2, 5, 7))), g.input((1, 2, 3, 4), T.FLOAT16)
    yield from g.all_fire(
        resize(wide, none(), twice, none(), near),
        resize(wide, none(), twice, none(), floor),
        resize(cast(small, T.FLOAT), none(), none(), sizes, near),
    )
    yield from g.near_misses(
        (resize(wide, none(), twice, none(), linear), "means are rounded"),
        (resize(wide, roi, twice, none(), crop), "beyond the image there is another number"),
        (resize(cast(g.input((1, 2, 3, 4)), T.FLOAT16), none(), twice, none(), near), "numbers are rounded"),
    )


@law(numerics="finite", examples=_resized)
def resize_of_wide(x: Tensor, roi: Tensor, scales: Tensor, sizes: Tensor, s: Settings, t: DataType):
    """Resize(Cast_T(x)) = Cast_T(Resize(x)) to the nearest element, where T has all of x's type"""
    known = (takes_elements(s), widens(x, t), kernel(is_kernel_float(x)), guard(varies(x)))
    made = cast(resize(x, roi, scales, sizes, s), t)
    yield rewrite(
        resize(cast(x, t), roi, scales, sizes, s), made, *known, because="the wide image is more to move"
    )


def _nearly_exact(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, wide, other = in_double(g)
    for of in (partial(unary, "Sign", ()), partial(_clip, None, 2.0), partial(_clip, 0.0, None)):
        yield from g.all_fire(of(wide), cast(of(x), T.DOUBLE))
    yield from g.near_misses(
        (unary("Sign", (), cast(other, T.FLOAT)), "numbers are rounded, to 0 perhaps"),
        (_clip(0.1, None, wide), "float32 has no such bound"),
        (unary("Exp", (), wide), "the result is rounded"),
    )


@law(numerics="finite", examples=_nearly_exact)
def finite_function_of_wide(op: String, s: Settings, x: Tensor, t: DataType):
    """Sign(Cast_T(x)) = Cast_T(Sign(x)) where T has all of x's type; Clip by one bound likewise"""
    known = (widens(x, t), kernel(is_kernel_float(x)), kernel(may_clip(op, t, opset())), guard(varies(x)))
    yield equal(unary(op, s, cast(x, t)), cast(unary(op, s, x), t), is_nearly_exact(op, s, x), *known)


# --- questions --------------------------------------------------------------------------------------------


def _compared(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    _, v, other = in_double(g)
    w, half = cast(g.input((4,)), T.DOUBLE), cast(g.input((4,), T.FLOAT16), T.DOUBLE)
    known, tenth = constants_in_double(g)
    for op in sorted(COMPARISONS):
        yield from g.all_fire(binary(op, v, w), binary(op, v, known), binary(op, known, v))
    yield from g.near_misses(
        (binary("Less", v, tenth), "float32 has no such number"),
        (binary("Less", v, half), "of two types"),
        (binary("Less", v, other), "it may be any number"),
        *((binary("Add", v, c), "the sum is rounded") for c in (w, known)),
    )


@law(kind="eliminate", uses=(either_side,), examples=_compared)
def comparison_of_wide(op: String, x: Tensor, y: Tensor, c: Tensor, i: Int, t: DataType):
    """Cast_T(x) < Cast_T(y) = x < y where T has all of their type, with constants of x's type likewise"""
    wide, known = cast(x, t), (is_comparison(op), kernel(is_kernel_float(x)))
    both = binary(op, x, y)
    yield rewrite(
        binary(op, wide, cast(y, t)), both, of_one_type(x, y), widens(x, t), *known, because=FORGOTTEN
    )
    less = beside(op, x, cast(c, dtype_of(x)), i)
    yield rewrite(beside(op, wide, c, i), less, has_numbers(x, c), *known, because=FORGOTTEN)


@hosted()
def widens_integers(x: Fact, to: DataType) -> bool:
    """A cast of integers to a type of integers that has all of them, and more."""
    return x.dtype in INTEGERS and to in INTEGERS and to != x.dtype and to in HOLDS.get(x.dtype, ())


@hosted()
def has_integers(x: Fact, c: Fact) -> bool:
    """Every element of a constant is an integer of x's type."""
    items = c.data if c.splat is None else (c.splat,)
    if not c.const or not c.has_numbers or items is None or x.dtype not in INTEGERS:
        return False
    return all(within((n, n), integer_range(x.dtype)) for n in items)  # type: ignore[arg-type]


@hosted()
def is_compared(x: Fact) -> bool:
    """ONNX compares these integers in every opset, and onnxruntime has kernels for them."""
    return x.dtype in (T.INT32, T.INT64)


def _whole(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    i, j, wide = g.input(("N", 4), T.INT32), g.input((4,), T.INT32), g.input((4,), T.INT64)
    two, ends = g.constant(np.array(2)), g.constant(np.array([2**31 - 1, -(2**31), 0, 5]))
    for op in sorted(COMPARISONS):
        made = partial(binary, op, cast(i, T.INT64))
        for term in (made(cast(j, T.INT64)), made(two), made(ends), binary(op, two, cast(i, T.INT64))):
            yield replace(g.fires(term), opset=13)
    few, bytes_ = cast(i, T.INT64), g.input(("N", 4), T.INT8)
    for other in (cast(g.input((4,), T.INT8), T.INT64), two):
        made = binary("Equal", cast(bytes_, T.INT64), other)
        yield replace(g.near_miss(made, "there is no Equal of bytes before opset 11"), opset=9)
    yield from g.near_misses(
        (binary("Less", few, g.constant(np.array(2**31))), "int32 has no such number"),
        (binary("Less", few, g.constant(np.array([2, -(2**31) - 1, 0, 5]))), "int32 has no such number"),
        (binary("Less", few, wide), "it may be any number"),
        (binary("Less", few, cast(g.input((4,), T.INT8), T.INT64)), "of two types"),
        (binary("Less", cast(wide, T.INT32), j), "the upper bits are lost"),
        (
            binary("Less", cast(wide, T.INT32), cast(g.input((4,), T.INT64), T.INT32)),
            "the upper bits are lost",
        ),
        (binary("Add", few, two), "the sum may be any number"),
    )


@law(kind="eliminate", uses=(either_side,), examples=_whole)
def comparison_of_wide_integers(op: String, x: Tensor, y: Tensor, c: Tensor, i: Int, t: DataType):
    """Cast_T(x) < Cast_T(y) = x < y for integers of one type, with constants of x's type likewise"""
    wide, known = cast(x, t), (is_comparison(op), widens_integers(x, t), is_compared(x))
    both = binary(op, x, y)
    yield rewrite(binary(op, wide, cast(y, t)), both, of_one_type(x, y), *known, because=FORGOTTEN)
    less = beside(op, x, cast(c, dtype_of(x)), i)
    yield rewrite(beside(op, wide, c, i), less, has_integers(x, c), *known, because=FORGOTTEN)


@law(kind="eliminate")
def question_of_wide(op: String, x: Tensor, t: DataType, a: Axis, k: Flag, last: Flag):
    """ArgMax(Cast_T(x)) = ArgMax(x) where T has all of x's type; ArgMin, IsNaN likewise"""
    wide, known = cast(x, t), (widens(x, t), kernel(is_kernel_float(x)))
    yield rewrite(unary("IsNaN", (), wide), unary("IsNaN", (), x), *known, because=FORGOTTEN)
    place = arg_reduce(op, x, a, k, last)
    yield rewrite(arg_reduce(op, wide, a, k, last), place, *known, because=FORGOTTEN)


def _ranked(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    rows = g.input(("N", 4))
    for k in (0, 1):
        yield g.fires(output(top(cast(rows, T.DOUBLE), 2, 1, ()), k))
        yield g.fires(output(top(cast(g.input((5, 3), T.FLOAT16), T.FLOAT), 4, 0, (("largest", 0),)), k))
        yield g.fires(output(top(cast(g.input((5, 3), T.INT32), T.INT64), 2, 0, (("sorted", 1),)), k))
        rounded = output(top(cast(g.input((5, 3), T.DOUBLE), T.FLOAT), 2, 0, ()), k)
        yield g.near_miss(rounded, why="numbers are rounded, and some are equal then")
        whole = output(top(cast(g.input((5, 3), T.INT32), T.FLOAT), 2, 0, ()), k)
        yield g.near_miss(whole, why="float32 has 24 bits")


@hosted()
def widens_numbers(x: Fact, to: DataType) -> bool:
    """A cast to a type with all numbers of x's."""
    return (x.dtype, to) == (T.INT32, T.INT64) or bool(widens.function(x, to))


@law(kind="eliminate", examples=_ranked)
def greatest_of_wide(x: Tensor, t: DataType, n: Int, a: Axis, s: Settings):
    """TopK(Cast_T(x)) = TopK(x) where T has all of x's type, the values being cast behind"""
    wide, narrow, known = top(cast(x, t), n, a, s), top(x, n, a, s), widens_numbers(x, t)
    yield rewrite(output(wide, 0), cast(output(narrow, 0), t), known, because=FORGOTTEN)
    yield rewrite(output(wide, 1), output(narrow, 1), known, because=FORGOTTEN)

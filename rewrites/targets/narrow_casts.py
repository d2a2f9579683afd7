"""Casts between a type and the narrow one of its kind move through what moves data.

    move(Cast_64(x)) = Cast_64(move(x))     for x in int32, or float64 of a float32
    Cast_32(move(x)) = move(Cast_32(x))     for x in int64, or float32 of a float64

The first brings values that were narrow before to where they are used, the second what a narrow operator
asks for to where it comes from.  Both are exact: a cast does the same to each element, wherever it is.  They
run for targets that publish the limit `narrow_int64`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.compat import PyObject, eq, guard, holds, i64, rewrite
from egraph_opt.facts.dtypes import INTEGERS
from egraph_opt.facts.fact import Fact
from egraph_opt.inference.intervals import within
from egraph_opt.inference.numbers import integer_range
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import (
    cast,
    concat,
    expand,
    expand_to,
    gather,
    output,
    pad,
    reshape,
    reshape_to,
    shape_of,
    slice_,
    split,
    transpose,
    where,
)
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, Tensors, fact, limit, listed
from egraph_opt.rewrites.targets.narrowing import LIMITS, all_cast

NARROW: dict[int, int] = {T.INT64: T.INT32, T.DOUBLE: T.FLOAT}
"""The type that values of a type are narrowed to."""


@hosted(default=False)
def widens(x: Fact, to: int) -> bool:
    return NARROW.get(to) == x.dtype


@hosted(default=False)
def narrows(x: Fact, to: int) -> bool:
    return NARROW.get(x.dtype) == to and not x.const


@hosted(default=False)
def has(value: float | int, to: int) -> bool:
    """What is padded with is a number of the narrow type."""
    if to in INTEGERS:
        return within((int(value), int(value)), integer_range(to))
    return float(np.float32(value)) == value or value != value


@hosted(default=False)
def can_pad(value: float | int, x: Fact) -> bool:
    return has(value, x.dtype)


def _moves(x: Any, i: Any, p: Any) -> list[Any]:
    """Operators of one operand whose elements are those of the result; `i` is another, of indices or dims."""
    return [
        reshape(x, p),
        transpose(x, p),
        slice_(x, p),
        expand(x, p),
        gather(x, i, p),
        reshape_to(x, i, p),
        expand_to(x, i),
    ]


def _down_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, d = g.input(("N", 4), T.INT32), g.input((2, 6))
    wide, double = cast(x, T.INT64), cast(d, T.DOUBLE)
    yield g.fires(transpose(wide, (1, 0)), **LIMITS)
    yield g.fires(reshape(double, (3, 4)), **LIMITS)
    yield g.fires(slice_(wide, ((1, 1, 3, 1),)), **LIMITS)
    yield g.fires(gather(wide, g.constant(np.array([2, 0])), 1), **LIMITS)
    yield g.fires(expand(double, (3, 2, 6)), **LIMITS)
    yield g.fires(pad(wide, "constant", (0, 1, 0, 0), 7), **LIMITS)
    yield g.fires(output(split(double, 1, (2, 4)), 1), **LIMITS)
    far = pad(wide, "constant", (0, 1, 0, 0), 2**40)
    yield g.near_miss(far, why="int32 does not have what is padded with", **LIMITS)
    yield g.near_miss(transpose(cast(x, T.FLOAT), (1, 0)), why="not the wide type of int32", **LIMITS)
    yield g.near_miss(transpose(wide, (1, 0)), why="the target does not ask for it")


@law("narrowing", numerics="bitwise", examples=_down_examples)
def moves_of_wide(
    x: Tensor, i: Tensor, p: PyObject, q: PyObject, v: PyObject, t: PyObject, k: i64, n: i64
) -> Iterator[Any]:
    """move(Cast_64(x)) = Cast_64(move(x)) for int32 x, likewise float32 in float64

    Source: Ascend auto-optimizer, TypeCast.
    """
    asked = (*guard(eq(n).to(limit("narrow_int64"))), holds(widens, fact(x), t))
    for wide, narrow in zip(_moves(cast(x, t), i, p), _moves(x, i, p), strict=True):
        yield rewrite(wide, cast(narrow, t), *asked)
    padded = cast(pad(x, p, q, v), t)
    yield rewrite(pad(cast(x, t), p, q, v), padded, *asked, holds(can_pad, v, fact(x)))
    part = output(split(x, p, q), k)
    yield rewrite(output(split(cast(x, t), p, q), k), cast(part, t), *asked)


def _up_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, d, c = g.input(("N", 4), T.INT64), g.input((2, 6), T.DOUBLE), g.input((4,), T.BOOL)

    def small(y: Any) -> Any:
        return cast(y, T.INT32)

    yield g.fires(small(transpose(x, (1, 0))), **LIMITS)
    yield g.fires(cast(reshape(d, (3, 4)), T.FLOAT), **LIMITS)
    yield g.fires(small(slice_(x, ((1, 1, 3, 1),))), **LIMITS)
    yield g.fires(small(gather(x, g.constant(np.array([2, 0])), 1)), **LIMITS)
    yield g.fires(small(expand_to(g.input((4,), T.INT64), shape_of(x, 0, 2))), **LIMITS)
    yield g.fires(small(pad(x, "constant", (0, 1, 0, 0), 7)), **LIMITS)
    yield g.fires(cast(output(split(d, 1, (2, 4)), 1), T.FLOAT), **LIMITS)
    yield g.fires(small(where(c, x, g.constant(np.array(5)))), **LIMITS)
    yield g.fires(small(concat(listed(x, g.constant(np.arange(8).reshape(2, 4)), x), 0)), **LIMITS)
    far = small(pad(x, "constant", (0, 1, 0, 0), 2**40))
    yield g.near_miss(far, why="int32 does not have what is padded with", **LIMITS)
    yield g.near_miss(cast(transpose(x, (1, 0)), T.FLOAT), why="not the narrow type of int64", **LIMITS)
    yield g.near_miss(small(transpose(x, (1, 0))), why="the target does not ask for it")


@law("narrowing", numerics="bitwise", examples=_up_examples, required=("narrowing.narrow_arithmetic",))
def narrow_moves(
    x: Tensor,
    y: Tensor,
    i: Tensor,
    xs: Tensors,
    p: PyObject,
    q: PyObject,
    v: PyObject,
    t: PyObject,
    k: i64,
    n: i64,
) -> Iterator[Any]:
    """Cast_32(move(x)) = move(Cast_32(x)) for int64 x, likewise float32 of float64

    Source: Ascend auto-optimizer, TypeCast.
    """
    asked = guard(eq(n).to(limit("narrow_int64")))
    narrowed = (*asked, holds(narrows, fact(x), t))
    for wide, narrow in zip(_moves(x, i, p), _moves(cast(x, t), i, p), strict=True):
        yield rewrite(cast(wide, t), narrow, *narrowed)
    padded = pad(cast(x, t), p, q, v)
    yield rewrite(cast(pad(x, p, q, v), t), padded, *narrowed, holds(has, v, t))
    part = output(split(cast(x, t), p, q), k)
    yield rewrite(cast(output(split(x, p, q), k), t), part, *narrowed)
    chosen = where(i, x, y)
    yield rewrite(cast(chosen, t), where(i, cast(x, t), cast(y, t)), *asked, holds(narrows, fact(chosen), t))
    joined = concat(xs, p)
    yield rewrite(cast(joined, t), concat(all_cast(xs, t), p), *asked, holds(narrows, fact(joined), t))

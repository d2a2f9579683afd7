"""Casts between a type and the narrow one of its kind move through what moves data.

    move(Cast_64(x)) = Cast_64(move(x))     for x in int32, or float64 of a float32
    Cast_32(move(x)) = move(Cast_32(x))     for x in int64, or float32 of a float64

The first brings values that were narrow before to where they are used, the second the demand of a narrow
operator to where its operands come from.  Both are exact: a cast does the same to each element, wherever it
is.  They run for targets that publish the limit `narrow_int64`.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.dtypes import INTEGERS
from egraph_opt.facts.fact import Fact
from egraph_opt.inference.intervals import within
from egraph_opt.inference.numbers import integer_range
from egraph_opt.laws import Example, Operands, equal, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, DataType, Int, Sizes, String, Tensor, Tensors
from egraph_opt.operators import cast, concat, expand_to, output, pad, reshape_to, shape_of, split, where
from egraph_opt.operators.terms import limit
from egraph_opt.rewrites.conditions.float_types import has_number
from egraph_opt.rewrites.conditions.operands import moved, moves
from egraph_opt.rewrites.conditions.values import is_integer
from egraph_opt.rewrites.targets.narrowing import LIMITS, all_cast, casts_of_lists

law = laws_of(
    "narrowing", numerics="bitwise", kind="move", serves="target", source="Ascend auto-optimizer, TypeCast"
)

NARROW: dict[int, int] = {T.INT64: T.INT32, T.DOUBLE: T.FLOAT}
"""The type that values of a type are narrowed to."""


@hosted()
def widens(x: Fact, to: DataType) -> bool:
    return NARROW.get(to) == x.dtype


@hosted()
def narrows(x: Fact, to: DataType) -> bool:
    return NARROW.get(x.dtype) == to


@hosted()
def has(op: str, how: Any, to: DataType) -> bool:
    """What is padded with, if anything is, is a number of the narrow type."""
    if op != "Pad":
        return True
    value = how[2]
    if to in INTEGERS:
        return bool(within((int(value), int(value)), integer_range(to)))
    return has_number(to, value)


@hosted()
def has_narrow(op: str, how: Any, x: Fact) -> bool:
    return bool(has(op, how, x.dtype))


def _far_pads(g: Operands) -> tuple[Any, Any]:
    """An int32 value in int64, padded with what int32 does not have, and the same of an int64 value, cast."""
    x, y = g.input(("N", 4), T.INT32), g.input(("N", 4), T.INT64)
    widened, narrowed = (pad(v, "constant", (0, 1, 0, 0), 2**40) for v in (cast(x, T.INT64), y))
    return widened, cast(narrowed, T.INT32)


def _padded_truth(g: Operands) -> tuple[Any, str]:
    """A truth value as a number, padded with another number."""
    x = g.input(("N", 4), T.BOOL)
    return pad(cast(x, T.INT32), "constant", (0, 1, 0, 0), 5), "no truth value is 5"


def _down_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, longer, turned = g.input(("N", 4), T.INT32), g.input((2, "N", 4)), g.input((4, "N"))
    forms: tuple[Callable[[Any], Any], ...] = (
        lambda v: expand_to(v, shape_of(longer, 0, 3)),
        lambda v: reshape_to(v, shape_of(turned, 0, 2), 0),
    )
    for of in forms:
        yield from (g.fires(term, **LIMITS) for term in (of(cast(x, T.INT64)), cast(of(x), T.INT64)))
    far = (_far_pads(g)[0], "int32 does not have what is padded with")
    yield from g.near_misses(far, _padded_truth(g), **LIMITS)


@law(uses=(moves,), examples=_down_examples)
def moves_of_wide(op: String, x: Tensor, i: Tensor, p: Any, a: Axis, n: Sizes, k: Int, t: DataType):
    """move(Cast_64(x)) = Cast_64(move(x)) for int32 x, likewise float32 in float64"""
    wide, demand, known = cast(x, t), guard(limit("narrow_int64")), widens(x, t)
    yield equal(moved(op, wide, i, p), cast(moved(op, x, i, p), t), demand, known, has_narrow(op, p, x))
    yield equal(output(split(wide, a, n), k), cast(output(split(x, a, n), k), t), demand, guard(known))


def _up_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, c = g.input(("N", 4), T.INT64), g.input(("N", 4), T.INT32), g.input((4,), T.BOOL)
    longer, turned, five = g.input((2, "N", 4)), g.input((4, "N")), g.constant(np.array(5))
    for of, values in (
        (lambda v: expand_to(v, shape_of(longer, 0, 3)), (x,)),
        (lambda v: reshape_to(v, shape_of(turned, 0, 2), 0), (x,)),
        (lambda v, w: where(c, v, w), (x, five)),
    ):
        yield g.fires(cast(of(*values), T.INT32), **LIMITS)
        yield g.fires(of(*(cast(v, T.INT32) for v in values)), **LIMITS)
    far = (_far_pads(g)[1], "int32 does not have what is padded with")
    yield from g.near_misses(far, _padded_truth(g), **LIMITS)
    wide, zero = g.input((4,), T.DOUBLE), g.constant(np.array([-0.0]), T.DOUBLE)
    yield g.near_miss(cast(where(c, wide, zero), T.FLOAT), why="of -1e-300 and -0.0", **LIMITS)
    half = where(c, cast(x, T.INT32), cast(y, T.INT32))
    yield g.near_miss(half, why="one of them is narrow already", **LIMITS)


@law(uses=(casts_of_lists, moves), examples=_up_examples)
def narrow_moves(
    op: String, x: Tensor, y: Tensor, i: Tensor, xs: Tensors, p: Any, a: Axis, n: Sizes, k: Int, t: DataType
):  # fmt: skip
    """Cast_32(move(x)) = move(Cast_32(x)) for int64 x, likewise float32 of float64"""
    small, demand = cast(x, t), guard(limit("narrow_int64"))
    computed = (*demand, *guard(varies(x)))
    yield equal(cast(moved(op, x, i, p), t), moved(op, small, i, p), computed, narrows(x, t), has(op, p, t))
    yield equal(
        cast(output(split(x, a, n), k), t), output(split(small, a, n), k), computed, guard(narrows(x, t))
    )
    chosen = where(i, small, cast(y, t))
    whole = is_integer(x)  # onnxruntime's Where takes -0.0, which small doubles become, for 0.0
    yield equal(cast(where(i, x, y), t), chosen, *demand, narrows(x, t), narrows(y, t), whole)
    joined = concat(xs, a)
    yield rewrite(
        cast(joined, t),
        concat(all_cast(xs, t), a),
        demand,
        guard(varies(joined), narrows(joined, t)),
        because="a list does not tell that all of it is cast",
    )

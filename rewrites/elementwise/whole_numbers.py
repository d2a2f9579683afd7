"""Roundings that do nothing, since what they round is whole or is cut off next.

Floor(x) -> x, Ceil(x) -> x, Round(x) -> x         x is Cast from integers, or rounded already
Cast(Floor(x)) -> Cast(x)                          to integers, x >= 0
Cast(Ceil(x)) -> Cast(x)                           to integers, x <= 0
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.dtypes import BOOL, FLOATS, INTEGERS
from egraph_opt.facts.fact import Fact
from egraph_opt.inference.float_ranges import ANY, interval_of
from egraph_opt.laws import Example, Operands, auxiliary, eq, hosted, laws_of, rewrite, rule, table
from egraph_opt.laws.algebra import relu, sigmoid, tanh
from egraph_opt.laws.sorts import DataType, String, Tensor, Unit
from egraph_opt.operators import cast, unary

law = laws_of("intervals", numerics="bitwise", kind="eliminate", serves="arithmetic")

ROUNDINGS = ("Ceil", "Floor", "Round")

KEEP_WHOLE = ("Abs", "Neg", "Relu")
"""Functions that make whole numbers of whole numbers."""

CUT = frozenset((T.INT8, T.INT16, T.INT32, T.INT64, T.UINT8, T.UINT16, T.UINT32, T.UINT64))
"""Types to which floats are cast by leaving out the fraction."""


@table()
def is_whole(x: Tensor) -> Unit:
    """Floats without fractions: whole numbers, infinities, NaN."""


@hosted()
def casts_whole(x: Fact, to: DataType) -> bool:
    """From integers or truth values to floats; what is too large becomes infinite."""
    return (x.dtype in INTEGERS or x.dtype == BOOL) and to in FLOATS


@auxiliary()
def whole_numbers(x: Tensor, y: Tensor, t: DataType):
    """Fills `is_whole`."""
    yield rule(eq(y, cast(x, t)), casts_whole(x, t), then=is_whole(y))
    for op in (*ROUNDINGS, "Sign"):
        yield rule(eq(y, unary(op, (), x)), then=is_whole(y))
    for op in KEEP_WHOLE:
        yield rule(is_whole(x), eq(y, unary(op, (), x)), then=is_whole(y))


@hosted()
def rounds(op: str) -> bool:
    return op in ROUNDINGS


def _whole(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, i, b = g.input(("N", 3)), g.input(("N", 3), T.INT64), g.input((3,), T.BOOL)
    floor = unary("Floor", (), x)
    for whole in (cast(i, T.FLOAT), cast(b, T.FLOAT16), floor, unary("Sign", (), x), relu(-floor)):
        yield from g.all_fire(
            *(unary(op, (), whole) for op in ROUNDINGS if whole is not floor or op != "Floor")
        )
    yield g.fires(unary("Floor", (), cast(cast(x, T.INT32), T.FLOAT)))
    yield from g.near_misses(
        (unary("Floor", (), cast(x, T.DOUBLE)), "cast from floats"),
        (unary("Floor", (), sigmoid(floor)), "a Sigmoid of whole numbers is none"),
        (unary("Tanh", (), floor), "no rounding"),
        (unary("Ceil", (), relu(x)), "it has fractions"),
    )


@law(examples=_whole, uses=(whole_numbers,))
def whole_already(op: String, x: Tensor):
    """Floor(x) = x where x is whole, likewise Ceil and Round"""
    yield rewrite(unary(op, (), x), x, is_whole(x), rounds(op), because="forgets op")


@hosted()
def cuts_alike(op: str, x: Fact, to: DataType) -> bool:
    """The rounding goes towards 0, as a cast to integers does.

    Not in float16: onnxruntime rounds and casts float32 numbers there, or halves, as it likes.
    """
    low, high, _ = interval_of(x) or ANY
    return (
        x.dtype in (T.FLOAT, T.DOUBLE)
        and to in CUT
        and ((op == "Floor" and low >= 0) or (op == "Ceil" and high <= 0))
    )


def _cut(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3))
    scaled = sigmoid(x) * g.constant(9.0)
    for to in (T.INT32, T.INT64, T.UINT8):
        yield g.fires(cast(unary("Floor", (), scaled), to))
    yield g.fires(cast(unary("Ceil", (), -scaled), T.INT64))
    yield from g.near_misses(
        (cast(unary("Floor", (), tanh(x)), T.INT64), "it may be negative"),
        (cast(unary("Ceil", (), scaled), T.INT64), "it is rounded up"),
        (cast(unary("Floor", (), -scaled), T.INT64), "it is rounded down"),
        (cast(unary("Round", (), scaled), T.INT64), "it is rounded to the nearest"),
        (cast(unary("Floor", (), scaled), T.BOOL), "a fraction is true"),
        (cast(unary("Floor", (), sigmoid(g.input((3,), T.FLOAT16))), T.INT64), "float16 is kept in float32"),
        (cast(unary("Floor", (), scaled), T.DOUBLE), "floats have fractions"),
    )


@law(examples=_cut)
def rounding_before_cut(op: String, x: Tensor, t: DataType):
    """Cast(Floor(x)) = Cast(x) to integers where x >= 0, likewise of Ceil where x <= 0"""
    alike = cuts_alike(op, x, t)
    yield rewrite(cast(unary(op, (), x), t), cast(x, t), alike, because="forgets op")

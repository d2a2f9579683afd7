"""Casts there and back, and casts in comparisons, of numbers that the other type does not have."""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import DataType, Settings, String, Tensor, hosted, rewrite
from egraph_opt.operators import arg_reduce, binary, cast, unary
from egraph_opt.rewrites.conditions.values import is_of_type

from . import fires_on, of_one, wrong

BYTE, SIGNED = TensorProto.UINT8, TensorProto.INT8
FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16
INT32, INT64 = TensorProto.INT32, TensorProto.INT64

# --- there and back ----------------------------------------------------------------------------------------


@hosted()
def is_up_to_256(x: Fact) -> bool:
    known = range_of(x)
    return x.dtype in (INT32, INT64) and known is not None and 0 <= known[0] <= known[1] <= 2**8


def byte_of_place(axis: int):
    return lambda x: cast(cast(arg_reduce("ArgMax", x, axis, 1, 0), BYTE), INT64)


@wrong(
    "bitwise",
    of_one(byte_of_place(0), (257,)),
    values=range(257),
    examples=fires_on(of_one(byte_of_place(1), ("N", 200))),
)
def there_and_back_by_range(x: Tensor, t: DataType):
    """Cast(Cast_uint8(x)) = x where x is known to be between 0 and 256

    Wrong of 256, which is no byte.
    """
    known = (is_up_to_256(x), is_of_type(x, t))
    yield rewrite(cast(cast(x, BYTE), t), x, known, because="any such x would be a byte")


@hosted()
def is_within_4096(x: Fact) -> bool:
    known = range_of(x)
    return known is not None and -(2**12) <= known[0] <= known[1] <= 2**12


def by_way_of_halves(x):
    return cast(cast(x, HALF), INT32)


@wrong(
    "bitwise",
    of_one(lambda x: by_way_of_halves(cast(arg_reduce("ArgMax", x, 0, 1, 0), INT32)), (2050,)),
    values=range(2050),
    examples=fires_on(of_one(lambda x: by_way_of_halves(cast(x, INT32)), ("N", 3), SIGNED)),
)
def range_in_halves(x: Tensor):
    """Cast_int32(Cast_float16(x)) = x where x is known to be between -4096 and 4096

    Wrong of 2049: odd numbers above 2048 are no halves.
    """
    known = (is_within_4096(x), is_of_type(x, INT32))
    yield rewrite(cast(cast(x, HALF), INT32), x, known, because="any such x would be a half")


@hosted()
def rounds(f: str) -> bool:
    return f in ("Floor", "Ceil", "Round")


def floored_by_way_of_halves(x):
    return by_way_of_halves(cast(unary("Floor", (), x), INT32))


@wrong(
    "bitwise",
    of_one(floored_by_way_of_halves, (2,)),
    values=(2049.0, 1.0),
    examples=fires_on(of_one(floored_by_way_of_halves, ("N", 3))),
)
def whole_in_halves(x: Tensor, f: String, s: Settings):
    """Cast_int32(Cast_float16(y)) = y for y = Cast_int32(Floor(x))

    Wrong beyond 2048: y is whole, but it has more bits than a half.
    """
    y = cast(unary(f, s, x), INT32)
    yield rewrite(cast(cast(y, HALF), INT32), y, rounds(f), because="any whole number would be a half")


# --- comparisons ------------------------------------------------------------------------------------------


@hosted()
def is_one_number(c: Fact) -> bool:
    return c.splat is not None


def below(number: int, shape=(2,)):
    return lambda g: binary("Less", cast(g.input(shape, INT32), INT64), g.constant(np.array(number)))


@wrong("bitwise", below(2**31, ("N", 3)), examples=fires_on(below(3, ("N", 3))))
def compared_narrow(x: Tensor, c: Tensor):
    """Cast_int64(x) < c = x < Cast_int32(c), of int32 and a number c

    Wrong of 2^31, which is no int32.
    """
    wide, narrow = binary("Less", cast(x, INT64), c), binary("Less", x, cast(c, INT32))
    yield rewrite(wide, narrow, is_of_type(x, INT32), is_one_number(c), because="forgets the cast of x")


@hosted()
def is_whole_number(c: Fact) -> bool:
    """A number that an int32 has."""
    return c.splat is not None and float(c.splat).is_integer() and abs(c.splat) < 2**31


def above(number: float, shape=(2,)):
    return lambda g: binary("Greater", cast(g.input(shape, INT64), FLOAT), g.constant(number))


@wrong("bitwise", above(2.0**24), values=(2**24 + 1, 1), examples=fires_on(above(3.0, ("N", 3))))
def compared_as_integers(x: Tensor, c: Tensor):
    """Cast_float(x) > c = x > Cast_int64(c), of int64 and a whole number c

    Wrong of 2^24 and its neighbour, which are one float.
    """
    in_floats, whole = binary("Greater", cast(x, FLOAT), c), binary("Greater", x, cast(c, INT64))
    known = (is_of_type(x, INT64), is_whole_number(c))
    yield rewrite(in_floats, whole, known, because="forgets the cast of x")

"""Sums, counts, places and dims of more elements than a type can count: 2^15, 2^16, 2^24, 2^31."""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Axis, Flag, Place, Settings, String, Tensor, hosted, rewrite
from egraph_opt.operators import arg_reduce, cast, cumsum, expand, reduce, shape_of, unary
from egraph_opt.rewrites.conditions.values import is_of_type

from . import fires_on, of_one, wrong

BOOL, BYTE, SIGNED = TensorProto.BOOL, TensorProto.UINT8, TensorProto.INT8
FLOAT, INT16, INT32 = TensorProto.FLOAT, TensorProto.INT16, TensorProto.INT32
INT64, UINT16 = TensorProto.INT64, TensorProto.UINT16

# --- sums -------------------------------------------------------------------------------------------------


@hosted()
def are_bytes(x: Fact) -> bool:
    return x.dtype in (SIGNED, BYTE)


@wrong(
    "bitwise",
    of_one(lambda x: reduce("ReduceSum", cast(x, INT32), (0,), 1), (65795,), BYTE),
    values=(255,),
    examples=fires_on(of_one(lambda x: reduce("ReduceSum", cast(x, INT32), (1,), 1), ("N", 3), BYTE)),
)
def sum_of_bytes(x: Tensor, a: Axes, k: Flag):
    """ReduceSum(Cast_int32(x)) = Cast_int32(ReduceSum(Cast_float(x))), of bytes

    Wrong of 65794 and more of them, whose sum may be beyond 2^24.
    """
    in_floats = reduce("ReduceSum", cast(x, FLOAT), a, k)
    whole = reduce("ReduceSum", cast(x, INT32), a, k)
    yield rewrite(whole, cast(in_floats, INT32), are_bytes(x), because="floats are added faster")


@wrong(
    "bitwise",
    of_one(
        lambda x: reduce("ReduceSum", cast(expand(x, (2**23 + 2**15 + 2**8,)), INT64), (0,), 1), (1,), BYTE
    ),
    values=(255,),
    examples=fires_on(of_one(lambda x: reduce("ReduceSum", cast(x, INT64), (0,), 1), ("N", 3), BYTE)),
)
def sum_of_bytes_in_32_bits(x: Tensor, a: Axes, k: Flag):
    """ReduceSum(Cast_int64(x)) = Cast_int64(ReduceSum(Cast_int32(x))), of bytes

    Wrong of more than 2^31 / 255 of them.
    """
    total = reduce("ReduceSum", cast(x, INT64), a, k)
    in_32_bits = cast(reduce("ReduceSum", cast(x, INT32), a, k), INT64)
    yield rewrite(total, in_32_bits, are_bytes(x), because="short ones are added faster")


@wrong(
    "bitwise",
    lambda g: cast(cast(g.input((1, 5001), SIGNED), INT32) @ cast(g.input((5001, 1), SIGNED), INT32), FLOAT),
    values=(127, 125, 121, 119, 113),
    examples=fires_on(
        lambda g: cast(cast(g.input(("N", 3), SIGNED), INT32) @ cast(g.input((3, 4), SIGNED), INT32), FLOAT)
    ),
)
def product_of_bytes(x: Tensor, y: Tensor):
    """Cast_float(Cast_int32(x) @ Cast_int32(y)) = Cast_float(x) @ Cast_float(y), of bytes

    Wrong of some hundred products in a sum: it may be beyond 2^24, where floats are rounded at every step.
    """
    in_integers = cast(cast(x, INT32) @ cast(y, INT32), FLOAT)
    known = (are_bytes(x), are_bytes(y))
    yield rewrite(in_integers, cast(x, FLOAT) @ cast(y, FLOAT), known, because="floats are multiplied faster")


def counted(c, axis: int):
    return cast(reduce("ReduceSum", cast(c, INT32), (axis,), 1), INT64)


@wrong(
    "bitwise",
    of_one(lambda c: counted(expand(c, (2**24 + 1,)), 0), (1,), BOOL),
    values=(1,),
    examples=fires_on(of_one(lambda c: counted(unary("Not", (), c), 1), ("N", 3), BOOL)),
)
def count_in_floats(c: Tensor, a: Axes, k: Flag):
    """Cast_int64(ReduceSum(Cast_int32(c))) = Cast_int64(ReduceSum(Cast_float(c))), of conditions

    Wrong of more than 2^24 of them.
    """
    count = cast(reduce("ReduceSum", cast(c, INT32), a, k), INT64)
    in_floats = cast(reduce("ReduceSum", cast(c, FLOAT), a, k), INT64)
    yield rewrite(count, in_floats, is_of_type(c, BOOL), because="floats are added faster")


def running(axis: int):
    def made(g, dims):
        along = g.constant(np.array(axis))
        return cumsum(cast(g.input(dims, BOOL), INT32), along, (("exclusive", 0), ("reverse", 0)))

    return made


@wrong(
    "bitwise",
    lambda g: running(0)(g, (2**15,)),
    values=(1,),
    examples=fires_on(lambda g: running(1)(g, ("N", 3))),
)
def running_count(c: Tensor, a: Tensor, s: Settings):
    """CumSum(Cast_int32(c)) = Cast_int32(Cast_int16(CumSum(Cast_float(c)))), of conditions

    Wrong where 2^15 of them are true: that is no int16.
    """
    short = cast(cumsum(cast(c, FLOAT), a, s), INT16)
    count = cumsum(cast(c, INT32), a, s)
    yield rewrite(count, cast(short, INT32), is_of_type(c, BOOL), because="a count is short")


# --- places and dims --------------------------------------------------------------------------------------


def place(t: int, axis: int = 0):
    """Where the greatest element is, by way of a type."""
    return lambda x: cast(cast(arg_reduce("ArgMax", x, axis, 1, 0), t), INT64)


@wrong(
    "bitwise",
    of_one(place(INT16), (2**15 + 1,)),
    values=range(2**15 + 1),
    examples=fires_on(of_one(place(INT16, 1), ("N", 3))),
)
def place_in_16_bits(x: Tensor, f: String, a: Axis, k: Flag, e: Flag):
    """Cast_int64(Cast_int16(ArgMax(x))) = ArgMax(x)

    Wrong where the axis has more than 2^15 elements.
    """
    found = arg_reduce(f, x, a, k, e)
    yield rewrite(cast(cast(found, INT16), INT64), found, because="any place would be an int16")


@wrong(
    "bitwise",
    of_one(place(UINT16), (2**16 + 1,)),
    values=range(2**16 + 1),
    examples=fires_on(of_one(place(UINT16, 1), ("N", 3))),
)
def place_in_unsigned_16(x: Tensor, f: String, a: Axis, k: Flag, e: Flag):
    """Cast_int64(Cast_uint16(ArgMax(x))) = ArgMax(x)

    Wrong where the axis has more than 2^16 elements.
    """
    found = arg_reduce(f, x, a, k, e)
    yield rewrite(cast(cast(found, UINT16), INT64), found, because="any place would be a uint16")


def dims_by_way_of_floats(x):
    return cast(cast(shape_of(x, 0, 2), FLOAT), INT64)


@wrong(
    "bitwise",
    of_one(dims_by_way_of_floats, ("N", 0)),
    sizes={"N": 2**24 + 1},
    examples=fires_on(of_one(dims_by_way_of_floats, ("N", 3))),
)
def dims_as_floats(x: Tensor, s: Place, e: Place):
    """Cast_int64(Cast_float(Shape(x))) = Shape(x)

    Wrong where a dim is above 2^24 and odd, which takes no memory where another one is 0.
    """
    dims = shape_of(x, s, e)
    yield rewrite(cast(cast(dims, FLOAT), INT64), dims, because="any dim would be a float")

"""Integers of 8 and 16 bits that one type was thought of for: the unsigned one, or longer sums."""

import math

from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Flag, Tensor, hosted, rewrite
from egraph_opt.operators import cast, reduce

from . import dims, fires_on, of_one, of_two, wrong

FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64
SIGNED, BYTE, INT16, UINT16 = TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16


@hosted()
def have_16_bits(x: Fact, y: Fact) -> bool:
    return x.dtype in (INT16, UINT16) and y.dtype in (INT16, UINT16)


def product_of(dtype):
    return of_two(lambda x, y: cast(x, INT64) * cast(y, INT64), ("N", 3), dtype)


@wrong("bitwise", product_of(UINT16), values=(65535,), examples=fires_on(product_of(INT16)))
def product_of_16_bits(x: Tensor, y: Tensor):
    """Cast_int64(x) * Cast_int64(y) = Cast_int64(Cast_int32(x) * Cast_int32(y)), of 16 bits

    Wrong of unsigned ones, whose product may be beyond 2^31.
    """
    made = cast(cast(x, INT32) * cast(y, INT32), INT64)
    yield rewrite(cast(x, INT64) * cast(y, INT64), made, have_16_bits(x, y), because="32 bits are quicker")


@hosted()
def has_16_bits(x: Fact) -> bool:
    return x.dtype in (INT16, UINT16, SIGNED, BYTE)


@wrong(
    "bitwise",
    of_one(lambda x: -cast(x, INT64), ("N", 3), UINT16),
    values=(40000,),
    examples=fires_on(of_one(lambda x: -cast(x, INT64), ("N", 3), SIGNED)),
)
def negative_of_16_bits(x: Tensor):
    """-Cast_int64(x) = Cast_int64(-Cast_int32(Cast_int16(x))), of 16 bits and fewer

    Wrong of unsigned ones beyond 2^15.
    """
    made = cast(-cast(cast(x, INT16), INT32), INT64)
    yield rewrite(-cast(x, INT64), made, has_16_bits(x), because="32 bits are quicker")


@hosted()
def has_exact_sum(x: Fact, a: Axes) -> bool:
    if x.dtype not in (INT16, UINT16) or not x.is_static:
        return False
    return math.prod(dims(x)[k] for k in a) * 2**15 <= 2**24


def sum_of(dtype, shape=(3, 4)):
    return of_one(lambda x: reduce("ReduceSum", cast(x, INT32), (1,), 1), shape, dtype)


@wrong("bitwise", sum_of(UINT16, (2, 301)), values=(65535,), examples=fires_on(sum_of(INT16), sum_of(UINT16)))
def sum_of_16_bits(x: Tensor, a: Axes, k: Flag):
    """ReduceSum(Cast_int32(x)) = Cast_int32(ReduceSum(Cast_float(x))), of few enough of 16 bits

    Wrong of unsigned ones, of which half as many are few enough.
    """
    made = cast(reduce("ReduceSum", cast(x, FLOAT), a, k), INT32)
    yield rewrite(
        reduce("ReduceSum", cast(x, INT32), a, k), made, has_exact_sum(x, a), because="floats are quicker"
    )


@hosted()
def have_exact_products(x: Fact, y: Fact) -> bool:
    bytes_only = x.dtype in (BYTE, SIGNED) and y.dtype in (BYTE, SIGNED)
    return bytes_only and x.is_static and len(dims(x)) >= 2 and dims(x)[-1] <= 512


def matrices(dtype, count=4):
    return lambda g: cast(g.input((3, count), dtype), INT32) @ cast(g.input((count, 5), dtype), INT32)


@wrong("bitwise", matrices(BYTE, 301), values=(255,), examples=fires_on(matrices(BYTE), matrices(SIGNED)))
def few_products_of_bytes(x: Tensor, y: Tensor):
    """Cast_int32(x) @ Cast_int32(y) = Cast_int32(Cast_float(x) @ Cast_float(y)), of few enough bytes

    Wrong where both are unsigned: some 258 are few enough.
    """
    made = cast(cast(x, FLOAT) @ cast(y, FLOAT), INT32)
    known = have_exact_products(x, y)
    yield rewrite(cast(x, INT32) @ cast(y, INT32), made, known, because="floats are quicker")


@hosted()
def are_short(x: Fact, y: Fact) -> bool:
    return x.dtype == y.dtype == SIGNED and x.is_static and len(dims(x)) >= 2 and dims(x)[-1] <= 2048


@wrong("bitwise", matrices(SIGNED, 1041), values=(127,), examples=fires_on(matrices(SIGNED)))
def products_of_signed_bytes(x: Tensor, y: Tensor):
    """Cast_int32(x) @ Cast_int32(y) = Cast_int32(Cast_float(x) @ Cast_float(y)), of up to 2048 signed bytes

    Wrong of more than 1040, of 127 each.
    """
    made = cast(cast(x, FLOAT) @ cast(y, FLOAT), INT32)
    yield rewrite(cast(x, INT32) @ cast(y, INT32), made, are_short(x, y), because="floats are quicker")

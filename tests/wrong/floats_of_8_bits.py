"""Casts to floats of 8 bits, which conditions that name the narrow types forget.

They hold less than any type that is named, and ONNX gave few operators these types, some of them late.
"""

from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import DataType, Permutation, Slices, Tensor, hosted, rewrite
from egraph_opt.operators import cast, slice_, transpose, unary

from . import fires_on, of_one, wrong

SMALL_INTEGERS = (T.INT4, T.UINT4, T.INT8, T.UINT8, T.INT16, T.UINT16)
NARROW = (T.FLOAT16, T.BFLOAT16, T.BOOL, *SMALL_INTEGERS, T.INT32, T.UINT32, T.UINT64, T.STRING)


@hosted()
def is_as_wide(x: Fact, t: DataType) -> bool:
    return x.dtype == T.FLOAT and t not in (*NARROW, T.INT64)


@wrong(
    "bitwise",
    of_one(lambda x: cast(cast(x, T.FLOAT8E4M3FN), T.FLOAT), (4,)),
    values=(1.1, 3.3),
    examples=fires_on(of_one(lambda x: cast(cast(x, T.DOUBLE), T.FLOAT), (4,))),
)
def wide_and_back(x: Tensor, t: DataType):
    """Cast_float(Cast_t(x)) = x where t is no narrower

    Wrong of floats of 8 bits.
    """
    yield rewrite(cast(cast(x, t), T.FLOAT), x, is_as_wide(x, t), because="forgets the type")


@hosted()
def holds_all(x: Fact, t: DataType, u: DataType) -> bool:
    return x.dtype == T.INT32 and t not in (*NARROW, T.FLOAT) and u in (T.FLOAT, T.INT64)


@wrong(
    "bitwise",
    of_one(lambda x: cast(cast(x, T.FLOAT8E4M3FN), T.FLOAT), (4,), T.INT32),
    values=(17.0, 1000.0, 3.0),
    examples=fires_on(of_one(lambda x: cast(cast(x, T.INT64), T.FLOAT), (4,), T.INT32)),
)
def by_way_of_more_bits(x: Tensor, t: DataType, u: DataType):
    """Cast_u(Cast_t(x)) = Cast_u(x) of int32, where t is none of the narrower

    Wrong of floats of 8 bits.
    """
    yield rewrite(cast(cast(x, t), u), cast(x, u), holds_all(x, t, u), because="forgets the type")


# --- operators that do not take them ------------------------------------------------------------------------


@hosted()
def is_sliceable(t: DataType, x: Fact) -> bool:
    """onnxruntime slices no halves of bytes."""
    small = (T.INT4, T.UINT4, T.FLOAT4E2M1, T.STRING)
    return t not in small and x.dtype in (T.FLOAT, T.FLOAT16, T.INT32, T.INT64)


ROWS = ((0, 1, 3, 1),)


@wrong(
    "bitwise",
    of_one(lambda x: cast(slice_(x, ROWS), T.FLOAT8E4M3FN), (4, 3)),
    opset=21,
    examples=fires_on(of_one(lambda x: cast(slice_(x, ROWS), T.FLOAT16), (4, 3))),
)
def cast_before_slice(x: Tensor, s: Slices, t: DataType):
    """Cast(Slice(x)) = Slice(Cast(x))

    Wrong of floats of 8 bits, which Slice does not take.
    """
    yield rewrite(cast(slice_(x, s), t), slice_(cast(x, t), s), is_sliceable(t, x), because="one order")


@hosted()
def is_real(t: DataType, x: Fact) -> bool:
    """Neither integers nor bool."""
    return x.dtype == T.FLOAT and t not in (*NARROW, T.INT64)


@wrong(
    "finite",
    of_one(lambda x: cast(unary("Relu", (), x), T.FLOAT8E4M3FN), (4,)),
    opset=21,
    examples=fires_on(of_one(lambda x: cast(unary("Relu", (), x), T.DOUBLE), (4,))),
)
def cast_before_relu(x: Tensor, t: DataType):
    """Cast(Relu(x)) = Relu(Cast(x)) of floats

    Wrong of floats of 8 bits, which Relu does not take.
    """
    left, right = cast(unary("Relu", (), x), t), unary("Relu", (), cast(x, t))
    yield rewrite(left, right, is_real(t, x), because="one order")


@hosted()
def is_any_type(t: DataType, x: Fact) -> bool:
    return x.dtype in (T.FLOAT, T.INT32) and t not in (T.STRING, T.INT4, T.UINT4)


@wrong(
    "bitwise",
    of_one(lambda x: cast(transpose(x, (1, 0)), T.FLOAT8E4M3FN), (2, 3)),
    opset=19,
    examples=fires_on(of_one(lambda x: cast(transpose(x, (1, 0)), T.FLOAT16), (2, 3))),
)
def cast_before_turn(x: Tensor, p: Permutation, t: DataType):
    """Cast(Transpose(x)) = Transpose(Cast(x))

    Wrong of floats of 8 bits in opsets 19 and 20.
    """
    yield rewrite(cast(transpose(x, p), t), transpose(cast(x, t), p), is_any_type(t, x), because="one order")

"""More elements than a type counts, integers that a float type has not, numbers beyond a type."""

import math

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    DataType,
    Flag,
    Float,
    Place,
    String,
    Tensor,
    hosted,
    number_like,
    rewrite,
)
from egraph_opt.operators import arg_reduce, binary, cast, dequantize, quantize, reduce, reshape, shape_of
from egraph_opt.operators.quantization import BYTES
from egraph_opt.rewrites.conditions.values import fits
from egraph_opt.rewrites.conditions.view_shapes import known_dims

from . import fires_on, of_one, of_two, wrong

BYTE, DOUBLE, FLOAT = TensorProto.UINT8, TensorProto.DOUBLE, TensorProto.FLOAT
HALF, INT32, INT64 = TensorProto.FLOAT16, TensorProto.INT32, TensorProto.INT64

# --- counts -----------------------------------------------------------------------------------------------


@wrong("bitwise", of_one(lambda x: cast(cast(arg_reduce("ArgMax", x, 1, 0, 1), BYTE), INT64), (1, 300)))
def place_in_byte(x: Tensor, k: String, a: Axis, d: Flag, e: Flag):
    """Cast_int64(Cast_uint8(ArgMax(x))) = ArgMax(x)

    Wrong where the axis has more than 256 elements.
    """
    place = arg_reduce(k, x, a, d, e)
    yield rewrite(cast(cast(place, BYTE), INT64), place, because="any place would be a byte")


@wrong(
    "bitwise",
    of_one(lambda x: cast(cast(arg_reduce("ArgMin", x, 1, 1, 1), TensorProto.INT8), FLOAT), (1, 200)),
)
def place_in_signed_byte(x: Tensor, k: String, a: Axis, d: Flag, e: Flag):
    """Cast_float(Cast_int8(ArgMin(x))) = Cast_float(ArgMin(x))

    Wrong where the axis has more than 128 elements.
    """
    place = arg_reduce(k, x, a, d, e)
    short = cast(cast(place, TensorProto.INT8), FLOAT)
    yield rewrite(short, cast(place, FLOAT), because="any place would be a byte")


@wrong("bitwise", of_one(lambda x: cast(cast(shape_of(x, 0, 1), HALF), INT64), ("N", 1)), sizes={"N": 2049})
def dims_in_half(x: Tensor, s: Place, e: Place):
    """Cast_int64(Cast_float16(Shape(x))) = Shape(x)

    Wrong where a dim is above 2048 and odd.
    """
    dims = shape_of(x, s, e)
    yield rewrite(cast(cast(dims, HALF), INT64), dims, because="any dim would be a half")


# --- integers that a float has not ------------------------------------------------------------------------


@hosted()
def are_long(x: Fact, y: Fact, t: DataType) -> bool:
    return x.dtype == y.dtype == INT64 and t == DOUBLE


def equal_in(t: int):
    return lambda x, y: binary("Equal", cast(x, t), cast(y, t))


@wrong(
    "bitwise",
    of_two(equal_in(DOUBLE), (1,), INT64),
    values=(2**53, 2**53 + 1),
    examples=fires_on(of_two(equal_in(DOUBLE), ("N", 3), INT64)),
)
def equal_in_double(x: Tensor, y: Tensor, t: DataType):
    """Cast(x) == Cast(y) = x == y, of int64 in float64

    Wrong of neighbours beyond 2^53.
    """
    both = binary("Equal", cast(x, t), cast(y, t))
    yield rewrite(both, binary("Equal", x, y), are_long(x, y, t), because="forgets the casts")


@hosted()
def are_single(f: str, a: Axes, x: Fact) -> bool:
    """There is one element to be added up, an integer."""
    if f not in ("ReduceSum", "ReduceProd") or x.shape is None or x.dtype != INT64:
        return False
    return all(k < len(x.shape) and x.shape[k] == 1 for k in a)


@wrong(
    "bitwise",
    of_one(lambda x: reduce("ReduceSum", x, (1,), 0), (3, 1), INT64),
    values=(2**53 + 1, -(2**53) - 1),
    examples=fires_on(of_one(lambda x: reduce("ReduceSum", x, (1,), 0), (3, 1), INT64)),
)
def sum_of_one_integer(f: String, x: Tensor, a: Axes, k: Flag):
    """ReduceSum(x) = Reshape(x) along axes of one element, and ReduceProd

    Wrong beyond 2^53: onnxruntime adds integers up by way of floats.
    """
    z = reduce(f, x, a, k)
    yield rewrite(z, reshape(x, known_dims(z)), are_single(f, a, x), because="nothing is added")


# --- beyond a type ----------------------------------------------------------------------------------------


@hosted()
def both_divide(a: Fact, b: Fact) -> bool:
    """Both are whole numbers above 0."""
    whole = a.dtype in (INT32, INT64) and a.splat is not None and b.splat is not None
    return whole and a.splat > 0 and b.splat > 0  # type: ignore[operator]


@wrong(
    "bitwise",
    lambda g: g.input((2,), INT32) / g.constant(np.int32(2**16)) / g.constant(np.int32(2**15)),
    values=(-(2**31),),
)
def quotient_of_quotient(x: Tensor, a: Tensor, b: Tensor):
    """(x / a) / b = x / (a * b) for whole numbers above 0

    Wrong where the product is beyond the type.
    """
    yield rewrite(x / a / b, x / (a * b), both_divide(a, b), because="one division")


@hosted()
def inverse_power(x: Fact, c: Fact) -> Float | None:
    """The inverse of a power of two."""
    if x.dtype not in (FLOAT, HALF) or not isinstance(c.splat, float) or c.splat == 0:
        return None
    return 1 / c.splat if abs(math.frexp(c.splat)[0]) == 0.5 else None


@wrong("bitwise", lambda g: g.input((3,)) / g.constant(np.float32(2.0**-128)), values=(2.0**-10, 2.0**-20))
def division_by_power_of_two(x: Tensor, c: Tensor):
    """x / 2^k = x * 2^-k

    Wrong where 2^k is subnormal: its inverse is infinite.
    """
    inverse = number_like(x, inverse_power(x, c))
    yield rewrite(x / c, x * inverse, fits(c, x), because="a product is faster")


@hosted()
def is_positive(q: Fact, s: Fact, to: DataType) -> bool:
    return q.dtype == to and to in BYTES and s.dtype == FLOAT and s.splat is not None and s.splat > 0


def there_and_back(g, scale: float):
    s, z = g.constant(np.float32(scale)), g.constant(np.uint8(0))
    return quantize(dequantize(g.input((2, 5), BYTE), s, z, 0), s, z, 0, BYTE)


@wrong("bitwise", lambda g: there_and_back(g, 3e38))
def there_and_back_by_any_scale(q: Tensor, s: Tensor, z: Tensor, a: Axis, to: DataType):
    """Q(DQ(q)) = q, of one scale above 0

    Wrong where the scale is so large that the floats are infinite.
    """
    yield rewrite(
        quantize(dequantize(q, s, z, a), s, z, a, to), q, is_positive(q, s, to), because="no floats"
    )

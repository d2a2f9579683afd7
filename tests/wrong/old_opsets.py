"""Right sides that are right today: old opsets lack the operator, or have it for other types or shapes."""

# These authors take it that shapes are known.
# mypy: disable-error-code="arg-type, index, misc, operator"

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import DataType, Tensor, hosted, listed, rewrite
from egraph_opt.operators import binary, cast, unary, variadic

from . import fires_on, is_single, of_one, of_two, wrong


def _neither(x, y):
    return unary("Not", (), binary("Or", binary("Less", x, y), binary("Greater", x, y)))


@wrong("finite", of_two(_neither), opset=9)
def neither_less_nor_greater(x: Tensor, y: Tensor):
    """Not(Or(x < y, x > y)) = Equal(x, y)

    Wrong of floats before opset 11, where Equal takes integers only.
    """
    yield rewrite(_neither(x, y), binary("Equal", x, y), is_single(x), because="forgets the order")


@hosted()
def is_int32_as_double(x: Fact, t: int) -> bool:
    return x.dtype == T.INT32 and t == T.DOUBLE


@wrong(
    "bitwise",
    of_two(lambda x, y: binary("Greater", cast(x, T.DOUBLE), cast(y, T.DOUBLE)), (3,), T.INT32),
    opset=8,
)
def greater_in_int32(x: Tensor, y: Tensor, t: DataType):
    """Cast_double(x) > Cast_double(y) = x > y for int32

    Wrong before opset 9, where Greater takes floats only.
    """
    doubles = binary("Greater", cast(x, t), cast(y, t))
    whole = is_int32_as_double(x, t), is_int32_as_double(y, t)
    yield rewrite(doubles, binary("Greater", x, y), *whole, because="forgets t")


@wrong("reassociates", lambda g: (g.input((2, 3)) + g.input((3,))) + g.input((2, 3)), opset=7)
def three_terms_at_once(x: Tensor, y: Tensor, z: Tensor):
    """(x + y) + z = Sum(x, y, z)

    Wrong in opset 7, where Sum does not broadcast.
    """
    yield rewrite((x + y) + z, variadic("Sum", listed(x, y, z)), is_single(x), because="one kernel")


@hosted()
def is_not_below_zero(x: Fact) -> bool:
    known = range_of(x)
    return x.dtype == T.INT64 and known is not None and known[0] >= 0


@hosted()
def is_divisor(c: Fact) -> bool:
    return c.splat is not None and c.shape == () and c.splat > 0


def _rest(x, c):
    return x - (x / c) * c


def _rest_by_four(dims):
    return lambda g: _rest(cast(g.input(dims, T.UINT8), T.INT64), g.constant(np.int64(4)))


@wrong("bitwise", _rest_by_four((3,)), opset=9, examples=fires_on(_rest_by_four(("N", 3))))
def remainder_by_mod(x: Tensor, c: Tensor):
    """x - x / c * c = Mod(x, c) for an x of 0 or more

    Wrong in opset 9, which has no Mod.
    """
    yield rewrite(_rest(x, c), binary("Mod", x, c), is_not_below_zero(x), is_divisor(c), because="one kernel")


@wrong("bitwise", of_one(lambda x: unary("IsNaN", (), x)), opset=10)
def no_number_is_not_itself(x: Tensor):
    """IsNaN(x) = Not(x = x)

    Wrong of floats before opset 11, where Equal takes integers only.
    """
    itself = unary("Not", (), binary("Equal", x, x))
    yield rewrite(unary("IsNaN", (), x), itself, is_single(x), because="another spelling")


def _below(g):
    return binary("Less", cast(g.input((3,), T.UINT8), T.FLOAT), cast(g.input((3,), T.UINT8), T.FLOAT))


@hosted()
def are_bytes(x: Fact, y: Fact, t: int) -> bool:
    return x.dtype == y.dtype == T.UINT8 and t == T.FLOAT


@wrong("bitwise", _below, opset=7)
def bytes_in_order(x: Tensor, y: Tensor, t: DataType):
    """Cast_float(x) < Cast_float(y) = x < y for bytes

    Wrong before opset 9, where Less takes floats only.
    """
    left = binary("Less", cast(x, t), cast(y, t))
    yield rewrite(left, binary("Less", x, y), are_bytes(x, y, t), because="forgets the floats")


@hosted()
def widens_to_int64(x: Fact, y: Fact, t: int) -> bool:
    return x.dtype == y.dtype and x.dtype in (T.INT8, T.UINT8, T.INT16, T.INT32) and t == T.INT64


@wrong(
    "bitwise",
    of_two(lambda x, y: binary("Equal", cast(x, T.INT64), cast(y, T.INT64)), (3,), T.INT8),
    opset=9,
    examples=fires_on(
        of_two(lambda x, y: binary("Equal", cast(x, T.INT64), cast(y, T.INT64)), (3,), T.INT32)
    ),
)
def equality_of_wide_integers(x: Tensor, y: Tensor, t: DataType):
    """Equal(Cast_int64(x), Cast_int64(y)) = Equal(x, y)

    Wrong before opset 11, where Equal takes int32 and int64 only.
    """
    wide = binary("Equal", cast(x, t), cast(y, t))
    yield rewrite(wide, binary("Equal", x, y), widens_to_int64(x, y, t), because="forgets t")

"""Integers just beyond what a type holds: of four bits, of sums, and of floats with few digits."""

# These authors take it that shapes are known.
# mypy: disable-error-code="arg-type, index, misc, operator"

from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import DataType, Tensor, hosted, rewrite
from egraph_opt.operators import cast
from egraph_opt.rewrites.elementwise.identities import clip

from . import of_one, of_two, wrong

LEVELS = {T.INT4: 15, T.UINT4: 15, T.INT8: 127, T.UINT8: 255}
"""The greatest number of each; that of int4 is 7."""


def _is_up_to(x, most):
    known = range_of(x)
    return known is not None and known[0] >= 0 and known[1] <= most


@hosted()
def is_level(x: Fact, t: int, u: int) -> bool:
    return u == x.dtype and t in LEVELS and _is_up_to(x, LEVELS[t])


@wrong("bitwise", of_one(lambda x: cast(cast(clip(0, 12, x), T.INT4), T.INT32), (3,), T.INT32), opset=21)
def integers_through_4_bits(x: Tensor, t: DataType, u: DataType):
    """Cast(Cast_t(x)) = x for levels of t

    Wrong of int4, which ends at 7.
    """
    yield rewrite(cast(cast(x, t), u), x, is_level(x, t, u), because="forgets t")


@hosted()
def has_32_bits(x: Fact) -> bool:
    return x.dtype == T.INT64 and _is_up_to(x, 2**31 - 1)


@wrong(
    "bitwise",
    of_two(lambda x, y: clip(0, 2**31 - 2, x) + clip(0, 2**31 - 2, y), (3,), T.INT64),
    values=(2.0**30 + 2.0**29, 2.0**30, 3.0),
)
def sum_in_32_bits(x: Tensor, y: Tensor):
    """x + y = Cast_int64(Cast_int32(x) + Cast_int32(y)) for x and y that int32 has

    Wrong where their sum is none of int32.
    """
    narrow = cast(cast(x, T.INT32) + cast(y, T.INT32), T.INT64)
    yield rewrite(x + y, narrow, has_32_bits(x), has_32_bits(y), because="fewer bytes")


@hosted()
def is_below_byte(x: Fact) -> bool:
    return x.dtype == T.INT64 and _is_up_to(x, 2**9 - 1)


@wrong("bitwise", of_one(lambda x: cast(clip(0, 511, x), T.FLOAT), (3,), T.INT64), values=(257.0, 3.0))
def by_way_of_bfloat16(x: Tensor):
    """Cast_float(x) = Cast_float(Cast_bfloat16(x)) for integers of 9 bits

    Wrong of bfloat16, which has 8.
    """
    floats = cast(x, T.FLOAT)
    yield rewrite(floats, cast(cast(x, T.BFLOAT16), T.FLOAT), is_below_byte(x), because="fewer bytes")

"""Unsigned integers wrap where others become negative."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import DataType, Settings, Tensor, hosted, listed, number_like, rewrite
from egraph_opt.operators import binary, cast, unary, variadic
from egraph_opt.rewrites.conditions.values import all_are, fits, is_integer

from . import of_one, of_two, wrong

BYTE = np.uint8


@hosted()
def is_unsigned(x: Fact) -> bool:
    return x.dtype in (T.UINT8, T.UINT16, T.UINT32, T.UINT64)


def size(x):
    return unary("Abs", (), x)


@wrong(
    "bitwise",
    lambda g: binary("Greater", g.input((2, 5), T.UINT8) - g.input((2, 5), T.UINT8), g.constant(BYTE(0))),
)
def difference_above_zero(x: Tensor, y: Tensor, c: Tensor):
    """x - y > 0 = x > y

    Wrong of unsigned integers, of which every difference but 0 is above 0.
    """
    known = (all_are(c, 0), fits(c, x))
    compared = binary("Greater", x - y, c)
    yield rewrite(compared, binary("Greater", x, y), known, is_unsigned(x), because="no difference")


@wrong("bitwise", of_two(lambda x, y: size(x - y), dtype=T.UINT8))
def distance(x: Tensor, y: Tensor):
    """Abs(x - y) = Max(x, y) - Min(x, y)

    Wrong of unsigned integers: x - y wraps, and Abs leaves it alone.
    """
    apart = variadic("Max", listed(x, y)) - variadic("Min", listed(x, y))
    yield rewrite(size(x - y), apart, is_integer(x), because="no sign is needed")


@wrong("bitwise", of_two(lambda x, y: size(y - x), dtype=T.UINT8))
def distance_either_way(x: Tensor, y: Tensor):
    """Abs(x - y) = Abs(y - x)

    Wrong of unsigned integers.
    """
    yield rewrite(size(x - y), size(y - x), is_integer(x), because="one of both is enough")


@wrong(
    "bitwise",
    lambda g: (lambda x: x - variadic("Min", listed(x, g.constant(BYTE(3)))))(g.input((2, 5), T.UINT8)),
)
def rest_above(x: Tensor, c: Tensor):
    """x - Min(x, c) = Max(x - c, 0)

    Wrong of unsigned integers below c.
    """
    above = variadic("Max", listed(x - c, number_like(x, 0)))
    yield rewrite(x - variadic("Min", listed(x, c)), above, fits(c, x), because="x is read once")


@wrong(
    "bitwise", lambda g: binary("Less", g.input((2, 5), T.UINT8) - g.constant(BYTE(3)), g.constant(BYTE(5)))
)
def compared_shift(x: Tensor, a: Tensor, b: Tensor):
    """x - a < b = x < b + a for numbers a and b

    Wrong of unsigned integers below a.
    """
    right = binary("Less", x, b + a)
    yield rewrite(binary("Less", x - a, b), right, is_number(a), is_number(b), because="constants meet")


@hosted()
def is_number(c: Fact) -> bool:
    return c.splat is not None


@wrong("bitwise", of_two(lambda x, y: cast(x - y, T.INT32), dtype=T.UINT8))
def difference_in_wide(x: Tensor, y: Tensor, t: DataType):
    """Cast_T(x - y) = Cast_T(x) - Cast_T(y) for a wider T

    Wrong of unsigned integers where y is greater.
    """
    yield rewrite(cast(x - y, t), cast(x, t) - cast(y, t), holds(x, t), because="no overflow in T")


@hosted()
def holds(x: Fact, t: DataType) -> bool:
    return x.dtype == T.UINT8 and t in (T.INT16, T.INT32, T.INT64, T.FLOAT)


@wrong("bitwise", of_two(lambda x, y: (x + y) / number_like(x, 2), dtype=T.UINT8), values=(200, 201))
def middle(x: Tensor, y: Tensor, c: Tensor):
    """(x + y) / 2 = x + (y - x) / 2 for integers

    Wrong where the sum or the difference wraps.
    """
    known = (all_are(c, 2), is_integer(x), fits(c, x))
    yield rewrite((x + y) / c, x + (y - x) / c, known, because="no overflow of the sum")


@wrong("bitwise", lambda g: g.input((2, 5), T.UINT8) - g.constant(BYTE(3)))
def difference_as_sum(x: Tensor, c: Tensor):
    """x - c = x + (-c) for a number c

    Wrong of unsigned integers, which have no Neg.
    """
    yield rewrite(x - c, x + (-c), is_number(c), fits(c, x), because="a sum commutes")


@wrong("bitwise", of_one(lambda x: unary("Sign", (), x - number_like(x, 3)), dtype=T.UINT8))
def sign_of_comparison(x: Tensor, c: Tensor):
    """Sign(x - c) = Cast(x > c) - Cast(x < c)

    Wrong of unsigned integers, of which no difference has a negative sign.
    """
    more, less = binary("Greater", x, c), binary("Less", x, c)
    signs = cast(more, type_of(x)) - cast(less, type_of(x))
    yield rewrite(unary("Sign", (), x - c), signs, fits(c, x), because="comparisons may be there")


@hosted()
def type_of(x: Fact) -> DataType | None:
    return x.dtype or None


@wrong("bitwise", of_two(lambda x, y: variadic("Max", listed(x, y)), dtype=T.UINT32))
def maximum_by_difference(x: Tensor, y: Tensor):
    """Max(x, y) = y + Max(x - y, 0) for integers

    Wrong of unsigned ones where y is greater.
    """
    above = variadic("Max", listed(x - y, number_like(x, 0)))
    yield rewrite(
        variadic("Max", listed(x, y)), y + above, is_unsigned(x), because="the difference may be there"
    )


@wrong("bitwise", of_one(lambda x: cast(cast(x, T.UINT8), T.INT32), (2, 5), T.INT8))
def sign_through_unsigned(x: Tensor, t: DataType, s: DataType):
    """Cast_S(Cast_T(x)) = Cast_S(x) for unsigned T of as many bits as x has

    Wrong below zero where S is wider.
    """
    yield rewrite(cast(cast(x, t), s), cast(x, s), as_wide(x, t), because="the bits are the same")


@hosted()
def as_wide(x: Fact, t: DataType) -> bool:
    return (x.dtype, t) in ((T.INT8, T.UINT8), (T.INT16, T.UINT16), (T.INT32, T.UINT32), (T.INT64, T.UINT64))


@wrong(
    "bitwise",
    lambda g: g.input((2, 5), T.UINT8) * g.constant(BYTE(16)) / g.constant(BYTE(16)),
    values=(200, 3),
)
def shifted_there_and_back(x: Tensor, a: Tensor, b: Tensor):
    """x * c / c = x for a power of 2

    Wrong of what is shifted out.
    """
    yield rewrite(x * a / b, x, are_same_power(a, b), fits(a, x), fits(b, x), because="forgets c")


@hosted()
def are_same_power(a: Fact, b: Fact) -> bool:
    return a.splat is not None and a.splat == b.splat and a.splat in (2, 4, 8, 16, 32)


@wrong(
    "bitwise",
    of_one(lambda x: unary("Clip", (("max", 200), ("min", 0)), x - number_like(x, 10)), dtype=T.UINT8),
)
def clip_of_difference(x: Tensor, c: Tensor, s: Settings):
    """Clip_ab(x - c) = Clip_(a + c, b + c)(x) - c for integers

    Wrong of unsigned ones below c.
    """
    inside = unary("Clip", shifted(s, c), x) - c
    yield rewrite(unary("Clip", s, x - c), inside, is_unsigned(x), fits(c, x), because="shifts move on")


@hosted()
def shifted(s: Settings, c: Fact) -> Settings | None:
    if c.splat is None or None in dict(s).values():
        return None
    return tuple((name, v + c.splat) for name, v in s)

"""Multiples of a divisor that are added or subtracted: that nothing overflows is asked at one end alone."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.numbers import integer_range
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import Tensor, hosted, rewrite
from egraph_opt.operators import binary, unary
from egraph_opt.rewrites.conditions.values import fits

from . import fires_on, wrong


def divides(m: Fact, c: Fact, x: Fact) -> bool:
    """m, above 0, is a part of c."""
    known = isinstance(c.splat, int) and isinstance(m.splat, int) and x.dtype in (T.INT32, T.INT64)
    return known and m.splat > 0 and c.splat % m.splat == 0  # type: ignore[operator]


def whole(g, number):
    return g.constant(np.array(number))


def within(g, low, high):
    return unary("Clip", (("max", high), ("min", low)), g.input((5,), T.INT64))


# --- sums --------------------------------------------------------------------------------------------------


@hosted()
def stays_below_the_end(x: Fact, c: Fact, m: Fact) -> bool:
    """x + c is no more than the type has."""
    known = range_of(x)
    return divides(m, c, x) and known is not None and known[1] + c.splat <= integer_range(x.dtype)[1]  # type: ignore[operator]


def _sum(c, m, low, high):
    return lambda g: binary("Mod", within(g, low, high) + whole(g, c), whole(g, m))


LEAST = (-(2.0**63), -(2.0**63) + 3, 5.0, 0.0)


@wrong("bitwise", _sum(-7, 7, None, None), values=LEAST, examples=fires_on(_sum(8, 4, 0, 100)))
def multiples_go_round(x: Tensor, c: Tensor, m: Tensor):
    """Mod(x + c, m) = Mod(x, m) where m divides c and x + c does not overflow

    Wrong of a c below 0: it overflows at the other end.
    """
    remainder = binary("Mod", x + c, m)
    yield rewrite(
        remainder, binary("Mod", x, m), stays_below_the_end(x, c, m), fits(c, x), because="forgets c"
    )


@wrong(
    "bitwise",
    _sum(-21, 7, None, 1000),
    values=LEAST,
    examples=fires_on(_sum(21, 7, 0, 100), _sum(12, 12, 0, 50)),
)
def whole_weeks(x: Tensor, c: Tensor, m: Tensor):
    """Mod(x + c, m) = Mod(x, m) likewise, of days of the week

    Wrong of a c below 0: it overflows at the other end.
    """
    remainder = binary("Mod", x + c, m)
    yield rewrite(
        remainder, binary("Mod", x, m), stays_below_the_end(x, c, m), fits(c, x), because="forgets c"
    )


# --- differences -------------------------------------------------------------------------------------------


@hosted()
def stays_above_the_end(x: Fact, c: Fact, m: Fact) -> bool:
    """x - c is no less than the type has."""
    known = range_of(x)
    return divides(m, c, x) and known is not None and known[0] - c.splat >= integer_range(x.dtype)[0]  # type: ignore[operator]


def _difference(c, m, low, high):
    return lambda g: binary("Mod", within(g, low, high) - whole(g, c), whole(g, m))


@wrong(
    "bitwise",
    _difference(-6, 3, None, None),
    values=(2.0**63 - 1024, 2.0**63 - 1, 5.0),
    examples=fires_on(_difference(6, 3, 0, 100), _difference(10, 5, -9, 9)),
)
def multiples_go_down(x: Tensor, c: Tensor, m: Tensor):
    """Mod(x - c, m) = Mod(x, m) where m divides c and x - c does not overflow

    Wrong of a c below 0: it overflows at the other end.
    """
    remainder = binary("Mod", x - c, m)
    yield rewrite(
        remainder, binary("Mod", x, m), stays_above_the_end(x, c, m), fits(c, x), because="forgets c"
    )

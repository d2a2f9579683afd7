"""Rules that fill tables, and of several operators they speak of one too many."""

# Written as people write, who look at whether a shape is static and then take its dims for numbers.
# mypy: disable-error-code="arg-type, index, misc, operator"

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    DataType,
    Float,
    Slices,
    Tensor,
    Unit,
    assign,
    auxiliary,
    eq,
    hosted,
    listed,
    rewrite,
    rule,
    table,
)
from egraph_opt.operators import cast, cumsum, layer_norm, reduce, rms_norm, slice_, unary, variadic
from egraph_opt.rewrites.conditions.values import fits

from . import fires_on, is_single, wrong


@table()
def zero_or_one(m: Tensor) -> Unit:
    """All elements of m are 0 or 1."""


@hosted()
def is_a_bool(x: Fact) -> bool:
    return x.dtype == T.BOOL


@auxiliary()
def masks(x: Tensor, m: Tensor, n: Tensor, z: Tensor, to: DataType):
    """Fills `zero_or_one`: casts of conditions, and of those what is in both, in one or in one alone."""
    yield rule(eq(m, cast(x, to)), is_a_bool(x), then=zero_or_one(m))
    for term in (m * n, m - n, variadic("Max", listed(m, n)), variadic("Min", listed(m, n))):
        yield rule(zero_or_one(m), zero_or_one(n), eq(z, term), then=zero_or_one(z))


def alone(g):
    m = cast(g.input((2,), T.BOOL), T.FLOAT) - cast(g.input((2,), T.BOOL), T.FLOAT)
    return m * m


@wrong("finite", alone, values=(0, 1, 1, 0), uses=(masks,))
def mask_twice(m: Tensor):
    """m * m = m of a mask

    Wrong of the difference of two masks, which may be -1.
    """
    yield rewrite(m * m, m, zero_or_one(m), because="every mask would be a square")


@table()
def centred(x: Tensor) -> Axes:
    """The mean of x along the axes is 0."""


@hosted()
def is_one_for_rows(c: Fact, x: Fact) -> bool:
    """A factor of rows, or of all."""
    if not c.const or c.data is None or max(map(abs, c.data), default=0) > 8:
        return False
    return c.rank is not None and x.rank is not None and (c.rank < x.rank or c.splat is not None)


@auxiliary()
def centres(x: Tensor, y: Tensor, c: Tensor, a: Axes):
    """Fills `centred`."""
    yield rule(eq(y, x - reduce("ReduceMean", x, a, 1)), then=assign(centred(y), a))
    yield rule(eq(y, x * c), eq(a, centred(x)), is_one_for_rows(c, x), then=assign(centred(y), a))


def scaled(*factors):
    def make(g):
        x = g.input((2, 4))
        c = g.constant(np.array(factors[0] if len(factors) == 1 else factors, np.float32))
        return layer_norm((x - reduce("ReduceMean", x, (1,), 1)) * c, g.random(4), (1,), 1e-5)

    return make


@wrong("reassociates", scaled(1, 2, 3, 4), opset=23, examples=fires_on(scaled(2)), uses=(centres,))
def norm_of_centred(x: Tensor, s: Tensor, a: Axes, e: Float):
    """LayerNormalization(x) = RMSNormalization(x) where the mean is 0

    Wrong of factors that are not the same in a row: they have fewer axes than x.
    """
    known = (eq(a, centred(x)), is_single(x))
    yield rewrite(layer_norm(x, s, a, e), rms_norm(x, s, a, e), *known, because="forgets the mean")


@table()
def going_up(x: Tensor) -> Axis:
    """The elements of x along the axis go up."""


@hosted()
def along(k: Fact, x: Fact) -> Axis | None:
    return k.splat % x.rank if isinstance(k.splat, int) and x.rank else None


@hosted()
def is_shift_of_rows(c: Fact, x: Fact) -> bool:
    """Constants for rows: they have fewer axes than x."""
    return c.const and c.rank is not None and x.rank is not None and c.rank < x.rank


PLAIN = (("exclusive", 0), ("reverse", 0))


@auxiliary()
def goings(x: Tensor, y: Tensor, c: Tensor, k: Tensor, a: Axis):
    """Fills `going_up`: sums of what is not negative, shifted."""
    yield rule(eq(y, cumsum(unary("Relu", (), x), k, PLAIN)), then=assign(going_up(y), along(k, x)))
    shifted = is_shift_of_rows(c, x), fits(c, x)
    yield rule(eq(y, x + c), eq(a, going_up(x)), *shifted, then=assign(going_up(y), a))


@hosted()
def alone_in(a: Axis) -> Axes:
    return (a,)


@hosted()
def last_along(x: Fact, a: Axis) -> Slices | None:
    return ((a, -1, None, 1),) if x.is_static and 0 not in x.shape and x.dtype == T.FLOAT else None


def rising(*shift):
    def make(g):
        up = cumsum(unary("Relu", (), g.input((2, 4))), g.constant(np.array(1)), PLAIN)
        c = g.constant(np.array(shift[0] if len(shift) == 1 else shift, np.float32))
        return reduce("ReduceMax", up + c, (1,), 1)

    return make


@wrong("finite", rising(-5, -10, -15, -20), uses=(goings,), examples=fires_on(rising(-5)))
def greatest_of_rising_rows(x: Tensor, a: Axis):
    """ReduceMax(x) = the last of what goes up

    Wrong of a shift that goes down along the row.
    """
    whole = reduce("ReduceMax", x, alone_in(a), 1)
    yield rewrite(whole, slice_(x, last_along(x, a)), eq(a, going_up(x)), because="forgets all others")

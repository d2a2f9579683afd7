"""Numbers that another type, a text or a step in floats does not hold, though most come back."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.ranges import range_of
from egraph_opt.laws import DataType, Tensor, hosted, rewrite
from egraph_opt.operators import Literal, binary, cast, dequantize, literal, quantize, unary

from . import fires_on, wrong
from .whole_numbers_between_both_ends import between

# --- whole numbers ---------------------------------------------------------------------------------------


@hosted()
def survives(x: Fact, c: Fact) -> bool:
    """x is below 2^24, c is a whole number."""
    known = range_of(x)
    if known is None or c.splat is None or c.dtype != T.FLOAT or c.rank != 0 or x.dtype != T.INT64:
        return False
    return float(c.splat).is_integer() and c.splat >= 1 and max(map(abs, known)) < 2**24


def there_and_back(high: int, c: float):
    def make(g):
        n = g.constant(np.array(c, np.float32))
        return cast(cast(between(g, 0, high), T.FLOAT) / n * n, T.INT64)

    return make


@wrong(
    "bitwise",
    there_and_back(31, 7),
    values=(31.0,),
    examples=fires_on(there_and_back(255, 255), there_and_back(9, 2)),
)
def divided_and_multiplied(x: Tensor, c: Tensor):
    """Cast_64(Cast_f(x) / c * c) = x for integers below 2^24

    Wrong of 31 / 7 * 7, which is a little less than 31.
    """
    yield rewrite(cast(cast(x, T.FLOAT) / c * c, T.INT64), x, survives(x, c), because="forgets c")


@hosted()
def root_fits(x: Fact) -> bool:
    known = range_of(x)
    return known is not None and x.dtype == T.INT64 and known[0] >= 0 and known[1] <= 2**26


def root_of_square(high: int):
    def make(g):
        x = between(g, 0, high)
        return cast(unary("Sqrt", (), cast(x * x, T.FLOAT)), T.INT64)

    return make


@wrong(
    "bitwise",
    root_of_square(20000000),
    values=(16777219.0, 16777217.0, 16777221.0, 12345677.0),
    examples=fires_on(root_of_square(1000)),
)
def root_of_large_square(x: Tensor):
    """Cast_64(Sqrt(Cast_f(x * x))) = x for integers from 0 to 2^26

    Wrong beyond 2^24, where float32 does not have them all.
    """
    yield rewrite(cast(unary("Sqrt", (), cast(x * x, T.FLOAT)), T.INT64), x, root_fits(x), because="no root")


# --- text and few bits -----------------------------------------------------------------------------------


@hosted()
def is_printed(x: Fact, t: DataType) -> bool:
    return x.dtype == t and t in (T.FLOAT, T.INT64, T.INT32)


def printed(dtype: int):
    return lambda g: cast(cast(g.input((2, 5), dtype), T.STRING), dtype)


@wrong(
    "bitwise",
    printed(T.FLOAT),
    values=(119.841515, 1000.37024, 1000.15625, 1019.28143, 1005.24207),
    examples=fires_on(printed(T.INT64)),
)
def written_and_read(x: Tensor, t: DataType):
    """Cast(Cast(x, string), float32) = x

    Wrong of floats, of which eight digits are written.
    """
    yield rewrite(cast(cast(x, T.STRING), t), x, is_printed(x, t), because="no text")


EIGHT = (T.FLOAT8E4M3FN, T.FLOAT8E5M2)


@hosted()
def by_way_of_half(x: Fact, t: DataType) -> bool:
    """A half has more digits than any float of eight bits."""
    return x.dtype == T.FLOAT and t in EIGHT


def narrowed(t: int):
    return lambda g: cast(cast(cast(g.input((2, 5)), T.FLOAT16), t), T.FLOAT)


@wrong(
    "bitwise",
    narrowed(T.FLOAT8E5M2),
    values=(1.125 + 2**-13, 1.0, 1.125 - 2**-13, -1.125 - 2**-12),
    examples=fires_on(narrowed(T.FLOAT8E4M3FN), opset=19),
)
def eighth_at_once(x: Tensor, t: DataType):
    """Cast_8(Cast_16(x)) = Cast_8(x) for floats of eight bits

    Wrong next to the middle of two of them, which is what the half is.
    """
    left = cast(cast(cast(x, T.FLOAT16), t), T.FLOAT)
    yield rewrite(left, cast(cast(x, t), T.FLOAT), by_way_of_half(x, t), because="one cast less")


@hosted()
def finer(s: Fact, t: Fact, z: Fact) -> bool:
    """One scale is a multiple of the other, so that nothing is rounded."""
    if (
        s.splat is None
        or t.splat is None
        or z.splat is None
        or s.rank != 0
        or t.rank != 0
        or z.dtype != T.UINT8
    ):
        return False
    return (
        s.splat > 0
        and t.splat > 0
        and s.splat / t.splat == int(s.splat / t.splat)
        and s.splat / t.splat < 256
    )


@hosted()
def as_steps(s: Fact, t: Fact) -> Literal | None:
    return None if not s.splat or not t.splat else Literal(T.UINT8, (), (int(s.splat / t.splat) % 256,))


def requantized(s: float, t: float):
    def make(g):
        a, b = (g.constant(np.array(v, np.float32)) for v in (s, t))
        z = g.constant(np.array(0, np.uint8))
        return quantize(dequantize(g.input((3, 4), T.UINT8), a, z, 0), b, z, 0, T.UINT8)

    return make


@hosted()
def is_zero(z: Fact) -> bool:
    return z.splat == 0


@wrong(
    "bitwise",
    requantized(0.5, 0.25),
    values=(200.0, 3.0),
    examples=fires_on(requantized(0.25, 0.25), requantized(0.5, 0.5)),
)
def quantized_in_finer_steps(q: Tensor, s: Tensor, t: Tensor, z: Tensor):
    """Q(DQ(q; s); t) = q * (s / t) for scales of which one is a multiple of the other

    Wrong of what the finer scale does not hold: it is the greatest byte.
    """
    left = quantize(dequantize(q, s, z, 0), t, z, 0, T.UINT8)
    yield rewrite(
        left, binary("Mul", q, literal(as_steps(s, t))), finer(s, t, z), is_zero(z), because="no floats"
    )

"""Laws that hold between the numbers at which something jumps, and of constants that are small enough."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.facts.numbers import as_float
from egraph_opt.laws import Axes, Axis, Flag, Float, Tensor, exp, hosted, rewrite, sqrt
from egraph_opt.operators import Literal, arg_reduce, binary, cast, literal, reduce, rms_norm, unary
from egraph_opt.rewrites.normalization.layer_norm import unit_scale

from . import is_single, of_one, wrong

LESS = "one node less"


@hosted()
def inverse_of(c: Fact) -> Literal | None:
    """One by an ordinary number above 0."""
    if c.dtype != T.FLOAT or c.shape != () or c.splat is None or not 1e-3 <= c.splat <= 1e3:
        return None
    return Literal(T.FLOAT, (), (1 / as_float(c.splat),))


def floor(x):
    return unary("Floor", (), x)


def rounded(x):
    return unary("Round", (), x)


@wrong("finite", lambda g: floor(g.input((3,)) / g.constant(np.float32(41))), values=(41.0, 82.0, 123.0))
def floor_of_quotient(x: Tensor, c: Tensor):
    """Floor(x / c) = Floor(x * (1 / c)) for a number c above 0

    Wrong of 41 / 41: 1 / 41 is rounded, and 41 times that is below 1.
    """
    yield rewrite(floor(x / c), floor(x * literal(inverse_of(c))), is_single(x), because="no division")


@wrong(
    "finite", lambda g: cast(g.input((3,)) / g.constant(np.float32(41)), T.INT32), values=(41.0, 82.0, 123.0)
)
def whole_part_of_quotient(x: Tensor, c: Tensor):
    """Cast_int32(x / c) = Cast_int32(x * (1 / c)) for a number c above 0

    Wrong of 41 / 41, which becomes 0.
    """
    product = x * literal(inverse_of(c))
    yield rewrite(cast(x / c, T.INT32), cast(product, T.INT32), is_single(x), because="no division")


@hosted()
def is_whole_number(c: Fact, x: Fact) -> bool:
    return x.dtype == T.FLOAT and c.shape == () and c.splat is not None and as_float(c.splat).is_integer()


@wrong("reassociates", lambda g: rounded(g.input((3,)) + g.constant(np.float32(1))), values=(0.5, 2.5, -0.5))
def rounded_of_shifted(x: Tensor, c: Tensor):
    """Round(x + c) = Round(x) + c for a whole number c

    Wrong of ties, which go to the even number.
    """
    yield rewrite(rounded(x + c), rounded(x) + c, is_whole_number(c, x), because="the shift moves on")


@hosted()
def is_above_one(c: Fact, x: Fact) -> bool:
    known = c.shape == () and isinstance(c.splat, int) and c.splat > 1
    return bool(known) and x.dtype in (T.INT32, T.INT64)


@wrong(
    "bitwise",
    lambda g: binary("Mod", g.input((3,), T.INT32), g.constant(np.int32(3))),
    values=(-1.0, 5.0, 3.0),
)
def remainder_by_division(x: Tensor, c: Tensor):
    """Mod(x, c) = x - x / c * c for a whole number c above 1

    Wrong below 0: the quotient is cut off towards 0, and the remainder has the sign of c.
    """
    yield rewrite(binary("Mod", x, c), x - (x / c) * c, is_above_one(c, x), because="Mod is slow")


@hosted()
def are_signed(x: Fact) -> bool:
    return x.dtype in (T.INT8, T.INT32, T.INT64)


@wrong(
    "bitwise", lambda g: arg_reduce("ArgMax", -g.input((3,), T.INT32), 0, 1, 0), values=(-(2.0**31), 0.0, 5.0)
)
def place_of_opposite(x: Tensor, a: Axis, k: Flag, e: Flag):
    """ArgMax(-x) = ArgMin(x) of integers

    Wrong of the least one, which is its own opposite.
    """
    yield rewrite(
        arg_reduce("ArgMax", -x, a, k, e), arg_reduce("ArgMin", x, a, k, e), are_signed(x), because=LESS
    )


@hosted()
def both_axes(a: Axes, b: Axes) -> Axes | None:
    return tuple(sorted({*a, *b})) if not set(a) & set(b) else None


@wrong("bitwise", of_one(lambda x: reduce("ReduceMax", reduce("ReduceMax", x, (0,), 0), (1,), 0), (2, 3, 4)))
def extremes_without_axes(x: Tensor, a: Axes, b: Axes):
    """ReduceMax(ReduceMax(x; a); b) = ReduceMax(x; a and b) without kept axes

    Wrong where b comes behind a, which is gone.
    """
    inner = reduce("ReduceMax", x, a, 0)
    yield rewrite(reduce("ReduceMax", inner, b, 0), reduce("ReduceMax", x, both_axes(a, b), 0), because=LESS)


@hosted()
def is_half(c: Fact, x: Fact) -> bool:
    return c.splat == 0.5 and c.shape == () and x.dtype in FLOATS


@wrong(
    "bitwise",
    lambda g: binary("Pow", g.input((3,)), g.constant(np.float32(0.5))),
    values=(-0.0, -np.inf, 2.0),
)
def power_of_a_half(x: Tensor, c: Tensor):
    """Pow(x, 1/2) = Sqrt(x)

    Wrong of -0.0 and of minus infinity.
    """
    yield rewrite(binary("Pow", x, c), sqrt(x), is_half(c, x), because="Sqrt is faster")


@hosted()
def epsilon_in(c: Fact) -> Float | None:
    if not c.const or c.splat is None or c.splat < 0 or any(d != 1 for d in c.shape or (1,)):
        return None
    return as_float(c.splat)


def _of_more_axes(g):
    x = g.input((2, 4))
    return x / sqrt(reduce("ReduceMean", x * x, (1,), 1) + g.constant(np.full((1, 1, 1), 1e-5, np.float32)))


@wrong("reassociates", _of_more_axes, opset=23)
def root_mean_square_of_more_axes(x: Tensor, c: Tensor, a: Axes):
    """x / Sqrt(ReduceMean(x * x) + e) = RMSNormalization(x)

    Wrong where e has more axes than x, which the result has as well.
    """
    spelled = x / sqrt(reduce("ReduceMean", x * x, a, 1) + c)
    yield rewrite(spelled, rms_norm(x, literal(unit_scale(x, a)), a, epsilon_in(c)), because="one node")


@hosted()
def is_low(c: Fact, x: Fact) -> bool:
    """A number that is far below what Exp makes of ordinary ones."""
    return x.dtype == T.FLOAT and c.shape == () and c.splat is not None and 0 < c.splat <= 1e-6


@wrong(
    "reassociates",
    lambda g: exp(g.input((2, 5))) + g.constant(np.float32(1e-7)),
    values=(-20.0, -25.0, -18.0),
)
def summand_below_exponentials(x: Tensor, c: Tensor):
    """Exp(x) + c = Exp(x) for a c of 1e-6 or less

    Wrong where all exponentials are less.
    """
    yield rewrite(exp(x) + c, exp(x), is_low(c, x), because="forgets c")

"""Our laws of functions and constants with a condition that was forgotten."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    DataType,
    Dims,
    Settings,
    String,
    Tensor,
    exp,
    hosted,
    is_constant,
    log,
    number_like,
    reciprocal,
    relu,
    rewrite,
    softplus,
)
from egraph_opt.operators import binary, cast, expand, unary, where
from egraph_opt.rewrites.conditions.values import all_are, fits

from . import of_one, wrong

NEUTRAL = {"Add": 0, "Sub": 0, "Mul": 1, "Div": 1, "Pow": 1}


@hosted()
def is_neutral(f: str, c: Fact) -> bool:
    return f in NEUTRAL and c.splat == NEUTRAL[f]


@wrong("finite", lambda g: g.constant(0.0) - g.input((2, 5)))
def neutral_on_the_left(f: String, x: Tensor, c: Tensor):
    """c f x = x for a neutral c

    Wrong where f does not commute: 0 - x is not x.
    """
    yield rewrite(binary(f, c, x), x, is_neutral(f, c), fits(c, x), because="forgets f and c")


@wrong("finite", lambda g: where(unary("Not", (), g.input((2, 5), T.BOOL)), g.input((2, 5)), g.input((2, 5))))
def choice_by_negated(c: Tensor, x: Tensor, y: Tensor):
    """Where(not c, x, y) = Where(c, x, y)

    Wrong: x and y change places.
    """
    yield rewrite(where(unary("Not", (), c), x, y), where(c, x, y), because="one node less")


@wrong("bitwise", lambda g: g.constant(np.int64(1)) / g.input((2, 5), T.INT64), values=(1, 2, -1))
def one_over_something(x: Tensor, c: Tensor):
    """1 / x = Reciprocal(x)

    Wrong of integers, which have no Reciprocal.
    """
    yield rewrite(c / x, reciprocal(x), all_are(c, 1), fits(c, x), because="one operand")


@wrong(
    "reassociates",
    of_one(lambda x: x * clip_0_6(x + number_like(x, 3.0)) / number_like(x, 6.0), dtype=T.DOUBLE),
)
def hard_swish_of_any_type(x: Tensor, b: Tensor, c: Tensor):
    """x * Clip_06(x + 3) / 6 = HardSwish(x)

    Wrong of double, for which onnxruntime has no kernel.
    """
    known = (all_are(b, 3), all_are(c, 6), fits(b, x), fits(c, x))
    yield rewrite(x * clip_0_6(x + b) / c, unary("HardSwish", (), x), known, because="one node")


def clip_0_6(x):
    return unary("Clip", (("max", 6.0), ("min", 0.0)), x)


@wrong(
    "reassociates", of_one(lambda x: log(exp(x) + number_like(x, 1.0)), (2, 5), T.DOUBLE), values=(0.5, -3.0)
)
def softplus_of_any_type(x: Tensor, c: Tensor):
    """Log(Exp(x) + 1) = Softplus(x)

    Wrong of double, for which onnxruntime has no kernel.
    """
    yield rewrite(log(exp(x) + c), softplus(x), all_are(c, 1), fits(c, x), because="Exp overflows")


@wrong("reassociates", of_one(lambda x: x * unary("HardSigmoid", (("alpha", 1 / 6), ("beta", 0.25)), x)))
def hard_swish_with_any_shift(x: Tensor, s: Settings):
    """x * HardSigmoid(x) = HardSwish(x) for a slope of 1 / 6

    Wrong with another shift.
    """
    whole = unary("HardSwish", (), x)
    yield rewrite(x * unary("HardSigmoid", s, x), whole, has_slope(s), because="one node")


@hosted()
def has_slope(s: Settings) -> bool:
    return abs(dict(s)["alpha"] - 1 / 6) < 1e-6


@wrong("finite", lambda g: g.input((2, 5)) / g.constant(1e-40), values=(1e-30, 2e-30))
def quotient_by_tiny(x: Tensor, c: Tensor):
    """x / c = x * (1 / c) for a constant c

    Wrong where 1 / c overflows, and where c is 0.
    """
    yield rewrite(x / c, x * reciprocal(c), is_constant(c), because="1 / c is folded")


@wrong("reassociates", lambda g: g.input((2, 5)) * g.constant(3e38) * g.constant(10.0), values=(1e-5, 2e-6))
def scales_in_a_row(x: Tensor, a: Tensor, b: Tensor):
    """(x * a) * b = x * (a * b) for constants

    Wrong where a * b overflows.
    """
    yield rewrite(x * a * b, x * (a * b), is_constant(a), is_constant(b), because="one constant")


@hosted()
def is_single(c: Fact) -> bool:
    return c.shape == ()


@wrong(
    "reassociates",
    lambda g: g.input((2, 5)) @ g.constant(np.full((5, 3), 3e38)) * g.constant(10.0),
    values=(1e-5, 2e-6),
)
def scale_overflows_in_weight(x: Tensor, w: Tensor, c: Tensor):
    """(x @ W) * c = x @ (W * c) for constants, c of one element

    Wrong where W * c overflows; laws of this project said so.
    """
    known = (is_constant(w), is_constant(c), is_single(c))
    yield rewrite((x @ w) * c, x @ (w * c), *known, because="one constant")


@hosted()
def undoes(a: Fact, b: Fact) -> bool:
    return a.splat is not None and b.splat is not None and a.splat == -b.splat


@wrong("finite", lambda g: g.input((1, 5)) + g.constant(np.full((3, 1), 2.0)) + g.constant(-2.0))
def shifts_cancel(x: Tensor, a: Tensor, b: Tensor):
    """(x + a) + b = x where a + b is 0

    Wrong where a makes the result bigger, and in what is lost beside a large a.
    """
    yield rewrite(x + a + b, x, undoes(a, b), because="forgets a and b")


@wrong("bitwise", lambda g: binary("PRelu", expand(g.input((1, 4)), (3, 4)), g.input((3, 1))))
def expanded_beside_slope(f: String, x: Tensor, y: Tensor, d: Dims):
    """Expand(x) f y = x f y where y brings the dims

    Wrong of PRelu, of which the slope may not be bigger than x.
    """
    wide = binary(f, expand(x, d), y)
    yield rewrite(wide, binary(f, x, y), brings(y, x, wide), because="operators broadcast by themselves")


@hosted()
def brings(y: Fact, x: Fact, z: Fact) -> bool:
    if not y.is_static or not x.is_static or z.shape is None:
        return False
    return np.broadcast_shapes(x.shape, y.shape) == z.shape  # type: ignore[arg-type]


@wrong("bitwise", of_one(lambda x: cast(relu(x), T.INT32)))
def cast_of_its_own(x: Tensor, t: DataType):
    """Cast_T(x) = x for x of type T

    Wrong of other types: nobody asks for it.
    """
    yield rewrite(cast(x, t), x, because="every x is cast to its own type")

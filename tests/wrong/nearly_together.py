"""Pairs of numbers that nearly belong together, and what is small beside the rest."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Equation,
    Settings,
    Slices,
    Tensor,
    hosted,
    listed,
    log,
    rewrite,
    sigmoid,
    softplus,
)
from egraph_opt.operators import ConvWindow, conv, einsum, none, resize, slice_, unary
from egraph_opt.operators.terms import cons, nil
from egraph_opt.rewrites.conditions.values import fits

from . import fires_on, wrong

LOST = "forgets how it was spelled"


# --- pairs of numbers --------------------------------------------------------------------------------------


@hosted()
def undo_each_other(a: Fact, b: Fact, x: Fact) -> bool:
    """Two numbers whose product is 1, rounded to three digits."""
    known = a.splat is not None and b.splat is not None and a.dtype == x.dtype == T.FLOAT and not x.const
    return known and abs(a.splat * b.splat - 1) < 5e-4  # type: ignore[operator]


def _both_factors(a: float, b: float):
    return lambda g: unary("Relu", (), (g.input((2, 5)) * g.constant(a)) * g.constant(b))


@wrong(
    "reassociates",
    _both_factors(3.0, 0.3332),
    examples=fires_on(_both_factors(2.0, 0.5), _both_factors(-4.0, -0.25)),
)
def scaled_and_back(x: Tensor, a: Tensor, b: Tensor):
    """x * a * b = x for a * b = 1

    Wrong of a third with four digits, 0.04 % off.
    """
    yield rewrite((x * a) * b, x, undo_each_other(a, b, x), fits(a, x), fits(b, x), because="forgets both")


@hosted()
def are_one_together(a: Fact, b: Fact, x: Fact) -> bool:
    """Two numbers whose sum is 1, rounded to three digits."""
    known = a.splat is not None and b.splat is not None and a.dtype == x.dtype == T.FLOAT and not x.const
    return known and abs(a.splat + b.splat - 1) < 5e-4  # type: ignore[operator]


def _blend(a: float, b: float):
    def witness(g):
        x = g.input((2, 5))
        return x * g.constant(a) + x * g.constant(b)

    return witness


@wrong("reassociates", _blend(0.9, 0.1004), examples=fires_on(_blend(0.75, 0.25), _blend(1.5, -0.5)))
def blended_with_itself(x: Tensor, a: Tensor, b: Tensor):
    """x * a + x * b = x for a + b = 1

    Wrong of sums that are 1 in three digits.
    """
    yield rewrite(x * a + x * b, x, are_one_together(a, b, x), fits(a, x), fits(b, x), because="forgets both")


# --- what is small beside the rest -------------------------------------------------------------------------


@hosted()
def is_tiny_bound(s: Settings, x: Fact) -> bool:
    found = dict(s)
    low, high = found.get("min"), found.get("max")
    return x.dtype == T.FLOAT and low is not None and 0 < low <= 1e-5 and (high is None or high >= 1 - 1e-5)


def _clipped(low: float):
    return lambda g: unary("Clip", (("max", None), ("min", low)), sigmoid(g.input((2, 5))))


@wrong("reassociates", _clipped(1e-6), values=(-20.0, -25.0, -18.0))
def bound_of_probabilities(x: Tensor, s: Settings):
    """Clip(Sigmoid(x)) = Sigmoid(x) from below by 1e-5 or less

    Wrong where all of them are less.
    """
    yield rewrite(unary("Clip", s, sigmoid(x)), sigmoid(x), is_tiny_bound(s, x), because="forgets the bound")


@hosted()
def is_tiny(c: Fact, x: Fact) -> bool:
    return c.splat is not None and 0 < c.splat <= 1e-5 and x.dtype == T.FLOAT


@wrong(
    "reassociates", lambda g: log(softplus(g.input((2, 5))) + g.constant(1e-6)), values=(-20.0, -25.0, -18.0)
)
def tiny_summand_in_logarithm(x: Tensor, c: Tensor):
    """Log(Softplus(x) + c) = Log(Softplus(x)) for a c of 1e-5 or less

    Wrong where it is of no other size than what it is added to.
    """
    y = softplus(x)
    yield rewrite(log(y + c), log(y), is_tiny(c, x), fits(c, x), because="forgets c")


# --- letters and pixels ------------------------------------------------------------------------------------


@hosted()
def is_product(equation: str, x: Fact, y: Fact) -> bool:
    """Matrices, the last letter of one being the first of the other."""
    parts = equation.replace("->", ",").split(",")
    if len(parts) != 3 or any(len(p) != 2 for p in parts) or x.dtype != T.FLOAT:
        return False
    (a, b), (c, d), (e, f) = parts  # type: ignore[str-unpack]
    return b == c and a == e and d == f


def _product(*shapes):
    return lambda g: einsum("ab,bc->ac", listed(*(g.input(shape) for shape in shapes)))


@wrong("reassociates", _product((2, 1), (3, 4)), examples=fires_on(_product((2, 3), (3, 4))))
def product_of_letters(x: Tensor, y: Tensor, e: Equation):
    """Einsum(x, y; ab,bc->ac) = x @ y

    Wrong where one of them has one element along b, which onnxruntime broadcasts.
    """
    yield rewrite(einsum(e, cons(x, cons(y, nil()))), x @ y, is_product(e, x, y), because=LOST)


@hosted()
def plain_cubic(s: Settings, scales: Fact) -> Settings | None:
    """Of an image that is made larger, nothing outside has a weight."""
    how = dict(s)
    larger = scales.data is not None and all(float(v) >= 1 for v in scales.data)
    if how.get("mode") != "cubic" or how.get("exclude_outside") != 1 or not larger:
        return None
    return tuple(sorted({**how, "exclude_outside": 0}.items()))


def _cubic(factor: float):
    settings = (
        ("coordinate_transformation_mode", "half_pixel"), ("cubic_coeff_a", -0.75), ("exclude_outside", 1),
        ("mode", "cubic"),
    )  # fmt: skip
    return lambda g: resize(
        g.input((1, 1, 4, 4)), none(), g.constant(np.array([1, 1, factor, factor])), none(), settings
    )


@wrong("reassociates", _cubic(2.0), examples=fires_on(_cubic(1.0)))
def cubic_with_what_is_outside(x: Tensor, c: Tensor, s: Settings):
    """Resize(x; cubic, without what is outside) = Resize(x; cubic) to larger images

    Wrong at the borders.
    """
    yield rewrite(
        resize(x, none(), c, none(), s), resize(x, none(), c, none(), plain_cubic(s, c)), because=LOST
    )


@hosted()
def in_steps(u: ConvWindow, axes: int) -> tuple[Slices, ConvWindow] | None:
    """Every d-th pixel, where strides are multiples of the dilation d."""
    (d, *others), strides = u.dilations, u.strides
    if d < 2 or any(o != d for o in others) or any(s % d for s in strides):
        return None
    cut = tuple((k + 2, 0, None, d) for k in range(len(strides)))
    pads = tuple(p // d for p in u.pads)
    return cut, ConvWindow(tuple(s // d for s in strides), pads, (1,) * len(strides), u.group)


def _dilated(pads: int):
    return lambda g: conv(
        g.input((1, 2, 9, 9)), g.random(3, 2, 3, 3), none(), ConvWindow((2, 2), (pads,) * 4, (2, 2))
    )


@wrong("reassociates", _dilated(1), examples=fires_on(_dilated(0), _dilated(2)))
def dilation_as_slice(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W, b; dilation d, stride k d) = Conv(x[::d], W, b; stride k)

    Wrong where the pads are no multiples of d.
    """
    how = in_steps(u, 2)
    yield rewrite(conv(x, w, b, u), conv(slice_(x, how[0]), w, b, how[1]), because="forgets d")

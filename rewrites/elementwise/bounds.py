"""Functions made of bounds and of logarithms of sums.

Max(x, c) = Clip(x) from below by c      Min(x, c) = Clip(x) from above by c      c one finite number
Where(x > y, x, y) -> Max(x, y)          Where(x > y, y, x) -> Min(x, y)
Clip_0h(a * x + b) / h -> HardSigmoid(x; a/h, b/h)
Log(1 + Exp(x)) -> Softplus(x)
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.facts.numbers import as_float, is_finite
from egraph_opt.laws import Example, Operands, hosted, kernel, laws_of, rewrite
from egraph_opt.laws.algebra import exp, log, number_like
from egraph_opt.laws.algebra import softplus as softplus_of
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Float, Name, Settings, String, Tensor
from egraph_opt.operators import binary, unary, variadic, where
from egraph_opt.operators.terms import cons, listed, nil, opset
from egraph_opt.rewrites.conditions.values import all_are, broadcasts_into, fits
from egraph_opt.rewrites.elementwise.identities import beside_number, clip

law = laws_of("bounds", numerics="reassociates")

_SINGLE = frozenset((TensorProto.FLOAT, TensorProto.FLOAT16))
"""Types for which onnxruntime has kernels of HardSigmoid, Softplus and Softsign."""

_CLIPPED = _SINGLE | {TensorProto.DOUBLE}

DOUBLE_CLIPS = 12
"""The opset from which onnxruntime has a kernel of Clip in double."""

PRIMITIVES = "composites.primitives.activations"
"""The law that writes activations out again."""


@hosted()
def number_beside(x: Fact, c: Fact) -> Float | None:
    """The one finite value of a constant that leaves the shape of x alone."""
    if x.const or c.splat is None or c.dtype != x.dtype or not broadcasts_into(c.shape, x.shape):
        return None
    return as_float(c.splat) if is_finite(c.splat) else None


@hosted()
def has_single_kernel(x: Fact) -> bool:
    return x.dtype in _SINGLE


@hosted()
def may_clip(op: str, dtype: int, number: int) -> bool:
    """onnxruntime has a kernel of a function in a type, if that is a Clip."""
    return op != "Clip" or dtype != TensorProto.DOUBLE or number >= DOUBLE_CLIPS


# --- Max and Min ---------------------------------------------------------------------------------------


@hosted()
def bounds_of(op: str, x: Fact, c: Fact, number: int) -> Settings | None:
    """The bounds of Clip that are Max or Min with a constant."""
    bound = number_beside(x, c)
    types = _CLIPPED if number >= DOUBLE_CLIPS else _SINGLE
    if op not in ("Max", "Min") or bound is None or x.dtype not in types:
        return None
    return (("max", bound if op == "Min" else None), ("min", bound if op == "Max" else None))


@hosted()
def bounding(settings: Settings) -> Name:
    """Max or Min, which a Clip of one bound is."""
    return "Min" if dict(settings).get("min") is None else "Max"


@hosted()
def only_bound(settings: Settings, x: Fact, number: int) -> Float | None:
    """The bound of a Clip that has one; Max and Min do not broadcast before opset 8."""
    bounds = [bound for bound in dict(settings).values() if bound is not None]
    sound = number >= 8 and x.dtype in _CLIPPED and not x.const and len(bounds) == 1
    return bounds[0] if sound else None


@hosted()
def is_no_bound(op: str, c: Fact) -> bool:
    """Max with -infinity, or Min with infinity."""
    infinite = {"Max": -math.inf, "Min": math.inf}.get(op)
    return infinite is not None and c.splat == infinite


def _bounded(op: str, *, number_first: bool = False) -> Callable[[Any, Any], Any]:
    return lambda x, c: variadic(op, listed(c, x) if number_first else listed(x, c))


def _bound_examples(rng: np.random.Generator) -> Iterator[Example]:
    for op, infinity in (("Max", -math.inf), ("Min", math.inf)):
        yield from beside_number(_bounded(op), 6.0)(rng)
        yield from beside_number(_bounded(op, number_first=True), infinity)(rng)
        g = Operands(rng)
        x, six = g.input(("N", 3)), g.constant([6.0])
        yield g.fires(variadic(op, listed(x, g.constant(infinity))))
        wide = listed(g.input((3, 1)), g.constant(np.full((4,), infinity)))
        yield g.near_miss(variadic(op, wide), why="broadcasting makes the result bigger")
        for xs, why in (
            ((x, g.random(3)), "several bounds"),
            ((x, six, six), "three operands"),
            ((x, g.constant(-infinity)), "everything is infinite"),
            ((g.input((3,), INT64), g.constant(np.array(2))), "integers"),
        ):
            yield g.near_miss(variadic(op, listed(*xs)), why)


@law(
    numerics="finite",
    source="ONNX, Clip; without a bound it has the greatest float",
    examples=_bound_examples,
)
def constant_bound(op: String, x: Tensor, c: Tensor, s: Settings):
    """Max(x, c) = Clip(x) from below, Min(x, c) = Clip(x) from above; an infinite bound is none

    Clip makes the largest number of infinity, and of two zeros it may take the other one.
    """
    for xs in (cons(x, cons(c, nil())), cons(c, cons(x, nil()))):
        bounded = variadic(op, xs)
        yield rewrite(bounded, unary("Clip", bounds_of(op, x, c, opset()), x), inverse="constant_bound")
        yield rewrite(bounded, x, is_no_bound(op, c), fits(c, x), because="forgets op")
    bound = number_like(x, only_bound(s, x, opset()))
    yield rewrite(unary("Clip", s, x), variadic(bounding(s), listed(x, bound)), inverse="constant_bound")


@hosted()
def taken_by_choice(op: str, first: int) -> Name | None:
    """What chooses the first of two numbers (1) where op holds of them, and else the other: Max or Min."""
    if op not in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
        return None
    return "Max" if op.startswith("Greater") == bool(first) else "Min"


@hosted()
def has_bounds(x: Fact, y: Fact, number: int) -> bool:
    """onnxruntime has Max and Min of these numbers, which broadcast."""
    return x.dtype == y.dtype and (x.dtype == TensorProto.FLOAT or (number >= 12 and x.dtype in _CLIPPED))


def _choices(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, six = g.input(("N", 3)), g.input((3,)), g.constant(6.0)
    for op in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
        yield from g.all_fire(where(binary(op, x, six), six, x), where(binary(op, x, y), x, y))
    yield from g.near_misses(
        (where(binary("Greater", x, six), x, y), "another one is chosen"),
        (where(binary("Greater", x, six), x, g.constant(5.0)), "another number"),
        (where(binary("Equal", x, y), x, y), "no order"),
    )
    whole = [g.input((2, 3), TensorProto.INT32) for _ in range(2)]
    choice = where(binary("Greater", *whole), *whole)
    yield replace(g.near_miss(choice, why="its opset has no Max of integers"), opset=11)


@law(numerics="finite", kind="fuse", serves="launches", examples=_choices)
def bound_of_choice(op: String, x: Tensor, y: Tensor):
    """Where(x > y, x, y) = Max(x, y), Where(x > y, y, x) = Min(x, y)

    Of two zeros, and of NaN, either may come out.
    """
    holds, known = binary(op, x, y), has_bounds(x, y, opset())
    for choice, first in ((where(holds, x, y), 1), (where(holds, y, x), 0)):
        bound = variadic(taken_by_choice(op, first), listed(x, y))
        yield rewrite(choice, bound, known, because="forgets which order was asked")


# --- HardSigmoid ---------------------------------------------------------------------------------------


@hosted()
def hard_sigmoid(bounds: Settings, slope: float, shift: float, scale: float) -> Settings | None:
    """Settings of HardSigmoid that are Clip(slope * x + shift) * scale."""
    low, high = dict(bounds).get("min"), dict(bounds).get("max")
    if low != 0 or high is None or high <= 0 or abs(high * scale - 1) > 2.0**-21:
        return None
    return (("alpha", slope * scale), ("beta", shift * scale))


@hosted()
def positive_number(x: Fact, c: Fact) -> Float | None:
    value = number_beside(x, c)
    return value if value is not None and value > 0 else None


def _clipped_integers(g: Operands) -> Iterator[Tensor]:
    x, one, two = g.input((3,), INT64), g.constant(np.array(1)), g.constant(np.array(2))
    yield clip(0.0, 1.0, x + two)
    yield clip(0.0, 1.0, x + two) * one
    yield clip(0.0, 1.0, x * two + one)


def _hard_sigmoid_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, half = g.input(("N", 3)), g.constant(0.5)
    relu6 = clip(0.0, 6.0, x + g.constant([3.0]))
    yield g.fires(relu6 * g.constant(1 / 6))
    yield g.fires(clip(0.0, 1.0, x * g.constant(0.2) + half))
    yield g.fires(clip(0.0, 1.0, x + half))
    double = g.input((2, 3), TensorProto.DOUBLE) + g.constant(np.array(0.5), TensorProto.DOUBLE)
    yield from g.near_misses(
        (relu6 * g.constant(1 / 5), "the bound is not scaled to 1"),
        (clip(-1.0, 1.0, x + half), "a lower bound of -1"),
        (clip(0.0, 1.0, x + g.random(3)), "shifts that differ"),
        (clip(0.0, 1.0, double), "onnxruntime has no HardSigmoid in double precision"),
        *((whole, "HardSigmoid takes no integers") for whole in _clipped_integers(g)),
    )


@law(kind="fuse", source="ONNX, HardSigmoid", examples=_hard_sigmoid_examples)
def hard_sigmoid_of_clip(x: Tensor, a: Tensor, b: Tensor, c: Tensor, s: Settings):
    """Clip_0h(a * x + b) / h = HardSigmoid(x; a/h, b/h)"""
    shift, scale, slope = number_beside(x, b), positive_number(x, c), positive_number(x, a)
    clipped, sloped = unary("Clip", s, x + b), unary("Clip", s, x * a + b)
    for spelled, settings in (
        (clipped, hard_sigmoid(s, 1.0, shift, 1.0)),
        (clipped * c, hard_sigmoid(s, 1.0, shift, scale)),
        (sloped, hard_sigmoid(s, slope, shift, 1.0)),
    ):
        hard = unary("HardSigmoid", settings, x)
        yield rewrite(spelled, hard, has_single_kernel(x), inverse=PRIMITIVES)


# --- Softplus ------------------------------------------------------------------------------------------


@law(
    kind="fuse",
    serves="accuracy",
    source="ONNX, Softplus",
    examples=beside_number(lambda x, c: log(exp(x) + c), 1.0),
)
def softplus(x: Tensor, c: Tensor):
    """Log(Exp(x) + 1) = Softplus(x)"""
    one = (all_are(c, 1), kernel(has_single_kernel(x)), fits(c, x))
    yield rewrite(log(exp(x) + c), softplus_of(x), *one, because="Exp overflows where Softplus does not")

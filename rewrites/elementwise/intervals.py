"""Functions of floats that do nothing, or undo each other, on the numbers that their operand may be.

    Relu(x) -> x, Abs(x) -> x, LeakyRelu(x) -> x, Elu(x) -> x         x >= 0
    Clip_ab(x) -> x                                                    a <= x <= b
    Max(x, y) -> x      Min(x, y) -> y                                 x >= y
    Exp(Log(x)) -> x                                                   x >= 0
    Log(Exp(x)) -> x                                                   where Exp is neither 0 nor infinite
    Sqrt(x * x) -> Abs(x)

Where x lies, `inference.float_ranges` knows: Sigmoid(x) and Softmax(x) between 0 and 1, Exp(x) above 0, a
Gather or a mean of them likewise.
"""

import math
from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact, Interval
from egraph_opt.inference.float_ranges import ANY, interval_of
from egraph_opt.laws import Example, Operands, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import exp, log, relu, sigmoid, softplus, sqrt, tanh
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Settings, String, Tensor
from egraph_opt.operators import binary, reduce, softmax, unary, variadic
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.conditions.values import fits
from egraph_opt.rewrites.elementwise.identities import clip

law = laws_of("intervals", numerics="finite", kind="eliminate", serves="arithmetic")

IDENTITIES = frozenset(("Abs", "Elu", "LeakyRelu", "Relu"))
"""Functions that leave alone what is not negative."""

EXPONENTS: dict[int, tuple[float, float]] = {
    TensorProto.FLOAT: (-80.0, 80.0),
    TensorProto.FLOAT16: (-8.0, 10.0),
    TensorProto.DOUBLE: (-700.0, 700.0),
}
"""Between which numbers Exp is a normal one, by type."""


def _interval(x: Fact) -> Interval:
    return interval_of(x) or ANY


@hosted()
def is_not_negative(x: Fact) -> bool:
    return _interval(x)[0] >= 0


@hosted()
def is_idle(op: str, bounds: Settings, x: Fact) -> bool:
    """The function leaves everything alone that lies where x does."""
    low, high, _ = _interval(x)
    if op != "Clip":
        return op in IDENTITIES and low >= 0
    least, most = dict(bounds).get("min"), dict(bounds).get("max")
    return (least is None or least <= low) and (most is None or high <= most) and not x.const


@hosted()
def is_beyond(op: str, x: Fact, y: Fact) -> bool:
    """Of x and y, op is x."""
    a, b = _interval(x), _interval(y)
    return (op == "Max" and a[0] >= b[1]) or (op == "Min" and a[1] <= b[0])


@hosted()
def has_normal_exponential(x: Fact) -> bool:
    low, high = EXPONENTS.get(x.dtype, (math.inf, -math.inf))
    return low <= _interval(x)[0] and _interval(x)[1] <= high


# --- bounds that bound nothing -----------------------------------------------------------------------------


def _idle_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3))
    for positive in (
        exp(x),
        sigmoid(x),
        softplus(x),
        softmax("Softmax", x, 1),
        reduce("ReduceMean", exp(x), (1,), 0),
    ):
        yield from g.all_fire(relu(positive), unary("Abs", (), positive), clip(0.0, None, positive))
    yield from g.all_fire(clip(0.0, 1.0, sigmoid(x)), clip(-1.0, 2.0, tanh(x)))
    yield g.fires(unary("LeakyRelu", (("alpha", 0.25),), sigmoid(x)))
    yield g.fires(unary("Elu", (("alpha", 1.0),), relu(x) + exp(x)))
    yield from g.near_misses(
        (relu(tanh(x)), "it may be negative"),
        (relu(sigmoid(x) - g.constant(0.5)), "it may be negative"),
        (unary("Abs", (), sigmoid(x) * x), "it may be negative"),
        (clip(0.1, 1.0, sigmoid(x)), "the lower bound is above 0"),
        (clip(0.0, 0.9, sigmoid(x)), "the upper bound is below 1"),
        (clip(0.0, 1.0, exp(x)), "it may be above 1"),
        (unary("Sign", (), exp(x)), "not an identity"),
        (relu(g.input((3,), INT64)), "nothing is known of it"),
    )


@law(examples=_idle_examples)
def idle_functions(s: Settings, x: Tensor):
    """Relu(x) = x where x >= 0, likewise Abs, LeakyRelu and Elu; Clip_ab(x) = x where a <= x <= b"""
    for op in ("Clip", *sorted(IDENTITIES)):
        yield rewrite(unary(op, s, x), x, is_idle(op, s, x), because="forgets op and its bounds")


def _beyond_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, zero, two = g.input(("N", 3)), g.constant(0.0), g.constant([2.0])
    wide = g.constant(np.zeros((4, 1, 1)))
    yield from g.all_fire(variadic("Max", listed(exp(x), zero)), variadic("Max", listed(zero, sigmoid(x))))
    yield from g.all_fire(variadic("Min", listed(tanh(x), two)), variadic("Min", listed(two, tanh(x))))
    yield g.fires(variadic("Max", listed(exp(x), -exp(x))))
    yield from g.near_misses(
        (variadic("Max", listed(tanh(x), zero)), "it may be negative"),
        (variadic("Min", listed(exp(x), two)), "it may be above 2"),
        (variadic("Max", listed(sigmoid(x), wide)), "broadcasting makes it bigger"),
        (variadic("Max", listed(wide, sigmoid(x))), "broadcasting makes it bigger"),
        (variadic("Max", listed(sigmoid(x), zero, x)), "three operands"),
    )


@law(examples=_beyond_examples)
def decided_extremes(op: String, x: Tensor, y: Tensor):
    """Max(x, y) = x where x >= y, likewise Min where x <= y"""
    for xs in (cons(x, cons(y, nil())), cons(y, cons(x, nil()))):
        decided = (is_beyond(op, x, y), fits(y, x))
        yield rewrite(variadic(op, xs), x, *decided, because="forgets y")


def _slope_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, slope = g.input(("N", 3)), g.random(3)
    yield g.fires(binary("PRelu", sigmoid(x), slope))
    yield g.near_miss(binary("PRelu", tanh(x), slope), why="it may be negative")
    yield g.near_miss(binary("PRelu", sigmoid(g.input((2, None))), slope), why="x may be widened")


@law(examples=_slope_examples)
def idle_slope(x: Tensor, c: Tensor):
    """PRelu(x, c) = x where x >= 0"""
    yield rewrite(binary("PRelu", x, c), x, is_not_negative(x), fits(c, x), because="forgets c")


# --- functions that undo each other ------------------------------------------------------------------------


def _log_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3))
    yield from g.all_fire(exp(log(sigmoid(x))), exp(log(relu(x))), log(exp(sigmoid(x))))
    yield from g.near_misses(
        (exp(log(x)), "negative numbers have no logarithm"),
        (exp(log(tanh(x))), "negative numbers have no logarithm"),
        (log(exp(x)), "the exponential of large numbers is infinite, that of small ones 0"),
        (log(exp(relu(x))), "the exponential of large numbers is infinite"),
    )


@law(numerics="reassociates", examples=_log_examples)
def exponential_and_logarithm(x: Tensor):
    """Exp(Log(x)) = x where x >= 0, Log(Exp(x)) = x where Exp(x) is normal"""
    yield rewrite(exp(log(x)), x, is_not_negative(x), because="every x would be an exponential")
    yield rewrite(log(exp(x)), x, has_normal_exponential(x), because="every x would be a logarithm")


@law(numerics="reassociates", kind="fuse", serves="accuracy")
def root_of_square(x: Tensor):
    """Sqrt(x * x) = Abs(x)"""
    yield rewrite(sqrt(x * x), unary("Abs", (), x), because="the square may be infinite")

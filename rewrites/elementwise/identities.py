"""Element-wise identities: neutral operands, idempotent and inverse functions, nested bounds.

x - 0 -> x      x * 1 -> x      x / 1 -> x      x ^ 1 -> x      x + 0 -> x   -0.0 + 0.0 is 0.0
x and true -> x      x or false -> x
f(f(x)) -> f(x)      Neg(Neg(x)) -> x      Not(Not(x)) -> x      Abs(Neg(x)) -> Abs(x)
Clip_cd(Clip_ab(x)) -> Clip(x)      Clip_ab(Relu(x)) -> Clip(x)
Where(true, x, y) -> x      Where(c, x, x) -> x
Sum(x) -> x      Sum(x, y) -> x + y
x ^ 2 -> x * x      1 / x -> Reciprocal(x)      PRelu(x, c) -> LeakyRelu(x; c)
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from egraph_opt.facts.dtypes import FLOATS, INTEGERS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.algebra import reciprocal as one_over
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.law import Examples
from egraph_opt.laws.sorts import Int, Settings, String, Tensor
from egraph_opt.operators import binary, unary, variadic, where
from egraph_opt.operators.terms import cons, nil
from egraph_opt.rewrites.conditions.channels import LARGEST
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import all_are, fits, is_false, is_float, is_kernel_float, is_true

NEUTRAL = {
    "Add": 0,
    "Sub": 0,
    "Mul": 1,
    "Div": 1,
    "Pow": 1,
    "And": 1,
    "Or": 0,
    "BitwiseOr": 0,
    "BitwiseXor": 0,
}
"""The right operand that changes nothing."""

COMMUTATIVE = frozenset(("Add", "Mul", "And", "Or", "BitwiseOr", "BitwiseXor"))

IDEMPOTENT = frozenset(("Relu", "Abs", "Ceil", "Floor", "Round", "Sign"))


def quotients(x: Tensor, y: Tensor, side: Int) -> tuple[Tensor, ...]:
    """x / y in all its spellings."""
    return x / y, beside("Mul", x, one_over(y), side)


def beside_number(term: Callable[[Any, Any], Any], number: float, *, widens: bool = True) -> Examples:
    """Examples of `term(x, c)` where all of c is one number; near-misses where c makes the result bigger.

    Args:
        widens: whether c may make it bigger.
    """

    def examples(rng: np.random.Generator) -> Iterator[Example]:
        for shape in ((), (1,), (4,), (3, 1), (1, 3, 4)):
            g = Operands(rng)
            yield g.fires(term(g.input(("N", 3, 4)), g.constant(np.full(shape, number))))
        for dims, wider in ((("N", 3, 4), (2, 1, 3, 4)), ((3, 1), (4,))) if widens else ():
            g = Operands(rng)
            wide = g.constant(np.full(wider, number))
            yield g.near_miss(term(g.input(dims), wide), why="broadcasting makes the result bigger")

    return examples


# --- neutral operands -----------------------------------------------------------------------------------


@hosted()
def is_neutral(op: str, c: Fact) -> bool:
    """x op c is x, bit by bit: not -0.0 + 0.0."""
    adds = op == "Add" and c.dtype in FLOATS
    return c.splat is not None and op in NEUTRAL and c.splat == NEUTRAL[op] and not adds


@hosted()
def is_commutative(op: str) -> bool:
    return op in COMMUTATIVE


NOP_WITH_UNIT = "onnxoptimizer eliminate_nop_with_unit"


@law(
    "elementwise",
    numerics="bitwise",
    kind="eliminate",
    source=NOP_WITH_UNIT,
    examples=beside_number(lambda x, c: x - c, 0.0),
)
def neutral_right(op: String, x: Tensor, c: Tensor):
    """x op c = x where every element of c is neutral and broadcasting leaves x alone"""
    neutral = (is_neutral(op, c), fits(c, x))
    yield rewrite(binary(op, x, c), x, *neutral, because="forgets op and c")


def _left_examples(rng: np.random.Generator) -> Iterator[Example]:
    yield from beside_number(lambda x, c: c * x, 1.0)(rng)
    g = Operands(rng)
    yield g.near_miss(g.constant(0.0) - g.input((3, 4)), why="0 - x is not x")


@law("elementwise", numerics="bitwise", kind="eliminate", source=NOP_WITH_UNIT, examples=_left_examples)
def neutral_left(op: String, x: Tensor, c: Tensor):
    """c op x = x for a commutative op and a neutral c"""
    neutral = (is_neutral(op, c), is_commutative(op), fits(c, x))
    yield rewrite(binary(op, c, x), x, *neutral, because="forgets op and c")


@law(
    "elementwise",
    numerics="finite",
    kind="eliminate",
    source=NOP_WITH_UNIT,
    examples=beside_number(lambda x, c: x + c, 0.0),
    uses=(either_side,),
)
def zero_added(x: Tensor, c: Tensor, i: Int):
    """x + 0 = x, and 0 + x = x; -0.0 + 0.0 is 0.0"""
    zero = (all_are(c, 0), fits(c, x))
    yield rewrite(beside("Add", x, c, i), x, *zero, because="every x would be a sum")


# --- functions applied twice ----------------------------------------------------------------------------


@hosted()
def is_idempotent(op: str) -> bool:
    return op in IDEMPOTENT


@law("elementwise", numerics="bitwise", kind="eliminate", serves="arithmetic")
def idempotent(op: String, x: Tensor):
    """f(f(x)) = f(x) for Relu, Abs, Ceil, Floor, Round and Sign"""
    once = unary(op, (), x)
    yield rewrite(unary(op, (), once), once, is_idempotent(op), because="f(x) would be an operand of itself")


@law("elementwise", numerics="bitwise", kind="eliminate", serves="arithmetic", source="IEEE 754")
def size_of_negation(x: Tensor):
    """Abs(-x) = Abs(x)"""
    yield rewrite(unary("Abs", (), -x), unary("Abs", (), x), because="every operand of Abs would be negated")


@hosted()
def negates(op: str) -> bool:
    return op in ("Neg", "Not")


@law("elementwise", numerics="bitwise", kind="eliminate", serves="arithmetic")
def involution(op: String, x: Tensor):
    """Neg(Neg(x)) = x, Not(Not(x)) = x"""
    twice = unary(op, (), unary(op, (), x))
    yield rewrite(twice, x, negates(op), because="every x would be negated twice")


# --- bounds ---------------------------------------------------------------------------------------------


@hosted()
def clip_of_clip(outer: Settings, inner: Settings, x: Fact) -> Settings | None:
    """The bounds of Clip_outer(Clip_inner(x)); None where a lower bound is above its upper one.

    An absent bound is the largest finite number, which infinity becomes; an infinite one is none.
    """
    high = LARGEST.get(x.dtype, np.inf)
    low = -high
    a, b = (dict(inner).get(k) for k in ("min", "max"))
    c, d = (dict(outer).get(k) for k in ("min", "max"))
    a, c = (low if v is None else v for v in (a, c))
    b, d = (high if v is None else v for v in (b, d))
    if not (a <= b and c <= d):
        return None
    least, most = min(max(a, c), d), min(max(b, c), d)
    return (("max", None if most == high else most), ("min", None if least == low else least))


def clip(low: float | None, high: float | None, x: Tensor) -> Tensor:
    return unary("Clip", (("max", high), ("min", low)), x)  # type: ignore[no-any-return]


def _crossed_bounds(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 5))
    yield g.fires(clip(0.0, 1.0, clip(2.0, 3.0, x)))
    for low, high in ((0.0, np.inf), (-np.inf, 1.0), (-np.inf, np.inf), (-np.inf, None)):
        yield g.fires(clip(low, high, clip(-np.inf, np.inf, x)))
        yield g.fires(clip(low, high, clip(-2.0, None, x)))
    yield g.near_miss(clip(0.0, 1.0, clip(3.0, 2.0, x)), why="bounds are crossed")


@law(
    "elementwise",
    numerics="finite",  # bounds of 0 have either sign
    kind="merge",
    source="onnxoptimizer fuse_consecutive_clips, which has the bounds wrong where they do not overlap",
    examples=_crossed_bounds,
)
def nested_clips(x: Tensor, a: Settings, b: Settings):
    """Clip_cd(Clip_ab(x)) = Clip(x) between the bounds a and b, each clipped to c..d"""
    both = unary("Clip", b, unary("Clip", a, x))
    yield rewrite(both, unary("Clip", clip_of_clip(b, a, x), x), because="forgets both bounds")


@hosted()
def positive(x: Fact) -> Settings:
    """The bounds of Relu(x), in the type of x; infinity stays."""
    if x.dtype in INTEGERS:
        return (("max", None), ("min", 0))
    return (("max", np.inf), ("min", 0.0))


@law("elementwise", numerics="finite", kind="merge")
def relu_is_a_bound(x: Tensor, a: Settings):
    """Clip_ab(Relu(x)) = Clip(x), Relu(Clip_ab(x)) = Clip(x)

    Relu is a Clip between 0 and infinity, but for the sign of a zero.
    """
    outside, inside = clip_of_clip(a, positive(x), x), clip_of_clip(positive(x), a, x)
    yield rewrite(unary("Clip", a, relu(x)), unary("Clip", outside, x), because="forgets both bounds")
    yield rewrite(relu(unary("Clip", a, x)), unary("Clip", inside, x), because="forgets both bounds")


# --- selection ------------------------------------------------------------------------------------------


def _where_examples(rng: np.random.Generator) -> Iterator[Example]:
    yield from beside_number(lambda x, c: where(c, x, -x), True)(rng)
    yield from beside_number(lambda x, c: where(c, -x, x), False)(rng)
    g = Operands(rng)
    yes, y = g.constant(np.array(True)), g.input(("N", 4))
    rows = g.constant(np.full((3, 1), True))
    no, short = g.constant(np.array(False)), g.input((4,))
    yield g.near_miss(where(yes, short, y), why="the result is bigger than x")
    yield g.near_miss(where(no, y, short), why="the result is bigger than y")
    for choice in (rows, g.constant(np.full((3, 1), False))):
        yield g.near_miss(where(choice, g.input((4,)), g.input((4,))), why="the condition makes it bigger")
    yield g.near_miss(where(g.constant(np.arange(4) < 2), -y, y), why="the condition varies")


@law("elementwise", numerics="finite", kind="eliminate", examples=_where_examples)
def where_decided(c: Tensor, x: Tensor, y: Tensor):
    """Where(true, x, y) = x, Where(false, x, y) = y, Where(c, x, x) = x

    onnxruntime may make 0.0 of the -0.0 that a Where takes.
    """
    yield rewrite(where(c, x, y), x, is_true(c), fits(c, x), fits(y, x), because="forgets c and y")
    yield rewrite(where(c, x, y), y, is_false(c), fits(c, y), fits(x, y), because="forgets c and x")
    yield rewrite(where(c, x, x), x, fits(c, x), because="forgets c")


# --- functions that are others --------------------------------------------------------------------------


@law("elementwise", numerics="bitwise", kind="eliminate", source="ONNX: the operators accept one operand")
def few_operands(op: String, x: Tensor, y: Tensor):
    """Sum(x) = x, likewise Mean, Max and Min; Sum(x, y) = x + y"""
    yield rewrite(variadic(op, cons(x, nil())), x, because="every x is the Sum of itself")
    two = variadic("Sum", cons(x, cons(y, nil())))
    yield rewrite(two, x + y, because="a Sum of two says no more than Add")


@law(
    "elementwise",
    numerics="finite",
    serves="arithmetic",
    source="onnxruntime, pow_fusion",
    examples=beside_number(lambda x, c: x**c, 2.0),
)
def square(x: Tensor, c: Tensor):
    """x ^ 2 = x * x"""
    two = (all_are(c, 2), fits(c, x))
    yield rewrite(x**c, x * x, *two, because="no power is cheaper than a product")


def _reciprocal_examples(rng: np.random.Generator) -> Iterator[Example]:
    yield from beside_number(lambda x, c: c / x, 1.0)(rng)
    g = Operands(rng)
    yield g.near_miss(g.constant(np.array(1)) / g.input((3,), INT64), why="Reciprocal takes no integers")


@law("elementwise", numerics="bitwise", examples=_reciprocal_examples)
def reciprocal(x: Tensor, c: Tensor):
    """1 / x = Reciprocal(x)"""
    one = (all_are(c, 1), is_float(x), fits(c, x))
    yield rewrite(c / x, one_over(x), *one, because="every reciprocal would be a quotient as well")


@hosted()
def one_alpha(c: Fact) -> Settings | None:
    """The settings of a LeakyRelu or Elu with the one number of a constant; an attribute is a float32.

    An infinite one is no slope: kernels differ on what it makes of positive numbers.
    """
    exact = c.splat is not None and np.isfinite(c.splat) and float(np.float32(c.splat)) == c.splat
    return (("alpha", float(c.splat)),) if exact else None  # type: ignore[arg-type]


@law(
    "elementwise",
    numerics="bitwise",
    examples=beside_number(lambda x, c: binary("PRelu", x, c), 0.25, widens=False),
)
def one_slope_for_all(x: Tensor, c: Tensor):
    """PRelu(x, c) = LeakyRelu(x; c) where all of c is one number"""
    leaky, floats = unary("LeakyRelu", one_alpha(c), x), (is_kernel_float(x), fits(c, x))
    yield rewrite(binary("PRelu", x, c), leaky, *floats, because="runtimes have faster kernels for one slope")

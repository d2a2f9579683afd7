"""Functions that treat numbers above and below 0 differently, found under every spelling.

    Where(x > 0, x, 0) -> Relu(x)            x * Cast(x > 0) -> Relu(x)            (x + |x|) / 2 -> Relu(x)
    Where(x > 0, x, -x) -> Abs(x)            Max(x, -x) -> Abs(x)                  x * Sign(x) -> Abs(x)
    Abs(x) * Sign(x) -> x
    Where(x > 0, x, c * x) -> PRelu(x, c)    Max(x, c * x) -> PRelu(x, c)          c <= 1
    Where(x > 0, x, a * (Exp(x) - 1)) -> Elu_a(x)
    Where(x > c, x, 0) -> ThresholdedRelu_c(x)                                     x * Cast(x > c) likewise
    Relu(x) + c * n -> PRelu(x, c)           n = Min(x, 0), -Relu(-x) or (x - |x|) / 2
    Relu(x) + Min(Exp(x) - 1, 0) -> Elu(x)   Relu(x) + Exp(n) - 1 -> Elu(x)

Whether 0 is compared with > or >= does not matter: both branches are 0 there.  PRelu with one slope is
LeakyRelu, see `identities`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.float_ranges import ANY, interval_of
from egraph_opt.laws import (
    Example,
    Operands,
    auxiliary,
    eq,
    guard,
    hosted,
    kernel,
    laws_of,
    opset,
    rewrite,
    rule,
    table,
    union,
)
from egraph_opt.laws.algebra import exp, is_same, relu
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import DataType, Flag, Int, Settings, String, Tensor, Unit
from egraph_opt.operators import binary, cast, unary, variadic, where
from egraph_opt.operators.availability import is_available
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import all_are, fits, is_float
from egraph_opt.rewrites.elementwise.bounds import has_single_kernel
from egraph_opt.rewrites.elementwise.identities import clip, one_alpha

law = laws_of("signs", numerics="finite", kind="composite", serves="launches")

ABOVE, BELOW = ("Greater", "GreaterOrEqual"), ("Less", "LessOrEqual")

LOST = "forgets how it was spelled"


@table()
def above(p: Tensor, x: Tensor, holds: Flag) -> Unit:
    """p is true where x > 0 and false where x < 0, or the other way round where `holds` is 0."""


@table()
def rectified(y: Tensor, x: Tensor, b: Tensor) -> Unit:
    """y is x where x > 0, and b where x < 0; where x is 0 it is one of them."""


@hosted()
def keeps_order(op: str, c: Fact) -> bool:
    """op(x, c * x) is x where x > 0, and c * x where x < 0."""
    low, high, nan = interval_of(c) or ANY
    return c.const and not nan and ((op == "Max" and high <= 1) or (op == "Min" and low >= 1))


@auxiliary()
def comparisons_with_zero(x: Tensor, c: Tensor, p: Tensor):
    """Fills `above`."""
    zero = (all_are(c, 0), is_float(x), fits(c, x))
    for op in (*ABOVE, *BELOW):
        is_above = int(op in ABOVE)
        yield rule(eq(p, binary(op, x, c)), *zero, then=above(p, x, is_above))
        yield rule(eq(p, binary(op, c, x)), *zero, then=above(p, x, 1 - is_above))


@auxiliary(comparisons_with_zero)
def choices_by_sign(y: Tensor, x: Tensor, b: Tensor, c: Tensor, p: Tensor, op: String):
    """Fills `rectified`."""
    yield rule(above(p, x, 1), eq(y, where(p, x, b)), then=rectified(y, x, b))
    yield rule(above(p, x, 0), eq(y, where(p, b, x)), then=rectified(y, x, b))
    for xs in (cons(x, cons(b, nil())), cons(b, cons(x, nil()))):
        ordered = (eq(b, x * c), keeps_order(op, c), fits(c, x), is_float(x))
        yield rule(eq(y, variadic(op, xs)), *ordered, then=rectified(y, x, b))


# --- branches ----------------------------------------------------------------------------------------------


def _branches(x: Any, b: Any, g: Operands) -> Iterator[Any]:
    """x above 0 and b below, in all spellings."""
    zero = g.constant(0.0)
    for op in ABOVE:
        yield where(binary(op, x, zero), x, b)
        yield where(binary(op, zero, x), b, x)
    for op in BELOW:
        yield where(binary(op, x, zero), b, x)
        yield where(binary(op, zero, x), x, b)


def _relu_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z, zero = g.input(("N", 3)), g.input(("N", 3)), g.constant([0.0])
    yield from g.all_fire(*_branches(x, zero, g), x * cast(binary("Greater", x, zero), 1))
    wide = g.constant(np.zeros((4, 1, 1)))
    whole = g.input((3,), INT64)
    yield from g.near_misses(
        (where(binary("Greater", x, zero), zero, x), "the lower half"),
        (where(binary("Greater", z, zero), x, zero), "the sign of another tensor"),
        (where(binary("Greater", x, g.constant(1.0)), x, zero), "not compared with 0"),
        (where(binary("Greater", x, zero), x, g.constant(1.0)), "1 below"),
        (where(binary("Greater", x, zero), x, wide), "broadcasting makes it bigger"),
        (where(binary("Greater", x, wide), x, zero), "broadcasting makes it bigger"),
        (where(binary("Equal", x, zero), x, zero), "no order"),
        (z * cast(binary("Greater", x, zero), 1), "the sign of another tensor"),
        (x * cast(binary("Less", x, zero), 1), "the lower half"),
        (whole * cast(binary("Greater", whole, g.constant(np.array(0))), INT64), "integers"),
    )


@law(examples=_relu_examples, uses=(choices_by_sign, either_side))
def relu_by_sign(y: Tensor, x: Tensor, b: Tensor, p: Tensor, t: DataType, i: Int):
    """Where(x > 0, x, 0) = Relu(x), x * Cast(x > 0) = Relu(x)"""
    yield rule(rectified(y, x, b), all_are(b, 0), fits(b, x), then=union(y, relu(x)), because=LOST)
    masked = eq(y, beside("Mul", x, cast(p, t), i))
    yield rule(above(p, x, 1), masked, then=union(y, relu(x)), because=LOST)


def _abs_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z, zero = g.input(("N", 3)), g.input(("N", 3)), g.constant(0.0)
    yield from g.all_fire(
        *_branches(x, -x, g), variadic("Max", listed(x, -x)), variadic("Max", listed(-x, x))
    )
    yield from g.all_fire(x * unary("Sign", (), x), unary("Sign", (), x) * x)
    yield from g.near_misses(
        (variadic("Min", listed(x, -x)), "the other sign"),
        (where(binary("Less", x, zero), x, -x), "the other sign"),
        (where(binary("Greater", x, zero), x, -z), "another tensor"),
        (z * unary("Sign", (), x), "the sign of another tensor"),
    )


@law(examples=_abs_examples, uses=(choices_by_sign, either_side))
def abs_by_sign(y: Tensor, x: Tensor, i: Int):
    """Where(x > 0, x, -x) = Abs(x), Max(x, -x) = Abs(x), x * Sign(x) = Abs(x)"""
    size = unary("Abs", (), x)
    yield rule(rectified(y, x, -x), then=union(y, size), because=LOST)
    for xs in (cons(x, cons(-x, nil())), cons(-x, cons(x, nil()))):
        yield rewrite(variadic("Max", xs), size, guard(is_float(x)), because=LOST)
    yield rewrite(beside("Mul", x, unary("Sign", (), x), i), size, guard(is_float(x)), because=LOST)


def _apart_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z = g.input(("N", 3)), g.input(("N", 3))
    size, sign = unary("Abs", (), x), unary("Sign", (), x)
    yield from g.all_fire(size * sign, sign * size)
    yield from g.near_misses(
        (unary("Abs", (), z) * sign, "the sign of another tensor"),
        (size + sign, "a sum"),
        (size * unary("Sign", (), -x), "the opposite sign"),
    )


@law(kind="eliminate", serves="arithmetic", examples=_apart_examples, uses=(either_side,))
def size_and_sign(x: Tensor, i: Int):
    """Abs(x) * Sign(x) = x"""
    apart = beside("Mul", unary("Abs", (), x), unary("Sign", (), x), i)
    yield rewrite(apart, x, guard(is_float(x)), because="every x would be a product")


def _slope_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z, c, tenth = g.input(("N", 3)), g.input(("N", 3)), g.random(3), g.constant(0.125)
    steep, wide = g.constant([1.5, 2.0, 1.0]), g.random(4, 1, 1)
    yield g.fires(where(binary("Greater", x, g.constant(0.0)), x, x * g.input((3,))))
    yield from g.all_fire(*_branches(x, x * c, g), *_branches(x, x * tenth, g))
    yield from g.all_fire(variadic("Max", listed(x, x * tenth)), variadic("Max", listed(x * tenth, x)))
    yield g.fires(variadic("Min", listed(x, x * steep)))
    yield from g.near_misses(
        (variadic("Min", listed(x, x * tenth)), "a slope below 1 is the greater one"),
        (variadic("Max", listed(x, x * steep)), "a slope above 1 is the less one"),
        (where(binary("Greater", x, g.constant(0.0)), x, z * c), "another tensor"),
        (where(binary("Greater", x, g.constant(0.0)), x, x * wide), "broadcasting makes it bigger"),
    )


@law(examples=_slope_examples, uses=(choices_by_sign,))
def slope_by_sign(y: Tensor, x: Tensor, b: Tensor, c: Tensor):
    """Where(x > 0, x, x * c) = PRelu(x, c); Max(x, x * c) = PRelu(x, c) where c <= 1"""
    sloped = (rectified(y, x, b), eq(b, x * c), fits(c, x), kernel(has_single_kernel(x)))
    yield rule(*sloped, then=union(y, binary("PRelu", x, c)), because=LOST)


# --- Elu ---------------------------------------------------------------------------------------------------


@hosted()
def is_opposite(a: Fact, c: Fact) -> bool:
    """Two numbers, of which the first is above 0."""
    return a.splat is not None and c.splat is not None and a.splat > 0 and a.splat == -c.splat


def _elu_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z, one, half = g.input(("N", 3)), g.input(("N", 3)), g.constant(1.0), g.constant([0.5])
    below, wide = exp(x) + g.constant(-1.0), g.constant(np.full((4, 1, 1), -1.0))
    yield from g.all_fire(*_branches(x, below, g), *_branches(x, below * half, g))
    zero, opposite = g.constant(0.0), g.constant([-0.5])
    yield g.fires(where(binary("Greater", x, zero), x, exp(x) * half + opposite))
    yield g.fires(where(binary("Greater", x, zero), x, exp(clip(None, 0.0, x)) + g.constant(-1.0)))
    yield g.fires(relu(x) + clip(None, 0.0, below))
    yield g.fires(relu(x) + exp(clip(None, 0.0, x)) + g.constant(-1.0))
    yield from g.near_misses(
        (where(binary("Greater", x, g.constant(0.0)), x, exp(x) + one), "plus 1"),
        (where(binary("Greater", x, zero), x, exp(x) * half + one), "it is not 0 at 0"),
        (where(binary("Greater", x, zero), x, exp(x) * half + wide * half), "broadcasting makes it bigger"),
        (where(binary("Greater", x, zero), x, exp(x) * (wide * opposite) + opposite), "broadcasting"),
        (where(binary("Greater", x, g.constant(0.0)), x, exp(z) + g.constant(-1.0)), "another tensor"),
        (where(binary("Greater", x, g.constant(0.0)), x, below * g.random(3)), "several numbers"),
        *(
            (term, "broadcasting makes it bigger")
            for term in (
                where(binary("Greater", x, g.constant(0.0)), x, exp(x) + wide),
                where(binary("Greater", x, g.constant(0.0)), x, (exp(x) + wide) * half),
                where(binary("Greater", x, g.constant(0.0)), x, below * wide),
                relu(x) + clip(None, 0.0, exp(x) + wide),
                relu(x) + exp(clip(None, 0.0, x)) + wide,
            )
        ),
        (where(binary("Greater", x, g.constant(0.0)), x, (exp(x) + one) * half), "plus 1"),
        (relu(x) + exp(clip(None, 0.0, x)) + one, "plus 1"),
        (relu(z) + clip(None, 0.0, below), "another tensor"),
        (relu(x) + clip(None, 1.0, below), "another bound"),
        (relu(x) + clip(None, 0.0, exp(x) + one), "plus 1"),
        (where(binary("Greater", x, zero), x, exp(clip(None, 0.0, x)) + one), "plus 1"),
        *(
            (
                where(binary("Greater", x, zero), x, exp(clip(None, bound, x)) + g.constant(-1.0)),
                "another bound",
            )
            for bound in (1.0, -1.0)
        ),
        (
            where(binary("Greater", x, zero), x, exp(clip(None, 0.0, x)) + wide),
            "broadcasting makes it bigger",
        ),
    )


@law(numerics="reassociates", examples=_elu_examples, uses=(choices_by_sign, either_side))
def elu_by_sign(y: Tensor, x: Tensor, a: Tensor, c: Tensor, b: Tensor, s: Settings, i: Int):
    """Where(x > 0, x, a * (Exp(x) - 1)) = Elu_a(x)"""
    below = exp(x) + c
    known = (all_are(c, -1), fits(c, x), kernel(has_single_kernel(x)))
    whole = unary("Elu", (("alpha", 1.0),), x)
    yield rule(rectified(y, x, below), *known, then=union(y, whole), because=LOST)
    scaled = (eq(b, below * a), rectified(y, x, b), *known, fits(a, x))
    yield rule(*scaled, then=union(y, unary("Elu", one_alpha(a), x)), because=LOST)
    apart, opposite = eq(b, exp(x) * a + c), (is_opposite(a, c), fits(a, x), fits(c, x))
    whole_of_a, own = union(y, unary("Elu", one_alpha(a), x)), kernel(has_single_kernel(x))
    yield rule(apart, rectified(y, x, b), *opposite, own, then=whole_of_a, because=LOST)
    low = (is_same(s, (("max", 0.0), ("min", None))), *known)
    yield rewrite(beside("Add", relu(x), unary("Clip", s, below), i), whole, *low, because=LOST)
    negative = exp(unary("Clip", s, x))
    yield rule(rectified(y, x, negative + c), *low, then=union(y, whole), because=LOST)
    yield rewrite(beside("Add", relu(x), negative, i) + c, whole, *low, because=LOST)


# --- a threshold -------------------------------------------------------------------------------------------


@hosted()
def threshold(x: Fact, c: Fact, opset: int) -> Settings | None:
    """Of ThresholdedRelu, which onnxruntime has in single precision."""
    found: Settings | None = one_alpha.function(c)
    return found if x.dtype == TensorProto.FLOAT and is_available("ThresholdedRelu", opset) else None


def _threshold_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z, zero, half = g.input(("N", 3)), g.input(("N", 3)), g.constant(0.0), g.constant([0.5])
    wide, nothing = g.constant(np.full((4, 1, 1), 0.5)), g.constant(np.zeros((4, 1, 1)))
    higher = binary("Greater", x, half)
    yield from g.all_fire(
        where(higher, x, zero), where(binary("LessOrEqual", x, half), zero, x), x * cast(higher, 1)
    )
    yield from g.all_fire(
        where(binary("Less", half, x), x, zero), where(binary("GreaterOrEqual", half, x), zero, x)
    )
    yield from g.near_misses(
        (where(binary("Less", x, half), zero, x), "the threshold itself stays"),
        (where(binary("GreaterOrEqual", x, half), x, zero), "the threshold itself stays"),
        (where(higher, z, zero), "another tensor"),
        (where(higher, x, half), "another number below"),
        (where(binary("LessOrEqual", x, half), half, x), "another number below"),
        (where(binary("Greater", x, wide), x, zero), "broadcasting makes it bigger"),
        (where(binary("LessOrEqual", x, wide), zero, x), "broadcasting makes it bigger"),
        (where(higher, x, nothing), "broadcasting makes it bigger"),
        (where(binary("Less", half, x), x, half), "another number below"),
        (where(binary("Less", half, x), x, nothing), "broadcasting makes it bigger"),
        (where(binary("Less", wide, x), x, zero), "broadcasting makes it bigger"),
        (where(binary("GreaterOrEqual", half, x), half, x), "another number below"),
        (where(binary("GreaterOrEqual", half, x), nothing, x), "broadcasting makes it bigger"),
        (where(binary("GreaterOrEqual", wide, x), zero, x), "broadcasting makes it bigger"),
        (where(binary("LessOrEqual", x, half), nothing, x), "broadcasting makes it bigger"),
        (x * cast(binary("Greater", x, wide), 1), "broadcasting makes it bigger"),
    )


@law(source="ONNX, ThresholdedRelu", examples=_threshold_examples, uses=(either_side,))
def threshold_of_choice(x: Tensor, c: Tensor, z: Tensor, t: DataType, i: Int):
    """Where(x > c, x, 0) = ThresholdedRelu_c(x), x * Cast(x > c) = ThresholdedRelu_c(x)"""
    whole = unary("ThresholdedRelu", threshold(x, c, opset()), x)
    higher, lower, none_below = (
        binary("Greater", x, c),
        binary("LessOrEqual", x, c),
        (all_are(z, 0), fits(z, x)),
    )
    for choice in (
        *(where(higher, x, z), where(lower, z, x)),
        *(where(binary("Less", c, x), x, z), where(binary("GreaterOrEqual", c, x), z, x)),
    ):
        yield rewrite(choice, whole, *none_below, fits(c, x), because=LOST)
    yield rewrite(beside("Mul", x, cast(higher, t), i), whole, fits(c, x), because=LOST)

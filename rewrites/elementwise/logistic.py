"""Sigmoid, Tanh and Softsign, found under the spellings of their definitions.

    c / (Exp(x) + 1) -> Sigmoid(-x) * c           Exp(x) / (Exp(x) + 1) -> Sigmoid(x)
    Tanh(x / 2) / 2 + 1 / 2 -> Sigmoid(x)         2 * Sigmoid(2 * x) - 1 -> Tanh(x)
    Relu(x) + Softplus(-|x|) -> Softplus(x)
    (Exp(x) - 1) / (Exp(x) + 1) -> Tanh(x / 2)    (Exp(x) - Exp(-x)) / (Exp(x) + Exp(-x)) -> Tanh(x)
    Where(x > 20, x, Softplus(x)) -> Softplus(x)
    n / (n + 2) -> Tanh(Softplus(x))              n = Exp(x) * (Exp(x) + 2)
    x / (Abs(x) + 1) -> Softsign(x)

Exp overflows where they do not.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, kernel, laws_of, rewrite
from egraph_opt.laws.algebra import exp, number_like, reciprocal, relu, sigmoid, softplus, tanh
from egraph_opt.laws.sorts import Int, String, Tensor
from egraph_opt.operators import binary, unary, where
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import all_are, are_reciprocal, broadcasts_into, fits, is_float
from egraph_opt.rewrites.elementwise.bounds import has_single_kernel
from egraph_opt.rewrites.elementwise.identities import beside_number

law = laws_of("logistic", numerics="reassociates", kind="composite", serves="accuracy")

OVERFLOWS = "Exp overflows where it does not"


# --- Sigmoid -----------------------------------------------------------------------------------------------


def _sigmoid_examples(rng: np.random.Generator) -> Iterator[Example]:
    yield from beside_number(lambda x, c: reciprocal(exp(x) + c), 1.0)(rng)
    g = Operands(rng)
    x, z, one, half = g.input(("N", 3)), g.input(("N", 3)), g.constant(1.0), g.constant([0.5])
    yield from g.all_fire(exp(x) / (exp(x) + one), g.constant(3.0) / (exp(x) + one), z / (exp(x) + one))
    yield from g.all_fire(z * exp(x) / (exp(x) + one), exp(x) * x / (exp(x) + one))
    yield from g.near_misses(
        (exp(z) / (exp(x) + half), "not plus 1"),
        (z * exp(x) / (exp(x) + half), "not plus 1"),
        (z * exp(x) / (exp(x) + g.constant(np.ones((4, 1, 1)))), "broadcasting makes it bigger"),
        (exp(x) / (exp(x) + half), "not plus 1"),
        (exp(x) / (exp(x) + g.constant(np.ones((4, 1, 1)))), "broadcasting makes it bigger"),
        (z / (exp(x) + half), "not plus 1"),
        (z / (exp(x) + g.constant(np.ones((4, 1, 1)))), "broadcasting makes it bigger"),
    )


@law(examples=_sigmoid_examples, uses=(either_side,))
def sigmoid_of_exponential(x: Tensor, y: Tensor, c: Tensor, i: Int):
    """1 / (Exp(x) + 1) = Sigmoid(-x), Exp(x) / (Exp(x) + 1) = Sigmoid(x), and y times as much"""
    above, one = exp(x) + c, (all_are(c, 1), fits(c, x))
    yield rewrite(reciprocal(above), sigmoid(-x), *one, because=OVERFLOWS)
    yield rewrite(y / above, y * sigmoid(-x), *one, because=OVERFLOWS)
    yield rewrite(exp(x) / above, sigmoid(x), *one, because=OVERFLOWS)
    yield rewrite(beside("Mul", y, exp(x), i) / above, y * sigmoid(x), *one, because=OVERFLOWS)


@hosted()
def are_halves(x: Fact, inner: Fact, outer: Fact, shift: Fact) -> bool:
    """Numbers with which Tanh(x * inner) * outer + shift is Sigmoid(x); none makes x bigger."""
    return _are(x, (inner, outer, shift), 0.5, 0.5)


@hosted()
def are_halves_of_raised(x: Fact, inner: Fact, outer: Fact, shift: Fact) -> bool:
    """Numbers with which (Tanh(x * inner) + shift) * outer is Sigmoid(x); none makes x bigger."""
    fitting = all(broadcasts_into(c.shape, x.shape) for c in (inner, outer, shift))
    return fitting and (inner.splat, outer.splat, shift.splat) in ((0.5, 0.5, 1), (-0.5, -0.5, -1))


@hosted()
def are_doubles(x: Fact, inner: Fact, outer: Fact, shift: Fact) -> bool:
    """Numbers with which Sigmoid(x * inner) * outer + shift is Tanh(x); none makes x bigger."""
    return _are(x, (inner, outer, shift), 2.0, -1.0)


def _are(x: Fact, given: tuple[Fact, Fact, Fact], number: float, constant: float) -> bool:
    if not all(broadcasts_into(c.shape, x.shape) for c in given):
        return False
    found = tuple(c.splat for c in given)
    return found in ((number, number, constant), (-number, -number, _mirrored(number, constant)))


def _mirrored(number: float, constant: float) -> float:
    """The shift where both scales are negated: Tanh is odd, and Sigmoid(-x) is 1 - Sigmoid(x)."""
    return constant if constant > 0 else number + constant


def _scaled_examples(function: Any, size: float, shift: float) -> Any:
    """Examples of function(x * a) * b + c, with near-misses in each number."""

    def examples(rng: np.random.Generator) -> Iterator[Example]:
        g = Operands(rng)
        x, wide = g.input(("N", 3)), (4, 1, 1)

        def term(a: float, b: float, c: float, *shapes: tuple[int, ...]) -> Any:
            dims = shapes or ((), (1,), ())
            inner, outer, shifted = (g.constant(np.full(d, v)) for d, v in zip(dims, (a, b, c), strict=True))
            return function(x * inner) * outer + shifted

        yield g.fires(term(size, size, shift))
        if shift > 0:
            yield g.fires((function(x * g.constant(size)) + g.constant(1.0)) * g.constant(size))
        yield from g.near_misses(
            (term(size, size, shift + 0.25), "another shift"),
            (term(size, size * 2, shift), "another scale"),
            (term(size * 2, size, shift), "another scale"),
            *(
                (term(size, size, shift, *([()] * k + [wide] + [()] * (2 - k))), "it is bigger")
                for k in range(3)
            ),
        )

    return examples


@law(kind="composite", serves="arithmetic", examples=_scaled_examples(tanh, 0.5, 0.5))
def sigmoid_of_tanh(x: Tensor, a: Tensor, b: Tensor, c: Tensor):
    """Tanh(x / 2) / 2 + 1 / 2 = Sigmoid(x), (Tanh(x / 2) + 1) / 2 = Sigmoid(x)"""
    spelled, sound = tanh(x * a) * b + c, are_halves(x, a, b, c)
    yield rewrite(spelled, sigmoid(x), sound, because="Sigmoid is one operator")
    raised, sound = (tanh(x * a) + c) * b, are_halves_of_raised(x, a, b, c)
    yield rewrite(raised, sigmoid(x), sound, because="Sigmoid is one operator")


@law(kind="composite", serves="arithmetic", examples=_scaled_examples(sigmoid, 2.0, -1.0))
def tanh_of_sigmoid(x: Tensor, a: Tensor, b: Tensor, c: Tensor):
    """Sigmoid(2 * x) * 2 - 1 = Tanh(x)"""
    spelled, sound = sigmoid(x * a) * b + c, are_doubles(x, a, b, c)
    yield rewrite(spelled, tanh(x), sound, because="Tanh is one operator")


# --- Tanh --------------------------------------------------------------------------------------------------


def _tanh_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z, one, minus = g.input(("N", 3)), g.input(("N", 3)), g.constant([1.0]), g.constant(-1.0)
    wide = g.constant(np.ones((4, 1, 1)))
    yield from g.all_fire(
        (exp(x) + minus) / (exp(x) + one),
        (one - exp(x)) / (exp(x) + one),
        (exp(x) - exp(-x)) / (exp(x) + exp(-x)),
        (exp(x) - exp(-x)) / (exp(-x) + exp(x)),
    )
    yield from g.near_misses(
        ((exp(x) + minus) / (exp(z) + one), "another tensor"),
        ((exp(x) + minus) / (exp(x) + wide), "broadcasting makes it bigger"),
        ((exp(x) + g.constant(-np.ones((4, 1, 1)))) / (exp(x) + one), "broadcasting makes it bigger"),
        ((wide - exp(x)) / (exp(x) + wide), "broadcasting makes it bigger"),
        ((exp(x) + one) / (exp(x) + one), "not minus 1"),
        ((exp(x) + minus) / (exp(x) + minus), "not plus 1"),
        ((exp(x) - exp(-x)) / (exp(x) + exp(-z)), "another tensor"),
        ((exp(x) + exp(-x)) / (exp(x) - exp(-x)), "the inverse"),
    )


@law(examples=_tanh_examples, uses=(either_side,))
def tanh_of_exponentials(x: Tensor, c: Tensor, d: Tensor, i: Int):
    """(Exp(x) - 1) / (Exp(x) + 1) = Tanh(x / 2), (Exp(x) - Exp(-x)) / (Exp(x) + Exp(-x)) = Tanh(x)"""
    ones = (all_are(c, -1), all_are(d, 1), fits(c, x), fits(d, x))
    half = tanh(x * number_like(x, 0.5))
    yield rewrite((exp(x) + c) / (exp(x) + d), half, *ones, because=OVERFLOWS)
    mirrored, both_one = (d - exp(x)) / (exp(x) + d), (all_are(d, 1), fits(d, x))
    yield rewrite(mirrored, tanh(x * number_like(x, -0.5)), *both_one, because=OVERFLOWS)
    both = beside("Add", exp(x), exp(-x), i)
    yield rewrite((exp(x) - exp(-x)) / both, tanh(x), because=OVERFLOWS)


# --- Softplus ----------------------------------------------------------------------------------------------


@law(kind="eliminate", serves="arithmetic", uses=(either_side,))
def softplus_of_size(x: Tensor, i: Int):
    """Relu(x) + Softplus(-Abs(x)) = Softplus(x)"""
    spelled = beside("Add", relu(x), softplus(-unary("Abs", (), x)), i)
    yield rewrite(spelled, softplus(x), inverse="composites.primitives.activations")


ALIKE: dict[int, float] = {TensorProto.FLOAT: 16.0, TensorProto.FLOAT16: 8.0}
"""Above what Softplus(x) is x, by type."""


@hosted()
def is_beyond(x: Fact, c: Fact, op: str, order: str) -> bool:
    """A comparison in that order with a number above which Softplus(x) is x, but for the rounding."""
    least = ALIKE.get(x.dtype, math.inf)
    return c.splat is not None and c.splat >= least and op in (order, f"{order}OrEqual")


def _threshold_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z, far, near = g.input(("N", 3)), g.input(("N", 3)), g.constant(20.0), g.constant(2.0)
    soft, wide = softplus(x), g.constant(np.full((4, 1, 1), 20.0))
    yield from g.all_fire(
        where(binary("Greater", x, far), x, soft), where(binary("LessOrEqual", x, far), soft, x)
    )
    two, half = g.constant([2.0]), g.constant(0.5)
    wider, narrower = (g.constant(np.full((4, 1, 1), number)) for number in (2.0, 0.5))
    steep, twice = softplus(x * two) * half, x * two
    yield from g.all_fire(
        where(binary("Greater", twice, far), x, steep), where(binary("LessOrEqual", twice, far), steep, x)
    )
    for order in ("Greater", "Less"):
        for bound, function, why in (
            (near, steep, "they differ above 1"),
            (far, softplus(twice) * two, "no reciprocal"),
            (wide, steep, "broadcasting makes it bigger"),
        ):
            branches = (x, function) if order == "Greater" else (function, x)
            yield g.near_miss(where(binary(order, twice, bound), *branches), why=why)
        for y, function in ((twice, softplus(twice) * narrower), (x * wider, softplus(x * wider) * half)):
            branches = (x, function) if order == "Greater" else (function, x)
            yield g.fires(where(binary(order, y, far), *branches))
    yield from g.near_misses(
        (where(binary("Greater", x, near), x, soft), "they differ above 2"),
        (where(binary("Less", x, near), soft, x), "they differ above 2"),
        (where(binary("Greater", x, far), soft, x), "x below"),
        (where(binary("Greater", x, wide), x, soft), "broadcasting makes it bigger"),
        (where(binary("Less", x, wide), soft, x), "broadcasting makes it bigger"),
        (where(binary("Greater", x, far), z, soft), "another tensor"),
    )


@law(kind="eliminate", serves="launches", source="torch.nn.Softplus", examples=_threshold_examples)
def softplus_below(x: Tensor, a: Tensor, b: Tensor, c: Tensor, op: String):
    """Where(x > c, x, Softplus(x)) = Softplus(x) for a c above which they are one number

    Likewise Where(x * b > c, x, Softplus(x * b) / b).
    """
    steep, far = softplus(x * b) * a, binary(op, x * b, c)
    scaled = (are_reciprocal(a, b), fits(c, x))
    for choice, order in ((where(far, x, steep), "Greater"), (where(far, steep, x), "Less")):
        yield rewrite(choice, steep, is_beyond(x, c, op, order), *scaled, because="forgets c")
    soft, holds = softplus(x), binary(op, x, c)
    for choice, order in ((where(holds, x, soft), "Greater"), (where(holds, soft, x), "Less")):
        yield rewrite(choice, soft, is_beyond(x, c, op, order), fits(c, x), because="forgets c")


def _mish_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z, two, one = g.input(("N", 3)), g.input(("N", 3)), g.constant(2.0), g.constant([1.0])
    wide, e = g.constant(np.full((4, 1, 1), 2.0)), exp(x)
    n = e * (e + two)
    apart, far = e * e + e * two, e * e + e * one
    yield from g.all_fire(n / (n + two), ((e + two) * e) / ((e + two) * e + two))
    yield from g.all_fire(apart / (apart + two), x * n / (n + two), apart * z / (apart + two))
    for least in (one, wide):
        yield g.near_miss(x * n / (n + least), why="not plus 2, or bigger")
        yield g.near_miss(apart / (apart + least), why="not plus 2, or bigger")
        yield g.near_miss(x * apart / (apart + least), why="not plus 2, or bigger")
    for part in (far, e * e + e * wide, e * (e + wide), e * (e + one)):
        yield g.near_miss(part / (part + two), why="not 2, or bigger")
        yield g.near_miss(x * part / (part + two), why="not 2, or bigger")
    yield from g.near_misses(
        (n / (n + one), "plus 1"),
        (e * (e + one) / (e * (e + one) + two), "plus 1"),
        (n / (n + wide), "broadcasting makes it bigger"),
        (e * (e + wide) / (e * (e + wide) + two), "broadcasting makes it bigger"),
        (e * (exp(z) + two) / (e * (exp(z) + two) + two), "two tensors"),
    )


@law(source="YOLOv4's Mish", uses=(either_side,), examples=_mish_examples)
def tanh_of_softplus(x: Tensor, y: Tensor, c: Tensor, d: Tensor, i: Int, j: Int):
    """n / (n + 2) = Tanh(Softplus(x)), and y times as much, where n = Exp(x) * (Exp(x) + 2)

    n is Exp(x) * Exp(x) + Exp(x) * 2 as well.
    """
    gate = tanh(softplus(x))
    twos = (all_are(c, 2), all_are(d, 2), fits(c, x), fits(d, x), kernel(has_single_kernel(x)))
    for n in (beside("Mul", exp(x), exp(x) + c, i), beside("Add", exp(x) * exp(x), exp(x) * c, i)):
        yield rewrite(n / (n + d), gate, *twos, because=OVERFLOWS)
        yield rewrite(beside("Mul", y, n, j) / (n + d), y * gate, *twos, because=OVERFLOWS)


# --- Softsign ----------------------------------------------------------------------------------------------


@law(
    numerics="finite",
    serves="launches",
    examples=beside_number(lambda x, c: x / (unary("Abs", (), x) + c), 1.0),
)
def softsign(x: Tensor, c: Tensor):
    """x / (Abs(x) + 1) = Softsign(x)"""
    one = (all_are(c, 1), fits(c, x), is_float(x), kernel(has_single_kernel(x)))
    spelled = x / (unary("Abs", (), x) + c)
    yield rewrite(spelled, unary("Softsign", (), x), *one, because="Softsign is one operator")

"""Sums of what a tensor is above 0 and what it is below, each scaled.

    Relu(x) + n * c -> PRelu(x, c)        n = Min(x, 0), -Relu(-x) or (x - |x|) / 2
    Relu(x) - n -> Abs(x)
    x * c + |x| * d -> PRelu(x, c - d)    c + d = 1
    Relu(x) + (Exp(n) - 1) * a -> Elu_a(x)      Relu(x) + Min((Exp(x / a) - 1) * a, 0) -> Celu_a(x)
    (x + |x|) / 2 -> Relu(x)              Clip(x) from below by 0 -> Relu(x)

`signs` finds the same functions where they choose by a comparison.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.dtypes import ALL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Example,
    Operands,
    assign,
    auxiliary,
    eq,
    hosted,
    kernel,
    laws_of,
    opset,
    rewrite,
    rule,
    table,
    union,
)
from egraph_opt.laws.algebra import exp, number_like, relu
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Float, Int, Settings, Tensor
from egraph_opt.operators import binary, unary, where
from egraph_opt.operators.availability import is_available
from egraph_opt.rewrites.conditions.channels import in_range
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import all_are, are_reciprocal, fits, is_float, last_places
from egraph_opt.rewrites.elementwise.bounds import has_single_kernel, number_beside
from egraph_opt.rewrites.elementwise.identities import beside_number, clip, one_alpha
from egraph_opt.rewrites.elementwise.signs import choices_by_sign, rectified

law = laws_of("halves", numerics="reassociates", kind="composite", serves="launches")

LOST = "forgets how it was spelled"


def _size(x: Tensor) -> Tensor:
    return unary("Abs", (), x)  # type: ignore[no-any-return]


@table(merge="first")
def negative_part(n: Tensor, x: Tensor) -> Float:
    """The s of n = s * Min(x, 0)."""


@hosted()
def is_bound_by_zero(settings: Settings, name: str) -> bool:
    """Clip has the one bound of that name, and it is 0."""
    other = {"min": "max", "max": "min"}[name]
    return dict(settings).get(name) == 0 and dict(settings).get(other) is None


@hosted()
def negated(s: float) -> Float:
    return -s


@auxiliary()
def negative_parts(n: Tensor, x: Tensor, s: Settings):
    """Fills `negative_part`."""
    found = negative_part(n, x)
    yield rule(eq(n, relu(-x)), is_float(x), then=assign(found, -1.0))
    yield rule(eq(n, unary("Clip", s, x)), is_bound_by_zero(s, "max"), is_float(x), then=assign(found, 1.0))
    yield rule(eq(n, x - _size(x)), is_float(x), then=assign(found, 2.0))


# --- both halves -------------------------------------------------------------------------------------------


def _sum_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z, c, wide = g.input(("N", 3)), g.input(("N", 3)), g.random(3), g.random(4, 1, 1)
    for n in (relu(-x), clip(None, 0.0, x), x - _size(x)):
        yield from g.all_fire(relu(x) + n * c, n * c + relu(x), relu(x) - n * c)
        yield from g.near_misses(
            (relu(z) + n * c, "another tensor"),
            (relu(x) + n * wide, "broadcasting makes it bigger"),
            (relu(x) - n * wide, "broadcasting makes it bigger"),
            (n * c - relu(x), "the upper half is negated"),
        )
    yield g.near_miss(relu(x) + relu(x) * c, why="the upper half twice")
    far = g.constant(np.full(3, 3e38))
    yield g.near_miss(relu(x) - (x - _size(x)) * far, why="twice the number is infinite")


@law(examples=_sum_examples, uses=(negative_parts, either_side))
def scaled_halves(y: Tensor, x: Tensor, n: Tensor, c: Tensor, s: Float, i: Int):
    """Relu(x) + n * c = PRelu(x, s * c), Relu(x) - n * c = PRelu(x, -s * c) where n = s * Min(x, 0)"""
    sound = (eq(s, negative_part(n, x)), fits(c, x), kernel(has_single_kernel(x)))
    for spelled, scale in ((beside("Add", relu(x), n * c, i), s), (relu(x) - n * c, negated(s))):
        sloped = binary("PRelu", x, c * number_like(x, scale))
        yield rule(eq(y, spelled), *sound, in_range(c, scale), then=union(y, sloped), because=LOST)


def _whole_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z = g.input(("N", 3)), g.input(("N", 3))
    yield from g.all_fire(relu(x) + relu(-x), relu(x) - clip(None, 0.0, x))
    yield from g.near_misses(
        (relu(x) + relu(-z), "another tensor"),
        (relu(x) - (x - _size(x)), "twice the lower half"),
        (relu(x) + (x - _size(x)), "twice the lower half"),
        (relu(-x) - relu(x), "negated"),
        (relu(x) - relu(-x), "the sign is kept"),
    )


@hosted()
def is_number(s: float, number: float) -> bool:
    return s == number


@law(examples=_whole_examples, uses=(negative_parts, either_side))
def whole_halves(x: Tensor, n: Tensor, s: Float, i: Int):
    """Relu(x) + Relu(-x) = Abs(x), Relu(x) - Min(x, 0) = Abs(x)"""
    known = eq(s, negative_part(n, x))
    added, taken = beside("Add", relu(x), n, i), relu(x) - n
    for spelled, minus in ((added, -1.0), (taken, 1.0)):
        yield rewrite(spelled, _size(x), known, is_number(s, minus), because=LOST)


@hosted()
def slope_of_sizes(x: Fact, c: Fact, d: Fact) -> Float | None:
    """The slope below 0 of x * c + |x| * d, where that is x above."""
    above: float | None = number_beside.function(x, c)
    below: float | None = number_beside.function(x, d)
    if above is None or below is None or x.dtype not in ALL_FLOATS:
        return None
    return above - below if abs(above + below - 1) <= last_places(x.dtype) else None


def _size_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z = g.input(("N", 3)), g.input(("N", 3))
    c, d, wide = g.constant(0.625), g.constant([0.375]), g.constant(np.full((4, 1, 1), 0.375))
    double = g.input((3,), TensorProto.DOUBLE)
    more, less = (g.constant(number, TensorProto.DOUBLE) for number in (0.625 + 2.0**-23, 0.375))
    yield from g.all_fire(x * c + _size(x) * d, _size(x) * d + x * c)
    yield from g.near_misses(
        (x * c + _size(z) * d, "another tensor"),
        (x * c + _size(x) * c, "it is scaled above 0"),
        (x * c + _size(x) * wide, "broadcasting makes it bigger"),
        (double * more + _size(double) * less, "float64 tells their sum from 1"),
    )


@law(examples=_size_examples, uses=(either_side,))
def scaled_sizes(x: Tensor, c: Tensor, d: Tensor, i: Int):
    """x * c + Abs(x) * d = PRelu(x, c - d) where c + d = 1"""
    slope, known = number_like(x, slope_of_sizes(x, c, d)), kernel(has_single_kernel(x))
    spelled = beside("Add", x * c, _size(x) * d, i)
    yield rewrite(spelled, binary("PRelu", x, slope), known, because=LOST)


# --- exponentials below 0 ----------------------------------------------------------------------------------


@hosted()
def elu_settings(a: Fact) -> Settings | None:
    """Of Elu, for a number above 0."""
    return one_alpha.function(a) if a.splat is not None and a.splat > 0 else None


@hosted()
def celu_settings(k: Fact, a: Fact, opset: int) -> Settings | None:
    """Of Celu, which ONNX has in single precision, for a number above 0 and its reciprocal."""
    found: Settings | None = elu_settings.function(a)
    sound = are_reciprocal.function(a, k) and k.dtype == TensorProto.FLOAT and is_available("Celu", opset)
    return found if sound else None


def _elu_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z, less, half, two = g.input(("N", 3)), g.input(("N", 3)), *map(g.constant, (-1.0, [0.5], [2.0]))

    def below(y: Tensor, a: Tensor) -> Tensor:
        return clip(None, 0.0, (exp(y) + less) * a)

    yield from g.all_fire(
        relu(x) + (exp(clip(None, 0.0, x)) + less) * half,
        below(x, half) + relu(x),
        relu(x) + below(x * half, two),
    )
    wide, wide_less = g.constant(np.full((4, 1, 1), 0.5)), g.constant(np.full((4, 1, 1), -1.0))
    low, one, wide_one = clip(None, 0.0, x), g.constant(1.0), g.constant(np.ones((4, 1, 1)))
    wide_two = g.constant(np.full((4, 1, 1), 2.0))
    yield from g.all_fire(
        relu(x) + (exp(low) + less),
        relu(x) - relu(one - exp(x)),
        relu(x) - relu((exp(x) + less) * less),
        relu(x) + (exp(low * half) + less) * two,
    )
    yield from g.near_misses(
        (relu(x) + (exp(low) + two), "plus 2"),
        (relu(x) + (exp(relu(-x)) + less), "the other sign"),
        (relu(x) + (exp(low) + wide_less), "broadcasting makes it bigger"),
        (relu(x) - relu(two - exp(x)), "from 2"),
        (relu(x) - relu(wide_one - exp(x)), "broadcasting makes it bigger"),
        (relu(x) - relu((exp(x) + two) * less), "plus 2"),
        (relu(x) - relu((exp(x) + less) * half), "the other sign"),
        (relu(x) - relu((exp(x) + wide_less) * less), "broadcasting makes it bigger"),
        (relu(x) - relu((exp(x) + less) * wide_less), "broadcasting makes it bigger"),
        (relu(x) + (exp(low * half) + two) * two, "plus 2"),
        (relu(x) + (exp(low * half) + less) * half, "no reciprocal"),
        (relu(x) + (exp(relu(-x) * half) + less) * two, "the other sign"),
        (relu(x) + (exp(low * half) + wide_less) * two, "broadcasting makes it bigger"),
        (relu(x) + (exp(low * half) + less) * wide_two, "broadcasting makes it bigger"),
        (relu(x) + (exp(low * wide) + less) * two, "broadcasting makes it bigger"),
    )
    yield from g.near_misses(
        (relu(x) + (exp(clip(None, 0.0, z)) + less) * half, "another tensor"),
        (relu(x) + (exp(clip(None, 1.0, x)) + less) * half, "another bound"),
        (relu(x) + (exp(relu(-x)) + less) * half, "the other sign"),
        (relu(x) + (exp(clip(None, 0.0, x)) + two) * half, "plus 2"),
        (relu(x) + (exp(clip(None, 0.0, x)) + less) * g.random(3), "several numbers"),
        (relu(x) + (exp(clip(None, 0.0, x)) + less) * wide, "broadcasting makes it bigger"),
        (relu(x) + (exp(clip(None, 0.0, x)) + wide_less) * half, "broadcasting makes it bigger"),
        (relu(z) + below(x, half), "another tensor"),
        (relu(x) + below(x, less), "the greater of both"),
        (relu(x) + clip(None, 1.0, (exp(x) + less) * half), "another bound"),
        (relu(x) + clip(None, 0.0, (exp(x) + two) * half), "plus 2"),
        (relu(x) + below(x, wide), "broadcasting makes it bigger"),
        (relu(x) + clip(None, 0.0, (exp(x) + wide_less) * half), "broadcasting makes it bigger"),
        (relu(x) + below(x * half, half), "no reciprocal"),
        (relu(z) + below(x * half, two), "another tensor"),
        (relu(x) + clip(None, 0.0, (exp(x * half) + half) * two), "no minus 1"),
        (relu(x) + clip(None, 1.0, (exp(x * half) + less) * two), "another bound"),
        (relu(x) + clip(None, 0.0, (exp(x * half) + wide_less) * two), "broadcasting makes it bigger"),
        (relu(x) + below(x * half, g.constant(np.full((4, 1, 1), 2.0))), "broadcasting makes it bigger"),
        (relu(x) + below(x * wide, two), "broadcasting makes it bigger"),
    )


@law(examples=_elu_examples, uses=(negative_parts, either_side))
def scaled_exponentials(x: Tensor, n: Tensor, c: Tensor, a: Tensor, k: Tensor, r: Settings, s: Float, i: Int):
    """Relu(x) + (Exp(Min(x, 0)) - 1) * a = Elu_a(x), Relu(x) + Min((Exp(x / a) - 1) * a, 0) = Celu_a(x)"""
    less, own = (all_are(c, -1), fits(c, x), fits(a, x)), kernel(has_single_kernel(x))
    elu, low = unary("Elu", elu_settings(a), x), is_bound_by_zero(r, "max")
    part = (eq(s, negative_part(n, x)), is_number(s, 1.0))
    yield rewrite(beside("Add", relu(x), (exp(n) + c) * a, i), elu, *part, *less, own, because=LOST)
    plain = unary("Elu", (("alpha", 1.0),), x)
    yield rewrite(beside("Add", relu(x), exp(n) + c, i), plain, *part, *less[:2], own, because=LOST)
    below = unary("Clip", r, (exp(x) + c) * a)
    yield rewrite(beside("Add", relu(x), below, i), elu, low, *less, own, because=LOST)
    turned = relu((exp(x) + c) * a)
    rest = (all_are(a, -1), fits(a, x))
    yield rewrite(relu(x) - turned, plain, *less[:2], *rest, own, because=LOST)
    yield rewrite(relu(x) - relu(a - exp(x)), plain, all_are(a, 1), fits(a, x), own, because=LOST)
    steep = unary("Clip", r, (exp(x * k) + c) * a)
    celu = unary("Celu", celu_settings(k, a, opset()), x)
    known = (low, *less, fits(k, x))
    yield rewrite(beside("Add", relu(x), steep, i), celu, *known, because=LOST)
    slow = (exp(n * k) + c) * a
    yield rewrite(beside("Add", relu(x), slow, i), celu, *part, *known[1:], because=LOST)


def _celu_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, zero, less, half, two = g.input(("N", 3)), *map(g.constant, (0.0, -1.0, [0.5], [2.0]))
    above = binary("Greater", x, zero)
    wide = [g.constant(np.full((4, 1, 1), v)) for v in (0.5, 2.0, -1.0)]
    yield g.fires(where(above, x, (exp(x * half) + less) * two))
    yield from g.near_misses(
        (where(above, (exp(x * half) + less) * two, x), "the lower half"),
        (where(above, x, (exp(x * half) + less) * half), "no reciprocal"),
        (where(above, x, (exp(x * half) + two) * two), "plus 2"),
        (where(above, x, (exp(x * wide[0]) + less) * two), "broadcasting makes it bigger"),
        (where(above, x, (exp(x * half) + less) * wide[1]), "broadcasting makes it bigger"),
        (where(above, x, (exp(x * half) + wide[2]) * two), "broadcasting makes it bigger"),
    )


@law(source="torch.nn.CELU", examples=_celu_examples, uses=(choices_by_sign,))
def celu_by_sign(y: Tensor, x: Tensor, b: Tensor, k: Tensor, c: Tensor, a: Tensor):
    """Where(x > 0, x, (Exp(x / a) - 1) * a) = Celu_a(x)"""
    found = (rectified(y, x, b), eq(b, (exp(x * k) + c) * a))
    sound = (all_are(c, -1), *(fits(number, x) for number in (k, c, a)))
    celu = unary("Celu", celu_settings(k, a, opset()), x)
    yield rule(*found, *sound, then=union(y, celu), because=LOST)


# --- the upper half ----------------------------------------------------------------------------------------


def _half_examples(rng: np.random.Generator) -> Iterator[Example]:
    yield from beside_number(lambda x, c: (x + _size(x)) * c, 0.5)(rng)
    g = Operands(rng)
    x, half = g.input(("N", 3)), g.constant(0.5)
    yield g.fires((_size(x) + x) * half)
    yield g.near_miss((x - _size(x)) * half, why="the lower half")


@law(serves="arithmetic", examples=_half_examples, uses=(either_side,))
def half_of_sum(x: Tensor, c: Tensor, i: Int):
    """(x + Abs(x)) * 0.5 = Relu(x)"""
    half = (all_are(c, 0.5), fits(c, x))
    yield rewrite(beside("Add", x, _size(x), i) * c, relu(x), *half, because=LOST)


def _bound_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, whole = g.input(("N", 3)), g.input(("N", 3), INT64)
    yield g.fires(clip(0.0, None, x))
    yield from g.near_misses(
        (unary("Clip", (("max", None), ("min", 0)), whole), "Relu takes integers from opset 14 on only"),
        (clip(None, 0.0, x), "from above"),
        (clip(0.0, 6.0, x), "two bounds"),
    )


@law(numerics="finite", kind="replace", examples=_bound_examples)
def bound_of_zero(x: Tensor, s: Settings):
    """Clip(x) from below by 0 = Relu(x)"""
    one_bound = (is_bound_by_zero(s, "min"), is_float(x))
    yield rewrite(unary("Clip", s, x), relu(x), *one_bound, because="Clip makes a number of infinity")

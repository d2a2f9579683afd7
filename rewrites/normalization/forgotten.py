"""What a normalisation does not see of its operand.

Layer(x + m) -> Layer(x)                 where m is the same along the normalised axes; likewise of instances
Layer(x * k; e) -> Layer(x; e / k^2)     for one number k > 0; likewise RMSNormalization and of instances

The variance is that of the same differences, and of k times these k^2 as much.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.facts.numbers import as_float
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axes, Float, Int, Tensor
from egraph_opt.operators import binary, instance_norm
from egraph_opt.operators.composites import layer_norm, rms_norm, shifted_layer_norm
from egraph_opt.rewrites.conditions.channels import SMALLEST, known_elements
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import fits
from egraph_opt.rewrites.normalization.layer_norm import is_positive

law = laws_of("normalization", numerics="reassociates", kind="eliminate", serves="launches")


@hosted()
def spatial_axes(x: Fact) -> Axes | None:
    """The axes that are normalised of each channel."""
    return tuple(range(2, x.rank)) if x.rank is not None and x.rank >= 3 else None


LARGEST_SUMMAND = 1024.0
"""What is added to numbers leaves some of their digits, and none of small ones: a constant that is larger is
an intent."""


@hosted()
def is_small(m: Fact) -> bool:
    """A constant that leaves most digits of what it is added to, as far as its elements are known."""
    return m.const and all(abs(v) <= LARGEST_SUMMAND for v in known_elements(m) or ())


@hosted()
def is_level_along(m: Fact, x: Fact, axes: Axes) -> bool:
    """m, broadcast against x, is the same for all elements along each of the axes.

    Of float32 alone: what x + m rounds off is divided by the root of epsilon, which is much in float16, and
    more than the last digits of a float64.
    """
    if m.shape is None or x.shape is None:
        return False
    if not axes or x.dtype != TensorProto.FLOAT or max(axes) >= len(x.shape):
        return False
    aligned = [k + len(m.shape) - len(x.shape) for k in axes]
    return all(k < 0 or m.shape[k] == 1 for k in aligned)


def _level(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, s = g.input(("N", 3, 4)), g.random(4)
    for m in (g.constant(3.0), g.random(3, 1), g.random(1)):
        yield g.fires(shifted_layer_norm(x + m, s, g.random(4), (2,), 1e-5))
        yield g.fires(layer_norm(x - m, s, (2,), 1e-5))
    image, per_channel = g.input(("N", 3, 4, 5)), g.random(3, 1, 1)
    yield g.fires(instance_norm(image + per_channel, g.random(3), g.random(3), 1e-5))
    row, wide = g.input((1, 4)), g.input((3, 1))
    yield from g.near_misses(
        (layer_norm(x + g.random(4), s, (2,), 1e-5), "it differs along the axis"),
        (layer_norm(x + g.random(3, 1), g.random(3, 4), (1, 2), 1e-5), "along one of two axes"),
        (layer_norm(row + wide, s, (1,), 1e-5), "it makes x bigger"),
        (layer_norm(x + g.constant(3e38), s, (2,), 1e-5), "nothing is left of x"),
        (layer_norm(x + g.input(("N", 3, 1)), s, (2,), 1e-5), "it may be as large"),
        (layer_norm(x + g.constant(3.0), s, (2,), 0.0), "of a level row only rounding is left"),
        (rms_norm(x + g.constant(3.0), s, (2,), 1e-5), "the mean is not taken away"),
        (layer_norm(g.constant(3.0) - x, s, (2,), 1e-5), "x is taken away"),
        (instance_norm(image + g.random(4, 1), g.random(3), g.random(3), 1e-5), "it differs along columns"),
    )


@law(uses=(either_side,), examples=_level)
def level_summand(x: Tensor, m: Tensor, s: Tensor, b: Tensor, a: Axes, e: Float, i: Int):
    """Layer(x + m) = Layer(x), Layer(x - m) = Layer(x) for a constant m that is the same along the axes

    Likewise InstanceNormalization.
    """
    for moved in (beside("Add", x, m, i), x - m):
        for norm, axes in (
            (lambda y: layer_norm(y, s, a, e), a),
            (lambda y: shifted_layer_norm(y, s, b, a, e), a),
            (lambda y: instance_norm(y, s, b, e), spatial_axes(x)),
        ):
            level = (is_level_along(m, x, axes), fits(m, x), is_small(m), is_positive(e))
            yield rewrite(norm(moved), norm(x), *level, guard(varies(x)), because="forgets m")


# --- a factor --------------------------------------------------------------------------------------------


@hosted()
def epsilon_before(k: Fact, x: Fact, epsilon: float) -> Float | None:
    """The epsilon of x that is, of x * k, the one given; None where k is not one number above 0.

    Epsilons are float32, and neither so small that they vanish nor so large that nothing is beside them.
    """
    if not k.const or k.splat is None or not epsilon > 0 or 0 in (k.shape or ()) or not fits.function(k, x):
        return None
    factor = as_float(k.splat)
    if not 1e-9 < factor < 1e9 or factor == 1:
        return None
    before = epsilon / factor**2
    return before if SMALLEST[TensorProto.FLOAT] < before < 1e9 else None


def _factors(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, s, b = g.input(("N", 3, 4)), g.random(4), g.random(4)
    norms: tuple[Callable[[Any], Any], ...] = (
        lambda y: rms_norm(y, s, (2,), 1e-5),
        lambda y: layer_norm(y, s, (2,), 1e-5),
        lambda y: shifted_layer_norm(y, s, b, (2,), 1e-5),
        lambda y: instance_norm(y, g.random(3), g.random(3), 1e-5),
    )
    for norm in norms:
        yield g.fires(norm(x * g.constant(3.0)))
        yield g.fires(norm(binary("Mul", g.constant([0.125]), x)))
        yield from g.near_misses(
            (norm(x * g.constant(-3.0)), "it changes signs"),
            (norm(x * g.constant(1e-30)), "nothing is left of x"),
            (norm(x * g.random(4)), "it differs along the axis"),
            (norm(x * g.input(())), "it is no constant"),
        )
    yield g.near_miss(
        layer_norm(x * g.constant(3.0), s, (2,), 0.0), why="of a level row only rounding is left"
    )


@law(uses=(either_side,), examples=_factors)
def positive_factor(x: Tensor, k: Tensor, s: Tensor, b: Tensor, a: Axes, e: Float, i: Int):
    """Layer(x * k; e) = Layer(x; e / k^2) for one number k > 0

    Likewise RMSNormalization and InstanceNormalization.
    """
    scaled, less = beside("Mul", x, k, i), epsilon_before(k, x, e)
    for given, made in (
        (rms_norm(scaled, s, a, e), rms_norm(x, s, a, less)),
        (layer_norm(scaled, s, a, e), layer_norm(x, s, a, less)),
        (shifted_layer_norm(scaled, s, b, a, e), shifted_layer_norm(x, s, b, a, less)),
        (instance_norm(scaled, s, b, e), instance_norm(x, s, b, less)),
    ):
        yield rewrite(given, made, guard(varies(x)), because="forgets k")

"""A factor in front of a normalisation goes into its epsilon.

Layer(x * k; e) -> Layer(x; e / k^2)     for one number k > 0; likewise RMSNormalization and of instances

The variance of k times the differences is k^2 times as much.
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
from egraph_opt.rewrites.conditions.channels import SMALLEST
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import fits

law = laws_of("normalization", numerics="reassociates", kind="eliminate", serves="launches")


@hosted()
def epsilon_before(k: Fact, x: Fact, epsilon: float) -> Float | None:
    """The epsilon of x that is, of x * k, the one given; None where k is not one number above 0.

    Epsilons are float32, and neither so small that they vanish nor so large that nothing is beside them.
    Squares of halves may vanish where those of k times as much do not.
    """
    if x.dtype == TensorProto.FLOAT16 or not epsilon > 0 or not fits.function(k, x):
        return None
    if not k.const or k.splat is None or 0 in (k.shape or ()):
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
    half, scale = g.input((3, 4), TensorProto.FLOAT16), g.constant(np.full(4, 0.5, np.float16))
    yield g.near_miss(rms_norm(half * g.constant(np.float16(8)), scale, (1,), 1e-5), why="squares of halves")
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

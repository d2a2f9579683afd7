"""Factors of what is dequantized (DQ) go into its scale, so that weights stay bytes.

DQ(q; s) * c -> DQ(q; s * c)            c one number, or one for each part of the axis that s has scales of

So a BatchNormalization or a scaled product goes into the scales of a quantized weight.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.inference.float_ranges import interval_of
from egraph_opt.laws import Example, Operands, hosted, laws_of, rewrite
from egraph_opt.laws.sorts import Axis, Dims, Int, Tensor
from egraph_opt.operators import dequantize, reshape
from egraph_opt.operators.quantization import is_one_scale
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.quantization.round_trips import MAGNITUDES, parameters, positive_scale

law = laws_of("quantization", numerics="reassociates", kind="merge", serves="arithmetic")


@hosted()
def as_scales(q: Fact, s: Fact, axis: Axis, c: Fact) -> Dims | None:
    """The dims of a factor of all elements, or of those of each part of an axis, as a factor of scales."""
    if s.shape is None or c.shape is None or q.shape is None or len(c.shape) > len(q.shape):
        return None
    if all(d == 1 for d in c.shape):
        return (1,) * len(s.shape)
    place = axis - (len(q.shape) - len(c.shape))
    others = all(d == 1 for k, d in enumerate(c.shape) if k != place)
    fits = not is_one_scale(s) and place >= 0 and others and c.shape[place] == s.shape[0]
    return s.shape if fits else None


@hosted()
def is_ordinary(s: Fact, c: Fact) -> bool:
    """Scales and factors are positive, and so are their products, of ordinary size."""
    scales, factors = positive_scale(s), interval_of(c)
    if scales is None or factors is None or factors[2] or not (s.const and c.const):
        return False
    least, greatest = MAGNITUDES[s.dtype]
    return factors[0] > 0 and least <= scales[0] * factors[0] and scales[1] * factors[1] <= greatest


def _scaled(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    q, (s, z) = g.input(("N", 4, 3), TensorProto.UINT8), parameters(g)
    scales, zeros = g.constant(np.array([1, 2, 3, 4], np.float32)), g.constant(np.zeros(4, np.uint8))
    one, column = g.constant(np.array(0.25, np.float32)), g.constant(np.ones((4, 1), np.float32) / 3)
    yield g.fires(dequantize(q, s, z, 0) * one)
    yield g.fires(dequantize(q, reshape(s, (1,)), reshape(z, (1,)), 0) * reshape(one, (1, 1)))
    yield g.fires(one * dequantize(q, scales, zeros, 1))
    yield g.fires(dequantize(q, scales, zeros, 1) * column)
    yield g.near_miss(dequantize(q, s, z, 0) * column, why="there is one scale")
    row = g.constant(np.ones(3, np.float32))
    yield g.near_miss(dequantize(q, scales, zeros, 1) * row, why="factors of another axis")
    square = g.input((2, 4, 4), TensorProto.UINT8)
    across = g.constant(np.array([1, 0.5, 0.25, 3], np.float32))
    yield g.near_miss(dequantize(square, scales, zeros, 1) * across, why="factors of another axis as long")
    yield g.near_miss(dequantize(q, s, z, 0) * reshape(one, (1, 1, 1, 1)), why="the product has more axes")
    for odd in (-1.0, 0.0, 3e38, 1e-45, np.inf):
        factor = g.constant(np.array(odd, np.float32))
        yield g.near_miss(dequantize(q, s, z, 0) * factor, why="a scale would be odd")


@law(examples=_scaled, uses=(either_side,))
def factor_of_dequantized(q: Tensor, s: Tensor, z: Tensor, c: Tensor, a: Axis, i: Int):
    """DQ(q; s) * c = DQ(q; s * c) for positive constants s and c, c for all or for the parts with scales"""
    scaled = s * reshape(c, as_scales(q, s, a, c))
    product = beside("Mul", dequantize(q, s, z, a), c, i)
    yield rewrite(product, dequantize(q, scaled, z, a), is_ordinary(s, c), because="forgets s and c")

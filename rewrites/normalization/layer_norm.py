"""RMSNormalization and LayerNormalization from their parts.

x / Sqrt(mean(x^2) + e) -> RMS(x)               mean over the axes a, scale 1
RMS(x; s) * g = RMS(x; s * g)                   likewise Layer
RMS(x - mean(x); s) -> Layer(x; s)
Layer(x; s) + b = Layer(x; s, b)                Layer(x; s, b) + c = Layer(x; s, b + c)
Layer(x; s, b) * c -> Layer(x; s * c, b * c)    for a constant c
Layer_a(x) -> T(Layer(T'(x)))                   where ONNX has it for the last axes only; likewise RMS

How their parts are spelled is the matter of `moments`.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.facts.numbers import as_float
from egraph_opt.laws import Example, Operands, guard, hosted, kernel, laws_of, rewrite
from egraph_opt.laws.algebra import is_constant, sqrt, varies
from egraph_opt.laws.sorts import Axes, Dims, Float, Int, Permutation, Tensor
from egraph_opt.operators import Literal, literal, reduce, reshape, transpose
from egraph_opt.operators.composites import layer_norm, rms_norm, scale_dims, shifted_layer_norm
from egraph_opt.rewrites.conditions.channels import is_scale, overflows_nowhere
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import broadcasts_into
from egraph_opt.rewrites.conditions.view_shapes import same_dims
from egraph_opt.rewrites.elementwise.identities import quotients
from egraph_opt.rewrites.transposes.composition import invert

law = laws_of("normalization", numerics="reassociates")

KEPT = 1
"""keepdims of reductions whose axes are broadcast again."""

PARTS = "composites.primitives.normalisation_parts"
"""The law that writes normalisations out again."""


# --- the core ------------------------------------------------------------------------------------------


@hosted()
def epsilon_of_square(e: Fact, x: Fact) -> Float | None:
    """A constant that is added to a mean of squares of x, and of no more axes than it."""
    if (e.rank or 0) > (x.rank or 0):
        return None
    if not e.const or e.splat is None or e.splat < 0 or any(d != 1 for d in e.shape or ()):
        return None
    return as_float(e.splat)


@hosted()
def unit_scale(x: Fact, axes: Axes) -> Literal | None:
    """A scale of ones; none in double, where the fusion of onnxruntime has an epsilon of its own."""
    dims = scale_dims(x, axes)
    if dims is None or x.const or x.dtype not in KERNEL_FLOATS - {TensorProto.DOUBLE}:
        return None
    if not all(isinstance(d, int) and d > 0 for d in dims):
        return None  # onnxruntime normalises one element or more
    return Literal(x.dtype, dims, (1.0,))  # type: ignore[arg-type]


@law(kind="composite", source="ONNX, RMSNormalization; Zhang and Sennrich 2019", uses=(either_side,))
def root_mean_square(x: Tensor, c: Tensor, a: Axes, i: Int):
    """x / Sqrt(ReduceMean(x * x) + e) = RMSNormalization(x)"""
    whole = rms_norm(x, literal(unit_scale(x, a)), a, epsilon_of_square(c, x))
    for spelled in quotients(x, sqrt(reduce("ReduceMean", x * x, a, KEPT) + c), i):
        yield rewrite(spelled, whole, inverse=PARTS)


# --- scale and shift -----------------------------------------------------------------------------------


@hosted()
def fitting(x: Fact, axes: Axes, g: Fact) -> Dims | None:
    """The shape that makes g a scale or a bias; None if it differs along other axes."""
    dims = scale_dims(x, axes)
    if dims is None or None in dims or x.shape is None or g.dtype != x.dtype:
        return None
    normalised = tuple(d if axis in axes else 1 for axis, d in enumerate(x.shape))
    if not broadcasts_into(g.shape, normalised):
        return None
    return ((1,) * (len(x.shape) - (g.rank or 0)) + (g.shape or ()))[axes[0] :]


@hosted()
def is_scale_of(s: Fact, x: Fact, axes: Axes) -> bool:
    """s has a number per normalised element."""
    return same_dims(s.shape, scale_dims(x, axes))


@hosted()
def fit_together(op: str, s: Fact, g: Fact) -> bool:
    """Two constants overflow nothing together, as far as they are known."""
    return overflows_nowhere(op, s, g)


def _large_scales(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, large = g.input(("N", 4)), g.constant(np.full(4, 1e20))
    for function in (rms_norm, layer_norm):
        for y in (
            function(x, large, (1,), 1e-5) * large,
            function(x, large * reshape(large, (4,)), (1,), 1e-5),
        ):
            yield g.near_miss(y, why="both together overflow")


@law(kind="fuse", uses=(either_side,), examples=_large_scales)
def scale(x: Tensor, s: Tensor, g: Tensor, a: Axes, e: Float, i: Int):
    """RMS(x; s) * g = RMS(x; s * g), likewise LayerNormalization without bias"""
    for function in (rms_norm, layer_norm):
        norm, both = function(x, s, a, e), function(x, s * reshape(g, fitting(x, a, g)), a, e)
        scaled, sound = beside("Mul", norm, g, i), fit_together("Mul", s, g)
        yield rewrite(scaled, both, sound, guard(varies(x)), inverse="scale")
        worth = guard(sound, varies(x))  # with an infinite scale nothing is finite that could be lost
        yield rewrite(both, norm * g, worth, kernel(is_scale_of(s, x, a)), inverse="scale")


@hosted()
def whole_fitting(x: Fact, axes: Axes, b: Fact) -> Dims | None:
    """The shape that makes b a bias, where it has all elements of one."""
    dims = fitting(x, axes, b)
    return dims if dims is not None and dims == scale_dims(x, axes) else None


def _large_shifts(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    far, opposite = g.constant(np.full(4, 2e38)), g.constant(np.full(4, -2e38))
    y = shifted_layer_norm(g.input(("N", 4)), opposite, far, (1,), 1e-5)
    yield g.near_miss(y + far, why="the sum of the biases is infinite")


@law(kind="fuse", uses=(either_side,), examples=_large_shifts)
def shift(x: Tensor, s: Tensor, b: Tensor, c: Tensor, a: Axes, e: Float, i: Int):
    """Layer(x; s) + b = Layer(x; s, b), Layer(x; s, b) + c = Layer(x; s, b + c)"""
    norm, whole = layer_norm(x, s, a, e), shifted_layer_norm(x, s, reshape(b, whole_fitting(x, a, b)), a, e)
    added = beside("Add", norm, b, i)
    yield rewrite(added, whole, guard(varies(added)), inverse="shift")
    yield rewrite(whole, norm + b, guard(varies(whole)), inverse="shift")
    more = b + reshape(c, fitting(x, a, c))
    shifted = shifted_layer_norm(x, s, b, a, e)
    twice, summed = shifted + c, shifted_layer_norm(x, s, more, a, e)
    sound = kernel(is_scale_of(b, x, a))
    yield rewrite(twice, summed, fit_together("Add", b, c), sound, guard(varies(twice)), inverse="shift")
    yield rewrite(summed, twice, sound, guard(varies(summed)), inverse="shift")


@hosted()
def are_scaled_by(s: Fact, b: Fact, c: Fact) -> bool:
    """c is a constant that a scale and a bias, two others, overflow nothing with."""
    return is_scale(c) and s.const and b.const and all(overflows_nowhere("Mul", f, c) for f in (s, b))


def _scaled(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, s, b = g.input(("N", 3, 4)), g.random(4), g.random(4)
    y = shifted_layer_norm(x, s, b, (2,), 1e-5)
    yield g.fires(y * g.random(4))
    yield g.fires(g.random(1, 1) * y)
    both = shifted_layer_norm(x, g.random(3, 4), g.random(3, 4), (1, 2), 1e-5)
    yield g.fires(both * g.random(3, 1))
    large = g.constant(np.full(4, 1e20))
    yield from g.near_misses(
        (y * g.input((4,)), "it is no constant"),
        (y * g.random(3, 1), "it differs from row to row"),
        (y * g.random(2, 1, 3, 4), "it makes the result bigger"),
        (shifted_layer_norm(x, large, b, (2,), 1e-5) * large, "scale and factor overflow"),
        (shifted_layer_norm(x, s, large, (2,), 1e-5) * large, "bias and factor overflow"),
    )


@law(kind="fuse", uses=(either_side,), examples=_scaled)
def scale_with_bias(x: Tensor, s: Tensor, b: Tensor, c: Tensor, a: Axes, e: Float, i: Int):
    """Layer(x; s, b) * c = Layer(x; s * c, b * c) for a constant c along the normalised axes"""
    c_all = reshape(c, fitting(x, a, c))
    whole = shifted_layer_norm(x, s * c_all, b * c_all, a, e)
    known = (are_scaled_by(s, b, c), *kernel(is_scale_of(s, x, a), is_scale_of(b, x, a)), guard(varies(x)))
    scaled = beside("Mul", shifted_layer_norm(x, s, b, a, e), c, i)
    yield rewrite(scaled, whole, *known, because="every factor of a scale would come out")


@hosted()
def is_positive(epsilon: float) -> bool:
    """With 0, of elements that are all alike the quotient is one of roundings."""
    return epsilon > 0


def _centred_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, s = g.input(("N", 5)), g.random(5)
    away = x - reduce("ReduceMean", x, (1,), KEPT)
    yield g.fires(rms_norm(away, s, (1,), 1e-5))
    yield g.near_miss(rms_norm(away, s, (1,), 0.0), why="of a level row nothing is left but rounding")
    y = g.input((2, None))
    less = y - reduce("ReduceMean", y, (1,), KEPT)
    yield g.near_miss(rms_norm(less, s, (1,), 1e-5), why="the scale may widen x")


@law(kind="composite", source="ONNX, LayerNormalization", examples=_centred_examples)
def centred(x: Tensor, s: Tensor, a: Axes, e: Float):
    """RMS(x - mean(x); s) = Layer(x; s)"""
    away = x - reduce("ReduceMean", x, a, KEPT)
    sound = (is_positive(e), is_scale_of(s, x, a))
    yield rewrite(rms_norm(away, s, a, e), layer_norm(x, s, a, e), *sound, inverse=PARTS)


@hosted()
def axes_to_end(x: Fact, axes: Axes) -> Permutation | None:
    """The permutation that moves the normalised axes behind the others; None if they are there."""
    rank = x.rank
    if rank is None or not axes or axes == tuple(range(axes[0], rank)):
        return None
    return (*(k for k in range(rank) if k not in axes), *axes)


@hosted()
def last_axes(x: Fact, axes: Axes) -> Axes | None:
    return None if x.rank is None else tuple(range(x.rank - len(axes), x.rank))


@hosted()
def normalised_dims(x: Fact, axes: Axes) -> Dims | None:
    return tuple(x.shape[k] for k in axes) if x.shape is not None and x.is_symbolic else None


def _wide_scales(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, wide, own = g.input((2, 4, "M")), g.input((2, 4, "M")), g.input((2, 4, 1))
    for norm in (
        rms_norm(x, wide, (0, 1), 1e-5),
        layer_norm(x, wide, (0, 1), 1e-5),
        shifted_layer_norm(x, wide, own, (0, 1), 1e-5),
        shifted_layer_norm(x, own, wide, (0, 1), 1e-5),
    ):
        yield g.near_miss(norm, why="a number for each element along an axis that is not normalised")
    fixed = g.random(2, 4, 1), g.random(2, 4, 1)
    yield from g.all_fire(layer_norm(x, fixed[0], (0, 1), 1e-5), shifted_layer_norm(x, *fixed, (0, 1), 1e-5))
    level, s = g.input((3, 5, 4)) * g.constant(0.0) + g.constant(0.1), g.random(3, 5, 1)
    for norm in (layer_norm(level, s, (0, 1), 0.0), shifted_layer_norm(level, s, s, (0, 1), 0.0)):
        yield g.near_miss(norm, why="of a level row only rounding is left")


@law(kind="move", serves="target", source="ONNX, which normalises the last axes only", examples=_wide_scales)
def inner_axes(x: Tensor, s: Tensor, b: Tensor, a: Axes, e: Float):
    """Layer_a(x) = T(Layer(T'(x))) where T' moves the axes a behind the others, likewise RMS"""
    p, d, last = axes_to_end(x, a), normalised_dims(x, a), last_axes(x, a)
    behind, scale = transpose(x, p), reshape(s, d)
    bias, level = reshape(b, d), is_positive(e)
    for given, moved, operands, *known in (
        (rms_norm(x, s, a, e), rms_norm(behind, scale, last, e), (s,)),
        (layer_norm(x, s, a, e), layer_norm(behind, scale, last, e), (s,), level),
        (shifted_layer_norm(x, s, b, a, e), shifted_layer_norm(behind, scale, bias, last, e), (s, b), level),
    ):
        sound = [*known, *(is_scale_of(operand, x, a) for operand in operands)]
        fixed, back = guard(*map(is_constant, operands)), invert(p)
        yield rewrite(given, transpose(moved, back), *sound, fixed, because="ONNX has the last axes only")

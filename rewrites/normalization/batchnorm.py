"""BatchNormalization as a scale and a shift per channel, so that whatever takes in those takes it in too.

BatchNormalization(x; s, b, m, v) = x * k + (b - m * k) with k = s / sqrt(v + epsilon)
x * k + c = BatchNormalization(x; k, c, 0, 1)                     along another axis between Transposes
BatchNormalization(x; s, b, m, v) * c = BatchNormalization(x; s * c, b * c, m, v)
BatchNormalization(x; s, b, m, v) + c = BatchNormalization(x; s, b + c, m, v)
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.facts.numbers import as_float
from egraph_opt.laws import Example, Operands, absent, eq, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import number_like, relu, sqrt, varies
from egraph_opt.laws.sorts import Dims, Float, Int, Permutation, Tensor
from egraph_opt.operators import Literal, batchnorm, literal, reshape, transpose
from egraph_opt.operators.terms import node, opset
from egraph_opt.rewrites.conditions.channels import (
    LARGEST,
    LARGEST_SHIFT,
    at_axis,
    channel_dims,
    count_along,
    is_finite_constant,
    is_float_constant,
    is_moderate,
    is_scale,
    is_shift,
    known_elements,
    largest_of,
    may_scale,
    splat,
)


@hosted()
def are_parameters(s: Fact, b: Fact, m: Fact, v: Fact, x: Fact) -> bool:
    """Constants with one number per channel, in the type of x."""
    return all(p.rank == 1 and is_float_constant(p) and p.dtype == x.dtype for p in (s, b, m, v))


LEFT = 64.0
"""The share of a type's range that a product is kept below, so that others of its size may be added to it."""


@hosted()
def shifts_in_range(s: Fact, m: Fact, v: Fact, eps: float) -> bool:
    """The mean times the scale over the root of the variance is small for the type, as far as elements are
    known: x times that scale is finite where the result is."""
    variances, scales, means = map(known_elements, (v, s, m))
    if not variances or not scales or s.dtype not in LARGEST:
        return True
    least, moved = min(variances) + eps, max(map(abs, means or ()), default=1.0)
    return least > 0 and LEFT * max(map(abs, scales)) * max(moved, 1.0) <= LARGEST[s.dtype] * math.sqrt(least)


@hosted()
def are_channel_dims(dims: Dims, x: Fact, s: Fact) -> bool:
    """[1, C, 1, ...] for x of C channels and constants [C]: a single one for all of them is no parameter."""
    if x.shape is None or x.rank is None or x.rank < 2 or s.rank != 1:
        return False
    return x.shape[1:2] == s.shape and tuple(dims) == at_axis(s.shape[0], x.rank, 1)  # type: ignore[arg-type]


@hosted()
def only_scales(m: Fact, v: Fact, epsilon: float) -> bool:
    """Nothing is normalised: it is scale and shift already."""
    return v.splat == 1 and m.splat == 0 and epsilon == 0


@hosted()
def epsilon_of(e: Fact, v: Fact) -> Float | None:
    """The one number that is added to the variance."""
    return as_float(e.splat) if e.splat is not None and e.dtype == v.dtype and e.shape in ((), (1,)) else None


def _parameters(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, s, b, v = g.input((1, 4, 3, 4)), g.random(4), g.random(4), g.constant([1.0, 2.0, 3.0, 4.0])
    half = g.input((1, 4, 3, 4), TensorProto.FLOAT16)
    yield g.near_miss(batchnorm(half, s, b, g.random(4), v, 1e-5), why="the parameters are of another type")
    halves = [g.constant(np.full(4, n, np.float16)) for n in (-32.0, 0.007, -20.0, 0.0)]
    yield g.near_miss(
        batchnorm(half, *halves, 1e-5), why="the mean over the root of the variance is infinite"
    )
    yield g.fires(batchnorm(x, s, b, g.random(4), v, 1e-5))
    k = s / sqrt(v + g.constant(1e-5))
    m, dims = g.random(4), (1, 4, 1, 1)
    yield g.fires(x * reshape(k, dims) + reshape(b - m * k, dims))
    for m, dims, why in (
        (g.random(), (1, 4, 1, 1), "one mean for all channels"),
        (g.random(4), (1, 1, 1, 4), "a number per column"),
    ):
        yield g.near_miss(x * reshape(k, dims) + reshape(b - m * k, dims), why)


@law(
    "batchnorm",
    numerics="reassociates",
    kind="split",
    serves="arithmetic",
    source="Ascend auto-optimizer, BNFolding; onnxoptimizer fuse_bn_into_conv",
    examples=_parameters,
)
def expand_batchnorm(
    x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, eps: Float, e: Tensor, dims: Dims
):
    """BatchNormalization(x; s, b, m, v) = x * k + (b - m * k) with k = s / sqrt(v + epsilon)"""
    k, d = s / sqrt(v + number_like(v, eps)), channel_dims(x, s)
    yield rewrite(
        batchnorm(x, s, b, m, v, eps),
        x * reshape(k, d) + reshape(b - m * k, d),
        are_parameters(s, b, m, v, x),
        shifts_in_range(s, m, v, eps),
        guard(varies(x), absent(only_scales(m, v, eps))),
        inverse="contract_affine",
    )
    k = s / sqrt(v + e)
    spelled = x * reshape(k, dims) + reshape(b - m * k, dims)
    whole = batchnorm(x, s, b, m, v, epsilon_of(e, v))
    sound = are_parameters(s, b, m, v, x), are_channel_dims(dims, x, s)
    yield rewrite(spelled, whole, *sound, guard(varies(x)), inverse="expand_batchnorm")


@hosted()
def channel_literal(x: Fact, k: Fact, c: Fact, number: int, value: float) -> Literal | None:
    """`value` per channel, where k scales and c shifts the channels of x, at least one of them by channel."""
    channels = _affine_count(x, k, c, number, 1)
    return None if channels is None else splat(x, (channels,), value)


def _affine_count(x: Fact, k: Fact, c: Fact, number: int, axis: int) -> int | None:
    """The dim of x along which k scales and c shifts it, at least one of them element by element.

    Only float32 and float64: onnxruntime has no other kernels.
    """
    if x.shape is None or len(x.shape) < 3 or x.const or number < 9 or not is_scale(k) or not is_shift(c):
        return None
    count = x.shape[axis]
    if not isinstance(count, int) or count < 2:
        return None
    counts = [count_along(operand, len(x.shape), axis, count) for operand in (k, c)]
    known = None not in counts and count in counts and x.dtype in (TensorProto.FLOAT, TensorProto.DOUBLE)
    return count if known else None


def _affine_axis(x: Fact, k: Fact, c: Fact, number: int) -> int | None:
    """The axis, other than that of channels, along which k scales and c shifts x."""
    axes = (a for a in range(x.rank or 0) if a != 1 and _affine_count(x, k, c, number, a) is not None)
    return next(axes, None)


@hosted()
def swap_with_channels(x: Fact, k: Fact, c: Fact, number: int) -> Permutation | None:
    """The permutation that swaps the channels of x and the axis along which k scales and c shifts it."""
    axis = _affine_axis(x, k, c, number)
    if axis is None:
        return None
    order = list(range(x.rank or 0))
    order[1], order[axis] = axis, 1
    return tuple(order)


@hosted()
def row_literal(x: Fact, k: Fact, c: Fact, number: int, value: float) -> Literal | None:
    """`value` for each element along that axis."""
    axis = _affine_axis(x, k, c, number)
    return None if axis is None else splat(x, (x.shape[axis],), value)  # type: ignore[index,arg-type]


@hosted()
def vector_dims(c: Fact) -> Dims:
    """The dims of a per-channel constant without the axes that are 1."""
    return (max((d for d in c.shape or () if isinstance(d, int)), default=1),)


def _affine_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, k, c = g.input(("N", 3, 4, "L")), g.random(1, 3, 1, 1), g.random(3, 1, 1)
    yield from g.all_fire(x * k + c, x * g.constant(np.float32(2)) + c, x * k + g.random(1))
    yield from g.near_misses(
        (x * g.random(1) + g.random(1), "nothing is per channel"),
        (x * k + g.random(4, 1), "the shift varies along an image"),
        (x * g.input((1, 3, 1, 1)) + c, "the scale is no constant"),
        (g.input((2, 1, 4)) * g.random(3, 1) + g.random(3, 1), "the scale makes x bigger"),
        (g.input((2, 3)) * g.random(3) + g.random(3), "rank 2"),
    )


def _affine(x: Any, k: Any, c: Any, zeros: Any, ones: Any) -> Any:
    """x * k + c as a BatchNormalization with a mean of 0 and a variance of 1."""
    weight, bias = ones * reshape(k, vector_dims(k)), zeros + reshape(c, vector_dims(c))
    return batchnorm(x, weight, bias, zeros, ones, 0.0)


@law("batchnorm", numerics="reassociates", kind="fuse", examples=_affine_examples)
def contract_affine(x: Tensor, k: Tensor, c: Tensor, i: Int):
    """x * k + c = BatchNormalization(x; k, c, 0, 1), where the model itself has x * k"""
    whole = _affine(x, k, c, *(literal(channel_literal(x, k, c, opset(), value)) for value in (0.0, 1.0)))
    yield rewrite(x * k + c, whole, guard(eq(node(i), x * k)), inverse="expand_batchnorm")


def _row_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, k, c = g.input(("N", 3, 4)), g.random(4), g.random(4)
    yield from g.all_fire(
        x * k + c,
        x * g.constant(np.float32(2)) + c,
        g.input((5, 3, "L")) * g.random(5, 1, 1) + g.random(5, 1, 1),
    )
    yield from g.near_misses(
        (x * g.random(3, 1) + g.random(3, 1), "these are the channels"),
        (x * k + g.random(3, 1), "two axes"),
        (x * g.random(1) + g.random(1), "one number for all"),
        (x * g.input((4,)) + c, "the scale is no constant"),
        (g.input((2, 4)) * k + c, "rank 2"),
    )


@law("batchnorm", numerics="reassociates", kind="fuse", last=True, examples=_row_examples)
def contract_affine_rows(x: Tensor, k: Tensor, c: Tensor, i: Int):
    """x * k + c = Transpose(BatchNormalization(Transpose(x); k, c, 0, 1)) where these are not the channels"""
    constants = (literal(row_literal(x, k, c, opset(), value)) for value in (0.0, 1.0))
    swap = swap_with_channels(x, k, c, opset())
    whole = transpose(_affine(transpose(x, swap), k, c, *constants), swap)
    yield rewrite(x * k + c, whole, guard(eq(node(i), x * k)), inverse="expand_batchnorm")


# --- constants behind -----------------------------------------------------------------------------------


def _count_behind(x: Fact, s: Fact, b: Fact, c: Fact) -> Dims | None:
    """The dims in which c, behind a BatchNormalization with constant scale and bias, joins them."""
    if x.rank is None or x.rank < 2 or s.rank != 1 or b.shape != s.shape:
        return None
    if not is_float_constant(s) or not is_finite_constant(b):
        return None
    count = count_along(c, x.rank, 1, s.shape[0])  # type: ignore[index,arg-type]
    return None if count is None else (count,)


@hosted()
def scale_behind(x: Fact, s: Fact, b: Fact, c: Fact) -> Dims | None:
    return _count_behind(x, s, b, c) if may_scale(c, s) and may_scale(c, b) else None


@hosted()
def shift_behind(x: Fact, s: Fact, b: Fact, c: Fact) -> Dims | None:
    return _count_behind(x, s, b, c) if is_shift(c) else None


@hosted()
def stays_below(s: Fact, c: Fact, m: Fact, v: Fact, eps: float) -> bool:
    """What runtimes multiply x with and add to it, s * c and m times that over the root of the variance,
    overflows nowhere, as far as the elements are known; in float16 they have to be."""
    known = [known_elements(each) for each in (v, s, c, m)]
    if v.dtype == TensorProto.FLOAT16 and not v.const:
        return False
    if not all(known[:3]):
        return is_moderate(v.dtype, *(n for each in known[1:] for n in each or ()))
    least, (large, other) = min(known[0] or ()) + eps, (max(map(abs, each or ())) for each in known[1:3])
    moved = max(map(abs, known[3] or ()), default=1.0)
    return least > 0 and large * other * max(moved, 1.0) <= LARGEST[v.dtype] * math.sqrt(least)


def _scaled_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, s, b, m, large = (
        g.input(("N", 4, 5)),
        g.random(4),
        g.random(4),
        g.constant(np.zeros(4)),
        g.constant(1e22),
    )
    for eps, variance in ((1e-5, 0.0), (0.0, 0.5)):
        yield g.fires(batchnorm(x, s, b, m, g.constant(np.full(4, variance)), eps) * g.constant(1.5))
    small = batchnorm(relu(x), s, b, m, g.constant(np.full(4, 1e-38)), 0.0) * large
    yield g.near_miss(small, why="the scale over the root of the variance overflows")


@law("batchnorm", numerics="reassociates", kind="fuse", examples=_scaled_examples)
def scale_after_batchnorm(
    x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, eps: Float, c: Tensor
):  # fmt: skip
    """BatchNormalization(x; s, b, m, v) * c = BatchNormalization(x; s * c, b * c, m, v)"""
    factor = reshape(c, scale_behind(x, s, b, c))
    whole, why = batchnorm(x, s * factor, b * factor, m, v, eps), "every factor of a scale would come out"
    yield rewrite(batchnorm(x, s, b, m, v, eps) * c, whole, stays_below(s, c, m, v, eps), because=why)


@hosted()
def are_ordinary(s: Fact, b: Fact, c: Fact) -> bool:
    """No element of these constants is very large, and sums of the last two are none, as far as they are
    known."""
    small = all(abs(v) < LARGEST_SHIFT for f in (s, b, c) for v in known_elements(f) or ())
    return small and largest_of(b, c) <= LARGEST.get(b.dtype, math.inf)


def _overflowing_bias(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    ones, far, zeros = (g.constant(np.full(3, number)) for number in (1.0, 2e38, 0.0))
    y = batchnorm(g.input((2, 3, 4, 4)), g.constant(np.full(3, -2e38)), far, zeros, ones, 1e-5)
    yield g.near_miss(y + g.constant(2e38), why="the bias overflows")
    half, g = TensorProto.FLOAT16, Operands(rng)
    one, far, zero = (g.constant(np.full(3, number, np.float16)) for number in (1.0, 4e4, 0.0))
    y = batchnorm(g.input((2, 3), half), one, far, zero, one, 1e-5)
    yield g.near_miss(y + g.constant(np.float16(3e4)), why="the bias overflows in 16 bits")


@law("batchnorm", numerics="reassociates", kind="fuse", examples=_overflowing_bias)
def shift_after_batchnorm(
    x: Tensor, s: Tensor, b: Tensor, m: Tensor, v: Tensor, eps: Float, c: Tensor
):  # fmt: skip
    """BatchNormalization(x; s, b, m, v) + c = BatchNormalization(x; s, b + c, m, v)"""
    bias = b + reshape(c, shift_behind(x, s, b, c))
    whole = batchnorm(x, s, bias, m, v, eps)
    known, why = (are_ordinary(s, b, c), guard(varies(x))), "every part of a bias would come out"
    yield rewrite(batchnorm(x, s, b, m, v, eps) + c, whole, known, because=why)

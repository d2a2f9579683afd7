"""InstanceNormalization from its parts, and with the constants behind it.

(x - m) / Sqrt(mean((x - m)^2) + e) -> InstanceNormalization(x; 1, 0)      m = mean(x), of each channel
InstanceNormalization(x; s, b) * c -> InstanceNormalization(x; s * c, b * c), + c likewise
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import sqrt
from egraph_opt.laws.sorts import Axes, Float, Int, Tensor
from egraph_opt.operators import (
    ConvWindow,
    Literal,
    binary,
    conv,
    instance_norm,
    literal,
    none,
    reduce,
    reshape,
    unary,
)
from egraph_opt.rewrites.conditions.operands import either_side
from egraph_opt.rewrites.elementwise.identities import quotients
from egraph_opt.rewrites.normalization.batchnorm import are_ordinary, scale_behind, shift_behind
from egraph_opt.rewrites.normalization.layer_norm import KEPT, PARTS, epsilon_of_square

law = laws_of("normalization", numerics="reassociates", kind="fuse", serves="launches")


@hosted()
def of_each_channel(x: Fact, axes: Axes, number: float) -> Literal | None:
    """One number for each channel, of which the axes are all that is behind the channels."""
    if x.shape is None or len(x.shape) < 3 or axes != tuple(range(2, len(x.shape))):
        return None
    if x.const or x.dtype not in KERNEL_FLOATS - {TensorProto.DOUBLE}:
        return None
    channels = x.shape[1]
    known = isinstance(channels, int) and channels > 0 and all(map(_has_pixels, x.shape[2:]))
    return Literal(x.dtype, (channels,), (number,)) if known else None  # type: ignore[arg-type]


@hosted()
def is_image(x: Fact) -> bool:
    """With several axes behind the channels: of rows with one, that is a LayerNormalization as well."""
    return x.rank is not None and x.rank > 3


def _has_pixels(dim: Any) -> bool:
    """An axis that is not empty, whatever its symbols are."""
    return dim is not None and (symbolic.lower_bound(dim) or 0) > 0


def _centred(x: Any, axes: Any) -> tuple[Any, Any]:
    """x without its mean, and the mean of its squares."""
    rest = x - reduce("ReduceMean", x, axes, KEPT)
    return rest, reduce("ReduceMean", rest * rest, axes, KEPT)


def _spelled(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    for shape in (("N", 3, 4, 5), (2, 3, 2, 3, 2)):
        x, axes = g.input(shape), tuple(range(2, len(shape)))
        rest, squares = _centred(x, axes)
        yield g.fires(rest / sqrt(squares + g.constant(1e-5)))
        yield g.fires(rest * unary("Reciprocal", (), sqrt(squares + g.constant(1e-3))))
    rows = g.input(("N", 3, 6))
    rest, squares = _centred(rows, (2,))
    yield g.near_miss(rest / sqrt(squares + g.constant(1e-5)), why="it is one of layers")
    line = conv(rows, g.random(4, 3, 2), none(), ConvWindow((1,), (1, 0), (1,)))
    rest, squares = _centred(line, (2,))
    yield g.fires(rest / sqrt(squares + g.constant(1e-5)))
    x = g.input((2, 3, 4, 5))
    for axes, why in (((1, 2, 3), "of all channels"), ((3,), "of rows"), ((2,), "of columns")):
        rest, squares = _centred(x, axes)
        yield g.near_miss(rest / sqrt(squares + g.constant(1e-5)), why=why)
    rest, squares = _centred(x, (2, 3))
    other = g.input((2, 3, 4, 5))
    yield from g.near_misses(
        (other / sqrt(squares + g.constant(1e-5)), "of another image"),
        (
            rest / sqrt(reduce("ReduceMean", x * x, (2, 3), KEPT) + g.constant(1e-5)),
            "squares of what is not centred",
        ),
        (rest / sqrt(squares + g.random(3, 1, 1)), "an epsilon for each channel"),
    )


@law(kind="composite", source="ONNX, InstanceNormalization", examples=_spelled, uses=(either_side,))
def instances(x: Tensor, c: Tensor, a: Axes, i: Int, z: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """(x - m) / Sqrt(mean((x - m)^2) + e) = InstanceNormalization(x; 1, 0) for the mean m of each channel

    Of rows, where a convolution has made them.
    """
    rest, squares = _centred(x, a)
    scale, bias = (literal(of_each_channel(x, a, number)) for number in (1.0, 0.0))
    whole = instance_norm(x, scale, bias, epsilon_of_square(c, x))
    for spelled in quotients(rest, sqrt(squares + c), i):
        for demand in (is_image(x), eq(x, conv(z, w, b, u))):
            yield rewrite(spelled, whole, guard(demand), inverse=PARTS)


def _behind(op: str) -> Any:
    def examples(rng: np.random.Generator) -> Iterator[Example]:
        g = Operands(rng)
        x, s, b = g.input(("N", 6, 2, "L")), g.random(6), g.random(6)
        y = instance_norm(x, s, b, 1e-5)
        for c in (g.random(6, 1, 1), g.random(1)):
            yield g.fires(binary(op, y, c))
        for z, why in (
            (binary(op, y, g.input((6, 1, 1))), "it is no constant"),
            (binary(op, y, g.random(2, 1)), "it varies along an image"),
            (binary(op, instance_norm(x, g.input((6,)), b, 1e-5), g.random(1)), "the scale is no constant"),
        ):
            yield g.near_miss(z, why)
        large = g.constant(np.full(6, 1e20))
        far = binary(op, instance_norm(x, large, large, 1e-5), g.constant(-1e20))
        yield g.near_miss(far, why="large numbers take each other away, or overflow")
        low, high = (g.constant(np.full(6, number)) for number in (-2e38, 2e38))
        beyond = binary(op, instance_norm(x, low, high, 1e-5), g.constant(2e38))
        yield g.near_miss(beyond, why="the bias overflows")

    return examples


@law(examples=_behind("Mul"))
def scale_of_instances(x: Tensor, s: Tensor, b: Tensor, e: Float, c: Tensor):
    """InstanceNormalization(x; s, b) * c = InstanceNormalization(x; s * c, b * c)"""
    factor = reshape(c, scale_behind(x, s, b, c))
    whole = instance_norm(x, s * factor, b * factor, e)
    yield rewrite(instance_norm(x, s, b, e) * c, whole, because="every factor of a scale would come out")


@law(examples=_behind("Add"))
def shift_of_instances(x: Tensor, s: Tensor, b: Tensor, e: Float, c: Tensor):
    """InstanceNormalization(x; s, b) + c = InstanceNormalization(x; s, b + c)"""
    whole = instance_norm(x, s, b + reshape(c, shift_behind(x, s, b, c)), e)
    known, why = are_ordinary(s, b, c), "every part of a bias would come out"
    yield rewrite(instance_norm(x, s, b, e) + c, whole, known, because=why)

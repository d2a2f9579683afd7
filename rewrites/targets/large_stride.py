"""Convolutions with strides too large for the target take in neighbours as channels.

    Conv(x, W; stride s) -> Conv(F(x), F(W); stride s/f)        along one spatial axis, f dividing s

F folds f neighbours along the axis, [.., C, .., f*m, ..] -> [.., C*f, .., m, ..], once x is padded and cut to
what the windows cover, and W is padded with zeros to a multiple of f.  The kernel becomes smaller as well.
The law fires above the limit `conv_stride` only.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import is_constant
from egraph_opt.laws.sorts import Dims, Pads, Permutation, Slices, Tensor
from egraph_opt.operators import ConvWindow, conv, none, pad, reshape, slice_, transpose
from egraph_opt.operators.terms import limit


@dataclass(frozen=True)
class Fold:
    """How one operand of a convolution is folded.

    Attributes:
        axis, factor: along which axis, and how many neighbours become one.
        begin, length: the zeros in front, and how long the axis is with them and with those behind.
    """

    axis: int
    factor: int
    begin: int
    length: int


@hosted()
def folding(x: Fact, w: Fact, y: Fact, window: ConvWindow, most: int) -> tuple[Fold, Fold] | None:
    """The folds of x and W along the first axis whose stride is beyond the limit.

    Least padding of the kernel first, then most neighbours.  None where the axis is dilated, or its extents
    are not known as numbers.
    """
    along = next((k for k, stride in enumerate(window.strides) if stride > most), None)
    if along is None or x.shape is None or w.shape is None or y.shape is None:
        return None
    if not x.is_symbolic or not w.is_symbolic:
        return None
    axis, stride = along + 2, window.strides[along]
    sizes = (x.shape[axis], y.shape[axis], w.shape[axis], x.shape[1], w.shape[1])
    if window.dilations[along] != 1 or not all(isinstance(n, int) and n > 0 for n in sizes):
        return None
    _, windows, kernel, *_ = (int(n) for n in sizes if n is not None)
    factors = [f for f in range(2, stride + 1) if stride % f == 0 and stride // f <= most]
    factor = min(factors, key=lambda f: (-(-kernel // f) * f, -f))
    length = -(-kernel // factor) * factor
    covered = (windows - 1) * stride + length
    return Fold(axis, factor, window.pads[along], covered), Fold(axis, factor, 0, length)


@hosted()
def missing_pads(x: Fact, fold: Fold) -> Pads:
    """The zeros that x lacks in front, and behind of what the windows cover."""
    shape: Any = x.shape
    pads, rank = [0] * (2 * len(shape)), len(shape)
    pads[fold.axis] = fold.begin
    pads[fold.axis + rank] = max(fold.length - shape[fold.axis] - fold.begin, 0)
    return tuple(pads)


@hosted()
def covered_part(fold: Fold) -> Slices:
    """What the windows cover of an operand with its zeros."""
    return ((fold.axis, 0, fold.length, 1),)


@hosted()
def apart(x: Fact, fold: Fold) -> Dims:
    """The dims with the neighbours on an axis of their own."""
    shape: Any = x.shape
    return (*shape[: fold.axis], fold.length // fold.factor, fold.factor, *shape[fold.axis + 1 :])


@hosted()
def behind_channels(x: Fact, fold: Fold) -> Permutation:
    """The permutation that brings the neighbours behind the channels."""
    neighbours, rank = fold.axis + 1, len(x.shape or ())
    return (0, 1, neighbours, *(k for k in range(2, rank + 1) if k != neighbours))


@hosted()
def among_channels(x: Fact, fold: Fold) -> Dims:
    """The dims with the neighbours among the channels."""
    shape: Any = x.shape
    batch, channels, *spatial = shape
    spatial[fold.axis - 2] = fold.length // fold.factor
    return (batch, channels * fold.factor, *spatial)


def padded(x: Tensor, fold: Any) -> Any:
    return pad(x, "constant", missing_pads(x, fold), 0.0)


def folded_image(x: Tensor, extended: Any, fold: Any) -> Any:
    """F(x), of x as it is extended to the length of the fold."""
    neighbours = transpose(reshape(extended, apart(x, fold)), behind_channels(x, fold))
    return reshape(neighbours, among_channels(x, fold))


@hosted()
def shorter_steps(window: ConvWindow, fold: Fold) -> ConvWindow:
    """The window over folded operands."""
    axes = len(window.strides)
    along = fold.axis - 2
    strides = tuple(s // fold.factor if k == along else s for k, s in enumerate(window.strides))
    pads = tuple(0 if k % axes == along else p for k, p in enumerate(window.pads))
    return replace(window, strides=strides, pads=pads)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, weight, window in (
        (("N", 1, 100), (4, 1, 16), ConvWindow((8,), (0, 0), (1,))),
        ((2, 4, 97), (6, 2, 21), ConvWindow((12,), (5, 9), (1,), 2)),
        ((1, 3, "L", 44), (4, 3, 2, 11), ConvWindow((1, 10), (1, 0, 1, 2), (1, 1))),
    ):
        g = Operands(rng)
        y = conv(g.input(shape), g.random(*weight), none(), window)
        yield g.fires(y, conv_stride=5)
        yield g.near_miss(y, why="within the limit", conv_stride=12)
    g = Operands(rng)
    dilated = conv(g.input((1, 2, 40)), g.random(4, 2, 3), none(), ConvWindow((8,), (0, 0), (2,)))
    yield g.near_miss(dilated, why="the kernel is dilated", conv_stride=5)


@law(
    "large_stride",
    numerics="reassociates",
    serves="target",
    source="hicann/ops-nn aclnn_convolution.cpp, for one channel and a kernel of the stride",
    examples=_examples,
)
def fold_neighbours(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W, b; stride s) = Conv(F(x), F(W), b; stride s/f), F folding f neighbours into channels"""
    y = conv(x, w, b, u)
    folds = folding(x, w, y, u, limit("conv_stride"))
    covered = slice_(padded(x, folds[0]), covered_part(folds[0]))
    image, weight = folded_image(x, covered, folds[0]), folded_image(w, padded(w, folds[1]), folds[1])
    yield rewrite(
        y,
        conv(image, weight, b, shorter_steps(u, folds[0])),
        guard(is_constant(w)),
        because="folded channels do not tell that they were neighbours",
    )

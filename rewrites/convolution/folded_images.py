"""Pixels and channels in another order in front of a convolution are in another order in its kernel instead.

Conv(F(x), W, b) -> Conv(x, F'(W), b)         F: a channel shuffle, a SpaceToDepth, by views and a Transpose
Conv(Gather(x, i), W, b) -> Conv(x, Gather(W, i^-1), b)      i: a permutation of the channels
All phases of an image among its channels are such an F: see `slicing.phases`.
A kernel of k over blocks of s pixels is one of k * s pixels, with s times the stride.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Dims, Int, Permutation, Tensor
from egraph_opt.operators import ConvWindow, Literal, conv, gather, literal, none, reshape, transpose
from egraph_opt.operators.terms import node
from egraph_opt.rewrites.conditions.channels import is_float_constant, static_shape
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.sums import RING
from egraph_opt.rewrites.slicing.gather import from_front, indices_of
from egraph_opt.rewrites.slicing.slice import dim_at

law = laws_of("convolution", numerics="reassociates", kind="fuse", serves="traffic")


FORGETS = "forgets the order"


class Kernel(NamedTuple):
    """How a kernel is reshaped, transposed and reshaped again, and the window with which it walks then."""

    apart: Dims
    order: Permutation
    dims: Dims
    window: ConvWindow


def _factors(shape: tuple[Dim, ...], dims: tuple[Dim, ...]) -> list[list[int]] | None:
    """The axes of `dims` that each axis of `shape` is split into."""
    found, place = [], 0
    for whole in shape:
        run: list[int] = []
        while not run or not symbolic.known_equal(symbolic.product([dims[k] for k in run]), whole):
            if place == len(dims):
                return None
            run.append(place)
            place += 1
        found.append(run)
    return found if place == len(dims) else None


@hosted()
def kernel_of_folded(
    x: Fact, apart: Dims, order: Permutation, image: Dims, w: Fact, window: ConvWindow
) -> Kernel | None:
    """What a kernel over Reshape(Transpose(Reshape(x))) is over x, where channels and pixels only move."""
    shape = static_shape(w)
    if shape is None or not is_float_constant(w) or window.group != 1 or x.shape is None:
        return None
    axes, factors = len(shape) - 2, _factors(x.shape, apart)
    if (
        factors is None
        or len(x.shape) != axes + 2
        or len(image) != axes + 2
        or max(map(len, factors[2:])) > 2
    ):
        return None
    coarse = [run[0] for run in factors[2:]]
    inner = list(order[1 : len(order) - axes])
    if order[0] != 0 or len(factors[0]) != 1 or list(order[len(order) - axes :]) != coarse:
        return None
    sizes = [dim for dim in (apart[k] for k in inner) if isinstance(dim, int) and dim != 0]
    if len(sizes) < len(inner):
        return None
    moved = (apart[0], math.prod(sizes), *(apart[k] for k in coarse))
    if not all(map(symbolic.known_equal, image, moved)) or image[1] != shape[1]:
        return None
    size_of = dict(zip(inner, sizes, strict=True))
    blocks = tuple(size_of[run[1]] if len(run) > 1 else 1 for run in factors[2:])
    if any(s > 1 and d != 1 for s, d in zip(blocks, window.dilations, strict=True)):
        return None
    place = {axis: k + 1 for k, axis in enumerate(inner)}
    taps = [[len(inner) + 1 + k, *(place[axis] for axis in run[1:])] for k, run in enumerate(factors[2:])]
    back = (0, *(place[axis] for axis in factors[1]), *(axis for tap in taps for axis in tap))
    channels = math.prod(size_of[axis] for axis in factors[1])
    larger = tuple(k * s for k, s in zip(shape[2:], blocks, strict=True))
    walk = replace(
        window,
        strides=tuple(k * s for k, s in zip(window.strides, blocks, strict=True)),
        pads=tuple(k * s for k, s in zip(window.pads, blocks * 2, strict=True)),
    )
    return Kernel((shape[0], *sizes, *shape[2:]), back, (shape[0], channels, *larger), walk)


def folded(x: Any, apart: Any, order: Any, dims: Any) -> Any:
    return reshape(transpose(reshape(x, apart), order), dims)


def _folded_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, deep = g.input(("N", 6, 4, "L")), g.input(("N", 2, 4, 6))
    shuffled = folded(x, ("N", 2, 3, 4, "L"), (0, 2, 1, 3, 4), ("N", 6, 4, "L"))
    strided = ConvWindow((2, 1), (1, 1, 0, 2), (1, 2))
    yield g.fires(conv(shuffled, g.random(4, 6, 3, 3), none(), RING))
    yield g.fires(conv(shuffled, g.random(4, 6, 3, 2), g.random(4), strided))
    for order in ((0, 3, 5, 1, 2, 4), (0, 5, 3, 1, 2, 4), (0, 1, 3, 5, 2, 4)):
        image = folded(deep, ("N", 2, 2, 2, 3, 2), order, ("N", 8, 2, 3))
        yield g.fires(
            conv(image, g.random(4, 8, 2, 2), g.random(4), ConvWindow((1, 2), (1, 0, 1, 1), (1, 1)))
        )
    rows = folded(g.input(("N", 2, 4, "L")), ("N", 2, 2, 2, "L"), (0, 3, 1, 2, 4), ("N", 4, 2, "L"))
    yield g.fires(conv(rows, g.random(3, 4, 2, 2), none(), ConvWindow((1, 1), (0,) * 4, (1, 3))))
    halves = folded(deep, ("N", 2, 2, 2, 6), (0, 2, 1, 3, 4), ("N", 4, 2, 6))
    for image, weight, window, why in (
        (shuffled, g.random(4, 3, 1, 1), replace(PLAIN, group=2), "groups would be others"),
        (shuffled, g.input((4, 6, 1, 1)), PLAIN, "the weight is no constant"),
        (rows, g.random(3, 4, 1, 2), ConvWindow((1, 1), (0,) * 4, (2, 1)), "blocks have no dilation"),
        (halves, g.random(3, 4, 1, 1), PLAIN, "rows that are far apart become channels"),
    ):
        yield g.near_miss(conv(image, weight, none(), window), why)


@law(source="ShuffleNet; YOLOv5's Focus as a convolution; onnx2tf", examples=_folded_examples)
def order_into_kernel(
    x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, d: Dims, p: Permutation, e: Dims, k: Int
):
    """Conv(Reshape(Transpose(Reshape(x))), W, b) = Conv(x, W', b) where channels and blocks of pixels move

    W' has the elements of W in the order of x, and a kernel and strides as many times larger as blocks are.
    Only for weights of the original: `large_stride` folds images for a target.
    """
    new = kernel_of_folded(x, d, p, e, w, u)
    image, one = conv(folded(x, d, p, e), w, b, u), conv(x, folded(w, new[0], new[1], new[2]), b, new[3])
    yield rewrite(image, one, guard(eq(w, node(k))), because=FORGETS)


# --- permutations of channels ---------------------------------------------------------------------------


@hosted()
def undoing(x: Fact, i: Fact, axis: int) -> Literal | None:
    """The indices that undo a permutation of an axis of x; None where some are left out or repeated."""
    dim, known = dim_at(x, axis), indices_of(i)
    if not isinstance(dim, int) or known is None or i.rank != 1 or len(known) != dim:
        return None
    front = from_front(known, dim)
    if front is None or len(set(front)) != dim or dim == 0:
        return None
    return Literal(TensorProto.INT64, (dim,), tuple(front.index(k) for k in range(dim)))


@hosted()
def takes_all_channels(w: Fact, window: ConvWindow) -> bool:
    return is_float_constant(w) and window.group == 1


@hosted()
def rows_axis(w: Fact) -> Axis | None:
    """The axis of W along which x @ W sums, of a constant matrix or a batch of them."""
    return w.rank - 2 if is_float_constant(w) and w.rank is not None and w.rank >= 2 else None


@hosted()
def last_axis_of(x: Fact) -> Axis | None:
    return x.rank - 1 if x.rank else None


def _permutation_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, turned = g.input(("N", 4, 5, "L")), g.constant(np.array([2, 0, 3, 1]))
    halves = ConvWindow((1, 1), (0,) * 4, (1, 1), 2)
    yield g.fires(conv(gather(x, turned, 1), g.random(6, 4, 3, 1), none(), PLAIN))
    yield g.near_miss(conv(gather(x, turned, 1), g.random(6, 2, 1, 1), none(), halves), why="groups")


@law(source="ShuffleNet; algebra", examples=_permutation_examples)
def permutation_into_weight(x: Tensor, i: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(Gather(x, i), W, b) = Conv(x, Gather(W, i^-1), b) where i is a permutation of the channels

    Likewise Gather_last(x, i) @ W = x @ Gather(W, i^-1).
    """
    known, last = (takes_all_channels(w, u), guard(varies(x))), last_axis_of(x)
    other = conv(x, gather(w, literal(undoing(x, i, 1)), 1), b, u)
    yield rewrite(conv(gather(x, i, 1), w, b, u), other, *known, because=FORGETS)
    other = x @ gather(w, literal(undoing(x, i, last)), rows_axis(w))
    yield rewrite(gather(x, i, last) @ w, other, guard(varies(x)), because=FORGETS)

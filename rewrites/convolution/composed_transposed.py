"""Kernels of 1 in front of and behind a transposed convolution are part of it.

Conv(ConvTranspose(x, V, c), W, b) -> ConvTranspose(x, V W, W c + b)                 for a W of 1 x 1
ConvTranspose(Conv(x, V), W, b) -> ConvTranspose(x, V' W, b)                         for a V of 1 x 1
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.sorts import Dims, Tensor
from egraph_opt.operators import ConvWindow, conv, conv_transpose, none, reshape, transpose
from egraph_opt.rewrites.conditions.channels import is_float_constant, is_no_computed_bias, static_shape
from egraph_opt.rewrites.conditions.operands import total, totals
from egraph_opt.rewrites.convolution.composed import FORGETS, is_little
from egraph_opt.rewrites.convolution.composed_blocks import is_point, kernels_without_groups
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.sums import RING

law = laws_of("convolution", numerics="reassociates", kind="merge", serves="arithmetic", source="algebra")


class Joined(NamedTuple):
    """How the kernel of a ConvTranspose and of a Conv of 1 x 1 behind it, or in front, is made.

    Attributes:
        matrix: the dims of the kernel of 1 x 1.
        rows: those of the other one with its taps flat.
        biases, flat: those of the inner bias as a column, and of what is made of it.
        kernel: those of what is made of both.
    """

    matrix: Dims
    rows: Dims
    biases: Dims
    flat: Dims
    kernel: tuple[int, ...]


@hosted()
def with_point_behind(v: Fact, w: Fact, u: ConvWindow, t: ConvWindow) -> Joined | None:
    shapes = kernels_without_groups(v, w, u, t)
    if shapes is None or not is_point(shapes[1], t):
        return None
    (before, channels, *kernel), (made, inner, *_) = shapes
    if channels != inner:
        return None
    rows = (before, channels, math.prod(kernel))
    return Joined((made, channels), rows, (channels, 1), (made,), (before, made, *kernel))


@hosted()
def with_point_in_front(v: Fact, w: Fact, u: ConvWindow, t: ConvWindow) -> Joined | None:
    shapes = kernels_without_groups(v, w, u, t)
    if shapes is None or not is_point(shapes[0], u):
        return None
    (channels, before, *_), (inner, made, *kernel) = shapes
    if channels != inner:
        return None
    rows = (channels, made * math.prod(kernel))
    return Joined((channels, before), rows, (channels, 1), (made,), (before, made, *kernel))


@hosted()
def is_worth_joining(v: Fact, w: Fact, y: Fact, found: Joined) -> bool:
    """The kernel of all has no more elements than the two, or few."""
    elements = math.prod(found.kernel)
    return elements <= sum(math.prod(static_shape(f) or ()) for f in (v, w)) or is_little(elements, y)


@hosted()
def is_bias_of_transposed(c: Fact, v: Fact) -> bool:
    return is_float_constant(c) and v.shape is not None and c.shape == v.shape[1:2]


_TWICE, _ODD = ConvWindow((2, 2), (0,) * 4, (1, 1)), ConvWindow((2, 1), (1, 0, 1, 1), (1, 2), 1, (1, 0))


def _behind(rng: np.random.Generator) -> Iterator[Example]:
    for window, v, w, biased in (
        (_TWICE, (4, 6, 2, 2), (5, 6, 1, 1), "bc"),
        (_ODD, (4, 3, 3, 3), (2, 3, 1, 1), "c"),
        (PLAIN, (4, 3, 1, 2), (3, 3, 1, 1), "b"),
        (ConvWindow((2,), (1, 1), (1,)), (4, 3, 4), (2, 3, 1), ""),
    ):
        g = Operands(rng)
        c, b = (g.random(size) if name in biased else none() for name, size in (("c", v[1]), ("b", w[0])))
        x = g.input(("N", 4, 5, 6)[: len(v)])
        small = ConvWindow((1,) * (len(v) - 2), (0,) * (2 * len(v) - 4), (1,) * (len(v) - 2))
        yield g.fires(conv(conv_transpose(x, g.random(*v), c, window), g.random(*w), b, small))
    g = Operands(rng)
    x = g.input((1, 4, 5, "L"))
    larger = conv_transpose(x, g.random(4, 6, 2, 2), none(), _TWICE)
    yield from g.near_misses(
        (conv(larger, g.random(5, 6, 2, 2), none(), PLAIN), "the kernel sees neighbours"),
        (conv(larger, g.random(5, 6, 1, 1), none(), RING), "it pads"),
        (conv(larger, g.input((5, 6, 1, 1)), none(), PLAIN), "W is no constant"),
        (conv(larger, g.random(60, 6, 1, 1), none(), PLAIN), "there would be more to multiply"),
        (conv(larger, g.random(6, 1, 1, 1), none(), ConvWindow((1, 1), (0,) * 4, (1, 1), 6)), "W has groups"),
    )


@law(uses=(totals,), examples=_behind)
def point_behind_transposed(
    x: Tensor, v: Tensor, c: Tensor, u: ConvWindow, w: Tensor, b: Tensor, t: ConvWindow
):
    """Conv(ConvTranspose(x, V, c), W, b) = ConvTranspose(x, W V, W c + b) for a W of 1 x 1"""
    how = with_point_behind(v, w, u, t)
    matrix = reshape(w, how[0])
    kernel = reshape(matrix @ reshape(v, how[1]), how[4])
    moved = reshape(matrix @ reshape(c, how[2]), how[3])
    for inner, bias, known in ((none(), b, ()), (c, total(moved, b), (is_bias_of_transposed(c, v),))):
        before = conv(conv_transpose(x, v, inner, u), w, b, t)
        behind = conv_transpose(x, kernel, bias, u)
        worth = guard(is_no_computed_bias(b, w), is_worth_joining(v, w, before, how))
        yield rewrite(before, behind, *known, worth, because=FORGETS)


def _in_front(rng: np.random.Generator) -> Iterator[Example]:
    for window, w in ((_TWICE, (3, 5, 2, 2)), (_ODD, (3, 2, 3, 3)), (PLAIN, (3, 4, 1, 2))):
        for biased in (False, True):
            g = Operands(rng)
            b = g.random(w[1]) if biased else none()
            inner = conv(g.input(("N", 4, 5, 6)), g.random(3, 4, 1, 1), none(), PLAIN)
            yield g.fires(conv_transpose(inner, g.random(*w), b, window))
    g = Operands(rng)
    x, kernel = g.input((1, 4, 5, "L")), g.random(6, 5, 2, 2)
    point = conv(x, g.random(6, 4, 1, 1), none(), PLAIN)
    wide = conv(g.input((1, 90, 5, "L")), g.random(6, 90, 1, 1), none(), PLAIN)
    yield from g.near_misses(
        (
            conv_transpose(conv(x, g.random(6, 4, 2, 2), none(), PLAIN), kernel, none(), _TWICE),
            "V sees neighbours",
        ),
        (
            conv_transpose(conv(x, g.random(6, 4, 1, 1), g.random(6), PLAIN), kernel, none(), _TWICE),
            "V has a bias",
        ),
        (
            conv_transpose(conv(x, g.input((6, 4, 1, 1)), none(), PLAIN), kernel, none(), _TWICE),
            "V is no constant",
        ),
        (conv_transpose(wide, kernel, none(), _TWICE), "there would be more to multiply"),
        (
            conv_transpose(point, g.random(6, 2, 2, 2), none(), ConvWindow((2, 2), (0,) * 4, (1, 1), 2)),
            "W has groups",
        ),
    )


@law(examples=_in_front)
def point_before_transposed(x: Tensor, v: Tensor, u: ConvWindow, w: Tensor, b: Tensor, t: ConvWindow):
    """ConvTranspose(Conv(x, V), W, b) = ConvTranspose(x, V' W, b) for a V of 1 x 1"""
    how = with_point_in_front(v, w, u, t)
    matrix = transpose(reshape(v, how[0]), (1, 0))
    kernel = reshape(matrix @ reshape(w, how[1]), how[4])
    before = conv_transpose(conv(x, v, none(), u), w, b, t)
    worth = guard(is_worth_joining(v, w, before, how))
    yield rewrite(before, conv_transpose(x, kernel, b, t), *worth, because=FORGETS)

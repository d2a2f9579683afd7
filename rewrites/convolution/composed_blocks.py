"""A kernel of 1 behind a DepthToSpace is part of the convolution before it.

Conv(DepthToSpace(Conv(x, V, c)), W, b) -> DepthToSpace(Conv(x, W V, W c + b))       for a W of 1 x 1

W V is the product of W as a matrix with the channels of V that a pixel is made of.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.sorts import Dims, Settings, Tensor
from egraph_opt.operators import ConvWindow, blockwise, conv, expand, none, reshape
from egraph_opt.rewrites.conditions.channels import (
    LARGEST,
    is_constant_bias,
    is_float_constant,
    known_elements,
    overflows_nowhere,
    static_shape,
)
from egraph_opt.rewrites.convolution.composed import FORGETS, is_little
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.sums import RING

law = laws_of(
    "convolution",
    numerics="reassociates",
    kind="merge",
    serves="arithmetic",
    source="sub-pixel convolution, arXiv 1609.05158",
)


ORDINARY = 8.0
"""The greatest element of a kernel that is too large to be looked at."""


def _stay_finite(v: Fact, w: Fact, terms: int) -> bool:
    """Sums of so many products of both overflow nothing, and none vanishes, as far as is known."""
    largest = [max(map(abs, known_elements(f) or (ORDINARY,))) for f in (v, w)]
    return overflows_nowhere("Mul", v, w) and largest[0] * largest[1] * terms <= LARGEST[v.dtype]


def kernels_without_groups(
    v: Fact, w: Fact, *windows: ConvWindow
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The dims of two constant kernels without groups, of which the product overflows nothing."""
    first, second = static_shape(v), static_shape(w)
    known = is_float_constant(v) and is_float_constant(w) and _stay_finite(v, w, (first or (1,))[0])
    if first is None or second is None or not known or 0 in (*first, *second):
        return None
    return (first, second) if all(window.group == 1 for window in windows) else None


def is_point(shape: tuple[int, ...], window: ConvWindow) -> bool:
    """A kernel of 1 that visits every pixel."""
    return all(k == 1 for k in (*shape[2:], *window.strides)) and not any(window.pads)


# --- depth to space -------------------------------------------------------------------------------------


class Deep(NamedTuple):
    """How the kernel of a Conv, a DepthToSpace and a Conv of 1 x 1 is made.

    Attributes:
        matrix: the dims of W, [M, C].
        rows, biases: those of V and its bias with the channels of one pixel on the axis before the last.
        kernel, flat: of what is made of them.
        alike, each: the dims of b for one pixel, and for all pixels of a block.
    """

    matrix: tuple[int, ...]
    rows: Dims
    biases: Dims
    kernel: tuple[int, ...]
    flat: Dims
    alike: Dims
    each: Dims


@hosted()
def through_blocks(v: Fact, w: Fact, u: ConvWindow, t: ConvWindow, settings: Settings) -> Deep | None:
    shapes, given = kernels_without_groups(v, w, u, t), dict(settings)
    if shapes is None or not is_point(shapes[1], t) or len(shapes[0]) != 4:
        return None
    (deep, before, *kernel), (made, channels, *_) = shapes
    block = given["blocksize"] ** 2
    taps = before * math.prod(kernel)
    if deep != channels * block:
        return None
    first = given.get("mode", "DCR") == "DCR"
    return Deep(
        matrix=(made, channels),
        rows=(block, channels, taps) if first else (channels, block * taps),
        biases=(block, channels, 1) if first else (channels, block),
        kernel=(made * block, before, *kernel),
        flat=(made * block,),
        alike=(1, made) if first else (made, 1),
        each=(block, made) if first else (made, block),
    )


@hosted()
def is_worth_blocks(v: Fact, w: Fact, y: Fact, found: Deep) -> bool:
    """The kernel of all multiplies no more for a pixel of x than the two do, or little."""
    elements, block = math.prod(found.kernel), found.kernel[0] // found.matrix[0]
    before = math.prod(static_shape(v) or ()) + block * math.prod(static_shape(w) or ())
    return elements <= before or is_little(elements, y)


def _blocks(rng: np.random.Generator) -> Iterator[Example]:
    two, three = (("blocksize", 2), ("mode", "DCR")), (("blocksize", 3), ("mode", "CRD"))
    crd = (two[0], three[1])
    for v, w, settings, window, biased in (
        ((12, 4, 3, 3), (2, 3, 1, 1), two, RING, "bc"),
        ((18, 4, 1, 1), (5, 2, 1, 1), three, PLAIN, "b"),
        ((8, 4, 2, 3), (3, 2, 1, 1), crd, ConvWindow((2, 1), (1, 0, 0, 1), (1, 1)), "c"),
        ((8, 4, 2, 3), (3, 2, 1, 1), two, PLAIN, ""),
    ):
        g = Operands(rng)
        c, b = (g.random(size) if name in biased else none() for name, size in (("c", v[0]), ("b", w[0])))
        deep = blockwise("DepthToSpace", conv(g.input(("N", 4, 5, 6)), g.random(*v), c, window), settings)
        yield g.fires(conv(deep, g.random(*w), b, PLAIN))
    g = Operands(rng)
    x, point = g.input((1, 4, 5, "L")), g.random(2, 3, 1, 1)
    deep = blockwise("DepthToSpace", conv(x, g.random(12, 4, 3, 3), none(), PLAIN), two)
    computed = blockwise("DepthToSpace", conv(x, g.input((12, 4, 3, 3)), none(), PLAIN), two)
    halves = blockwise(
        "DepthToSpace", conv(x, g.random(12, 2, 3, 3), none(), ConvWindow((1, 1), (0,) * 4, (1, 1), 2)), two
    )
    yield from g.near_misses(
        (conv(deep, g.random(2, 3, 3, 3), none(), PLAIN), "the kernel sees neighbours"),
        (conv(deep, point, none(), RING), "it pads"),
        (conv(deep, point, none(), ConvWindow((2, 2), (0,) * 4, (1, 1))), "it strides"),
        (conv(computed, point, none(), PLAIN), "V is no constant"),
        (conv(halves, point, none(), PLAIN), "V has groups"),
        (conv(deep, g.random(3, 1, 1, 1), none(), ConvWindow((1, 1), (0,) * 4, (1, 1), 3)), "W has groups"),
        (conv(deep, g.random(9, 3, 1, 1), none(), PLAIN), "there would be more to multiply"),
    )


@law(examples=_blocks)
def point_behind_blocks(
    x: Tensor, v: Tensor, c: Tensor, u: ConvWindow, w: Tensor, b: Tensor, t: ConvWindow, k: Settings
):
    """Conv(DepthToSpace(Conv(x, V, c)), W, b) = DepthToSpace(Conv(x, W V, W c + b)) for a W of 1 x 1"""
    how = through_blocks(v, w, u, t, k)
    matrix = reshape(w, how[0])
    kernel = reshape(matrix @ reshape(v, how[1]), how[3])
    moved = reshape(matrix @ reshape(c, how[2]), how[4])
    conditions = is_constant_bias(c, v), is_constant_bias(b, w)
    spread = reshape(expand(reshape(b, how[5]), how[6]), how[4])
    for inner, outer, bias, known in biases(c, b, (moved, spread), conditions):
        low = conv(x, v, inner, u)
        before = conv(blockwise("DepthToSpace", low, k), w, outer, t)
        behind = blockwise("DepthToSpace", conv(x, kernel, bias, u), k)
        yield rewrite(before, behind, *known, guard(is_worth_blocks(v, w, low, how)), because=FORGETS)


def biases(
    c: Any, b: Any, become: tuple[Any, Any], known: tuple[Any, Any]
) -> Iterator[tuple[Any, Any, Any, tuple[Any, ...]]]:
    """Both biases, present or not, with what they become and the conditions of that."""
    nothing, (moved, own), (one, other) = none(), become, known
    yield nothing, nothing, nothing, ()
    yield c, nothing, moved, (one,)
    yield nothing, b, own, (other,)
    yield c, b, moved + own, (one, other)

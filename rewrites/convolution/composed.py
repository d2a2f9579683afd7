"""Two convolutions in a row are one convolution, where that multiplies less or is too small to matter.

Conv(Conv(x, V, b), W, c) -> Conv(x, V * W, W b + c)

V * W is a ConvTranspose: each element of W puts a V into the kernel, where it is.  An axis that W pads is one
along which V has a kernel of 1: the zeros there are those of a padded x, without b.
"""

import math
from collections.abc import Iterator
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, hosted, law, rewrite, table
from egraph_opt.laws import rule as when
from egraph_opt.laws.sorts import Dims, Int, Permutation, Tensor
from egraph_opt.operators import ConvWindow, conv, conv_transpose, none, reduce, reshape, transpose
from egraph_opt.rewrites.conditions.chains import is_weight
from egraph_opt.rewrites.conditions.channels import (
    LARGEST,
    SMALLEST,
    axes_of_a_row,
    is_float_constant,
    is_moderate,
    is_no_computed_bias,
    known_elements,
    may_sum,
    static_shape,
)
from egraph_opt.rewrites.conditions.operands import total, totals
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.sums import RING

MULTIPLICATIONS = 2**24
ELEMENTS = 2**18
"""Of what is multiplied in a run, and of a kernel: so little is worth one convolution less."""
BATCH = 16
"""Images in a batch of which the size is not known."""

FORGETS = "forgets what the kernels were"


class Composed(NamedTuple):
    """How the kernel of two convolutions in a row is made.

    Attributes:
        groups: the dims of W with its groups apart, [g, M/g, C/g, *kernel].
        swap: its first two axes.
        rows: the dims of W with all channels that go in together, [M/g, C, *kernel].
        walk: how W walks over V.
        made, kernel: the dims of both, [M/g, g, ..] and [M, ..].
        window: how both walk over x.
        taps: the dims of W with its kernel flat, [g, M/g, C/g, K].
        bias, sums: the dims of b and of what becomes of it, [g, C/g, 1] and [M].
    """

    groups: Dims
    swap: Permutation
    rows: Dims
    walk: ConvWindow
    made: Dims
    kernel: tuple[int, ...]
    window: ConvWindow
    taps: Dims
    bias: Dims
    sums: Dims


def _along(size: int, other: int, step: int, dilation: int) -> tuple[int, int, int]:
    """Of V and W along an axis: by how much W moves V, how far V is dilated in that, and both in x."""
    if other == 1:
        return 1, 1, dilation
    if size == 1:
        return 1, 1, step
    unit = math.gcd(step, dilation)
    return step // unit, dilation // unit, unit


def _keeps_its_size(v: Fact, w: Fact) -> bool:
    """As far as they are known, sums of products of elements do not overflow, nor do the greatest vanish."""
    known = known_elements(v), known_elements(w)
    if not all(known):
        return is_moderate(v.dtype, *(known[0] or known[1] or ()))
    size = math.prod(max(map(abs, values)) for values in known if values)
    terms = math.prod(d for d in (w.shape or ())[1:] if isinstance(d, int))
    return size == 0 or SMALLEST[v.dtype] <= size <= LARGEST[v.dtype] / terms


@hosted()
def composed(v: Fact, w: Fact, one: ConvWindow, other: ConvWindow) -> Composed | None:
    """None where groups cross, or the kernel overflows, or W pads where V has a kernel."""
    if not is_float_constant(v) or not is_float_constant(w) or not _keeps_its_size(v, w):
        return None
    if v.units is not None or w.units is not None:
        return None  # what selects is left to `selecting`: x = Conv(x, I) would never end
    first, second, axes = static_shape(v) or (), static_shape(w) or (), len(one.strides)
    groups, least = other.group, min(one.group, other.group)
    if 0 in (*first, *second) or first[0] != second[1] * groups or (one.group != groups and least > 1):
        return None
    whole = [size == 1 and not one.pads[k] and not one.pads[k + axes] for k, size in enumerate(first[2:])]
    if min(*one.pads, *other.pads) < 0 or any(p and not whole[k % axes] for k, p in enumerate(other.pads)):
        return None
    steps = map(mul, one.strides, other.dilations)
    along = list(map(_along, first[2:], second[2:], steps, one.dilations))
    strides, dilations, units = map(tuple, zip(*along, strict=True))
    spread = zip(first[2:], second[2:], along, strict=True)
    kernel = tuple((b - 1) * step + (a - 1) * dilation + 1 for a, b, (step, dilation, _) in spread)
    rows, columns = second[0] // groups, first[1] * one.group // least
    pads = (p + s * q for p, s, q in zip(one.pads, one.strides * 2, other.pads, strict=True))
    return Composed(
        groups=(groups, rows, *second[1:]),
        swap=(1, 0, *range(2, axes + 3)),
        rows=(rows, first[0], *second[2:]),
        walk=ConvWindow(strides, (0,) * (2 * axes), dilations, max(one.group, groups)),
        made=(rows, groups, columns, *kernel),
        kernel=(second[0], columns, *kernel),
        window=ConvWindow(tuple(map(mul, one.strides, other.strides)), tuple(pads), units, least),
        taps=(groups, rows, second[1], math.prod(second[2:])),
        bias=(groups, second[1], 1),
        sums=(second[0],),
    )


@hosted()
def pads_nothing(window: ConvWindow) -> bool:
    return not any(window.pads)


def is_little(elements: int, made: Fact) -> bool:
    """A kernel of so many elements multiplies little for an image that it makes."""
    if made.shape is None or elements > ELEMENTS:
        return False
    batch, pixels = made.shape[0], made.shape[2:]
    sizes = (batch if isinstance(batch, int) else BATCH, *pixels)
    return all(isinstance(k, int) for k in sizes) and elements * math.prod(sizes) <= MULTIPLICATIONS  # type: ignore[arg-type]


@hosted()
def is_worth(v: Fact, w: Fact, y: Fact, found: Composed) -> bool:
    """The kernel of both has no more elements than the two, or there are few, and few pixels."""
    elements = math.prod(found.kernel)
    return elements <= sum(math.prod(static_shape(f) or ()) for f in (v, w)) or is_little(elements, y)


# --- which of them -----------------------------------------------------------------------------------------


@table(merge="first")
def kernel_between(y: Tensor, x: Tensor) -> Tensor:
    """The kernel V of y = Conv(x, V) that is made one with the next: all others compute the same."""


@table(merge="max")
def follows(x: Tensor, v: Tensor) -> Int:
    """1 where x of Conv(x, V) is a convolution itself, which V is made one with; else 0.

    What comes then is made one with both of them: of n convolutions in a row the first k become one, and not
    those of every stretch, in every order.
    """


def _in_a_row(x: Any, one: Any, other: Any) -> Iterator[tuple[Any, Any, Any, tuple[Any, ...]]]:
    """The first of two convolutions of x, both, the bias of one for both, and what has to hold.

    Args:
        one, other: the kernel, bias and window of each.
    """
    (v, b, u), (w, c, t) = one, other
    how = composed(v, w, u, t)
    moved = reshape(reduce("ReduceSum", reshape(w, how[7]), (3,), 0) @ reshape(b, how[8]), how[9])
    biased = (may_sum(b, w, axes_of_a_row(w)), pads_nothing(t), guard(is_no_computed_bias(c, w)))
    for first, bias, present in ((b, total(moved, c), biased), (none(), c, ())):
        inner = conv(x, v, first, u)
        two = conv(inner, w, c, t)
        yield inner, two, bias, (*present, guard(is_worth(v, w, two, how)))


@auxiliary(totals)
def rows_of_convolutions(
    x: Tensor, y: Tensor, v: Tensor, b: Tensor, u: ConvWindow, w: Tensor, c: Tensor, t: ConvWindow
):
    """Fills `kernel_between` and `follows`."""
    known = (eq(y, conv(x, v, b, u)), is_weight(v, x))
    yield when(*known, then=(assign(kernel_between(y, x), v), assign(follows(x, v), 0)))
    for inner, two, _, present in _in_a_row(x, (v, b, u), (w, c, t)):
        yield when(eq(y, two), *present, then=assign(follows(inner, w), 1))


_EVEN, _STEPS = ConvWindow((1, 1), (0, 0, 0, 0), (2, 2)), ConvWindow((2, 3), (1, 0, 1, 0), (1, 1))
_HALVES, _EACH = ConvWindow((1, 1), (0,) * 4, (1, 1), 2), ConvWindow((1, 1), (1,) * 4, (1, 1), 4)
_ROWS, _COLUMNS = ConvWindow((1, 1), (1, 0, 1, 0), (1, 1)), ConvWindow((1, 1), (0, 1, 0, 1), (1, 1))
_LINE = ConvWindow((1,), (1, 0), (1,))
_POINT, _KERNEL = (1, 1), (3, 2)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    for v, w, one, other, biased, why in (
        ((6, 4, *_KERNEL), (5, 6, *_POINT), _STEPS, PLAIN, "bc", ""),
        ((6, 4, *_KERNEL), (5, 6, *_POINT), RING, _EVEN, "b", ""),
        ((3, 4, *_POINT), (5, 3, *_KERNEL), PLAIN, _EVEN, "bc", ""),
        ((3, 4, *_POINT), (5, 3, *_KERNEL), PLAIN, RING, "c", ""),
        ((3, 4, *_KERNEL), (5, 3, *_KERNEL), RING, PLAIN, "bc", ""),
        ((3, 4, *_KERNEL), (5, 3, *_KERNEL), _STEPS, _EVEN, "c", ""),
        ((3, 4, 1, 3), (5, 3, 3, 1), _COLUMNS, _ROWS, "", ""),
        ((4, 1, 3, 3), (6, 4, *_POINT), _EACH, PLAIN, "bc", ""),
        ((4, 4, *_POINT), (4, 1, 3, 3), PLAIN, _EACH, "c", ""),
        ((4, 2, *_KERNEL), (6, 2, 2, 2), _HALVES, _HALVES, "bc", ""),
        ((6, 4, *_POINT), (4, 6, *_POINT), PLAIN, PLAIN, "b", ""),
        ((3, 4, 3), (5, 3, 2), _LINE, ConvWindow((2,), (0, 0), (1,)), "bc", ""),
        ((3, 4, *_POINT), (5, 3, *_KERNEL), PLAIN, RING, "b", "the padding has no bias"),
        ((3, 4, *_KERNEL), (5, 3, *_KERNEL), PLAIN, RING, "", "the padding of what is no image"),
        ((4, 2, *_KERNEL), (8, 1, 2, 2), _HALVES, _EACH, "", "groups of two sizes"),
    ):
        g = Operands(rng)
        x = g.input(("N" if one is other is PLAIN else 2, 4, *(11, 13)[: len(v) - 2]))
        b, c = (g.random(size) if name in biased else none() for name, size in (("b", v[0]), ("c", w[0])))
        y = conv(conv(x, g.random(*v), b, one), g.random(*w), c, other)
        yield g.near_miss(y, why) if why else g.fires(y)
    x, kernel, small = g.input((1, 4, 8, 8)), g.random(4, 4, 3, 3), g.random(4, 4, 3, 3)
    large = g.constant(np.full((4, 4, 1, 1), 1e20))
    for first, second, of, why in (
        (g.input((4, 4, 3, 3)), small, x, "a weight is no constant"),
        (kernel, g.input((4, 4, 3, 3)), x, "a weight is no constant"),
        (large, large, x, "the kernel overflows"),
        (kernel, small, g.input((1, 4, "L", 8)), "there may be many pixels"),
        (kernel, small, g.input((1, 4, 500, 500)), "two small kernels multiply less"),
    ):
        yield g.near_miss(conv(conv(of, first, none(), PLAIN), second, none(), PLAIN), why)
    point, far, two = (
        g.constant(np.full((1, 1, 1, 1)[axis:], number)) for number, axis in ((1.0, 0), (3e38, 0), (2.0, 3))
    )
    shifted = conv(g.input((1, 1, 8, 8)), point, two, PLAIN)
    yield g.near_miss(conv(shifted, far, none(), PLAIN), "the bias overflows")


@law(
    "convolution",
    numerics="reassociates",
    kind="merge",
    serves="arithmetic",
    source="TASO, composition of convolutions",
    uses=(rows_of_convolutions,),
    examples=_examples,
    resumes=True,
)
def of_convolution(x: Tensor, v: Tensor, b: Tensor, u: ConvWindow, w: Tensor, c: Tensor, t: ConvWindow):
    """Conv(Conv(x, V, b), W, c) = Conv(x, V * W, W b + c) where W pads nothing, or 1 x 1 kernels without b"""
    how = composed(v, w, u, t)
    rows = reshape(transpose(reshape(w, how[0]), how[1]), how[2])
    made = reshape(conv_transpose(rows, v, none(), how[3]), how[4])
    kernel = reshape(transpose(made, how[1]), how[5])
    for inner, two, bias, present in _in_a_row(x, (v, b, u), (w, c, t)):
        one = guard(eq(v, kernel_between(inner, x)), eq(follows(x, v), 0), eq(w, kernel_between(two, inner)))
        yield rewrite(two, conv(x, kernel, bias, how[6]), *present, one, because=FORGETS)

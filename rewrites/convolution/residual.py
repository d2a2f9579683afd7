"""What is added to a convolution of itself is one more element of the kernel.

Conv(x, W, b) + x = Conv(x, W + I, b)
Conv(x, W, b) + x * s = Conv(x, W + diag(s), b)
Conv(x, W, b) - x = Conv(x, W - I, b)        x - Conv(x, W, b) = Conv(x, I - W, -b)
Conv(x, W, b) + Pad(Slice(x)) = Conv(x, W + I, b)

where I is 1 in the middle of the kernel that takes each channel to itself; in the last, where a convolution
with strides sees every second pixel, which zeros stand beside as further channels.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import number_like, varies
from egraph_opt.laws.sorts import DataType, Int, Number, Pads, Slices, Tensor
from egraph_opt.operators import ConvWindow, Literal, binary, cast, conv, literal, none, pad, reshape, slice_
from egraph_opt.rewrites.conditions.chains import affine, chosen
from egraph_opt.rewrites.conditions.channels import is_float_constant, is_present, is_shift, static_shape
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import fits
from egraph_opt.rewrites.convolution.outputs import PLAIN, scale_of_rows
from egraph_opt.rewrites.convolution.padding import is_zero
from egraph_opt.rewrites.convolution.sums import RING

law = laws_of("convolution_sums", numerics="reassociates", kind="fuse", serves="launches", source="RepVGG")


FORGETS = "forgets what was in the kernel"


class Identity(NamedTuple):
    """A kernel that takes each channel to itself.

    Attributes:
        rows, columns: which channel comes out of a row, and goes in at a column.
        zeros: the pads to the size of the kernel.
    """

    rows: Literal
    columns: Literal
    zeros: Pads
    dtype: DataType


@hosted()
def identity_kernel(x: Fact, w: Fact, window: ConvWindow) -> Identity | None:
    """The identity in the form of W; None where no element of W takes each of x to its place."""
    if any(s != 1 for s in window.strides):
        return None
    found: Identity | None = kernel_of_part.function(x, w, window, (), no_pads.function(window))
    return found


@hosted()
def no_pads(window: ConvWindow) -> Pads:
    """Those of an image that is not padded."""
    return (0,) * (2 * len(window.strides) + 4)


@hosted()
def kernel_of_part(x: Fact, w: Fact, window: ConvWindow, spec: Slices, pads: Pads) -> Identity | None:
    """The kernel in the form of W that makes Pad(Slice(x)), with more channels; None where none does."""
    shape, axes = static_shape(w), len(window.strides)
    if (
        shape is None
        or not is_float_constant(w)
        or x.shape is None
        or len(x.shape) != len(shape)
        or 0 in shape
    ):
        return None
    rank, cuts = len(shape), {axis: (start, end, step) for axis, start, end, step in spec}
    ahead, beyond = (pads[1], pads[rank + 1]) if len(pads) == 2 * rank else (0, 0)
    if len(pads) != 2 * rank or sum(map(abs, pads)) != ahead + beyond or min(pads) < 0 or 0 in cuts:
        return None
    sources = _channels(x.shape[1], cuts.get(1), (ahead, beyond), shape, window.group)
    places = [
        _place(x.shape[k + 2], cuts.get(k + 2, (0, None, 1)), shape[k + 2], along)
        for k, along in enumerate(_windows(window))
    ]
    if sources is None or None in places:
        return None
    before = [place for place in places if place is not None]
    behind = [size - 1 - place for size, place in zip(shape[2:], before, strict=True)]
    flat = (1,) * axes
    rows = Literal(TensorProto.INT64, (shape[0], 1, *flat), tuple(sources))
    columns = Literal(TensorProto.INT64, (1, shape[1], *flat), tuple(range(shape[1])))
    return Identity(rows, columns, (0, 0, *before, 0, 0, *behind), w.dtype)


def _windows(window: ConvWindow) -> Iterator[tuple[int, int, int, int]]:
    """Of each axis the stride, the pads in front and behind, and the dilation."""
    axes = len(window.strides)
    return zip(window.strides, window.pads[:axes], window.pads[axes:], window.dilations, strict=True)


def _channels(
    dim: Dim,
    cut: tuple[int, int | None, int] | None,
    more: tuple[int, int],
    shape: tuple[int, ...],
    group: int,
) -> list[int] | None:
    """For each channel that comes out the one of its group that it is, -1 for zeros.

    Args:
        more: how many of zeros there are in front and behind.
    """
    if not isinstance(dim, int):
        return None
    start, end, step = cut or (0, None, 1)
    taken = list(range(dim)[start:end:step])
    sources = [-1] * more[0] + taken + [-1] * more[1]
    size, rows = shape[1], shape[0] // group
    if len(sources) != shape[0] or not taken or size * group != dim:
        return None
    known = all(c < 0 or c // size == m // rows for m, c in enumerate(sources))
    return [c if c < 0 else c % size for c in sources] if known else None


def _place(
    dim: Dim, cut: tuple[int, int | None, int], size: int, along: tuple[int, int, int, int]
) -> int | None:
    """Which element of the kernel sees what a slice takes, where there are as many windows as it takes."""
    (start, end, step), (stride, before, behind, dilation) = cut, along
    reach = (size - 1) * dilation + 1 - before - behind
    place, between = divmod(start + before, dilation)
    if start < 0 or between or not 0 <= place < size:
        return None
    if isinstance(dim, int):
        count = len(range(dim)[start:end:step])
        alike = count == (dim - reach) // stride + 1 and (step == stride or count == 1)
        return place if alike else None
    if step != stride or (end is not None and end >= 0):
        return None
    return place if reach - 1 == start - (end or 0) else None


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 4, 5, "L"))
    skew = ConvWindow((1, 1), (0, 2, 2, 2), (1, 2), 2)
    for w, u in (
        (g.random(4, 4, 3, 3), RING),
        (g.random(4, 4, 1, 1), PLAIN),
        (g.random(4, 2, 3, 3), skew),
        (g.random(4, 1, 3, 3), ConvWindow((1, 1), (1,) * 4, (1, 1), 4)),
    ):
        yield g.fires(conv(x, w, g.random(4), u) + x)
        yield g.fires(x * g.random(4, 1, 1) + conv(x, w, none(), u))
    y = conv(x, w, none(), u)
    yield g.fires(y + x * g.random())
    yield g.fires(y + (x * g.random(4, 1, 1) + g.random(4, 1, 1)))
    line = g.input((2, 3, "L"))
    yield g.fires(conv(line, g.random(3, 3, 2), none(), ConvWindow((1,), (0, 1), (1,))) + line)
    w, y = g.random(4, 4, 3, 3), g.input(("N", 4, 5, "L"))
    for z, why in (
        (conv(x, w, none(), RING) + y, "two images"),
        (conv(x, w, none(), RING) + (x + y), "the branch is no constant more"),
        (conv(x, g.random(1, 4, 3, 3), none(), RING) + x, "one channel is broadcast"),
        (conv(x, g.input((4, 4, 3, 3)), none(), RING) + x, "the weight is no constant"),
        (conv(x, w, none(), RING) + x * g.random(4), "the scale is one of columns"),
        (conv(x, w, none(), ConvWindow((1, 1), (0, 1, 2, 1), (1, 1))) + x, ""),
        (conv(x, g.random(4, 4, 2, 3), none(), ConvWindow((1, 1), (1, 1, 1, 1), (2, 1))) + x, "between"),
    ):
        yield g.near_miss(z, why) if why else g.fires(z)


@law(examples=_examples, uses=(affine, either_side))
def identity_branch(x: Tensor, w: Tensor, b: Tensor, c: Tensor, d: Tensor, u: ConvWindow, i: Int):
    """Conv(x, W, b) + x = Conv(x, W + I, b), and with x * s for x; + c where the branch has that, too"""
    found, y = identity_kernel(x, w, u), conv(x, w, b, u)
    ones = cast(binary("Equal", literal(found[0]), literal(found[1])), found[3])
    diagonal = ones * reshape(c, scale_of_rows(w, c, u))
    for branch, kernel, demand in ((x, ones, ()), (x * c, diagonal, chosen("Mul", x, c))):
        one = conv(x, w + pad(kernel, "constant", found[2], 0.0), b, u)
        known = (guard(varies(x)), demand)
        yield rewrite(beside("Add", y, branch, i), one, known, because=FORGETS)
        shifted = (*guard(is_shift(d), fits(d, y)), *chosen("Add", branch, d))
        yield rewrite(beside("Add", y, branch + d, i), one + d, known, shifted, because=FORGETS)


def _differences(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 4, 5, "L")), g.input(("N", 4, 5, "L"))
    w, grouped = g.random(4, 4, 3, 3), ConvWindow((1, 1), (1,) * 4, (1, 1), 2)
    for bias in (none(), g.random(4)):
        for z in (conv(x, w, bias, RING), conv(x, g.random(4, 2, 3, 3), bias, grouped)):
            yield from g.all_fire(z - x, x - z)
        z = conv(x, w, bias, RING)
        yield from g.near_misses((z - y, "two images"), (y - z, "two images"))
        z = conv(x, g.random(1, 4, 3, 3), bias, RING)
        yield from g.near_misses((z - x, "one channel is broadcast"), (x - z, "one channel is broadcast"))


@law(source="DnCNN: what is subtracted is noise", examples=_differences)
def identity_difference(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, W, b) - x = Conv(x, W - I, b), and x - Conv(x, W, b) = Conv(x, I - W, -b)"""
    found, varying = identity_kernel(x, w, u), guard(varies(x))
    ones = cast(binary("Equal", literal(found[0]), literal(found[1])), found[3])
    kept = pad(ones, "constant", found[2], 0.0)
    yield rewrite(conv(x, w, b, u) - x, conv(x, w - kept, b, u), varying, because=FORGETS)
    for bias, negated, known in ((none(), none(), ()), (b, b * number_like(w, -1.0), (is_present(b),))):
        one = conv(x, kept - w, negated, u)
        yield rewrite(x - conv(x, w, bias, u), one, *known, varying, because=FORGETS)


def _shortcuts(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z, w, four = (
        g.input(("N", 4, "L", 7)),
        g.input(("N", 4, 4, 4)),
        g.random(8, 4, 3, 3),
        g.random(4, 4, 3, 3),
    )
    half, halves = (ConvWindow((2, 2), (1,) * 4, (1, 1), groups) for groups in (1, 2))
    point, b, c = ConvWindow((2, 2), (0,) * 4, (1, 1)), g.random(4), g.random(8)
    every, odd = (((2, start, None, 2), (3, 0, None, 2)) for start in (0, 1))
    inner, row = ((1, 1, 4, 1), (2, 1, -1, 1), (3, 1, 6, 1)), ((2, 0, 1, 1), (3, 1, 3, 1))

    def more(y: Tensor, before: int, behind: int, value: float = 0.0) -> Tensor:
        return pad(y, "constant", (0, before, 0, 0, 0, behind, 0, 0), value)  # type: ignore[no-any-return]

    seen = slice_(x, every)
    yield from g.all_fire(
        conv(x, w, c, half) + more(seen, 2, 2),
        more(seen, 0, 4) + conv(x, w, none(), half),
        conv(x, g.random(4, 4, 1, 1), b, point) + seen,
        conv(x, g.random(4, 2, 3, 3), b, halves) + seen,
        conv(x, g.random(8, 2, 3, 3), none(), halves) + more(seen, 2, 2),
        conv(x, w, none(), RING) + more(x, 1, 3),
        conv(x, g.random(3, 4, 3, 3), none(), PLAIN) + slice_(x, inner),
        conv(x, g.random(4, 4, 2, 3), none(), PLAIN) + slice_(x, ((2, 1, None, 1), (3, 0, 5, 1))),
    )
    yield from g.near_misses(
        (conv(x, w, none(), half) + more(seen, 2, 2, 1.0), "beside ones"),
        (conv(x, w, none(), RING) + more(x, 2, 2, 1.0), "beside ones"),
        (conv(x, w, none(), half) + more(slice_(g.input(("N", 4, "L", 7)), every), 2, 2), "two images"),
        (conv(x, g.input((8, 4, 3, 3)), none(), half) + more(seen, 2, 2), "the weight is no constant"),
        (conv(x, four, none(), half) + slice_(x, odd), "where L is odd there is one window more"),
        (conv(x, g.random(8, 2, 3, 3), none(), halves) + more(seen, 0, 4), "of another group"),
        (conv(x, g.random(1, 4, 3, 3), none(), half) + seen, "one channel is broadcast"),
        (conv(z, four, none(), PLAIN) + slice_(z, row), "one row is broadcast"),
    )


@law(source="ResNet, arXiv 1512.03385: shortcuts of option A", examples=_shortcuts, uses=(either_side,))
def part_branch(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, s: Slices, p: Pads, v: Number, i: Int):
    """Conv(x, W, b) + Pad(Slice(x)) = Conv(x, W + I, b) for the pixels that are seen, further channels 0"""
    y, cut = conv(x, w, b, u), slice_(x, s)
    for branch, spec, more, known in (
        (cut, s, no_pads(u), ()),
        (pad(x, "constant", p, v), (), p, (is_zero(v),)),
        (pad(cut, "constant", p, v), s, p, (is_zero(v),)),
    ):
        found = kernel_of_part(x, w, u, spec, more)
        ones = cast(binary("Equal", literal(found[0]), literal(found[1])), found[3])
        one = conv(x, w + pad(ones, "constant", found[2], 0.0), b, u)
        yield rewrite(beside("Add", y, branch, i), one, *known, guard(varies(x)), because=FORGETS)

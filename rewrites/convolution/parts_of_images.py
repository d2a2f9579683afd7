"""A part of a convolved, pooled or resized image is made of a part of the image, where slices meet.

Slice(Conv(x, W, b)) -> Conv(Slice(x), W, b)         the rows and columns that the windows left over look at
Slice(Pool(x)) -> Pool(Slice(x))                     likewise
Slice(Resize(x)) -> Resize(Slice(x))                 along axes that keep their length
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, auxiliary, eq, guard, hosted, laws_of, rewrite, rule
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Settings, Slices, String, Tensor
from egraph_opt.operators import ConvWindow, PoolWindow, conv, none, pool, resize, slice_
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.pool_axes import Along, along_axes, of_axes
from egraph_opt.rewrites.convolution.sums import RING
from egraph_opt.rewrites.shapes.resize_alike import keeps_axis
from egraph_opt.rewrites.shapes.resize_identities import NEAREST
from egraph_opt.rewrites.slicing.movement import asked, asking_rules, first_axis
from egraph_opt.rewrites.slicing.slice import taken_by

law = laws_of("slice", numerics="reassociates", kind="move", serves="arithmetic")

SOURCE = "Ascend auto-optimizer, MergeConsecutiveSlice"
MORE = "the whole image is more to compute"


class Part(NamedTuple):
    """What of an image is looked at, and the windows along each axis of that."""

    spec: Slices
    along: tuple[Along, ...]


def _part(along: Sequence[Along], spec: Slices, x: Fact, y: Fact) -> Part | None:
    """The part of x that a part of y, of which no channels are cut, is made of."""
    if x.shape is None or y.shape is None or len(x.shape) != len(along) + 2:
        return None
    cut, windows = [], list(along)
    for entry in spec:
        axis, _, _, step = entry
        dim, whole = x.shape[axis], y.shape[axis]
        if axis == 0:
            cut.append(entry)
            continue
        if axis == 1 or step != 1 or not isinstance(dim, int) or not isinstance(whole, int):
            return None
        taken = taken_by(entry, whole)
        if not taken:
            return None
        size, stride, before, _, dilation = along[axis - 2]
        first = taken[0] * stride - before
        end = taken[-1] * stride - before + (size - 1) * dilation + 1
        start, stop = max(first, 0), min(end, dim)
        if start >= stop:
            return None
        if (start, stop) != (0, dim):
            cut.append((axis, start, stop, 1))
        windows[axis - 2] = (size, stride, start - first, end - stop, dilation)
    return Part(tuple(cut), tuple(windows)) if cut else None


def _along(w: Fact, window: ConvWindow) -> list[Along] | None:
    if w.shape is None or not all(isinstance(size, int) for size in w.shape[2:]):
        return None
    axes = len(window.strides)
    pads = (window.pads[:axes], window.pads[axes:])
    return list(zip(w.shape[2:], window.strides, *pads, window.dilations, strict=True))  # type: ignore[arg-type]


@hosted()
def convolved_part(x: Fact, w: Fact, window: ConvWindow, spec: Slices, y: Fact) -> Slices | None:
    """The part of x that a slice of a convolution looks at."""
    along = _along(w, window)
    found = None if along is None else _part(along, spec, x, y)
    return None if found is None else found.spec


@hosted()
def window_of_part(x: Fact, w: Fact, window: ConvWindow, spec: Slices, y: Fact) -> ConvWindow | None:
    """The window with the pads that are left of it on that part."""
    along = _along(w, window)
    found = None if along is None else _part(along, spec, x, y)
    if found is None:
        return None
    before, behind = zip(*(entry[2:4] for entry in found.along), strict=True)
    return replace(window, pads=(*before, *behind))


@hosted()
def pooled_part(x: Fact, window: PoolWindow, spec: Slices, y: Fact) -> Slices | None:
    """The part of x that a slice of a pool looks at; no window is partial."""
    found = None if window.ceil_mode else _part(along_axes(window), spec, x, y)
    return None if found is None else found.spec


@hosted()
def pool_of_part(x: Fact, window: PoolWindow, spec: Slices, y: Fact) -> PoolWindow | None:
    """The window with the pads that are left of it on that part."""
    found = _part(along_axes(window), spec, x, y)
    return None if found is None else of_axes(window, list(found.along))


@hosted()
def is_pixel_axis(axis: Axis) -> bool:
    """Channels are summed."""
    return axis != 1


@auxiliary(asking_rules)
def asking_images(
    x: Tensor, y: Tensor, w: Tensor, b: Tensor, a: Axis, u: ConvWindow, v: PoolWindow, op: String
):
    """Fills `asked`: images of what is a Slice or a Concat."""
    yield rule(eq(y, conv(x, w, b, u)), asked(x, a), is_pixel_axis(a), then=asked(y, a))
    yield rule(eq(y, pool(op, x, v)), asked(x, a), then=asked(y, a))


def _convolutions(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = slice_(g.input(("N", 4, 9, 8)), ((3, 0, 7, 1),)), g.random(5, 4, 3, 3), g.random(5)
    steps = ConvWindow((2, 1), (1, 2, 0, 1), (1, 2))
    yield from g.all_fire(
        slice_(conv(x, w, b, PLAIN), ((2, 2, 5, 1),)),
        slice_(conv(x, w, none(), RING), ((2, 0, 4, 1), (3, 3, 7, 1))),
        slice_(conv(x, w, b, steps), ((2, 1, 3, 1),)),
        slice_(conv(x, g.random(4, 1, 3, 3), none(), replace(PLAIN, group=4)), ((2, 0, 5, 1), (3, 1, 4, 1))),
    )
    yield from g.near_misses(
        (slice_(conv(x, w, b, PLAIN), ((1, 0, 3, 1),)), "channels"),
        (slice_(conv(x, w, b, PLAIN), ((2, 0, 5, 2),)), "every other row"),
        (slice_(conv(x, w, b, RING), ((2, 1, 8, 1),)), "all rows are looked at"),
        (slice_(conv(g.input((1, 4, 9, 8)), w, b, PLAIN), ((2, 2, 5, 1),)), "there is nothing that it meets"),
    )


@law(source=SOURCE, uses=(asking_images,), examples=_convolutions)
def part_of_convolution(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, s: Slices):
    """Slice(Conv(x, W, b)) = Conv(Slice(x), W, b) where slices meet"""
    y = conv(x, w, b, u)
    cut = convolved_part(x, w, u, s, y)
    made = conv(slice_(x, cut), w, b, window_of_part(x, w, u, s, y))
    yield rewrite(slice_(y, s), made, guard(asked(x, first_axis(cut)), varies(x)), because=MORE)


def _pools(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = slice_(g.input(("N", 4, 9, 8)), ((3, 0, 7, 1),))
    for kind in ("MaxPool", "AveragePool"):
        plain = PoolWindow((2, 2), (2, 2), (0,) * 4, (1, 1))
        yield g.fires(slice_(pool(kind, x, plain), ((2, 1, 3, 1),)))
        padded = PoolWindow((3, 3), (1, 2), (1,) * 4, (1, 1))
        yield g.fires(slice_(pool(kind, x, padded), ((2, 0, 4, 1), (3, 1, 3, 1))))
        yield g.near_miss(slice_(pool(kind, x, plain), ((1, 1, 3, 1),)), why="channels are for other laws")


@law(source=SOURCE, uses=(asking_images,), examples=_pools)
def part_of_pool(op: String, x: Tensor, u: PoolWindow, s: Slices):
    """Slice(Pool(x)) = Pool(Slice(x)) where slices meet"""
    y = pool(op, x, u)
    cut = pooled_part(x, u, s, y)
    made = pool(op, slice_(x, cut), pool_of_part(x, u, s, y))
    yield rewrite(slice_(y, s), made, guard(asked(x, first_axis(cut)), varies(x)), because=MORE)


# --- resized --------------------------------------------------------------------------------------------


@hosted()
def keeps_axes(spec: Slices, scales: Fact, s: Settings) -> bool:
    """Along each axis that is cut each element is where it was."""
    return all(keeps_axis.function(entry[0], scales, s) for entry in spec)


@auxiliary(asking_rules)
def asking_resized(x: Tensor, y: Tensor, scales: Tensor, roi: Tensor, s: Settings, a: Axis):
    """Fills `asked`: what is resized along other axes."""
    resized = resize(x, roi, scales, none(), s)
    yield rule(eq(y, resized), asked(x, a), keeps_axis(a, scales, s), then=asked(y, a))


def _resized(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = slice_(g.input(("N", 5, 3, 4)), ((1, 0, 4, 1),)), g.input((1, 5, 3, 4))
    twice = g.constant(np.array((1, 1, 2, 2), np.float32))

    def big(v: Tensor) -> Tensor:
        return resize(v, none(), twice, none(), NEAREST)  # type: ignore[no-any-return]

    yield g.fires(slice_(big(x), ((1, 1, 3, 1),)))
    yield from g.near_misses(
        (slice_(big(x), ((2, 0, 2, 1),)), "along an axis that grows"),
        (slice_(big(y), ((1, 1, 3, 1),)), "there is nothing that it meets"),
    )


@law(source=SOURCE, uses=(asking_resized,), examples=_resized)
def part_of_resize(x: Tensor, scales: Tensor, roi: Tensor, s: Slices, t: Settings):
    """Slice(Resize(x)) = Resize(Slice(x)) along axes that keep their length, where slices meet"""
    y, part = resize(x, roi, scales, none(), t), resize(slice_(x, s), roi, scales, none(), t)
    demand = guard(asked(x, first_axis(s)), varies(x))
    yield rewrite(slice_(y, s), part, keeps_axes(s, scales, t), demand, because=MORE)

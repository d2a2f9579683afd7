"""The mirror image of what a convolution makes is made of the mirror image, by the mirrored kernel.

Conv(x, W, b)[::-1] -> Conv(x[::-1], W[::-1], b)         along spatial axes, where slices meet

Pads in front and behind change places.  A stride begins at one end, and so there is none along these axes.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Slices, Tensor
from egraph_opt.operators import ConvWindow, conv, none, slice_
from egraph_opt.rewrites.conditions.channels import is_float_constant
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.parts_of_images import asking_images
from egraph_opt.rewrites.convolution.sums import RING
from egraph_opt.rewrites.reductions.turned import turns_round
from egraph_opt.rewrites.slicing.movement import asked, first_axis
from egraph_opt.rewrites.slicing.slice import BACKWARDS, dim_at, entry_of


@hosted()
def turned_along(spec: Slices, y: Fact, x: Fact) -> Slices | None:
    """All of x backwards along some spatial axes, where a slice takes all of y so; None where it does not."""
    axes = tuple(entry[0] for entry in spec)
    if not axes or min(axes) < 2 or x.rank is None or max(axes) >= x.rank:
        return None
    return tuple(_backwards(x, axis) for axis in axes) if turns_round.function(spec, y, axes) else None


def _backwards(x: Fact, axis: Axis) -> tuple[int, int, int | None, int]:
    dim = dim_at(x, axis)
    return entry_of(axis, range(dim)[::-1]) if isinstance(dim, int) else (axis, *BACKWARDS)


@hosted()
def mirrored(window: ConvWindow, spec: Slices) -> ConvWindow | None:
    """The window from the other end; None where it strides along these axes."""
    axes, pads = len(window.strides), list(window.pads)
    for axis in (entry[0] - 2 for entry in spec):
        if window.strides[axis] != 1:
            return None
        pads[axis], pads[axis + axes] = pads[axis + axes], pads[axis]
    return replace(window, pads=tuple(pads))


@hosted()
def is_turned_once(w: Fact) -> bool:
    """A constant kernel."""
    return is_float_constant(w)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    image, w, b = g.input(("N", 4, "L", 8)), g.random(6, 4, 3, 2), g.random(6)
    rows, columns = ((2, -1, None, -1),), ((3, 7, None, -1),)
    turned, both = slice_(image, rows), ((2, -1, None, -1), (3, 8, None, -1))
    ring, uneven = replace(RING, pads=(1, 1, 1, 1)), ConvWindow((1, 2), (2, 0, 1, 3), (2, 1))
    for bias in (none(), b):
        yield g.fires(slice_(conv(turned, w, bias, ring), rows))
        yield g.fires(slice_(conv(turned, w, bias, uneven), rows))
    depthwise = replace(ring, group=4)
    yield g.fires(slice_(conv(turned, g.random(4, 1, 3, 3), none(), depthwise), rows))
    yield g.fires(slice_(conv(slice_(image, columns), w, none(), ring), both))
    line = slice_(g.input((2, 4, 9)), ((2, 8, None, -1),))
    yield g.fires(
        slice_(conv(line, g.random(5, 4, 3), none(), ConvWindow((1,), (2, 0), (1,))), ((2, 8, None, -1),))
    )
    y, batch = conv(turned, w, b, ring), slice_(g.input((3, 4, 5, 5)), ((0, 2, None, -1),))
    yield from g.near_misses(
        (slice_(conv(image, w, b, ring), rows), "there is nothing that it meets"),
        (slice_(conv(turned, w, b, replace(ring, strides=(2, 1))), rows), "it strides"),
        (slice_(y, ((1, 5, None, -1),)), "channels"),
        (slice_(y, ((2, -1, None, -2),)), "every other row"),
        (slice_(y, ((2, -2, None, -1),)), "without the last row"),
        (slice_(y, ((2, -1, 0, -1),)), "without the first row"),
        (slice_(conv(turned, g.input((6, 4, 3, 2)), b, ring), rows), "the kernel is no constant"),
        (slice_(conv(batch, w, b, PLAIN), ((0, 2, None, -1),)), "images"),
    )


@law(
    "slice",
    numerics="reassociates",
    kind="move",
    serves="traffic",
    source="test-time augmentation: an image and its mirror image",
    uses=(asking_images,),
    examples=_examples,
)
def mirrored_convolution(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, s: Slices):
    """Conv(x, W, b)[::-1] = Conv(x[::-1], W[::-1], b) along spatial axes, where slices meet"""
    y = conv(x, w, b, u)
    before, kernel = turned_along(s, y, x), turned_along(s, y, w)
    made = conv(slice_(x, before), slice_(w, kernel), b, mirrored(u, s))
    demand = guard(asked(x, first_axis(before)), is_turned_once(w), varies(x))
    yield rewrite(slice_(y, s), made, demand, because="any slice may be one of a mirror image")

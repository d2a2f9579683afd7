"""Constants behind a DepthToSpace go in front of it, where a convolution takes them in.

    DepthToSpace(Conv(x, W, b)) * c -> DepthToSpace(Conv(x, W, b) * c')
    DepthToSpace(Conv(x, W, b)) + c -> DepthToSpace(Conv(x, W, b) + c')

c has one number, or one for each channel; c' repeats it for each pixel of a block.

Networks for super-resolution end so: their image is scaled to the range of pixels, and its mean is added.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, law, rule, union
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import Dims, Settings, Tensor
from egraph_opt.operators import ConvWindow, binary, blockwise, conv, expand, none, reshape
from egraph_opt.rewrites.conditions.chains import affine, moves
from egraph_opt.rewrites.conditions.channels import count_along, is_float_constant
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.sums import RING
from egraph_opt.rewrites.slicing.slice import dim_at


class Repeated(NamedTuple):
    """How one number for each channel of an image becomes one for each channel of its blocks."""

    alike: Dims
    each: Dims
    dims: Dims


@hosted()
def for_each_pixel(deep: Fact, c: Fact, settings: Settings) -> Repeated | None:
    """None where c is no number, or number for each channel, of what the blocks of `deep` make."""
    given, channels = dict(settings), dim_at(deep, 1)
    block = given["blocksize"] ** 2
    if not isinstance(channels, int) or channels % block:
        return None
    count = count_along(c, 4, 1, channels // block)
    if count is None:
        return None
    if count == 1:
        return Repeated((1, 1), (1, 1), (1, 1, 1))
    if given.get("mode", "DCR") == "DCR":
        return Repeated((1, count), (block, count), (block * count, 1, 1))
    return Repeated((count, 1), (count, block), (block * count, 1, 1))


@hosted()
def is_kernel(w: Fact) -> bool:
    """A constant weight: what stands behind the convolution goes into it."""
    return is_float_constant(w)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    dcr, crd = ((("blocksize", 2), ("mode", mode)) for mode in ("DCR", "CRD"))
    x, w, b = g.input(("N", 4, 5, "L")), g.random(12, 4, 3, 3), g.random(12)
    for settings in (dcr, crd):
        for bias in (none(), b):
            image = blockwise("DepthToSpace", conv(x, w, bias, RING), settings)
            for c in (g.random(3, 1, 1), g.random(1, 3, 1, 1), g.constant(0.25), g.random(1)):
                yield g.fires(image * c)
                yield g.fires(image + c)
    nine = (("blocksize", 3), ("mode", "CRD"))
    thirds = blockwise("DepthToSpace", conv(x, g.random(18, 4, 1, 1), none(), PLAIN), nine)
    yield g.fires(thirds + g.random(2, 1, 1))
    computed = blockwise("DepthToSpace", conv(x, g.input((12, 4, 1, 1)), b, PLAIN), dcr)
    deep, means = conv(x, w, b, RING), g.random(3, 1, 1)
    even = conv(g.input(("N", 4, 4, 6)), w, b, RING)
    image = blockwise("DepthToSpace", deep, dcr)
    yield from g.near_misses(
        (blockwise("SpaceToDepth", even, (dcr[0],)) * g.random(48, 1, 1), "the other way"),
        (image * g.random(1, 3, 10, 1), "the number differs from row to row"),
        (image + g.random(2, 3, 1, 1), "there are more images then"),
        (image + g.input((3, 1, 1)), "it is no constant"),
        (relu(image) + means, "a function is between"),
        (blockwise("DepthToSpace", relu(deep), dcr) + means, "there is no convolution"),
        (computed + means, "its weight is no constant"),
    )


@law(
    "convolution",
    numerics="bitwise",
    kind="move",
    serves="launches",
    source="EDSR, arXiv 1707.02921; sub-pixel convolution, arXiv 1609.05158",
    examples=_examples,
    uses=(affine,),
)
def constant_before_blocks(
    x: Tensor, y: Tensor, w: Tensor, b: Tensor, u: ConvWindow, c: Tensor, k: Settings, z: Tensor
):
    """DepthToSpace(Conv(x, W, b)) * c = DepthToSpace(Conv(x, W, b) * c') for one number by channel; + too"""
    for op in ("Mul", "Add"):
        how = for_each_pixel(y, c, k)
        each = reshape(expand(reshape(c, how[0]), how[1]), how[2])
        image = blockwise("DepthToSpace", y, k)
        found = (eq(z, binary(op, image, c)), guard(eq(y, conv(x, w, b, u)), is_kernel(w)))
        moved = blockwise("DepthToSpace", binary(op, y, each), k)
        yield rule(*found, moves(op, image, c), then=union(z, moved), because="one way is enough")

"""Channels that are scaled and added in front of a convolution are channels of its kernel.

Conv(x[:, 0:1] * a + x[:, 1:2] * b + .., W, c) -> Conv(x, W * [a, b, ..], c)

So images become grey, each channel with its weight.  No channel between may be missing: a 0 in the kernel
would make NaN of an infinite one.
"""

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.facts.numbers import as_float
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Slices, Tensor
from egraph_opt.operators import ConvWindow, Literal, conv, literal, none, slice_
from egraph_opt.operators.expressions import attribute_sort
from egraph_opt.rewrites.conditions.channels import (
    LARGEST,
    SMALLEST,
    is_float_constant,
    known_elements,
    static_shape,
)
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.sums import RING

Mix = Annotated[tuple[tuple[int, float], ...], attribute_sort("Mix")]
"""Channels, in their order, and the number that each is multiplied with."""

MOST = 16
"""Channels of a mix."""


@table(merge="first")
def mixes(y: Tensor, x: Tensor) -> Mix:
    """y, of one channel, is the sum of these channels of x, each times a number."""


@hosted()
def single_channel(x: Fact, spec: Slices) -> Mix | None:
    """The channel that a slice takes, of a floating-point image with few of them."""
    dims = x.shape
    if dims is None or len(dims) < 3 or x.dtype not in LARGEST or len(spec) != 1:
        return None
    (axis, start, end, step), channels = spec[0], dims[1]
    if axis != 1 or not isinstance(channels, int) or channels > MOST:
        return None
    taken = range(channels)[start:end:step]
    return ((taken[0], 1.0),) if len(taken) == 1 else None


@hosted()
def scaled_mix(y: Fact, c: Fact, mix: Mix) -> Mix | None:
    """A mix times one number, which leaves y its dims."""
    if c.splat is None or not is_float_constant(c) or (c.rank or 0) > (y.rank or 0):
        return None
    if any(d != 1 for d in c.shape or ()):
        return None
    return _moderate(y, [(k, v * as_float(c.splat)) for k, v in mix])


@hosted()
def sum_of_mixes(y: Fact, one: Mix, other: Mix) -> Mix | None:
    """Both mixes, of different channels."""
    both = sorted((*one, *other))
    alone = len({k for k, _ in both}) == len(both)
    return _moderate(y, both) if alone else None


@hosted()
def difference_of_mixes(y: Fact, one: Mix, other: Mix) -> Mix | None:
    return sum_of_mixes.function(y, one, tuple((k, -v) for k, v in other))  # type: ignore[no-any-return]


def _moderate(y: Fact, mix: list[tuple[int, float]]) -> Mix | None:
    """Factors of which products neither overflow nor vanish."""
    least, most = SMALLEST[y.dtype] ** 0.5, LARGEST[y.dtype] ** 0.5
    return tuple(mix) if all(least <= abs(v) <= most for _, v in mix) else None


@auxiliary()
def mixing(x: Tensor, y: Tensor, z: Tensor, v: Tensor, c: Tensor, s: Slices, m: Mix, n: Mix):
    """Fills `mixes`."""
    yield rule(eq(y, slice_(x, s)), varies(x), then=assign(mixes(y, x), single_channel(x, s)))
    yield rule(eq(z, y * c), eq(m, mixes(y, x)), then=assign(mixes(z, x), scaled_mix(y, c, m)))
    both = (eq(m, mixes(y, x)), eq(n, mixes(v, x)))
    yield rule(eq(z, y + v), *both, then=assign(mixes(z, x), sum_of_mixes(y, m, n)))
    yield rule(eq(z, y - v), *both, then=assign(mixes(z, x), difference_of_mixes(y, m, n)))


@hosted()
def channels_of_mix(x: Fact, w: Fact, mix: Mix, window: ConvWindow) -> tuple[Slices, Literal] | None:
    """The channels that are mixed, none of them missing, and the factors of a kernel of one channel."""
    shape, known = static_shape(w), known_elements(w)
    if not mix or shape is None or not is_float_constant(w) or w.dtype != x.dtype:
        return None
    if window.group != 1 or shape[1] != 1:
        return None
    first, factors = mix[0][0], tuple(v for _, v in mix)
    if len(mix) < 2 or [k for k, _ in mix] != list(range(first, first + len(mix))):
        return None
    largest = max(map(abs, known or (1.0,))) * max(map(abs, factors))
    if not largest <= LARGEST[w.dtype]:
        return None
    dims = (1, len(mix), *(1 for _ in shape[2:]))
    return ((1, first, first + len(mix), 1),), Literal(w.dtype, dims, factors)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = g.input(("N", 3, 5, "L")), g.random(4, 1, 3, 3), g.random(4)

    def channel(k: int, of: Any = x) -> Any:
        return slice_(of, ((1, k, k + 1, 1),))

    red, green, blue = (channel(k) * g.constant(np.float32(v)) for k, v in enumerate((0.3, 0.6, 0.1)))
    line, square = g.input((2, 4, "L")), g.input(("N", 3, 4, 4))
    two = channel(2, line) * g.constant(np.full((1, 1), 0.5, np.float32)) - channel(1, line)
    yield from g.all_fire(
        conv(red + green + blue, w, b, RING),
        conv(blue + (red + green), g.random(4, 1, 1, 1), none(), ConvWindow((2, 1), (0,) * 4, (1, 1))),
        conv((channel(0) + channel(1)) * g.constant(np.float32(0.5)), w, none(), PLAIN),
        conv(two, g.random(3, 1, 2), none(), ConvWindow((1,), (1, 0), (2,))),
    )
    yield from g.near_misses(
        (conv(red + blue, w, b, RING), "one between is missing: 0 times infinity"),
        (conv(red + red, w, b, RING), "one channel twice"),
        (conv(red + channel(1, g.input(("N", 3, 5, "L"))), w, b, RING), "two images"),
        (conv(red + green, g.input((4, 1, 3, 3)), b, RING), "the weight is no constant"),
        (conv(red + channel(1) * g.input(()), w, b, RING), "a factor is no constant"),
        (conv(channel(0) * g.random(5, 1) + channel(1), w, b, RING), "a factor for each row"),
        (conv(channel(0) + channel(1) * g.constant(np.float32(np.inf)), w, b, RING), "an infinite factor"),
        (conv(channel(0, square) + slice_(square, ((2, 1, 2, 1),)), g.random(4, 3, 1, 1), b, PLAIN), "a row"),
    )


@law(
    "convolution",
    numerics="reassociates",
    kind="fuse",
    serves="traffic",
    source="ITU-R BT.601, luminance",
    uses=(mixing,),
    examples=_examples,
)
def of_weighted_channels(x: Tensor, y: Tensor, w: Tensor, b: Tensor, u: ConvWindow, m: Mix):
    """Conv(x[:, 0:1] * a + x[:, 1:2] * b + .., W, c) = Conv(x, W * [a, b, ..], c)"""
    how = channels_of_mix(x, w, m, u)
    image, kernel = slice_(x, how[0]), w * literal(how[1])
    found = (eq(m, mixes(y, x)), guard(varies(x)))
    yield rewrite(conv(y, w, b, u), conv(image, kernel, b, u), *found, because="forgets the parts")

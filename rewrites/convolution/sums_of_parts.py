"""Sums of convolutions of neighbouring parts of one tensor are one of both parts.

Conv(x[a:b], V, b) + Conv(x[b:c], W, c) = Conv(x[a:c], [V, W], b + c)       along the channels

A sum of n parts in their order becomes one of all, by joint parts: there are no more of these than there are
ranges.  `convolution_sums.of_channels` joins what is no part of one tensor, and only what is not joint.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import is_same, relu, varies
from egraph_opt.laws.sorts import Int, Slices, Tensor
from egraph_opt.operators import ConvWindow, concat, conv, none, slice_
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.arithmetic.distributivity import are_constant
from egraph_opt.rewrites.conditions.channels import static_shape
from egraph_opt.rewrites.conditions.operands import beside, either_side, total, totals
from egraph_opt.rewrites.convolution.sums import RING
from egraph_opt.rewrites.slicing.slice import dim_at, entry_of, taken_by

law = laws_of("sums_of_parts", numerics="reassociates", kind="merge", serves="launches", source="TASO")


def _neighbours(x: Fact, s: Slices, t: Slices, axis: int) -> Slices | None:
    """The slice that takes what two take one after the other along an axis."""
    if len(s) != 1 or len(t) != 1 or s[0][0] != axis or t[0][0] != axis or s[0][3] != 1 or t[0][3] != 1:
        return None
    dim = dim_at(x, axis)
    if not isinstance(dim, int):
        return None
    first, second = taken_by(s[0], dim), taken_by(t[0], dim)
    if not first or not second or first.stop != second.start:
        return None
    return (entry_of(axis, range(first.start, second.stop)),)


@hosted()
def both_channels(x: Fact, s: Slices, t: Slices, v: Fact, w: Fact, window: ConvWindow) -> Slices | None:
    """The slice of both parts, where weights without groups differ in the channels that go in only."""
    one, other = static_shape(v), static_shape(w)
    if one is None or other is None or v.dtype != w.dtype or window.group != 1:
        return None
    alike = len(one) == len(other) and one[0] == other[0] and one[2:] == other[2:]
    return _neighbours(x, s, t, 1) if alike and x.rank == len(one) else None


def _channels(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, v, w, b = g.input(("N", 8, 5, 6)), g.random(3, 2, 3, 3), g.random(3, 4, 3, 3), g.random(3)
    one, two, far = (slice_(x, ((1, *bounds, 1),)) for bounds in ((0, 2), (2, 6), (4, 8)))
    yield g.fires(conv(one, v, b, RING) + conv(two, w, g.random(3), RING))
    yield g.fires(conv(two, w, none(), RING) + conv(one, v, b, RING))
    plain = ConvWindow((1, 1), (0, 0, 0, 0), (1, 1))
    narrow = conv(two, g.random(3, 4, 1, 1), b, plain)
    other = slice_(g.input(("N", 8, 5, 6)), ((1, 2, 6, 1),))
    yield from g.near_misses(
        (conv(one, v, b, RING) + conv(far, w, b, RING), "they are not next to each other"),
        (conv(one, v, b, RING) + narrow, "another window"),
        (conv(one, v, b, RING) + conv(two, w, b, ConvWindow((1, 1), (2,) * 4, (2, 2))), "another window"),
        (conv(one, v, b, RING) + conv(other, w, b, RING), "of another tensor"),
        (conv(one, v, b, RING) + relu(conv(two, w, b, RING)), "Relu is between"),
        (conv(one, v, b, RING) + conv(two, g.input((3, 4, 3, 3)), b, RING), "a weight varies"),
        (conv(one, v, b, RING) + conv(two, g.random(1, 4, 3, 3), none(), RING), "a channel is broadcast"),
    )


@law(uses=(either_side, totals), examples=_channels)
def of_neighbouring_channels(
    x: Tensor, v: Tensor, w: Tensor, b: Tensor, c: Tensor, s: Slices, t: Slices, u: ConvWindow,
    o: ConvWindow, i: Int,
):  # fmt: skip
    """Conv(x[a:b], V, b) + Conv(x[b:c], W, c) = Conv(x[a:c], [V, W], b + c) along the channels"""
    one, other = conv(slice_(x, s), v, b, u), conv(slice_(x, t), w, c, o)
    whole = slice_(x, both_channels(x, s, t, v, w, u))
    made = conv(whole, concat(listed(v, w), 1), total(b, c), u)
    sound = (is_same(u, o), guard(are_constant(v, w), varies(x)))
    yield rewrite(beside("Add", one, other, i), made, *sound, because="every convolution has parts")

"""A kernel with dilations is one with zeros between its elements, next to a kernel that has all of them.

Conv(x, W, b; dilation d) + Conv(x, V, c) -> Conv(x, W', b) + Conv(x, V, c)

`convolution_sums` makes one of both.  Alone it would be more to multiply, and an infinite pixel between its
elements would make NaN of what was finite; in the sum V has an element for that, too.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Dims, Int, Tensor
from egraph_opt.operators import ConvWindow, Literal, conv, gather, literal, none, pad, reduce, reshape
from egraph_opt.rewrites.conditions.channels import is_float_constant, static_shape
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.convolution.enlarging import MOST_TAPS
from egraph_opt.rewrites.convolution.sums import RING


class Spread(NamedTuple):
    """How a kernel gets zeros between its elements.

    Attributes:
        flat: the dims of W with its kernel in a row, [M, C, K].
        places: which of these each element of the larger kernel is, K where it is 0.
        dims: those of the larger kernel.
    """

    flat: Dims
    places: Literal
    dims: Dims


@hosted()
def zeros_between(w: Fact, window: ConvWindow, v: Fact, other: ConvWindow) -> Spread | None:
    """None where elements of W are none of V's, or both have as many elements between."""
    small, big, axes = static_shape(w), static_shape(v), len(window.strides)
    if (
        small is None
        or big is None
        or not is_float_constant(w)
        or small[:2] != big[:2]
        or 0 in (*small, *big)
    ):
        return None
    if (window.strides, window.group) != (other.strides, other.group) or max(big[2:]) > MOST_TAPS:
        return None
    ours, theirs = (
        zip(f[2:], u.pads[:axes], u.pads[axes:], u.dilations, strict=True)
        for f, u in ((small, window), (big, other))
    )
    places, spread = [], False
    for (size, before, behind, step), (length, ahead, beyond, by) in zip(ours, theirs, strict=True):
        first, between = divmod(ahead - before, by)
        leap, uneven = divmod(step, by) if size > 1 else (1, 0)
        reach = before + behind - (size - 1) * step
        if between or uneven or first < 0 or first + (size - 1) * leap >= length:
            return None
        if reach != ahead + beyond - (length - 1) * by:
            return None
        spread = spread or leap > 1
        places.append([first + k * leap for k in range(size)])
    if not spread:
        return None
    count = math.prod(small[2:])
    whole = np.full(big[2:], count)
    whole[np.ix_(*places)] = np.arange(count).reshape(small[2:])
    taken = Literal(TensorProto.INT64, (whole.size,), tuple(int(k) for k in whole.flat))
    return Spread((*small[:2], count), taken, (*small[:2], *big[2:]))


def _dilated(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, large = g.input(("N", 4, 9, "L")), ConvWindow((1, 1), (3,) * 4, (1, 1))
    seven, three = g.random(6, 4, 7, 7), g.random(6, 4, 3, 3)
    twice, thrice = (ConvWindow((1, 1), (d,) * 4, (d, d)) for d in (2, 3))
    each = [replace(u, group=4) for u in (large, twice)]
    y, z = conv(x, seven, none(), large), conv(x, three, g.random(6), twice)
    line, rows = g.input((2, 3, "L")), ConvWindow((2,), (0, 4), (4,))
    yield from g.all_fire(
        y + z,
        conv(x, three, none(), thrice) + y,
        conv(x, g.random(4, 1, 7, 7), g.random(4), each[0]) + conv(x, g.random(4, 1, 3, 3), none(), each[1]),
        conv(line, g.random(5, 3, 2), none(), rows)
        + conv(line, g.random(5, 3, 5), none(), ConvWindow((2,), (2, 6), (2,))),
    )
    far = ConvWindow((1, 1), (4,) * 4, (4, 4))
    yield from g.near_misses(
        (
            conv(x, g.random(6, 4, 5, 5), none(), ConvWindow((1, 1), (2,) * 4, (1, 1)))
            + conv(x, three, none(), far),
            "beyond its ends",
        ),
        (conv(g.input(("N", 4, 9, "L")), seven, none(), large) + z, "two images"),
        (y + conv(x, g.input((6, 4, 3, 3)), none(), twice), "the weight is no constant"),
        (y + conv(x, three, none(), RING), "nothing is between its elements"),
        (conv(x, g.random(1, 4, 7, 7), none(), large) + z, "one channel is broadcast"),
        (reduce("ReduceMean", y, (2, 3), 1) * reduce("ReduceMean", z, (2, 3), 1), "no sum of both"),
    )


@law(
    "enlarging",
    numerics="reassociates",
    kind="replace",
    source="UniRepLKNet, arXiv 2311.15599: dilated branches",
    uses=(either_side,),
    examples=_dilated,
)
def zeros_between_elements(
    x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, v: Tensor, c: Tensor, t: ConvWindow, i: Int
):
    """Conv(x, W, b; dilation d) + z = Conv(x, W', b) + z for W' with zeros between, z of a kernel as large"""
    how, z = zeros_between(w, u, v, t), conv(x, v, c, t)
    parts = pad(reshape(w, how[0]), "constant", (0, 0, 0, 0, 0, 1), 0.0)
    larger = conv(x, reshape(gather(parts, literal(how[1]), 2), how[2]), b, t)
    both = beside("Add", conv(x, w, b, u), z, i)
    yield rewrite(
        both, beside("Add", larger, z, i), guard(varies(x)), because="every kernel has zeros somewhere"
    )

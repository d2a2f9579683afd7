"""Kernels grow by zeros to the size of another convolution's, so that both can be joined.

Conv(x, W, b) = Conv(x, Pad(W), b) with bigger pads        next to a convolution of the same image
Conv(x, W, b) -> Conv(x, Pad(W), b) likewise               next to another one in a Concat

`horizontal`, `convolution_sums`, `joined` and `groups` join them; what zeros cost is for the target to say.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, auxiliary, eq, guard, hosted, law, ne, rewrite, rule, table
from egraph_opt.laws.sorts import Pads, Tensor, Tensors, Unit
from egraph_opt.operators import ConvWindow, concat, conv, none, pad, reduce
from egraph_opt.operators.terms import cons, listed
from egraph_opt.rewrites.conditions.channels import is_float_constant, static_shape
from egraph_opt.rewrites.convolution.horizontal import followers, superseded
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.sums import RING
from egraph_opt.rewrites.slicing.concat import listing, operands_of

MOST_TAPS = 64
"""Along an axis, of kernels that others grow to: a target may cut longer ones, whose parts would grow."""


@hosted()
def zeros_around(w: Fact, window: ConvWindow, v: Fact, other: ConvWindow) -> Pads | None:
    """The pads of W with which it walks as V does; None where it cannot, or V is longer than `MOST_TAPS`.

    A kernel of one element along an axis has any dilation.
    """
    small, big = static_shape(w), static_shape(v)
    if small is None or big is None or not is_float_constant(w) or len(small) != len(big):
        return None
    if max(big[2:], default=0) > MOST_TAPS:
        return None
    if window.strides != other.strides or window.group != other.group or small[1:] == big[1:]:
        return None
    axes = len(small) - 2
    begins, ends = [], []
    for k in range(axes):
        step = other.dilations[k]
        if small[k + 2] > 1 and window.dilations[k] != step:
            return None
        before, behind = (other.pads[n] - window.pads[n] for n in (k, k + axes))
        if min(before, behind) < 0 or before % step or behind % step:
            return None
        if small[k + 2] + before // step + behind // step != big[k + 2]:
            return None
        begins.append(before // step)
        ends.append(behind // step)
    return (0, 0, *begins, 0, 0, *ends)


@hosted()
def without_zeros(window: ConvWindow, zeros: Pads) -> ConvWindow | None:
    """The window of a kernel without zeros around it: it begins later, so that it needs fewer pads."""
    axes = len(window.strides)
    steps = window.dilations * 2
    around = (*zeros[2 : axes + 2], *zeros[axes + 4 :])
    pads = tuple(p - n * d for p, n, d in zip(window.pads, around, steps, strict=True))
    elsewhere = any(zeros[:2]) or any(zeros[axes + 2 : axes + 4])
    return None if elsewhere or min(pads) < 0 else replace(window, pads=pads)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, point, ring = g.input(("N", 4, 5, "L")), g.random(6, 4, 1, 1), g.random(6, 4, 3, 3)
    skew, flat = ConvWindow((2, 1), (1, 0, 3, 1), (2, 1)), ConvWindow((2, 1), (1, 0, 1, 0), (1, 1))
    halves = [ConvWindow((1, 1), (p,) * 4, (1, 1), 2) for p in (0, 1)]
    strided, dilated = ConvWindow((2, 2), (1,) * 4, (1, 1)), ConvWindow((1, 1), (2,) * 4, (2, 2))
    for w, u, v, t, why in (
        (point, PLAIN, ring, RING, ""),
        (g.random(6, 4, 1, 2), flat, g.random(6, 4, 2, 3), skew, ""),
        (g.random(6, 2, 1, 1), halves[0], g.random(6, 2, 3, 3), halves[1], ""),
        (point, PLAIN, ring, PLAIN, "the results would have different sizes"),
        (point, PLAIN, ring, strided, "strides differ"),
        (g.random(6, 4, 2, 2), RING, ring, dilated, "dilations differ"),
        (
            point,
            PLAIN,
            g.random(6, 4, 1, 65),
            ConvWindow((1, 1), (0, 32, 0, 32), (1, 1)),
            "a target may cut it",
        ),
        (point, PLAIN, ring, RING, "two images"),
        (g.input((6, 4, 1, 1)), PLAIN, ring, RING, "the weight is no constant"),
    ):
        image = g.input(("N", 4, 5, "L")) if why == "two images" else x
        pair = conv(x, w, g.random(6), u), conv(image, v, none(), t)
        one, other = (reduce("ReduceMean", y, (2, 3), 1) for y in pair)
        yield g.near_miss(one * other, why) if why else g.fires(one * other)


@law(
    "enlarging",
    numerics="reassociates",
    kind="replace",
    source="TASO, enlargement of convolutions",
    uses=(followers,),
    examples=_examples,
)
def zeros_in_kernel(
    x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, v: Tensor, c: Tensor, t: ConvWindow, n: Pads
):
    """Conv(x, W, b) = Conv(x, Pad(W), b) with bigger pads, where x has a convolution of that window"""
    y, z = conv(x, w, b, u), conv(x, v, c, t)
    larger = conv(x, pad(w, "constant", zeros_around(w, u, v, t), 0.0), b, t)
    apart = guard(ne(y, z), ne(u, t))  # the pads differ, so pairs of one window need not be looked at
    last = guard(eq(superseded(y), 0), eq(superseded(z), 0))
    yield rewrite(y, larger, z, apart, last, inverse="zeros_in_kernel")
    smaller = conv(x, w, b, without_zeros(t, n))
    yield rewrite(conv(x, pad(w, "constant", n, 0.0), b, t), smaller, inverse="zeros_in_kernel")


# --- in a Concat ----------------------------------------------------------------------------------------


@table()
def next_to(y: Tensor, v: Tensor, window: ConvWindow) -> Unit:
    """y stands next to a convolution with this kernel and window in a Concat of channels."""


@auxiliary(listing)
def standing_next(x: Tensor, y: Tensor, w: Tensor, b: Tensor, u: ConvWindow, xs: Tensors, rest: Tensors):
    """Fills `next_to`."""
    z = conv(x, w, b, u)
    for first, second in ((y, z), (z, y)):
        pair = (operands_of(xs, 1), eq(xs, cons(first, cons(second, rest))))
        yield rule(*pair, then=next_to(y, w, u))


def _mixed(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    (x, y, z), ring = (g.input(("N", 4, 5, "L")) for _ in "xyz"), ConvWindow((1, 1), (1,) * 4, (1, 1), 4)
    five = ConvWindow((1, 1), (2,) * 4, (1, 1), 4)
    small, large = (
        conv(x, g.random(4, 1, 3, 3), g.random(4), ring),
        conv(y, g.random(4, 1, 5, 5), none(), five),
    )
    point = conv(z, g.random(6, 4, 1, 1), none(), PLAIN)
    yield from g.all_fire(
        concat(listed(small, large), 1),
        concat(listed(large, small), 1),
        concat(listed(point, conv(y, g.random(6, 4, 3, 3), g.random(6), RING)), 1),
    )
    yield from g.near_misses(
        (concat(listed(small, large), 0), "along the batch"),
        (concat(listed(point, large), 1), "groups differ"),
        (concat(listed(small, x, large), 1), "something is between"),
    )


@law(
    "enlarging",
    numerics="reassociates",
    kind="replace",
    source="TASO, enlargement of convolutions; MixConv, arXiv 1907.09595",
    uses=(standing_next,),
    examples=_mixed,
)
def zeros_in_a_row(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, v: Tensor, t: ConvWindow):
    """Conv(x, W, b) = Conv(x, Pad(W), b) with bigger pads, next to a larger one in a Concat"""
    y = conv(x, w, b, u)
    larger = conv(x, pad(w, "constant", zeros_around(w, u, v, t), 0.0), b, t)
    yield rewrite(y, larger, next_to(y, v, t), inverse="zeros_in_kernel")

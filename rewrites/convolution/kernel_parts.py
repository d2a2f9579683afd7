"""Sums of convolutions of shifted images are one convolution with a longer kernel.

Conv(x[p:q], V, b) + Conv(x[p + m*d:r], W, c) -> Conv(x[p:r], [V, W], b + c)

along one spatial axis without pads, m the length of V and d the dilation, where both convolutions have as
many windows.  `targets.large_kernel` has the other direction.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, auxiliary, eq, guard, hosted, laws_of, rule, table, union
from egraph_opt.laws.sorts import Axis, Int, Slices, Tensor, Unit
from egraph_opt.operators import ConvWindow, concat, conv, none, slice_
from egraph_opt.operators.terms import listed, node
from egraph_opt.rewrites.arithmetic.distributivity import are_constant
from egraph_opt.rewrites.conditions.operands import beside, either_side, total, totals
from egraph_opt.rewrites.linear.joined_products import differ_along

law = laws_of(
    "convolution_sums",
    numerics="reassociates",
    kind="merge",
    serves="arithmetic",
    source="Ascend auto-optimizer, SplitLargeKernelConv",
)


@table()
def is_part(y: Tensor) -> Unit:
    """A convolution of the original, or one that was made of several: what may be part of another."""


@auxiliary()
def originals(x: Tensor, y: Tensor, w: Tensor, b: Tensor, u: ConvWindow, i: Int):
    """Fills `is_part`."""
    yield rule(eq(y, conv(x, w, b, u)), eq(y, node(i)), then=is_part(y))


@hosted()
def shifted_axis(head: Slices, tail: Slices) -> Axis | None:
    """The spatial axis along which alone two slices differ, both with step 1."""
    if len(head) != len(tail):
        return None
    pairs = [(one, other) for one, other in zip(head, tail, strict=True) if one != other]
    if len(pairs) != 1:
        return None
    one, other = pairs[0]
    return one[0] if one[0] == other[0] > 1 and one[3] == other[3] == 1 else None


def _left(end: int | None, dim: Dim) -> int | None:
    """How many elements a slice leaves at the end of an axis, where that is known."""
    if end is None:
        return 0
    if isinstance(dim, int):
        return max(dim - end, 0) if end >= 0 else min(-end, dim)
    return -end if end < 0 else None


@hosted()
def as_many_windows(
    x: Fact, v: Fact, w: Fact, head: Slices, tail: Slices, window: ConvWindow, axis: Axis
) -> bool:
    """Kernels v and w, alike but for their length, walk over these parts of x in step, w where v ends."""
    k, axes = axis - 2, len(window.strides)
    if x.shape is None or not differ_along((v, w), axis) or window.pads[k] or window.pads[k + axes]:
        return False
    sizes = [(f.shape or ())[axis] for f in (v, w)]
    bounds = [next(entry[1:3] for entry in spec if entry[0] == axis) for spec in (head, tail)]
    starts, left = [start for start, _ in bounds], [_left(end, x.shape[axis]) for _, end in bounds]
    dilation, stride, dim = window.dilations[k], window.strides[k], x.shape[axis]
    if None in (*sizes, *left) or min(starts) < 0 or starts[1] - starts[0] != dilation * sizes[0]:  # type: ignore[operator]
        return False
    used = [p + q + dilation * (n - 1) for p, q, n in zip(starts, left, sizes, strict=True)]  # type: ignore[operator]
    if not isinstance(dim, int):
        return bool(used[0] == used[1])
    first, second = ((dim - much - 1) // stride for much in used)
    return bool(first == second >= 0)


@hosted()
def both_parts(head: Slices, tail: Slices, axis: Axis) -> Slices:
    """From where the head begins to where the tail ends."""
    pairs = zip(head, tail, strict=True)
    return tuple((axis, a[1], b[2], 1) if a[0] == axis else a for a, b in pairs)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    line = ConvWindow((1,), (0, 0), (1,))

    def added(first: Slices, second: Slices, x: Tensor, u: ConvWindow = line, swapped: bool = False) -> Any:
        one, other = (
            conv(slice_(x, spec), g.random(3, 2, n, *(2,) * (len(u.strides) - 1)), b, u)
            for spec, n, b in ((first, 3, none()), (second, 2, g.random(3)))
        )
        return other + one if swapped else one + other

    x, long, image = g.input((1, 2, 20)), g.input((1, 2, "L")), g.input((1, 2, 20, 6))
    head, tail = ((2, 2, 16, 1),), ((2, 5, 18, 1),)
    yield g.fires(added(head, tail, x, line))
    yield g.fires(added(head, tail, x, line, swapped=True))
    yield g.fires(added(((2, 0, -2, 1),), ((2, 3, None, 1),), long, line))
    yield g.fires(added(((2, 0, 14, 1),), ((2, 6, 18, 1),), x, replace(line, strides=(2,), dilations=(2,))))
    ring = ConvWindow((1, 2), (0, 1, 0, 1), (1, 1))
    rows = ((2, 1, 15, 1), (3, 0, 5, 1)), ((2, 4, 17, 1), (3, 0, 5, 1))
    yield g.fires(added(*rows, image, ring))
    padded, wide = replace(line, pads=(1, 1)), replace(line, strides=(2,))
    for first, second, of, window, why in (
        (head, ((2, 6, 19, 1),), x, line, "a pixel is between"),
        (((2, 2, 16, 1),), ((2, 5, 7, 1),), x, line, "one window, which is broadcast"),
        (head, tail, x, padded, "each part has pads of its own"),
        (((2, 0, -3, 1),), ((2, 3, None, 1),), long, wide, "not if L is even"),
        (((2, 2, 16, 2),), ((2, 5, 17, 2),), x, line, "every other pixel"),
    ):
        yield g.near_miss(added(first, second, of, window), why)


@law(
    source="Ascend auto-optimizer, SplitLargeKernelConv",
    uses=(either_side, originals, totals),
    examples=_examples,
)
def of_shifted_images(
    x: Tensor, y: Tensor, v: Tensor, w: Tensor, b: Tensor, c: Tensor, u: ConvWindow, head: Slices,
    tail: Slices, one: Tensor, other: Tensor, i: Int,
):  # fmt: skip
    """Conv(x[p:q], V, b) + Conv(x[p + m*d:r], W, c) = Conv(x[p:r], [V, W], b + c)

    Only convolutions of the original meet, and what was made of them: what was cut is not joined again.
    """
    a = shifted_axis(head, tail)
    found = (eq(one, conv(slice_(x, head), v, b, u)), eq(other, conv(slice_(x, tail), w, c, u)))
    whole = conv(slice_(x, both_parts(head, tail, a)), concat(listed(v, w), a), total(b, c), u)
    added, sound = eq(y, beside("Add", one, other, i)), as_many_windows(x, v, w, head, tail, u, a)
    worth = guard(are_constant(v, w), is_part(one), is_part(other))
    then = (union(y, whole), is_part(y))
    yield rule(added, *found, sound, worth, then=then, inverse="large_kernel.split_kernel")

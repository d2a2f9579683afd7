"""A scale of some of the channels that a convolution makes goes into its weight.

    Slice(v(Conv(x, W, b))) * s -> Slice(v(Conv(x, W', b')))    W' and b' scaled where the slice is
    Slice_t(v(Conv(x, W, b))) -> Slice_t(v(Conv(x, W', b')))    for slices t that take none of these

v is nothing, a Reshape, or a Transpose of one: attention over the pixels of an image scales the queries, one
part of each head that one convolution of 1 x 1 makes (YOLO).  `linear.part_scales` has products of matrices.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, law, rule, union
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import Dims, Permutation, Slices, Tensor
from egraph_opt.operators import ConvWindow, conv, none, reshape, slice_, transpose
from egraph_opt.rewrites.conditions.channels import (
    at_axis,
    is_constant_bias,
    is_float_constant,
    may_scale,
    static_shape,
)
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.sums import RING
from egraph_opt.rewrites.linear.part_scales import is_apart, scaled, scales_of_axis, taken, taking, views_of
from egraph_opt.rewrites.linear.selection import absorbing, weight


@hosted()
def rows_of_kernel(w: Fact) -> Dims | None:
    """The dims of one number for each channel that comes out, beside the weight."""
    shape = static_shape(w) if is_float_constant(w) else None
    return at_axis(shape[0], len(shape), 0) if shape else None


@hosted()
def count_of_rows(w: Fact) -> Dims | None:
    """How many channels come out, as the dims of a bias."""
    shape = static_shape(w)
    return shape[:1] if shape else None


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b, s = g.input(("N", 4, 3, "L")), g.random(12, 4, 1, 1), g.random(12), g.constant(0.25)

    def attention(y: Any, axis: int, size: int) -> Any:
        q, k = (slice_(y, ((axis, n * size, (n + 1) * size, 1),)) for n in (0, 1))
        return q * s - k

    halves, wide = replace(PLAIN, group=2), g.random(12, 4, 3, 3)
    for y in (conv(x, w, none(), PLAIN), conv(x, w, b, PLAIN), conv(x, wide, b, RING)):
        yield g.fires(attention(y, 1, 4))
    image = g.input(("N", 4, 4, 5))
    for y in (conv(image, w, b, PLAIN), conv(image, g.random(12, 2, 1, 1), none(), halves)):
        for dims, p, axis in (
            (("N", 3, 4, 20), (1, 0, 2, 3), 1),
            (("N", 2, 6, 20), (2, 1, 3, 0), 2),
            (("N", 2, 3, 2, 4, 5), (2, 0, 1, 3, 4, 5), 2),
        ):
            yield g.fires(attention(reshape(y, dims), axis, 1))
            yield g.fires(attention(transpose(reshape(y, dims), p), 0, 1))
    y, rows = conv(x, w, b, PLAIN), conv(image, w, b, PLAIN)
    part, ones = slice_(y, ((1, 0, 4, 1),)), g.constant(np.full((12, 4, 1, 1), 0.1))
    yield from g.near_misses(
        (attention(image, 1, 1), "there is no convolution"),
        (attention(relu(y), 1, 4), "a scale does not pass Relu"),
        (attention(y, 2, 1), "rows are scaled"),
        (attention(reshape(rows, ("N", 12, 2, 10)), 2, 1), "rows are scaled, of some pixels"),
        (attention(reshape(rows, ("N", 24, 10)), 1, 1), "the axis holds pixels, too"),
        (part * g.random(4, 1, 1), "four scales"),
        (part + s, "it is a shift"),
        (attention(conv(x, g.input((12, 4, 1, 1)), b, PLAIN), 1, 4), "the weight is no constant"),
        (attention(conv(x, w, g.input((12,)), PLAIN), 1, 4), "the bias is no constant"),
        (part * g.constant(np.float32(np.inf)), "the scale is infinite"),
    )
    large, factor = g.constant(np.full((12, 4, 1, 1), 1e25)), g.constant(1e20)
    two, end = g.constant(np.full(12, 2.0)), g.constant(3e38)
    for kernel, bias, c, why in (
        (large, none(), factor, "their product is infinite"),
        (large, b, factor, "their product is infinite, beside a bias"),
        (ones, two, end, "the scaled bias is infinite"),
    ):
        whole = conv(image, kernel, bias, PLAIN)
        heads = reshape(whole, ("N", 3, 4, 20))
        for view, axis in ((whole, 1), (heads, 1), (transpose(heads, (1, 0, 2, 3)), 0)):
            first, second = (slice_(view, ((axis, k, k + 1, 1),)) for k in (0, 1))
            yield g.near_miss(first * c - second, why=why)


@law(
    "convolution",
    numerics="reassociates",
    kind="fuse",
    serves="arithmetic",
    source="Ultralytics YOLO11, C2PSA; algebra",
    examples=_examples,
    uses=(absorbing, taking),
)
def scale_of_some_channels(
    x: Tensor, y: Tensor, w: Tensor, b: Tensor, c: Tensor, t: Tensor, z: Tensor, o: Tensor, d: Dims,
    s: Slices, r: Slices, p: Permutation, u: ConvWindow,
):  # fmt: skip
    """Slice(v(Conv(x, W, b))) * s = Slice(v(Conv(x, W', b'))), likewise slices of other channels; v a view"""
    forgets = "the weight does not tell which part was scaled"
    for view, spec, dims in views_of(y, s, d, p):
        scales = scales_of_axis(spec, y, 1, dims, c)
        kernel, rows = w * reshape(scales, rows_of_kernel(w)), reshape(scales, count_of_rows(w))
        for bias, made, known in (
            (none(), none(), ()),
            (b, b * rows, (is_constant_bias(b, w), may_scale(c, b))),
        ):
            found = (eq(o, slice_(t, s) * c), eq(t, view(y)), eq(y, conv(x, w, bias, u)), may_scale(c, w))
            whole = view(conv(x, kernel, made, u))
            then = (union(o, slice_(whole, s)), scaled(t, whole, s))
            yield rule(*found, *known, guard(weight(w), taken(t)), then=then, because=forgets)
    other = (scaled(t, z, s), eq(o, slice_(t, r)), is_apart(s, r))
    yield rule(*other, then=union(o, slice_(z, r)), because=forgets)

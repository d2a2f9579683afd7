"""Concatenations of convolutions that share something.

Concat(Conv(x, W, b), Conv(y, W, b), ..) -> Conv(Concat(x, y, ..), W, b)                    batches
Concat(Conv(x, V, b), Conv(x, W, c), ..) -> Conv(x, Concat(V, W, ..), Concat(b, c, ..))     channels
Concat(Conv(x, V, b), Conv(y, W, c)) = Conv(Concat(x, y), Concat(V, W), Concat(b, c))       in groups

See `concat` on how lists are walked; `parts` has the way back.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Example,
    Operands,
    assign,
    auxiliary,
    eq,
    guard,
    hosted,
    laws_of,
    ne,
    rewrite,
    rule,
    table,
    union,
)
from egraph_opt.laws.sorts import Flag, Tensor, Tensors
from egraph_opt.operators import ConvWindow, concat, conv, literal, none
from egraph_opt.operators.terms import cons, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.arithmetic.distributivity import are_constant, pair_of, same_type
from egraph_opt.rewrites.conditions.channels import absent_bias, is_present
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.sums import RING
from egraph_opt.rewrites.linear.joined_products import differ_along
from egraph_opt.rewrites.slicing.concat import listing, operands_of
from egraph_opt.rewrites.slicing.joined_pairs import joined, pairs

law = laws_of("joining", numerics="reassociates", kind="merge", source="TASO")

HALVES = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1), 2)

# --- batches --------------------------------------------------------------------------------------------


@table(merge="first")
def images(xs: Tensors, w: Tensor, b: Tensor, window: ConvWindow) -> Tensors:
    """The images of a list of convolutions that have weight, bias and window in common."""


@auxiliary(listing)
def image_lists(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, xs: Tensors, ys: Tensors, rest: Tensors):
    """Fills `images`."""
    first = (operands_of(xs, 0), eq(xs, cons(conv(x, w, b, u), rest)))
    yield rule(first, eq(rest, nil()), then=assign(images(xs, w, b, u), cons(x, nil())))
    yield rule(first, eq(ys, images(rest, w, b, u)), then=assign(images(xs, w, b, u), cons(x, ys)))


@hosted()
def differ_in_batch(xs: tuple[Fact, ...]) -> bool:
    return differ_along(xs, 0)


def _batch_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = g.input(("N", 2, 5, 4)), g.input((2, 2, 5, 4)), g.input(("L", 2, 5, 4))
    w, v, b = g.input((3, 2, 3, 3)), g.random(3, 2, 3, 3), g.random(3)
    for bias in (none(), b):
        yield g.fires(concat(terms(*(conv(i, w, bias, RING) for i in (x, y, z))), 0))
    one = conv(x, w, none(), RING)
    for other, axis, why in (
        (conv(y, w, b, RING), 0, "one has a bias"),
        (conv(y, v, none(), RING), 0, "two weights"),
        (one, 1, "joined along the channels"),
    ):
        yield g.near_miss(concat(terms(one, other), axis), why)
    steps, kernel = ConvWindow((2, 2), (0,) * 4, (1, 1)), g.random(3, 2, 1, 1)
    parts = (conv(g.input((1, 2, rows, 4)), kernel, none(), steps) for rows in (5, 6))
    yield g.near_miss(concat(terms(*parts), 0), why="the images differ in rows that are stepped over")


@law(uses=(image_lists,), examples=_batch_examples)
def convolutions_of_one_weight(w: Tensor, b: Tensor, u: ConvWindow, xs: Tensors, ys: Tensors):
    """Concat(Conv(x, W, b), Conv(y, W, b), ..) = Conv(Concat(x, y, ..), W, b) along the batch"""
    known = (eq(ys, images(xs, w, b, u)), differ_in_batch(ys))
    whole = conv(concat(ys, 0), w, b, u)
    yield rewrite(concat(xs, 0), whole, known, inverse="slice_of_convolution")


# --- channels -------------------------------------------------------------------------------------------


@table(merge="first")
def kernels(xs: Tensors, x: Tensor, window: ConvWindow, biased: Flag) -> Tensors:
    """The weights of a list of convolutions of one image with one window."""


@table(merge="first")
def biases(xs: Tensors, x: Tensor, window: ConvWindow) -> Tensors:
    """The biases of such a list, zeros for those that are absent."""


@auxiliary(listing)
def kernel_lists(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, xs: Tensors, ws: Tensors, bs: Tensors,
                 rest: Tensors):  # fmt: skip
    """Fills `kernels` and `biases`."""
    bare, zeros = conv(x, w, none(), u), literal(absent_bias(w, u, 0))
    for y, bias, known in ((conv(x, w, b, u), b, is_present(b)), (bare, zeros, ())):
        first = (operands_of(xs, 1), known, eq(xs, cons(y, rest)))
        one = (assign(kernels(xs, x, u, 1), cons(w, nil())), assign(biases(xs, x, u), cons(bias, nil())))
        yield rule(first, eq(rest, nil()), then=one)
        others = (eq(ws, kernels(rest, x, u, 1)), eq(bs, biases(rest, x, u)))
        more = (assign(kernels(xs, x, u, 1), cons(w, ws)), assign(biases(xs, x, u), cons(bias, bs)))
        yield rule(first, others, then=more)
    found = (operands_of(xs, 1), eq(xs, cons(bare, rest)))
    yield rule(found, eq(rest, nil()), then=assign(kernels(xs, x, u, 0), cons(w, nil())))
    yield rule(found, eq(ws, kernels(rest, x, u, 0)), then=assign(kernels(xs, x, u, 0), cons(w, ws)))


@hosted()
def form_one_kernel(ws: tuple[Fact, ...], window: ConvWindow) -> bool:
    """Weights without groups that differ in the channels that come out only."""
    return window.group == 1 and len(ws) >= 2 and differ_along(ws, 0)


@hosted()
def some_differ_from_zero(bs: tuple[Fact, ...]) -> bool:
    return any(b.splat != 0 for b in bs)


def _channel_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, v, w = (
        g.input(("N", 2, 5, "L")),
        g.input(("N", 2, 5, "L")),
        g.input((3, 2, 3, 3)),
        g.random(4, 2, 3, 3),
    )
    one, other = conv(x, v, none(), RING), conv(x, w, none(), RING)
    yield g.fires(concat(terms(one, other), 1))
    yield g.fires(concat(terms(conv(x, v, g.random(3), RING), other), 1))
    yield g.fires(concat(terms(*(conv(x, g.random(k, 2, 3, 3), g.random(k), RING) for k in (1, 2, 3))), 1))
    grouped = conv(x, g.random(4, 1, 3, 3), none(), HALVES)
    for first, second, axis, why in (
        (one, conv(y, w, none(), RING), 1, "two images"),
        (one, conv(x, g.random(4, 2, 1, 1), none(), PLAIN), 1, "two windows"),
        (grouped, grouped, 1, "groups would be others"),
        (other, other, 0, "along the batch"),
    ):
        yield g.near_miss(concat(terms(first, second), axis), why)


@law(uses=(kernel_lists,), examples=_channel_examples)
def convolutions_of_one_image(x: Tensor, u: ConvWindow, xs: Tensors, ws: Tensors, bs: Tensors):
    """Concat(Conv(x, V, b), Conv(x, W, c), ..) = Conv(x, Concat(V, W, ..), Concat(b, c, ..)) by channels"""
    some = (eq(bs, biases(xs, x, u)), guard(some_differ_from_zero(bs)))
    for flag, bias, known in ((0, none(), ()), (1, concat(bs, 0), some)):
        one_kernel = (eq(ws, kernels(xs, x, u, flag)), form_one_kernel(ws, u), known)
        whole = conv(x, concat(ws, 0), bias, u)
        yield rewrite(concat(xs, 1), whole, one_kernel, inverse="slice_of_convolution")


# --- groups ---------------------------------------------------------------------------------------------


@hosted()
def doubled(x: Fact, y: Fact, v: Fact, w: Fact, window: ConvWindow) -> ConvWindow | None:
    """The window of two convolutions as one with twice the groups: images and weights are of one type."""
    return replace(window, group=2 * window.group) if same_type(x, y) and same_type(v, w) else None


@hosted()
def halved(x: Fact, y: Fact, v: Fact, w: Fact, window: ConvWindow) -> ConvWindow | None:
    """The window of each half of a convolution with an even number of groups."""
    even = window.group % 2 == 0 and same_type(x, y) and same_type(v, w)
    return replace(window, group=window.group // 2) if even else None


def _group_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    (x, y), (v, w) = (g.input(("N", 4, 5, 4)) for _ in "xy"), (g.random(6, 4, 3, 3) for _ in "vw")
    b, c = g.random(6), g.random(6)
    steps = ConvWindow((2, 1), (1, 0, 1, 1), (1, 1), 2)
    one = conv(x, v, none(), RING)
    yield g.fires(concat(terms(one, conv(y, w, none(), RING)), 1))
    yield g.fires(concat(terms(conv(x, v, b, RING), conv(y, w, c, RING)), 1))
    yield g.fires(concat(terms(*(conv(i, g.random(6, 2, 3, 3), none(), steps) for i in (x, y))), 1))
    free = [g.input((6, 4, 3, 3)), g.input((6, 4, 3, 3))]
    for bias, parts in ((none(), (none(), none())), (concat(terms(b, c), 0), (b, c))):
        whole = conv(concat(terms(x, y), 1), concat(terms(*free), 0), bias, HALVES)
        first, second = (conv(i, k, p, RING) for i, k, p in zip((x, y), free, parts, strict=True))
        yield g.fires(concat(terms(whole, first * second), 1))
    uneven = concat(terms(g.random(4), g.random(8)), 0)
    whole = conv(concat(terms(x, y), 1), concat(terms(*free), 0), uneven, HALVES)
    yield g.near_miss(whole, why="the bias is cut elsewhere")
    for pair in ((conv(x, v, b, RING), conv(y, w, none(), RING)), (one, conv(y, w, c, RING))):
        yield g.near_miss(concat(terms(*pair), 1), why="one has a bias")
    for other, why in (
        (conv(y, free[0], none(), RING), "a weight is no constant"),
        (conv(y, g.random(4, 4, 3, 3), none(), RING), "groups of two sizes"),
        (conv(g.input(("N", 2, 5, 4)), g.random(6, 2, 3, 3), none(), RING), "images of two types"),
    ):
        yield g.near_miss(concat(terms(one, other), 1), why)


@law(uses=(pairs,), examples=_group_examples)
def convolutions_in_groups(x: Tensor, y: Tensor, v: Tensor, w: Tensor, b: Tensor, c: Tensor, p: Tensor,
                           q: Tensor, z: Tensor, d: Tensor, u: ConvWindow):  # fmt: skip
    """Concat(Conv(x, V, b), Conv(y, W, c)) = Conv(Concat(x, y), Concat(V, W), Concat(b, c)) in two groups

    To the left where both convolutions are written as well.
    """
    image, weight = concat(pair_of(x, y), 1), concat(pair_of(v, w), 0)
    both, half = doubled(x, y, v, w, u), halved(x, y, v, w, u)
    worth = guard(are_constant(v, w), ne(x, y))
    for first, second, bias, joint, known in (
        (none(), none(), none(), none(), ()),
        (b, c, concat(pair_of(b, c), 0), d, (is_present(b), is_present(c))),
    ):
        found = (eq(z, joined(p, q, 1)), eq(p, conv(x, v, first, u)), eq(q, conv(y, w, second, u)))
        together = union(z, conv(image, weight, bias, both))
        yield rule(found, known, worth, then=together, inverse="convolutions_in_groups")
        parts = (eq(p, joined(x, y, 1)), eq(q, joined(v, w, 0)))
        cut = known and (eq(d, joined(b, c, 0)), same_type(b, c))
        one, other = conv(x, v, first, half), conv(y, w, second, half)
        apart = union(z, concat(pair_of(one, other), 1))
        whole = eq(z, conv(p, q, joint, u))
        yield rule(whole, parts, cut, guard(one, other), then=apart, inverse="convolutions_in_groups")

"""Concatenations of convolutions of three images and more are one convolution in groups.

Concat(Conv(x, V, b), Conv(y, W, c), ..) -> Conv(Concat(x, y, ..), Concat(V, W, ..), Concat(b, c, ..))

`joined` has those of two, and the way back.  See `concat` on how lists are walked.
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
    rewrite,
    rule,
    table,
)
from egraph_opt.laws.sorts import Flag, Tensor, Tensors
from egraph_opt.operators import ConvWindow, concat, conv, none
from egraph_opt.operators.terms import cons, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.arithmetic.distributivity import same_type
from egraph_opt.rewrites.conditions.channels import is_float_constant, is_present
from egraph_opt.rewrites.convolution.sums import RING
from egraph_opt.rewrites.slicing.concat import listing, operands_of

law = laws_of("joining", numerics="reassociates", kind="merge", source="TASO")


@table(merge="first")
def images_of(xs: Tensors, window: ConvWindow, biased: Flag) -> Tensors:
    """The images of a list of convolutions with constant weights and one window."""


@table(merge="first")
def kernels_of(xs: Tensors, images: Tensors, window: ConvWindow, biased: Flag) -> Tensors:
    """The weights that go with these images: a value may be a convolution of others as well."""


@table(merge="first")
def biases_of(xs: Tensors, images: Tensors, window: ConvWindow) -> Tensors:
    """The biases that go with these images."""


@hosted()
def is_kernel(w: Fact) -> bool:
    return is_float_constant(w)


@auxiliary(listing)
def convolution_lists(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, xs: Tensors, rest: Tensors, ys: Tensors,
                      ws: Tensors, bs: Tensors):  # fmt: skip
    """Fills `images_of`, `kernels_of` and `biases_of`."""
    for flag, bias, known in ((0, none(), ()), (1, b, (is_present(b),))):
        first = (operands_of(xs, 1), eq(xs, cons(conv(x, w, bias, u), rest)), is_kernel(w), *known)
        last, longer = cons(x, nil()), cons(x, ys)
        one = [assign(images_of(xs, u, flag), last), assign(kernels_of(xs, last, u, flag), cons(w, nil()))]
        more = [assign(images_of(xs, u, flag), longer), assign(kernels_of(xs, longer, u, flag), cons(w, ws))]
        after = [eq(ys, images_of(rest, u, flag)), eq(ws, kernels_of(rest, ys, u, flag))]
        if flag:
            one.append(assign(biases_of(xs, last, u), cons(b, nil())))
            more.append(assign(biases_of(xs, longer, u), cons(b, bs)))
            after.append(eq(bs, biases_of(rest, ys, u)))
        yield rule(first, eq(rest, nil()), then=one)
        yield rule(first, after, then=more)


@hosted()
def grouped(xs: tuple[Fact, ...], ws: tuple[Fact, ...], window: ConvWindow) -> ConvWindow | None:
    """The window of three convolutions and more as one: images and weights are of one type each."""
    if len(xs) < 3 or len(xs) != len(ws):
        return None
    alike = all(same_type(x, xs[0]) for x in xs) and all(same_type(w, ws[0]) for w in ws)
    return replace(window, group=len(xs) * window.group) if alike else None


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    images, kernels = [g.input(("N", 4, 5, 4)) for _ in "xyz"], [g.random(6, 4, 3, 3) for _ in "vwu"]
    steps = ConvWindow((2, 1), (1, 0, 1, 1), (1, 1), 2)
    pairs = list(zip(images, kernels, strict=True))
    yield g.fires(concat(terms(*(conv(x, w, none(), RING) for x, w in pairs)), 1))
    yield g.fires(concat(terms(*(conv(x, w, g.random(6), RING) for x, w in pairs)), 1))
    yield g.fires(concat(terms(*(conv(x, g.random(6, 2, 3, 3), none(), steps) for x in images)), 1))
    first = [conv(x, w, none(), RING) for x, w in pairs[:2]]
    for last, why in (
        (conv(images[2], kernels[2], g.random(6), RING), "one has a bias"),
        (conv(images[2], g.input((6, 4, 3, 3)), none(), RING), "a weight is no constant"),
        (conv(images[2], g.random(4, 4, 3, 3), none(), RING), "groups of two sizes"),
        (conv(g.input(("N", 2, 5, 4)), g.random(6, 2, 3, 3), none(), RING), "images of two types"),
        (images[2], "one is no convolution"),
    ):
        yield g.near_miss(concat(terms(*first, last), 1), why)
    rows = [conv(x, g.random(6, 4, 3, 3), none(), RING) for x in images]
    yield g.near_miss(concat(terms(*rows), 2), why="joined along the rows")


@law(uses=(convolution_lists,), examples=_examples)
def convolutions_in_many_groups(xs: Tensors, ys: Tensors, ws: Tensors, bs: Tensors, u: ConvWindow):
    """Concat(Conv(x, V, b), Conv(y, W, c), ..) = Conv(Concat(x, y, ..), Concat(V, W, ..), ..) in groups"""
    for flag, bias in ((0, none()), (1, concat(bs, 0))):
        one_of_many = guard(eq(ys, images_of(xs, u, flag)))
        found = (*one_of_many, eq(ws, kernels_of(xs, ys, u, flag)))
        biases = (eq(bs, biases_of(xs, ys, u)),) if flag else ()
        whole = conv(concat(ys, 1), concat(ws, 0), bias, grouped(ys, ws, u))
        yield rewrite(concat(xs, 1), whole, *found, *biases, because="`joined` takes halves apart")

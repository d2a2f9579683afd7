"""Sums of convolutions with one window are one convolution, whose bias is the sum of theirs.

Conv(x, V, b) + Conv(x, W, c) = Conv(x, V + W, b + c)        likewise differences
Conv(x, W, b) + Conv(y, W, c) = Conv(x + y, W, b + c)            likewise differences
Conv(x, V, b) + Conv(y, W, c) = Conv([x, y], [V, W], b + c)      for constant V and W, without groups

From the right to the left where both convolutions are written as well.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws import (
    Example,
    Operands,
    assign,
    auxiliary,
    eq,
    equal,
    guard,
    hosted,
    laws_of,
    ne,
    rewrite,
    rule,
    union,
)
from egraph_opt.laws.algebra import is_same, number_like
from egraph_opt.laws.sorts import Tensor
from egraph_opt.operators import ConvWindow, concat, conv, none
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.arithmetic.distributivity import apart_yet, are_constant, joint, pair_of, same_type
from egraph_opt.rewrites.conditions.channels import axes_of_a_row, is_present, overflows_nowhere, product_fits
from egraph_opt.rewrites.conditions.operands import total, totals
from egraph_opt.rewrites.conditions.values import all_vary, any_varies
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.linear.joined_products import differ_along

law = laws_of(
    "convolution_sums",
    numerics="reassociates",
    kind="merge",
    serves="arithmetic",
    source="TASO, distributivity of Conv",
)

RING = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))


@hosted()
def can_add(b: Fact, c: Fact) -> bool:
    """Biases of one size, or one that is absent; of two constants the sum is finite, as far as is known."""
    if ABSENT in (b, c):
        return True
    return bool(same_type(b, c)) and (not (b.const and c.const) or overflows_nowhere("Add", b, c))


@hosted()
def fits_in_sums(x: Fact, w: Fact, *biases: Fact) -> bool:
    """Products of a constant x and a constant W overflow nowhere in their sums, nor beside constant biases,
    as far as they are known."""
    return not (x.const and w.const) or product_fits(w, x, axes_of_a_row.function(w), biases)


def _large_images(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.constant(np.full((1, 1, 4, 4), 2e38)), g.input((2, 1, 1, 1))
    large, far = g.constant(np.full((2, 1, 1, 1), 2.0)), g.constant(np.full(2, 2e38))
    for w in (large + y, y + large):
        whole = conv(x, w, none(), PLAIN)
        yield g.near_miss((whole, conv(x, y, none(), PLAIN)), why="one product is infinite")
    image, v, w = g.input((1, 1, 4, 4)), g.constant(np.full((2, 1, 1, 1), -2e38)), g.random(2, 1, 1, 1)
    opposite = g.constant(np.full((2, 1, 1, 1), 2e38))
    parts = conv(image, v, none(), PLAIN), conv(image, opposite, none(), PLAIN)
    apart = (conv(image, v + opposite, g.random(2), PLAIN), *parts)
    yield g.near_miss(apart, why="weights take each other away")
    both = conv(image, v, far, PLAIN) + conv(image, w, far, PLAIN)
    yield g.near_miss(both, why="the sum of the biases is infinite")


@law(uses=(totals,), examples=_large_images)
def of_one_image(x: Tensor, v: Tensor, w: Tensor, b: Tensor, c: Tensor, u: ConvWindow):
    """Conv(x, V, b) + Conv(x, W, c) = Conv(x, V + W, b + c)"""
    one, other = conv(x, v, b, u), conv(x, w, c, u)
    fits = (fits_in_sums(x, v, b, c), fits_in_sums(x, w, b, c))
    known = (same_type(v, w), can_add(b, c), guard(ne(v, w), one, other))
    whole = conv(x, v + w, total(b, c), u)
    yield rewrite(one + other, whole, *known, inverse="of_one_image")
    # Large constants may take each other away, or have no product.
    yield rewrite(whole, one + other, *known, *fits, any_varies(v, w), inverse="of_one_image")


def _difference_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, v, w, b, c = (
        g.input(("N", 4, 5, "L")),
        g.random(6, 4, 3, 3),
        g.random(6, 4, 3, 3),
        g.random(6),
        g.random(6),
    )
    for first, second in ((none(), none()), (b, none()), (none(), c), (b, c)):
        yield g.fires(conv(x, v, first, RING) - conv(x, w, second, RING))
    yield g.near_miss(conv(x, v, b, RING) - conv(x, g.input((6, 4, 3, 3)), b, RING), why="it is no constant")
    other = conv(g.input(("N", 4, 5, "L")), w, b, RING)
    yield g.near_miss(conv(x, v, b, RING) - other, why="two images")


def _biases_apart(b: Any, c: Any, w: Any, *known: Any) -> Iterator[tuple[Any, Any, tuple[Any, ...]]]:
    """The bias that is subtracted, none or c, what is left of b then, and what is known of c."""
    yield none(), b, ()
    yield c, total(b, c * number_like(w, -1.0)), (is_present(c), *known)


@law(uses=(totals,), examples=_difference_examples)
def difference_of_one_image(x: Tensor, v: Tensor, w: Tensor, b: Tensor, c: Tensor, u: ConvWindow):
    """Conv(x, V, b) - Conv(x, W, c) = Conv(x, V - W, b - c)"""
    for other, bias, known in _biases_apart(b, c, w):
        sound = (same_type(v, w), guard(are_constant(v, w)), *known)
        apart = conv(x, v, b, u) - conv(x, w, other, u)
        yield rewrite(apart, conv(x, v - w, bias, u), *sound, because="every kernel would be a difference")


def _large_weights(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input((1, 1, 4, 4)), g.constant(np.full((1, 1, 4, 4), 2.0))
    large, small = (g.constant(np.full((2, 1, 1, 1), number)) for number in (3e38, 1e-10))
    for z in (x + y, y + x):
        yield g.near_miss(conv(z, large, none(), PLAIN), why="what a constant adds overflows")
    far = g.constant(np.full((1, 1, 4, 4), 3e38))
    parts = conv(far, small, none(), PLAIN) + conv(far, small, g.input((2,)), PLAIN)
    yield g.near_miss(parts, why="the sum of the constants overflows")
    one, wide = g.constant(np.full((2, 1, 1, 1), 1.0)), g.constant(np.full((1, 1, 4, 4), 2e38))
    beside = conv(wide + (x + g.constant(-3e38)), one, g.constant(np.full(2, 2e38)), PLAIN)
    yield g.near_miss(beside, why="beside the bias it overflows")


@law(uses=(totals,), examples=_large_weights)
def of_one_weight(x: Tensor, y: Tensor, w: Tensor, b: Tensor, c: Tensor, u: ConvWindow):
    """Conv(x, W, b) + Conv(y, W, c) = Conv(x + y, W, b + c)"""
    one, other = conv(x, w, b, u), conv(y, w, c, u)
    fits = (fits_in_sums(x, w, b, c), fits_in_sums(y, w, b, c))
    known = (same_type(x, y), can_add(b, c), any_varies(x, y), *fits, guard(ne(x, y), one, other))
    yield equal(one + other, conv(x + y, w, total(b, c), u), *known)


@hosted()
def difference_fits(b: Fact, c: Fact) -> bool:
    """Two constant biases overflow nowhere, whatever their signs, as far as they are known."""
    return ABSENT in (b, c) or not (b.const and c.const) or overflows_nowhere("Sub", b, c)


def _weight_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 4, 5, "L")), g.input(("N", 4, 5, "L"))
    w, b, c = g.random(6, 4, 3, 3), g.random(6), g.random(6)
    for first, second in ((none(), none()), (b, none()), (none(), c), (b, c), (b, b)):
        yield g.fires(conv(x, w, first, RING) - conv(y, w, second, RING))
    one = g.input((1, 4, 5, "L"))
    yield g.near_miss(conv(x, w, b, RING) - conv(y, g.random(6, 4, 3, 3), b, RING), why="two weights")
    yield g.near_miss(conv(x, w, b, RING) - conv(one, w, b, RING), why="an image is broadcast")
    large = g.constant(np.full(6, 3e38, np.float32))
    yield g.near_miss(conv(x, w, large, RING) - conv(y, w, large, RING), why="of images nothing is left")


@law(uses=(totals,), examples=_weight_examples)
def difference_of_one_weight(x: Tensor, y: Tensor, w: Tensor, b: Tensor, c: Tensor, u: ConvWindow):
    """Conv(x, W, b) - Conv(y, W, c) = Conv(x - y, W, b - c)"""
    for other, bias, known in _biases_apart(b, c, w, difference_fits(b, c)):
        sound = (same_type(x, y), guard(all_vary(x, y), ne(x, y)), *known)
        apart = conv(x, w, b, u) - conv(y, w, other, u)
        yield rewrite(apart, conv(x - y, w, bias, u), *sound, because="every image would be a difference")


# --- the channels that go in ----------------------------------------------------------------------------


@auxiliary()
def images(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Enters the images of convolutions in `joint`."""
    yield rule(conv(x, w, b, u), then=assign(joint(x), 0))


@hosted()
def joins_channels(x: Fact, y: Fact, v: Fact, w: Fact, window: ConvWindow) -> bool:
    """Images and weights of two convolutions without groups differ in the channels that go in only."""
    if window.group != 1 or not differ_along((x, y), 1) or not differ_along((v, w), 1):
        return False
    couples = ((x.shape, v.shape), (y.shape, w.shape))
    return all(a is not None and b is not None and symbolic.known_equal(a[1], b[1]) for a, b in couples)


def _channels_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, z, v, t = (
        g.input(("N", 4, 5, "L")),
        g.input(("N", 2, 5, "L")),
        g.random(6, 4, 3, 3),
        g.random(6, 2, 3, 3),
    )
    for b, c in ((g.random(6), g.random(6)), (none(), g.random(6)), (none(), none())):
        yield g.fires(conv(x, v, b, RING) + conv(z, t, c, RING))
    free = [g.input((6, 4, 3, 3)), g.input((6, 2, 3, 3))]
    whole = conv(concat(listed(x, z), 1), concat(listed(*free), 1), b, RING)
    one, other = (conv(i, s, none(), RING) for i, s in zip((x, z), free, strict=True))
    yield g.fires(whole * (one * other))
    yield g.near_miss(whole * one, why="one part of it is there only")
    yield g.near_miss(one + other, why="the weights are no constants")
    halves = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1), 2)
    grouped = (conv(g.input(("N", 4, 5, "L")), g.random(6, 2, 3, 3), none(), halves) for _ in "xy")
    yield g.near_miss(next(grouped) + next(grouped), why="groups would be others")
    broad = conv(z, g.random(1, 2, 3, 3), none(), RING)
    yield g.near_miss(conv(x, v, none(), RING) + broad, why="a channel is broadcast")


@law(serves="launches", source="TASO", uses=(images, totals), examples=_channels_examples)
def of_channels(
    x: Tensor, y: Tensor, v: Tensor, w: Tensor, b: Tensor, c: Tensor, u: ConvWindow, t: ConvWindow, z: Tensor
):
    """Conv(x, V, b) + Conv(y, W, c) = Conv([x, y], [V, W], b + c), and back where both are written, too"""
    image, weight = concat(pair_of(x, y), 1), concat(pair_of(v, w), 1)
    fits = joins_channels(x, y, v, w, u)
    worth = guard(are_constant(v, w), ne(x, y), ne(v, w), *apart_yet(x, y))
    apart = (eq(z, conv(x, v, b, u) + conv(y, w, c, t)), is_same(u, t))
    together = (union(z, conv(image, weight, total(b, c), u)), assign(joint(image), 1))
    yield rule(*apart, fits, worth, then=together, inverse="of_channels")
    one, other = conv(x, v, b, u), conv(y, w, none(), u)
    yield rewrite(conv(image, weight, b, u), one + other, fits, guard(one, other), inverse="of_channels")

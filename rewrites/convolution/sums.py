"""Sums of convolutions with one window are one convolution, whose bias is the sum of theirs.

Conv(x, V, b) + Conv(x, W, c) = Conv(x, V + W, b + c)
Conv(x, W, b) + Conv(y, W, c) = Conv(x + y, W, b + c)
Conv(x, V, b) + Conv(y, W, c) = Conv([x, y], [V, W], b + c)      for constant V and W, without groups

From the right to the left where both convolutions, without bias, are written as well.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import Equal, PyObject, closure, eq, guard, holds, ne, rewrite, rule, set_
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import ConvWindow, binary, concat, conv, none
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact, listed
from egraph_opt.rewrites.arithmetic.distributivity import (
    apart_yet,
    are_constant,
    joint,
    pair_of,
    same_type,
)
from egraph_opt.rewrites.conditions.channels import is_absent, is_present
from egraph_opt.rewrites.conditions.comparing import equals
from egraph_opt.rewrites.convolution.outputs import PLAIN

RING = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))


def _biases(b: Any, c: Any) -> Iterator[tuple[Any, Any, Any, tuple[Any, ...]]]:
    """The biases of two convolutions, if any, that of their sum, and what has to hold."""
    there, also = holds(is_present, fact(b)), holds(is_present, fact(c))
    yield b, c, binary("Add", b, c), (there, also)
    yield b, none(), b, (there,)
    yield none(), c, c, (also,)
    yield none(), none(), none(), ()


def _operands(g: Operands) -> tuple[Any, Any, Any, Any]:
    """Two images, two weights."""
    return g.input(("N", 4, 5, "L")), g.input(("N", 4, 5, "L")), g.random(6, 4, 3, 3), g.random(6, 4, 3, 3)


def _weights_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, v, w = _operands(g)
    for b, c in ((g.random(6), g.random(6)), (none(), g.random(6)), (g.random(6), none()), (none(), none())):
        yield g.fires(binary("Add", conv(x, v, b, RING), conv(x, w, c, RING)))
    halves = ConvWindow((2, 1), (0, 1, 1, 0), (1, 2), 2)
    pair = [conv(x, g.input((6, 2, 3, 2)), none(), halves) for _ in range(2)]
    yield g.fires(binary("Add", *pair))
    yield g.near_miss(binary("Add", conv(x, v, none(), RING), conv(y, w, none(), RING)), why="two images")
    small = conv(x, g.random(6, 4, 1, 1), none(), PLAIN)
    yield g.near_miss(binary("Add", conv(x, v, none(), RING), small), why="two windows")
    one = conv(x, g.random(1, 4, 3, 3), none(), RING)
    yield g.near_miss(binary("Add", conv(x, v, none(), RING), one), why="a channel is broadcast")
    yield g.near_miss(binary("Mul", conv(x, v, none(), RING), conv(x, w, none(), RING)), why="it is no sum")


@law("convolution_sums", numerics="reassociates", examples=_weights_examples)
def of_one_image(x: Tensor, v: Tensor, w: Tensor, b: Tensor, c: Tensor, u: PyObject) -> Iterator[Any]:
    """Conv(x, V, b) + Conv(x, W, c) = Conv(x, V + W, b + c)

    Source: TASO, distributivity of Conv.
    """
    alike = (holds(same_type, fact(v), fact(w)), guard(ne(v).to(w)))
    for first, second, bias, present in _biases(b, c):
        apart = binary("Add", conv(x, v, first, u), conv(x, w, second, u))
        yield rewrite(apart, conv(x, binary("Add", v, w), bias, u), *alike, *present)


def _images_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, v, w = _operands(g)
    for b, c in ((g.random(6), g.random(6)), (none(), g.random(6)), (g.random(6), none()), (none(), none())):
        yield g.fires(binary("Add", conv(x, v, b, RING), conv(y, v, c, RING)))
    yield g.near_miss(binary("Add", conv(x, v, none(), RING), conv(y, w, none(), RING)), why="two weights")
    broad = conv(g.input((1, 4, 5, "L")), v, none(), RING)
    yield g.near_miss(binary("Add", conv(x, v, none(), RING), broad), why="the sum broadcasts")


@law("convolution_sums", numerics="reassociates", examples=_images_examples)
def of_one_weight(x: Tensor, y: Tensor, w: Tensor, b: Tensor, c: Tensor, u: PyObject) -> Iterator[Any]:
    """Conv(x, W, b) + Conv(y, W, c) = Conv(x + y, W, b + c)

    Source: TASO, distributivity of Conv.
    """
    alike = (holds(same_type, fact(x), fact(y)), guard(ne(x).to(y)))
    for first, second, bias, present in _biases(b, c):
        apart = binary("Add", conv(x, w, first, u), conv(y, w, second, u))
        yield rewrite(apart, conv(binary("Add", x, y), w, bias, u), *alike, *present)


def _apart_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, v, _ = _operands(g)
    t = g.input((6, 4, 3, 3))
    image, weight = binary("Add", x, y), binary("Add", v, t)
    for b in (none(), g.random(6)):
        parts = binary("Mul", conv(x, v, b, RING), conv(y, v, none(), RING))
        yield g.fires(binary("Mul", conv(image, v, b, RING), parts))
        parts = binary("Mul", conv(x, v, b, RING), conv(x, t, none(), RING))
        yield g.fires(binary("Mul", conv(x, weight, b, RING), parts))
    one = binary("Mul", conv(image, v, none(), RING), conv(x, v, none(), RING))
    yield g.near_miss(one, why="one part of it is there only")
    z = g.input((1, 4, 5, "L"))
    parts = binary("Mul", conv(x, v, none(), RING), conv(z, v, none(), RING))
    broad = conv(binary("Add", x, z), v, none(), RING)
    yield g.near_miss(binary("Mul", broad, parts), why="the sum broadcasts")


@law("convolution_sums", numerics="reassociates", examples=_apart_examples)
def of_a_sum(
    x: Tensor, y: Tensor, w: Tensor, b: Tensor, u: PyObject, one: Tensor, other: Tensor
) -> Iterator[Any]:
    """Conv(x + y, W, b) = Conv(x, W, b) + Conv(y, W), where both are written as well; likewise of V + W

    Source: TASO, distributivity of Conv.
    """
    alike = holds(same_type, fact(x), fact(y))
    total = binary("Add", x, y)
    for left, first, second in (
        (conv(total, w, b, u), conv(x, w, b, u), conv(y, w, none(), u)),
        (conv(w, total, b, u), conv(w, x, b, u), conv(w, y, none(), u)),
    ):
        written = guard(eq(one).to(first), eq(other).to(second))
        yield rewrite(left, binary("Add", first, second), alike, written)


# --- the channels that go in ----------------------------------------------------------------------------


@hosted(default=False)
def joins_channels(x: Fact, y: Fact, v: Fact, w: Fact, window: ConvWindow) -> bool:
    """Images and weights of two convolutions without groups differ in the channels that go in only."""
    if window.group != 1:
        return False
    for a, b in ((x, y), (v, w)):
        if a.dtype != b.dtype or a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
            return False
        pairs = enumerate(zip(a.shape, b.shape, strict=True))
        if not all(symbolic.known_equal(*pair) for k, pair in pairs if k != 1):
            return False
    couples = ((x.shape, v.shape), (y.shape, w.shape))
    return all(a is not None and b is not None and symbolic.known_equal(a[1], b[1]) for a, b in couples)


def _channels_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, v, _ = _operands(g)
    z, t = g.input(("N", 2, 5, "L")), g.random(6, 2, 3, 3)
    for b, c in ((g.random(6), g.random(6)), (none(), g.random(6)), (none(), none())):
        yield g.fires(binary("Add", conv(x, v, b, RING), conv(z, t, c, RING)))
    free = [g.input((6, 4, 3, 3)), g.input((6, 2, 3, 3))]
    bias = g.random(6)
    whole = conv(concat(listed(x, z), 1), concat(listed(*free), 1), bias, RING)
    parts = conv(x, free[0], bias, RING), conv(z, free[1], none(), RING)
    yield g.fires(binary("Mul", whole, binary("Mul", *parts)))
    yield g.near_miss(binary("Mul", whole, parts[0]), why="one part of it is there only")
    varying = [conv(i, s, none(), RING) for i, s in zip((x, z), free, strict=True)]
    yield g.near_miss(binary("Add", *varying), why="the weights are no constants")
    halves = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1), 2)
    grouped = [conv(i, g.random(6, 2, 3, 3), none(), halves) for i in (x, y)]
    yield g.near_miss(binary("Add", *grouped), why="groups would be others")
    one = conv(z, g.random(1, 2, 3, 3), none(), RING)
    yield g.near_miss(binary("Add", conv(x, v, none(), RING), one), why="a channel is broadcast")


@law("convolution_sums", numerics="reassociates", examples=_channels_examples)
def of_channels(
    x: Tensor, y: Tensor, v: Tensor, w: Tensor, b: Tensor, c: Tensor, u: PyObject, t: PyObject,
    one: Tensor, other: Tensor,
) -> Iterator[Any]:  # fmt: skip
    """Conv(x, V, b) + Conv(y, W, c) = Conv([x, y], [V, W], b + c), and back where both are written, too

    Source: TASO.
    """
    yield closure(eq(one).to(conv(x, w, b, u)), then=set_(joint(x)).to(0))
    fits = holds(joins_channels, fact(x), fact(y), fact(v), fact(w), u)
    worth = guard(holds(are_constant, fact(v), fact(w)), ne(x).to(y), ne(v).to(w), *apart_yet(x, y))
    image, weight = concat(pair_of(x, y), PyObject(1)), concat(pair_of(v, w), PyObject(1))
    found = eq(one).to(binary("Add", conv(x, v, b, u), conv(y, w, c, t)))
    there, also = holds(is_present, fact(b)), holds(is_present, fact(c))
    gone, gone_too = holds(is_absent, fact(b)), holds(is_absent, fact(c))
    for bias, known in (
        (binary("Add", b, c), (there, also)),
        (b, (gone_too,)),
        (c, (gone, also)),
    ):
        together = Equal(one, conv(image, weight, bias, u))
        same = holds(equals, u, t)
        yield rule(found, *known, same, fits, *worth, then=(together, set_(joint(image)).to(1)))
    first, second = conv(x, v, b, u), conv(y, w, none(), u)
    written = guard(eq(one).to(first), eq(other).to(second))
    yield rewrite(conv(image, weight, b, u), binary("Add", first, second), fits, written)

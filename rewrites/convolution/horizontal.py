"""Convolutions of one image are parts of one convolution.

Conv(x, V, b), Conv(x, W, c) -> Conv(x, [V; W], [b; c])[:, :m], Conv(x, [V; W], [b; c])[:, m:]

and likewise for three.  Of a class that is a convolution in many ways one is joined, and none that a
BatchNormalization, a constant per channel, another kernel or convolution of the image follows, since that
becomes part of it.  Only values of the original are joined, near each other: of many convolutions of one
image not every three are tried.  `enlarging` makes kernels of several sizes alike, `horizontal_functions`
takes functions of the parts along.
"""

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any

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
    rule,
    table,
    union,
)
from egraph_opt.laws.sorts import Float, Int, Slices, String, Tensor
from egraph_opt.operators import ConvWindow, Literal, batchnorm, binary, concat, conv, literal, none, slice_
from egraph_opt.operators.terms import listed, node
from egraph_opt.rewrites.conditions.channels import absent_bias, is_float_constant, static_shape
from egraph_opt.rewrites.convolution.composed import follows, rows_of_convolutions
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.sums import RING

law = laws_of(
    "horizontal", numerics="reassociates", kind="merge", source="TASO; operator fusion", resumes=True
)

NEAR = 64
"""The most terms of the lowered graph between convolutions that are joined."""


@table(merge="first")
def weight_of(y: Tensor, x: Tensor, window: ConvWindow) -> Tensor:
    """The weight of y as a convolution of x that may be joined with others."""


@table(merge="first")
def bias_of(y: Tensor, x: Tensor, window: ConvWindow) -> Tensor:
    """The bias that goes with it, zeros where there is none."""


@table(merge="max")
def superseded(y: Tensor) -> Int:
    """1 for a convolution behind which stands what becomes part of it, else 0."""


@hosted()
def may_join(w: Fact, b: Fact, window: ConvWindow) -> bool:
    """Constants, without groups."""
    return window.group == 1 and is_float_constant(w) and is_float_constant(b)


@hosted()
def is_per_channel(op: str, c: Fact) -> bool:
    """A constant of several numbers that scales or shifts."""
    shape = static_shape(c)
    return op in ("Add", "Mul", "Sub", "Div") and shape is not None and c.const and max(shape, default=1) > 1


@auxiliary(rows_of_convolutions)
def followers(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, y: Tensor, z: Tensor, c: Tensor,
              m: Tensor, v: Tensor, e: Tensor, op: String, epsilon: Float):  # fmt: skip
    """Fills `superseded`."""
    yield rule(eq(y, conv(x, w, b, u)), then=assign(superseded(y), 0))
    known = eq(superseded(y), 0)
    yield rule(known, batchnorm(y, w, b, m, v, epsilon), then=assign(superseded(y), 1))
    shifted = (eq(z, binary(op, y, c)), ne(z, y), is_per_channel(op, c))
    yield rule(known, *shifted, then=assign(superseded(y), 1))
    yield rule(known, eq(follows(y, c), 1), then=assign(superseded(y), 1))
    of_one = (eq(y, conv(x, w, b, u)), eq(z, conv(x, v, m, u)), ne(z, y))
    for whole in (binary("Add", y, e), binary("Add", e, y)):
        yield rule(known, eq(z, whole), *of_one, then=assign(superseded(y), 1))


@hosted()
def zeros_for(w: Fact, window: ConvWindow) -> Literal | None:
    """The bias of a convolution that has none, if it may be joined."""
    return absent_bias.function(w, window, 0) if may_join(w, w, window) else None


@auxiliary(followers)
def members(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, y: Tensor):
    """Fills `weight_of` and `bias_of`."""
    for bias, written, known in ((b, b, may_join(w, b, u)), (none(), literal(zeros_for(w, u)), ())):
        entries = (assign(weight_of(y, x, u), w), assign(bias_of(y, x, u), written))
        yield rule(eq(y, conv(x, w, bias, u)), known, then=entries)


@hosted()
def channel_parts(*weights: Fact) -> tuple[Slices, ...] | None:
    """Per weight the slice of the joint convolution that is its own; None where kernels differ."""
    start, found, first = 0, [], weights[0].shape
    for weight in weights:
        shape = static_shape(weight)
        if shape is None or first is None or shape[1:] != first[1:] or weight.dtype != weights[0].dtype:
            return None
        found.append(((1, start, start + shape[0], 1),))
        start += shape[0]
    return tuple(found)


def joined_convolutions(
    x: Any, u: Any, *convolutions: tuple[Any, Any, Any, Any], known: Any = ()
) -> Iterator[Any]:
    """Every convolution (its result, weight, bias and number in the original) is a part of one.

    Args:
        known: what else holds of them.
    """
    results, weights, biases, numbers = zip(*convolutions, strict=True)
    found = [
        (eq(w, weight_of(y, x, u)), eq(b, bias_of(y, x, u)), guard(eq(superseded(y), 0), eq(y, node(k))))
        for y, w, b, k in convolutions
    ]
    near = (*(i < j for i, j in pairwise(numbers)), numbers[-1] < numbers[0] + NEAR)
    differ = [ne(v, w) for v, w in combinations(weights, 2)]
    whole = conv(x, concat(listed(*weights), 0), concat(listed(*biases), 0), u)
    parts = channel_parts(*weights)
    are_parts = [union(y, slice_(whole, parts[k])) for k, y in enumerate(results)]
    yield rule(found, guard(near, differ), known, then=are_parts, inverse="joining.slice_of_convolution")


def examples_of(count: int, **limits: int) -> Any:
    """Examples of so many convolutions, and near-misses of two, on a target with these limits."""

    def examples(rng: np.random.Generator) -> Iterator[Example]:
        g = Operands(rng)
        for shape, kernel, u in (
            (("N", 3, 5, "L"), (3, 3), RING),
            ((2, 3, 7), (2,), ConvWindow((2,), (1, 0), (2,))),
        ):
            x, biases = g.input(shape), (g.random(4), none(), g.random(6))
            several = [conv(x, g.random(4 + k, 3, *kernel), biases[k], u) for k in range(count)]
            yield g.fires(concat(listed(*several), 1), **limits)
        g = Operands(rng)
        x, y, v, w = g.input((1, 3, 5, 5)), g.input((1, 3, 5, 5)), g.random(4, 3, 1, 1), g.random(4, 3, 1, 1)
        first, second = conv(x, v, none(), PLAIN), conv(x, w, none(), PLAIN)
        thin, groups = g.random(3, 1, 1, 1), ConvWindow((1, 1), (0,) * 4, (1, 1), 3)
        for one, other, why in (
            (first, conv(y, w, none(), PLAIN), "two images"),
            (first, conv(x, g.random(4, 3, 3, 3), none(), RING), "two windows"),
            (first, conv(x, g.input((4, 3, 1, 1)), none(), PLAIN), "a weight is no constant"),
            (conv(x, thin, none(), groups), conv(x, -thin, none(), groups), "groups would be others"),
            (first * g.random(4, 1, 1), second * g.random(4, 1, 1), "they will take in a scale each"),
        ):
            yield g.near_miss(concat(listed(one, other), 1), why, **limits)

    return examples


@law(uses=(members,), examples=examples_of(2))
def two_convolutions(x: Tensor, u: ConvWindow, y: Tensor, z: Tensor, v: Tensor, w: Tensor, b: Tensor,
                     c: Tensor, i: Int, j: Int):  # fmt: skip
    """Conv(x, V, b), Conv(x, W, c) = parts of Conv(x, [V; W], [b; c]) for constants"""
    yield from joined_convolutions(x, u, (y, v, b, i), (z, w, c, j))


@law(uses=(members,), examples=examples_of(3))
def three_convolutions(x: Tensor, u: ConvWindow, y: Tensor, z: Tensor, t: Tensor, v: Tensor, w: Tensor,
                       m: Tensor, b: Tensor, c: Tensor, d: Tensor, i: Int, j: Int, k: Int):  # fmt: skip
    """Conv(x, U, b), Conv(x, V, c), Conv(x, W, d) = parts of Conv(x, [U; V; W], [b; c; d]) for constants"""
    yield from joined_convolutions(x, u, (y, v, b, i), (z, w, c, j), (t, m, d, k))

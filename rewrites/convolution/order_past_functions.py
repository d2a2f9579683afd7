"""Channels that are put in another order beside a function are so in the weight on its other side.

Gather(f(Conv(x, W, b)), i) -> f(Gather(Conv(x, W, b), i))       along the channels, see `reordered`
Conv(f(Gather(x, i)), W, b) -> Conv(Gather(f(x), i), W, b)       of all channels, see `folded_images`
f(Gather(x, i)) @ W -> Gather(f(x), i) @ W                       likewise, along the last axis

Channel shuffles and pruned networks have them behind the activation.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import relu, tanh, varies
from egraph_opt.laws.sorts import Settings, String, Tensor
from egraph_opt.operators import ConvWindow, conv, gather, none, unary
from egraph_opt.rewrites.conditions.operands import function_of, functions
from egraph_opt.rewrites.convolution.folded_images import last_axis_of, rows_axis, takes_all_channels, undoing
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.reordered import are_no_more, chooses

law = laws_of("convolution", numerics="bitwise", kind="move", serves="traffic", source="ShuffleNet; pruning")


def _behind(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = g.input(("N", 4, 3, "L")), g.random(5, 4, 2, 1), g.random(5)
    some, turned = g.constant(np.array([2, -1])), g.constant(np.array([2, 0, 3, 1, 4]))
    y, halves = conv(x, w, b, PLAIN), ConvWindow((1, 1), (0,) * 4, (1, 1), 2)
    yield from g.all_fire(gather(relu(y), turned, 1), gather(tanh(y), some, 1))
    yield from g.near_misses(
        (gather(relu(y), g.constant(np.array([0, 1])), 2), "rows"),
        (gather(relu(y), g.constant(np.array([0, 0, 1])), 1), "one is computed twice"),
        (gather(relu(x), g.constant(np.array([1, 0])), 1), "there is no convolution"),
        (gather(relu(conv(x, g.random(4, 2, 1, 1), none(), halves)), some, 1), "groups would be others"),
    )


@law(examples=_behind)
def order_behind_function(f: String, s: Settings, x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, i: Tensor):
    """Gather(f(Conv(x, W, b)), i) = f(Gather(Conv(x, W, b), i)) along the channels, none of them twice"""
    y = conv(x, w, b, u)
    left, once = gather(unary(f, s, y), i, 1), are_no_more(w, chooses(w, i, u))
    demand = guard(once, varies(x))
    yield rewrite(left, unary(f, s, gather(y, i, 1)), demand, because="the order goes into the weight")


@hosted()
def is_permutation(x: Fact, i: Fact, axis: int) -> bool:
    """All of an axis, in another order: the function is of as many elements."""
    return undoing.function(x, i, axis) is not None


@hosted()
def has_rows(w: Fact) -> bool:
    """A constant matrix, or a batch of them, of which rows can change places."""
    return rows_axis.function(w) is not None


def _before(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, turned, w = g.input(("N", 4, 5, 4)), g.constant(np.array([2, 0, 3, 1])), g.random(6, 4, 3, 1)
    halves = ConvWindow((1, 1), (0,) * 4, (1, 1), 2)
    yield g.fires(conv(relu(gather(x, turned, 1)), w, none(), PLAIN))
    yield g.fires(relu(gather(x, turned, 3)) @ g.random(4, 3))
    yield from g.near_misses(
        (conv(relu(gather(x, turned, 1)), g.random(6, 2, 1, 1), none(), halves), "groups"),
        (conv(relu(gather(x, turned, 3)), w, none(), PLAIN), "columns"),
        (relu(gather(x, turned, 1)) @ g.random(4, 3), "channels are not summed"),
        (relu(gather(x, g.constant(np.array([2, 0, 2, 1])), 3)) @ g.random(4, 3), "one is there twice"),
        (relu(gather(x, turned, 3)) @ g.input((4, 3)), "the weight is no constant"),
    )


@law(uses=(functions,), examples=_before)
def order_before_function(f: String, s: Settings, x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, i: Tensor):
    """Conv(f(Gather(x, i)), W, b) = Conv(Gather(f(x), i), W, b) for an order of all channels, @ likewise"""
    last, why = last_axis_of(x), "the order goes into the weight"
    image, rows = function_of(f, s, gather(x, i, 1)), function_of(f, s, gather(x, i, last))
    all_of_them = guard(takes_all_channels(w, u), is_permutation(x, i, 1), varies(x))
    yield rewrite(
        conv(image, w, b, u), conv(gather(function_of(f, s, x), i, 1), w, b, u), all_of_them, because=why
    )
    columns = guard(has_rows(w), is_permutation(x, i, last), varies(x))
    yield rewrite(rows @ w, gather(function_of(f, s, x), i, last) @ w, columns, because=why)

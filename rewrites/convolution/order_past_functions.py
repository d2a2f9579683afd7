"""Channels that are put in another order beside a function are so in the weight on its other side.

Gather(f(Conv(x, W, b)), i) -> f(Gather(Conv(x, W, b), i))       along the channels, see `reordered`
Gather(Reshape(Conv(x, W, b)), i) -> Reshape(Gather(Conv(x, W, b), i))       likewise, and Transpose
Conv(f(Gather(x, i)), W, b) -> Conv(Gather(f(x), i), W, b)       of all channels, see `folded_images`
f(Gather(x, i)) @ W -> Gather(f(x), i) @ W                       likewise, along the last axis

Channel shuffles and pruned networks have them behind the activation.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, auxiliary, eq, guard, hosted, laws_of, rewrite, rule, table
from egraph_opt.laws.algebra import relu, tanh, varies
from egraph_opt.laws.sorts import Axis, Dims, Permutation, Settings, String, Tensor, Unit
from egraph_opt.operators import ConvWindow, binary, conv, gather, none, reshape, transpose, unary
from egraph_opt.rewrites.conditions.operands import function_of, functions
from egraph_opt.rewrites.convolution.folded_images import last_axis_of, rows_axis, takes_all_channels, undoing
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.reductions.stacks import are_alike
from egraph_opt.rewrites.slicing.gather import from_front, indices_of
from egraph_opt.rewrites.slicing.slice import dim_at

law = laws_of("convolution", numerics="bitwise", kind="move", serves="traffic", source="ShuffleNet; pruning")


@table()
def channels_along(y: Tensor, axis: Axis) -> Unit:
    """Places along this axis are channels that a convolution with a constant weight makes, one for each."""


@hosted()
def axis_behind_view(x: Fact, dims: Dims, axis: Axis) -> Axis | None:
    """Where an axis is after a Reshape that keeps it: as long, with as many elements in front of it."""
    if x.shape is None or not x.is_symbolic or axis >= len(x.shape):
        return None
    front = symbolic.product(x.shape[:axis])
    places = [k for k, dim in enumerate(dims) if symbolic.known_equal(dim, x.shape[axis])]
    return next((k for k in places if symbolic.known_equal(symbolic.product(dims[:k]), front)), None)


@hosted()
def axis_behind_transpose(p: Permutation, axis: Axis) -> Axis | None:
    return p.index(axis) if axis in p else None


@auxiliary(functions)
def of_channels(
    x: Tensor, y: Tensor, z: Tensor, w: Tensor, b: Tensor, u: ConvWindow, op: String, s: Settings,
    d: Dims, p: Permutation, a: Axis,
):  # fmt: skip
    """Fills `channels_along`."""
    yield rule(eq(y, conv(x, w, b, u)), takes_all_channels(w, u), varies(x), then=channels_along(y, 1))
    for term, axis in (
        (function_of(op, s, x), a),
        (reshape(x, d), axis_behind_view(x, d, a)),
        (transpose(x, p), axis_behind_transpose(p, a)),
    ):
        yield rule(eq(y, term), channels_along(x, a), then=channels_along(y, axis))
    both = (channels_along(x, a), channels_along(z, a), are_alike(x, z))
    yield rule(eq(y, binary(op, x, z)), *both, then=channels_along(y, a))


@hosted()
def takes_some(i: Fact, y: Fact, axis: Axis) -> bool:
    """A vector of places along an axis, none of which is there twice."""
    known, dim = indices_of(i), dim_at(y, axis)
    if known is None or i.rank != 1 or not isinstance(dim, int):
        return False
    front = from_front(known, dim)
    return front is not None and 0 < len(set(front)) == len(front)


@hosted()
def view_of_some(x: Fact, dims: Dims, axis: Axis, i: Fact) -> tuple[Dims, Axis] | None:
    """The dims of a view of the places that i takes, and where these are in x."""
    places = [k for k in range(x.rank or 0) if axis_behind_view.function(x, dims, k) == axis]
    if len(places) != 1 or i.shape is None or i.rank != 1 or 0 in dims:
        return None
    return tuple(i.shape[0] if k == axis else dim for k, dim in enumerate(dims)), places[0]


@hosted()
def axis_before(p: Permutation, axis: Axis, i: Fact) -> Axis | None:
    """The axis that a vector of indices takes places of before a Transpose."""
    return p[axis] if axis < len(p) and i.rank == 1 else None


def _behind(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, b = g.input(("N", 4, 3, "L")), g.random(5, 4, 2, 1), g.random(5)
    some, turned = g.constant(np.array([2, -1])), g.constant(np.array([2, 0, 3, 1, 4]))
    y, halves = conv(x, w, b, PLAIN), ConvWindow((1, 1), (0,) * 4, (1, 1), 2)
    flat = reshape(relu(conv(g.input((2, 4, 3, 6)), w, b, PLAIN)), (2, 5, 12))
    yield from g.all_fire(
        gather(relu(y), turned, 1),
        gather(tanh(y), some, 1),
        gather(y * unary("Sigmoid", (), y), some, 1),
        gather(transpose(y, (0, 2, 3, 1)), some, 3),
        gather(reshape(y, ("N", 5, 1, 2, "L")), some, 1),
        gather(reshape(flat, (1, 2, 5, 12)), some, 2),
        gather(flat, some, 1),
        gather(transpose(flat, (0, 2, 1)), some, 2),
    )
    yield from g.near_misses(
        (gather(relu(y), g.constant(np.array([0, 1])), 2), "rows"),
        (gather(relu(y), g.constant(np.array([0, 0, 1])), 1), "one is computed twice"),
        (gather(relu(x), g.constant(np.array([1, 0])), 1), "there is no convolution"),
        (gather(relu(conv(x, g.random(4, 2, 1, 1), none(), halves)), some, 1), "groups would be others"),
        (gather(transpose(y, (0, 2, 3, 1)), g.constant(np.array([0])), 1), "rows that were turned"),
        (gather(reshape(flat, (2, 15, 4)), some, 1), "channels are cut"),
        (gather(reshape(flat, (10, 12)), some, 0), "channels of all images"),
        (gather(y * g.input((1, 5, 1, 1)), some, 1), "what it is scaled with is no convolution"),
    )


@law(uses=(of_channels,), examples=_behind)
def order_behind_function(
    f: String, s: Settings, x: Tensor, y: Tensor, i: Tensor, a: Axis, d: Dims, p: Permutation
):
    """Gather(f(Conv(x, W, b)), i) = f(Gather(Conv(x, W, b), i)) along the channels, none of them twice

    f is a function, an operator of two of these, or a view or Transpose that keeps the channels as an axis.
    """
    why, once = "the order goes into the weight", takes_some(i, x, a)
    made = (guard(channels_along(x, a), once),)
    yield rewrite(gather(function_of(f, s, x), i, a), function_of(f, s, gather(x, i, a)), made, because=why)
    parts, alike = binary(f, gather(x, i, a), gather(y, i, a)), are_alike(x, y)
    yield rewrite(gather(binary(f, x, y), i, a), parts, made, alike, guard(channels_along(y, a)), because=why)
    seen, place = reshape(x, d), view_of_some(x, d, a, i)
    some = guard(channels_along(x, place[1]), takes_some(i, x, place[1]))
    yield rewrite(gather(seen, i, a), reshape(gather(x, i, place[1]), place[0]), some, because=why)
    before = axis_before(p, a, i)
    some = guard(channels_along(x, before), takes_some(i, x, before))
    yield rewrite(gather(transpose(x, p), i, a), transpose(gather(x, i, before), p), some, because=why)


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

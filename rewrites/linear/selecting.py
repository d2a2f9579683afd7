"""A weight whose rows have a single 1 each selects, and computes nothing.

    x @ P -> Gather(x, p, -1), P @ x -> Gather(x, p, -2)
    Conv(x, P, b) -> Gather(x, p, 1) + b                 where each pixel stays in its place

Where p is all in order, that is x itself.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.sorts import Axis, Tensor
from egraph_opt.operators import ConvWindow, Literal, conv, gather, literal, none, reshape
from egraph_opt.operators.declaration import ints
from egraph_opt.rewrites.conditions.channels import channel_dims, is_constant_bias, static_shape
from egraph_opt.rewrites.convolution.outputs import PLAIN
from egraph_opt.rewrites.convolution.sums import RING

FORGOTTEN = "the weight is forgotten"


def _is_all(places: tuple[int, ...] | None, size: Any) -> bool:
    return places is not None and len(places) == size and places == tuple(range(size))


def _chosen(places: tuple[int, ...] | None, size: Any) -> Literal | None:
    """The indices that choose these of an axis; None where that is all of it, in order."""
    return None if places is None or _is_all(places, size) else ints(places)


# --- products -------------------------------------------------------------------------------------------


def _rows(w: Fact) -> tuple[int, ...] | None:
    """Which row of x comes out where of w @ x, for a matrix w."""
    return w.units if w.rank == 2 else None


def _columns(w: Fact) -> tuple[int, ...] | None:
    """Which column of x comes out where of x @ w, for a square matrix w."""
    rows = _rows(w)
    if rows is None or sorted(rows) != list(range((w.shape or ())[1])):  # type: ignore[arg-type]
        return None
    return tuple(np.argsort(rows).tolist())


@hosted()
def is_identity(w: Fact, x: Fact) -> bool:
    """And x has the rank of the product."""
    return (x.rank or 0) >= 2 and w.rank == 2 and _is_all(_rows(w), (w.shape or ())[1])


@hosted()
def chosen_rows(w: Fact) -> Literal | None:
    return _chosen(_rows(w), (w.shape or ())[1]) if w.rank == 2 else None


@hosted()
def chosen_columns(w: Fact) -> Literal | None:
    return _chosen(_columns(w), (w.shape or ())[1]) if w.rank == 2 else None


@hosted()
def from_behind(x: Fact, place: int) -> Axis | None:
    """The last axis (1) of a matrix or more, or the one in front of it (2)."""
    return None if x.rank is None or x.rank < 2 else x.rank - place


def _product_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, eye = g.input(("N", 3, 3)), np.eye(3)
    same, turned, some = (g.constant(eye[places]) for places in ([0, 1, 2], [2, 0, 1], [2, 0, 2, 1]))
    yield from g.all_fire(x @ turned, turned @ x, some @ x, x @ same, same @ x)
    yield from g.near_misses(
        (x @ g.constant(eye[[1, 1, 0]]), "columns of no 1 and of two"),
        (x @ g.constant(np.diag([1.0, 0.5, 1.0])), "not all are 1"),
        (x @ g.constant(-eye), "they are -1"),
        (x @ g.constant(np.tri(3)), "sums"),
        (x @ g.input((3, 3)), "the weight is no constant"),
    )


@law("matmul", numerics="finite", kind="eliminate", serves="arithmetic", examples=_product_examples)
def product_of_units(x: Tensor, w: Tensor):
    """x @ P = Gather(x, p, -1) and P @ x = Gather(x, p, -2) where rows of P have a single 1; x for I"""
    for product in (x @ w, w @ x):
        yield rewrite(product, x, is_identity(w, x), because=FORGOTTEN)
    yield rewrite(x @ w, gather(x, literal(chosen_columns(w)), from_behind(x, 1)), because=FORGOTTEN)
    yield rewrite(w @ x, gather(x, literal(chosen_rows(w)), from_behind(x, 2)), because=FORGOTTEN)


# --- convolutions ---------------------------------------------------------------------------------------


def _channels(x: Fact, w: Fact, window: ConvWindow) -> tuple[int, ...] | None:
    """Which channel of x comes out where of a convolution that leaves pixels in their places."""
    shape = static_shape(w)
    if shape is None or w.units is None or x.shape is None or any(s != 1 for s in window.strides):
        return None
    (rows, size, *kernel), taps = shape, math.prod(shape[2:])
    places = {unit % taps for unit in w.units}
    if len(places) != 1 or len(x.shape) != len(shape) or x.shape[1] != size * window.group:
        return None
    place = np.unravel_index(places.pop(), kernel)
    before = tuple(int(p) * d for p, d in zip(place, window.dilations, strict=True))
    behind = tuple((k - 1) * d - b for k, d, b in zip(kernel, window.dilations, before, strict=True))
    if window.pads != (*before, *behind):
        return None
    in_front = [row // (rows // window.group) * size for row in range(rows)]
    return tuple(first + unit // taps for first, unit in zip(in_front, w.units, strict=True))


@hosted()
def keeps_all(x: Fact, w: Fact, window: ConvWindow) -> bool:
    """Every channel comes out where it went in."""
    return _is_all(_channels(x, w, window), (x.shape or (0, 0))[1])


@hosted()
def chosen_channels(x: Fact, w: Fact, window: ConvWindow) -> Literal | None:
    return _chosen(_channels(x, w, window), (x.shape or (0, 0))[1])


def _kernel(*places: int, size: int, tap: tuple[int, int] = (0, 0), kernel: tuple[int, int] = (1, 1)) -> Any:
    made = np.zeros((len(places), size, *kernel))
    made[:, :, tap[0], tap[1]] = np.eye(size)[list(places)]
    return made


def _convolution_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, skew = g.input(("N", 4, 5, "L")), ConvWindow((1, 1), (0, 2, 1, 0), (1, 2))
    halves, each = (ConvWindow((1, 1), (0,) * 4, (1, 1), groups) for groups in (2, 4))
    for array, u in (
        (_kernel(0, 1, 2, 3, size=4), PLAIN),
        (_kernel(2, 0, 3, 1, size=4), PLAIN),
        (_kernel(2, 2, 0, size=4), PLAIN),
        (_kernel(0, 1, 2, 3, size=4, tap=(1, 1), kernel=(3, 3)), RING),
        (_kernel(3, 1, size=4, tap=(0, 1), kernel=(2, 2)), skew),
        (_kernel(0, 1, 1, 0, size=2), halves),
        (_kernel(0, 0, 0, 0, size=1), each),
    ):
        w = g.constant(array)
        yield from g.all_fire(conv(x, w, none(), u), conv(x, w, g.random(len(array)), u))
    aside, turned = _kernel(0, 1, 2, 3, size=4, tap=(0, 1), kernel=(3, 3)), _kernel(1, 0, 2, 3, size=4)
    point = g.constant(turned)
    yield from g.near_misses(
        (conv(x, g.constant(aside), none(), RING), "pixels move"),
        (conv(x, point, none(), ConvWindow((1, 2), (0,) * 4, (1, 1))), "every other pixel"),
        (conv(x, point, none(), RING), "there is a frame"),
        (conv(x, point, g.input((4,)), PLAIN), "the bias is no constant"),
        (conv(x, g.constant(turned / 2), none(), PLAIN), "halves"),
    )


@law("convolution", numerics="finite", kind="eliminate", serves="arithmetic", examples=_convolution_examples)
def convolution_of_units(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow):
    """Conv(x, P, b) = Gather(x, p, 1) + b where rows of P have a single 1 and pixels stay"""
    whole, some = keeps_all(x, w, u), gather(x, literal(chosen_channels(x, w, u)), 1)
    shift = reshape(b, channel_dims(x, b))
    for bias, all_of, some_of, known in (
        (none(), x, some, ()),
        (b, x + shift, some + shift, guard(is_constant_bias(b, w))),
    ):
        yield rewrite(conv(x, w, bias, u), all_of, known, whole, because=FORGOTTEN)
        yield rewrite(conv(x, w, bias, u), some_of, known, because=FORGOTTEN)

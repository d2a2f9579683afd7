"""What a product or a convolution sums over: parts that are constant, zero, or there several times.

Concat(x, c) @ W -> x @ V + c @ U           where W is V above U, for constants c and W
Conv(Concat(x, c), W, b) -> Conv(x, V, b) + Conv(c, U)          likewise, along the channels
Concat(x, 0) @ W -> x @ V                                       also where the batch has a symbol
Tile(x) @ W -> x @ (sum of the parts of W)                      likewise Concat(x, x), and a Conv

What is constant is computed once: a product has a summand that is a constant.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Dims, Slices, Tensor
from egraph_opt.operators import ConvWindow, concat, conv, none, reduce, reshape, slice_, tile
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.channels import (
    LARGEST,
    is_finite_constant,
    is_shift,
    known_elements,
    product_fits,
    static_shape,
)
from egraph_opt.rewrites.conditions.values import all_are

law = laws_of("contracted", numerics="reassociates", kind="eliminate", serves="traffic", source="CoordConv")

RING = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1))

LARGEST_CONSTANT = 2**20
"""Elements of a constant that a product of two constants makes."""


def _cuts(x: Fact, c: Fact, w: Fact, axis: int, *, own: int, side: int) -> tuple[Slices, Slices] | None:
    """The parts of a weight for x and for c, next to each other along an axis, c first for side 1."""
    shape = static_shape(w)
    if shape is None or not w.const or x.shape is None or c.shape is None or len(x.shape) != len(c.shape):
        return None
    sizes = (x.shape[axis], c.shape[axis])
    if not all(isinstance(n, int) and n > 0 for n in sizes) or sum(sizes) != shape[own]:  # type: ignore[arg-type]
        return None
    first = sizes[side]
    parts = (((own, 0, first, 1),), ((own, first, shape[own], 1),))
    return parts if side == 0 else (parts[1], parts[0])  # type: ignore[return-value]


@hosted()
def rows_of(x: Fact, c: Fact, w: Fact, axis: Axis, side: int) -> tuple[Slices, Slices] | None:
    """The rows of a matrix that x and c of a Concat along the last axis are multiplied with."""
    last = x.rank is not None and axis == x.rank - 1 and w.rank == 2
    return _cuts(x, c, w, axis, own=0, side=side) if last else None


@hosted()
def channels_of(x: Fact, c: Fact, w: Fact, axis: Axis, window: ConvWindow, side: int) -> Any:
    """The channels of a weight that x and c of a Concat along the channels are convolved with."""
    return _cuts(x, c, w, 1, own=1, side=side) if axis == 1 and window.group == 1 else None


@hosted()
def makes_constant(c: Fact, w: Fact, columns: int) -> bool:
    """c is a constant, not of zeros, which have a law of their own; what it makes with w is not very large,
    and overflows nowhere, as far as is known."""
    shape, dims = static_shape(c), static_shape(w)
    if shape is None or dims is None or not is_shift(c) or not is_finite_constant(w):
        return False
    rows = math.prod(shape) // max(shape[-1] if columns else shape[1], 1)
    made = dims[1] if columns else dims[0]
    axes = (0,) if columns else tuple(range(1, len(dims)))
    return rows * made <= LARGEST_CONSTANT and bool(product_fits(w, c, axes))


def _pair(x: Any, c: Any, side: int) -> Any:
    return listed(c, x) if side else listed(x, c)


def _constants(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, c = g.input((2, 5, 4)), g.random(6, 3), g.random(2, 5, 2)
    yield g.fires(concat(listed(x, c), 2) @ w)
    yield g.fires(concat(listed(c, x), 2) @ w)
    yield from g.near_misses(
        (concat(listed(x, g.input((2, 5, 2))), 2) @ w, "it varies"),
        (concat(listed(x, g.random(2, 3, 4)), 1) @ g.random(4, 3), "along rows"),
        (concat(listed(x, c), 2) @ g.input((6, 3)), "the matrix varies"),
        (concat(listed(x, g.constant(np.full((2, 5, 2), 1e30))), 2) @ (w * g.constant(1e30)), "it overflows"),
    )
    x, large = g.input((2, 5, 1), TensorProto.FLOAT16), g.constant(np.full((2, 5, 1), 300, np.float16))
    for side in (0, 1):
        column = g.constant(np.reshape((300, -6e4) if side else (-6e4, 300), (2, 1)).astype(np.float16))
        yield g.near_miss(concat(_pair(x, large, side), 2) @ column, why="the product of constants overflows")


@law(examples=_constants)
def constant_columns(x: Tensor, c: Tensor, w: Tensor, a: Axis):
    """Concat(x, c) @ W = x @ V + c @ U for constants c and W, which is V above U"""
    for side in (0, 1):
        own = rows_of(x, c, w, a, side)
        apart = x @ slice_(w, own[0]) + c @ slice_(w, own[1])
        sound = (makes_constant(c, w, 1), guard(varies(x)))
        yield rewrite(concat(_pair(x, c, side), a) @ w, apart, *sound, because="forgets what c was")


def _images(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, c, b = g.input((2, 3, 5, 6)), g.random(4, 5, 3, 3), g.random(2, 2, 5, 6), g.random(4)
    yield g.fires(conv(concat(listed(x, c), 1), w, b, RING))
    yield g.fires(conv(concat(listed(c, x), 1), w, none(), RING))
    halves = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1), 2)
    twice = concat(listed(x, g.random(2, 3, 5, 6)), 1)
    yield from g.near_misses(
        (conv(concat(listed(x, g.input((2, 2, 5, 6))), 1), w, b, RING), "it varies"),
        (conv(concat(listed(x, g.random(2, 3, 2, 6)), 2), g.random(4, 3, 3, 3), b, RING), "along rows"),
        (conv(twice, g.random(4, 3, 3, 3), none(), halves), "of two groups"),
    )
    point = ConvWindow((1, 1), (0, 0, 0, 0), (1, 1))
    x, large = g.input((2, 1, 3, 3), TensorProto.FLOAT16), g.constant(np.full((2, 1, 3, 3), 300, np.float16))
    for side in (0, 1):
        row = g.constant(np.reshape((300, -6e4) if side else (-6e4, 300), (1, 2, 1, 1)).astype(np.float16))
        image = concat(_pair(x, large, side), 1)
        yield g.near_miss(conv(image, row, none(), point), why="the convolution of constants overflows")


@law(examples=_images)
def constant_channels(x: Tensor, c: Tensor, w: Tensor, b: Tensor, a: Axis, u: ConvWindow):
    """Conv(Concat(x, c), W, b) = Conv(x, V, b) + Conv(c, U) for constants c and W, which is V beside U"""
    for side in (0, 1):
        own = channels_of(x, c, w, a, u, side)
        apart = conv(x, slice_(w, own[0]), b, u) + conv(c, slice_(w, own[1]), none(), u)
        sound = (makes_constant(c, w, 0), guard(varies(x)))
        yield rewrite(
            conv(concat(_pair(x, c, side), a), w, b, u), apart, *sound, because="forgets what c was"
        )


def _zeros(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, zero = g.input((2, 3, 5, 6)), g.constant(np.zeros((2, 2, 5, 6)))
    w, m = g.random(4, 5, 3, 3), g.random(8, 3)
    yield g.fires(conv(concat(listed(x, zero), 1), w, none(), RING))
    yield g.fires(conv(concat(listed(zero, x), 1), w, g.random(4), RING))
    columns = g.constant(np.zeros((2, 3, 5, 2)))
    yield from g.all_fire(concat(listed(x, columns), 3) @ m, concat(listed(columns, x), 3) @ m)
    yield g.near_miss(concat(listed(x, g.constant(np.ones((2, 3, 5, 2)))), 3) @ m, why="it is not zero")
    for side in (0, 1):
        rows, channels = np.ones((8, 3)), np.ones((4, 5, 3, 3))
        rows[-2 * (1 - side) :][:2] = channels[:, -2 * (1 - side) :][:, :2] = np.inf
        for whole in (
            concat(_pair(x, columns, side), 3) @ g.constant(rows),
            conv(concat(_pair(x, zero, side), 1), g.constant(channels), none(), RING),
        ):
            yield g.near_miss(whole, why="0 times infinity is none")


@law(numerics="reassociates", serves="arithmetic", examples=_zeros)
def zeros_beside(x: Tensor, c: Tensor, w: Tensor, b: Tensor, a: Axis, u: ConvWindow):
    """Concat(x, 0) @ W = x @ V, Conv(Concat(x, 0), W, b) = Conv(x, V, b)"""
    for side in (0, 1):
        sound = (all_are(c, 0.0), is_finite_weight(w), guard(varies(x)))
        both = concat(_pair(x, c, side), a)
        for whole, less in (
            (both @ w, x @ slice_(w, rows_of(x, c, w, a, side)[0])),
            (conv(both, w, b, u), conv(x, slice_(w, channels_of(x, c, w, a, u, side)[0]), b, u)),
        ):
            yield rewrite(whole, less, *sound, because="forgets how many zeros there were")


@hosted()
def is_finite_weight(w: Fact) -> bool:
    """Products with 0 are 0."""
    return is_finite_constant(w)


# --- several times ---------------------------------------------------------------------------------------


def _parts(w: Fact, repeats: Dims, axis: int, own: int) -> Dims | None:
    """The dims of a weight with as many parts along one of its axes as an operand is repeated along its."""
    shape, count = static_shape(w), repeats[axis]
    if shape is None or not is_finite_constant(w) or not isinstance(count, int) or count < 2:
        return None
    if any(r != 1 for k, r in enumerate(repeats) if k != axis) or shape[own] % count:
        return None
    known = known_elements(w)
    if known and max(map(abs, known)) * count > LARGEST[w.dtype]:
        return None
    return (*shape[:own], count, shape[own] // count, *shape[own + 1 :])


@hosted()
def parts_of_rows(w: Fact, x: Fact, repeats: Dims) -> Dims | None:
    return _parts(w, repeats, len(repeats) - 1, 0) if w.rank == 2 and x.rank == len(repeats) else None


@hosted()
def parts_of_channels(w: Fact, x: Fact, repeats: Dims, window: ConvWindow) -> Dims | None:
    known = w.rank == x.rank == len(repeats) and len(repeats) > 2 and window.group == 1
    return _parts(w, repeats, 1, 1) if known else None


def _repeated(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, image = g.input(("N", 5, 4)), g.input(("N", 2, 5, 6))
    yield g.fires(tile(x, (1, 1, 3)) @ g.random(12, 7))
    yield g.fires(conv(tile(image, (1, 2, 1, 1)), g.random(3, 4, 3, 3), g.random(3), RING))
    halves = ConvWindow((1, 1), (1, 1, 1, 1), (1, 1), 2)
    yield from g.near_misses(
        (tile(x, (1, 2, 1)) @ g.random(4, 7), "rows are there twice"),
        (tile(x, (1, 1, 3)) @ g.input((12, 7)), "the weight varies"),
        (conv(tile(image, (1, 2, 1, 1)), g.random(4, 2, 3, 3), none(), halves), "of two groups"),
        (tile(x, (1, 1, 2)) @ g.constant(np.full((8, 2), 3e38)), "the sum of the parts is infinite"),
    )


@law(serves="arithmetic", examples=_repeated)
def repeated(x: Tensor, w: Tensor, b: Tensor, r: Dims, u: ConvWindow):
    """Tile(x) @ W = x @ (sum of the parts of W), Conv(Tile(x), W, b) = Conv(x, sum of the parts of W, b)"""
    rows = reduce("ReduceSum", reshape(w, parts_of_rows(w, x, r)), (0,), 0)
    channels = reduce("ReduceSum", reshape(w, parts_of_channels(w, x, r, u)), (1,), 0)
    demand, why = guard(varies(x)), "the sum knows no parts"
    yield rewrite(tile(x, r) @ w, x @ rows, demand, because=why)
    yield rewrite(conv(tile(x, r), w, b, u), conv(x, channels, b, u), demand, because=why)


@hosted()
def repeats_of_pair(x: Fact, axis: Axis) -> Dims | None:
    """How often each axis of x is repeated by a Concat of x and x."""
    return None if x.rank is None else tuple(2 if k == axis else 1 for k in range(x.rank))


def _pairs(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, image = g.input(("N", 5, 4)), g.input(("N", 2, 5, 6))
    yield g.fires(concat(listed(x, x), 2) @ g.random(8, 7))
    yield g.fires(conv(concat(listed(image, image), 1), g.random(3, 4, 3, 3), g.random(3), RING))
    yield from g.near_misses(
        (concat(listed(x, g.input(("N", 5, 4))), 2) @ g.random(8, 7), "another one"),
        (concat(listed(x, x), 1) @ g.random(4, 7), "rows are there twice"),
    )


@law(serves="arithmetic", examples=_pairs)
def there_twice(x: Tensor, w: Tensor, b: Tensor, a: Axis, u: ConvWindow):
    """Concat(x, x) @ W = x @ (V + U) where W is V above U, likewise a Conv"""
    both, r = concat(listed(x, x), a), repeats_of_pair(x, a)
    rows = reduce("ReduceSum", reshape(w, parts_of_rows(w, x, r)), (0,), 0)
    channels = reduce("ReduceSum", reshape(w, parts_of_channels(w, x, r, u)), (1,), 0)
    demand, why = guard(varies(x)), "the sum knows no parts"
    yield rewrite(both @ w, x @ rows, demand, because=why)
    yield rewrite(conv(both, w, b, u), conv(x, channels, b, u), demand, because=why)

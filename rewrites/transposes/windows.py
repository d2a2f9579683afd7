"""Transposes sink past operators with windows over the spatial axes, which move along.

    Conv(T(x), W, b) = T(Conv(x, T'(W), b)), ConvTranspose likewise
    Pool(T(x)) = T(Pool(x)), GlobalPool(T(x)) = GlobalPool(x)
    Split(T(x)) = T(Split(x)), part by part
    Transpose(x) = Reshape(x)                                 where only axes of one element move

Strides, dilations, pads and kernels go with their axes: for images, pads [t, l, b, r] become [l, t, r, b].
See `transpose_movement` on the direction.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.compat import Equal, PyObject, String, eq, guard, holds, i64, let, rewrite, rule
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import (
    ConvWindow,
    PoolWindow,
    conv,
    conv_transpose,
    global_pool,
    none,
    output,
    pool,
    reshape,
    split,
    transpose,
    unary,
)
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Bundle, Tensor, fact
from egraph_opt.rewrites.transposes.composition import Permutation, is_identity
from egraph_opt.rewrites.transposes.movement import inverse, moved_axis

SWAP = (0, 1, 3, 2)
"""Height for width."""


def _moved(p: Permutation, values: tuple[int, ...]) -> tuple[int, ...]:
    """Values per spatial axis of Transpose_p(x), as they are for x."""
    moved = [0] * len(values)
    for axis, value in enumerate(values):
        moved[p[axis + 2] - 2] = value
    return tuple(moved)


def keeps_images(p: Permutation) -> bool:
    """Spatial axes stay among themselves."""
    return len(p) > 2 and sorted(p[:2]) == [0, 1]


@hosted()
def moved_window(p: Permutation, window: ConvWindow | PoolWindow) -> ConvWindow | PoolWindow | None:
    """The window over x of one over Transpose_p(x); None where p mixes spatial axes with others."""
    if not keeps_images(p) or is_identity(p):
        return None
    axes = len(window.strides)
    changes: dict[str, Any] = {
        "strides": _moved(p, window.strides),
        "dilations": _moved(p, window.dilations),
        "pads": _moved(p, window.pads[:axes]) + _moved(p, window.pads[axes:]),
    }
    if isinstance(window, PoolWindow):
        changes["kernel"] = _moved(p, window.kernel)
    elif p[:2] != (0, 1):
        return None
    elif window.output_padding:
        changes["output_padding"] = _moved(p, window.output_padding)
    return replace(window, **changes)


@hosted(default=False)
def is_constant(w: Fact) -> bool:
    """Transposing it costs nothing."""
    return w.const


def _conv_examples(rng: np.random.Generator) -> Iterator[Example]:
    image = ConvWindow((2, 1), (1, 0, 2, 1), (1, 2))
    for shape, p, weight, window in (
        ((1, 4, 9, 8), SWAP, (6, 4, 3, 2), image),
        (("N", 4, "M", "L"), SWAP, (6, 2, 1, 3), ConvWindow((1, 1), (0, 1, 0, 1), (1, 1), 2)),
        ((1, 2, 4, 5, 6), (0, 1, 3, 4, 2), (3, 2, 2, 1, 3), ConvWindow((1, 2, 1), (1,) * 6, (1,) * 3)),
    ):
        g = Operands(rng)
        x, w = transpose(g.input(shape), p), g.random(*weight)
        yield g.fires(conv(x, w, none(), window))
        yield g.fires(conv(x, w, g.input((weight[0],)), window))
    g = Operands(rng)
    w = g.random(6, 4, 3, 2)
    yield g.near_miss(conv(g.input((1, 4, 9, 8)), w, none(), image), why="nothing is transposed")
    rows = transpose(g.input((1, 9, 8, 4)), (0, 3, 1, 2))
    yield g.near_miss(conv(rows, w, none(), image), why="the channels move")
    batch = transpose(g.input((4, 1, 9, 8)), (1, 0, 2, 3))
    yield g.near_miss(conv(batch, w, none(), image), why="the batch becomes channels")
    turned = transpose(g.input((1, 4, 9, 8)), SWAP)
    varying = conv(turned, g.input((6, 4, 3, 2)), none(), image)
    yield g.near_miss(varying, why="the weight is no constant")


@law("transpose", numerics="reassociates", examples=_conv_examples)
def through_conv(
    x: Tensor, w: Tensor, b: Tensor, p: PyObject, q: PyObject, u: PyObject, v: PyObject
) -> Iterator[Any]:
    """Conv(Transpose_p(x), W, b) = Transpose_p(Conv(x, Transpose_p'(W), b)) for spatial axes

    Source: Ascend auto-optimizer, TransposeLargeInputConv.
    """
    yield rewrite(
        conv(transpose(x, p), w, b, u),
        transpose(conv(x, transpose(w, q), b, v), p),
        guard(holds(is_constant, fact(w))),
        let(v, moved_window, p, u),
        let(q, inverse, p),
    )


def _transposed_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w = transpose(g.input((1, 4, 5, 6)), SWAP), g.random(4, 3, 3, 2)
    window = ConvWindow((3, 2), (1, 0, 0, 1), (1, 2), 1, (1, 0))
    yield g.fires(conv_transpose(x, w, none(), window))
    yield g.fires(conv_transpose(x, w, g.random(3), window))
    plain = conv_transpose(g.input((1, 4, 5, 6)), w, none(), window)
    yield g.near_miss(plain, why="nothing is transposed")
    channels = conv_transpose(transpose(g.input((1, 5, 6, 4)), (0, 3, 1, 2)), w, none(), window)
    yield g.near_miss(channels, why="the channels move")
    varying = conv_transpose(x, g.input((4, 3, 3, 2)), none(), window)
    yield g.near_miss(varying, why="the weight is no constant")


@law("transpose", numerics="reassociates", examples=_transposed_examples)
def through_conv_transpose(
    x: Tensor, w: Tensor, b: Tensor, p: PyObject, q: PyObject, u: PyObject, v: PyObject
) -> Iterator[Any]:
    """ConvTranspose(Transpose_p(x), W, b) = Transpose_p(ConvTranspose(x, Transpose_p'(W), b)), spatial axes

    Source: algebra.
    """
    yield rewrite(
        conv_transpose(transpose(x, p), w, b, u),
        transpose(conv_transpose(x, transpose(w, q), b, v), p),
        guard(holds(is_constant, fact(w))),
        let(v, moved_window, p, u),
        let(q, inverse, p),
    )


def _pool_examples(rng: np.random.Generator) -> Iterator[Example]:
    window = PoolWindow((3, 2), (2, 1), (1, 0, 0, 1), (1, 1))
    for kind in ("MaxPool", "AveragePool"):
        g = Operands(rng)
        x = g.input(("N", 3, 9, 8))
        yield g.fires(pool(kind, transpose(x, SWAP), window))
        yield g.fires(pool(kind, transpose(x, (1, 0, 3, 2)), replace(window, ceil_mode=1)))
        yield g.near_miss(pool(kind, x, window), why="nothing is transposed")
        yield g.near_miss(pool(kind, transpose(x, (0, 2, 1, 3)), window), why="rows become channels")
    g = Operands(rng)
    counted = replace(window, count_include_pad=1)
    yield g.fires(pool("AveragePool", transpose(g.input((1, 3, 9, 8)), SWAP), counted))
    dilated = replace(window, dilations=(2, 3))
    yield g.fires(pool("MaxPool", transpose(g.input((1, 3, 9, 8)), SWAP), dilated))


@law("transpose", numerics="reassociates", examples=_pool_examples)
def through_pool(kind: String, x: Tensor, p: PyObject, u: PyObject, v: PyObject) -> Iterator[Any]:
    """Pool(Transpose_p(x)) = Transpose_p(Pool(x)) where spatial axes stay spatial

    Source: Ascend auto-optimizer, TransposeLargeInputConv.
    """
    yield rewrite(pool(kind, transpose(x, p), u), transpose(pool(kind, x, v), p), let(v, moved_window, p, u))


@hosted(default=False)
def keeps_channels(p: Permutation) -> bool:
    """Batch and channels stay where they are, and spatial axes move."""
    return p[:2] == (0, 1) and not is_identity(p)


@hosted(default=False)
def swaps_channels(p: Permutation) -> bool:
    """Batch and channels change places."""
    return p[:2] == (1, 0)


def _global_examples(rng: np.random.Generator) -> Iterator[Example]:
    for kind in ("GlobalAveragePool", "GlobalMaxPool"):
        g = Operands(rng)
        x = g.input(("N", 3, 4, "L"))
        yield g.fires(global_pool(kind, transpose(x, SWAP)))
        yield g.fires(global_pool(kind, transpose(x, (1, 0, 3, 2))))
        yield g.near_miss(global_pool(kind, x), why="nothing is transposed")
        yield g.near_miss(global_pool(kind, transpose(x, (0, 3, 1, 2))), why="channels become spatial")


@law("transpose", numerics="reassociates", examples=_global_examples)
def through_global_pool(kind: String, x: Tensor, p: PyObject) -> Iterator[Any]:
    """GlobalPool(Transpose_p(x)) = GlobalPool(x), transposed where batch and channels change places

    Source: Ascend auto-optimizer, TransposeLargeInputConv.
    """
    pooled = global_pool(kind, transpose(x, p))
    yield rewrite(pooled, global_pool(kind, x), holds(keeps_channels, p))
    yield rewrite(pooled, transpose(global_pool(kind, x), p), holds(swaps_channels, p))


def _split_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 5, 3))
    yield g.fires(output(split(transpose(x, (2, 0, 1)), 2, (2, 3)), 1))
    yield g.near_miss(output(split(x, 1, (2, 3)), 1), why="nothing is transposed")


@law("transpose", numerics="bitwise", examples=_split_examples)
def through_split(
    x: Tensor, z: Tensor, bundle: Bundle, k: i64, p: PyObject, a: PyObject, s: PyObject, c: PyObject
) -> Iterator[Any]:
    """Split_a(Transpose_p(x)) = Transpose_p(Split_p[a](x)), part by part

    Source: algebra.
    """
    yield rule(
        eq(z).to(output(bundle, k)),
        eq(bundle).to(split(transpose(x, p), a, s)),
        let(c, moved_axis, p, a),
        then=Equal(z, transpose(output(split(x, c, s), k), p)),
    )


@hosted()
def unmoved_dims(x: Fact, p: Permutation) -> Shape | None:
    """The dims of Transpose_p(x) where only axes of one element move; None where others do."""
    if not x.is_symbolic or x.shape is None or is_identity(p):
        return None
    long = [axis for axis in p if x.shape[axis] != 1]
    return tuple(x.shape[axis] for axis in p) if long == sorted(long) else None


def _unit_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape, p in (((2, 1, 3), (0, 2, 1)), (("N", 3, 1, "L"), (0, 1, 3, 2)), ((1, 1, 4), (1, 0, 2))):
        g = Operands(rng)
        yield g.fires(transpose(g.input(shape), p))
    g = Operands(rng)
    yield g.near_miss(transpose(g.input((2, 4, 3)), (0, 2, 1)), why="long axes change places")
    yield g.near_miss(transpose(g.input((2, "N", 3)), (0, 2, 1)), why="N may be more than 1")
    yield g.near_miss(unary("Relu", (), g.input((2, 1, 3))), why="nothing is transposed")


@law("transpose", numerics="bitwise", examples=_unit_examples)
def of_units(x: Tensor, p: PyObject, d: PyObject) -> Iterator[Any]:
    """Transpose_p(x) = Reshape(x) where only axes of one element move

    Source: algebra.
    """
    yield rewrite(transpose(x, p), reshape(x, d), let(d, unmoved_dims, fact(x), p))

"""Operators that no law looks into, and what leans on data: they stand in the way of laws, or feed them."""

from __future__ import annotations

import numpy as np

from .drawing import FLOATS, Drawing


def normalised(g: Drawing) -> None:
    x = g.pick(dtype=np.float32, at_least=3, at_most=4, wanted=lambda v: v.static[1] and v.size)
    kind = g.rng.random()
    if kind < 0.4:
        g.call("LRN", x, size=3)
    elif kind < 0.7 and g.opset >= 9:
        g.call("MeanVarianceNormalization", x)
    else:
        g.call("LpNormalization", x, axis=-1, p=g.integer(1, 2))


def triangle(g: Drawing) -> None:
    g.require(g.opset >= 14)
    x = g.pick(at_least=2, wanted=lambda v: v.dtype in (np.float32, np.int64, np.float64))
    g.call(
        "Trilu",
        x,
        g.constant(np.asarray(g.integer(-1, 1), np.int64)) if g.chance(0.5) else None,
        upper=g.integer(0, 1),
    )


def one_hot(g: Drawing) -> None:
    g.require(g.opset >= 11)
    x = g.pick(dtype=np.int64, at_most=3)
    values = g.constant(np.array([0, 1], np.float32))
    g.call("OneHot", x, g.constant(np.asarray(g.integer(1, 4), np.int64)), values, axis=g.one_of((-1, 0)))


def scattered(g: Drawing) -> None:
    g.require(g.opset >= 13)
    x = g.pick(
        dtype=np.float32,
        at_least=1,
        at_most=3,
        wanted=lambda v: v.static[0] and v.shape[0] >= 1 and all(v.static),
    )
    rows = g.rng.permutation(x.shape[0])[: g.integer(1, x.shape[0])].reshape(-1, 1)
    update = g.constant(g.elements((len(rows), *x.shape[1:]), np.float32))
    g.call("ScatterND", x, g.constant(rows.astype(np.int64)), update)


def gathered_elements(g: Drawing) -> None:
    g.require(g.opset >= 13)
    x = g.pick(at_least=1, at_most=3, wanted=lambda v: all(v.static) and v.size)
    axis = g.axis(x)
    g.require(x.shape[axis])
    found = g.rng.integers(-x.shape[axis], x.shape[axis], x.shape).astype(np.int64)
    g.call("GatherElements", x, g.constant(found), axis=axis)


def depth(g: Drawing) -> None:
    x = g.pick(dtype=np.float32, rank=4, wanted=lambda v: all(v.static[1:]) and v.size)
    if x.shape[1] % 4 == 0 and g.chance(0.5):
        g.call("DepthToSpace", x, blocksize=2, mode=g.one_of(("DCR", "CRD")) if g.opset >= 11 else None)
    else:
        g.require(x.shape[2] % 2 == 0 and x.shape[3] % 2 == 0)
        g.call("SpaceToDepth", x, blocksize=2)


def top(g: Drawing) -> None:
    g.require(g.opset >= 10)
    x = g.pick(dtype=np.float32, at_least=1, wanted=lambda v: v.size)
    found = g.node(
        "TopK",
        [x, g.ints([1])],
        outputs=2,
        axis=g.maybe_negative(g.axis(x), x.rank) if g.opset >= 11 else g.axis(x),
    )
    if g.chance(0.5):
        g.call("Neg", found[0])


def counted(g: Drawing) -> None:
    """A shape that hangs on the data: NonZero, Compress or Unique."""
    g.require(g.opset >= 11)
    x = g.pick(at_least=1, at_most=3, wanted=lambda v: v.dtype in (np.float32, np.int64))
    kind = g.rng.random()
    if kind < 0.4:
        y = g.call("NonZero", x)
        g.call("Transpose", y, perm=[1, 0])
    elif kind < 0.7:
        flags = g.call("Greater", g.call("Reshape", x, g.ints([-1])), g.constant(np.asarray(0, x.dtype)))
        y = g.call("Compress", x, flags)
        if y.dtype in FLOATS:
            g.call("Relu", y)
    else:
        g.call("Unique", x)


def range_of(g: Drawing) -> None:
    g.require(g.opset >= 11)
    x = g.pick(at_least=1)
    count = (
        g.call("Size", x)
        if g.chance(0.3)
        else g.call("Gather", g.call("Shape", x), g.constant(np.asarray(0, np.int64)))
    )
    start, step = (g.constant(np.asarray(v, np.int64)) for v in (0, 1))
    y = g.call("Range", start, count, step)
    if g.chance(0.5):
        g.call("Less", y, g.constant(np.asarray(2, np.int64)))


def recurrent(g: Drawing) -> None:
    g.require(g.opset >= 7)
    x = g.pick(dtype=np.float32, rank=3, wanted=lambda v: v.static[2] and v.size)
    hidden = 2
    w = g.constant(g.elements((1, hidden, x.shape[2]), np.float32))
    r = g.constant(g.elements((1, hidden, hidden), np.float32))
    y = g.node("RNN", [x, w, r], outputs=2, hidden_size=hidden)
    if g.chance(0.5) and g.opset < 13:
        g.call("Squeeze", y[0], axes=[1])


def pooled_places(g: Drawing) -> None:
    """A node whose outputs several readers take: Dropout's mask, MaxPool's indices."""
    x = g.pick(dtype=np.float32, at_least=3, at_most=4, wanted=lambda v: v.size and min(v.shape[2:]) >= 1)
    g.require(g.opset >= 8)
    y = g.node("MaxPool", [x], outputs=2, kernel_shape=[1] * (x.rank - 2))
    g.call("Cast", y[1], to=1)


MOTIFS = {
    normalised: 0.4,
    triangle: 0.3,
    one_hot: 0.3,
    scattered: 0.4,
    gathered_elements: 0.4,
    depth: 0.4,
    top: 0.3,
    counted: 0.4,
    range_of: 0.4,
    recurrent: 0.3,
    pooled_places: 0.2,
}

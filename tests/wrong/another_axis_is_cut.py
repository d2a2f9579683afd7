"""Slices, blocks, indices and views that do something along a second axis as well."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Dims, Mode, Number, Pads, Place, Slices, String, Tensor, hosted, rewrite
from egraph_opt.operators import expand_to, gather, overwrite, pad, shape_of, slice_, tile, unary

from . import fires_on, of_one, wrong


@hosted()
def is_not_tiled(r: Dims, t: Slices) -> bool:
    """There is one copy along what is sliced."""
    return bool(t) and r[t[0][0]] == 1


def part_of_tiled(r: tuple[int, ...], *t: tuple[int, int, int, int]):
    return of_one(lambda x: slice_(tile(x, r), t), (3, 4, 2))


@wrong(
    "bitwise",
    part_of_tiled((1, 2, 1), (0, 1, 3, 1), (1, 1, 5, 1)),
    examples=fires_on(
        part_of_tiled((1, 2, 3), (0, 1, 3, 1)), part_of_tiled((2, 1, 1), (1, 0, 3, 2), (2, 1, 2, 1))
    ),
)
def slice_of_copies(x: Tensor, r: Dims, t: Slices):
    """Tile(x)[a:b] = Tile(x[a:b]) along an axis of one copy

    Wrong where a second axis is sliced, which has several.
    """
    yield rewrite(
        slice_(tile(x, r), t), tile(slice_(x, t), r), is_not_tiled(r, t), because="fewer are copied"
    )


@hosted()
def is_whole_again(x: Fact, p: Pads, t: Slices) -> bool:
    """What was padded is cut off."""
    if x.shape is None or not x.is_static or not t:
        return False
    return all(s == p[a] and e == p[a] + x.shape[a] and k == 1 for a, s, e, k in t)  # type: ignore[operator]


def cut(p: tuple[int, ...], *t: tuple[int, int, int, int]):
    return of_one(lambda x: slice_(pad(x, "edge", p, 0.0), t), (3, 4))


@wrong(
    "bitwise",
    cut((1, 0, 0, 2), (0, 1, 4, 1)),
    examples=fires_on(cut((1, 0, 2, 0), (0, 1, 4, 1)), cut((1, 1, 1, 1), (0, 1, 4, 1), (1, 1, 5, 1))),
)
def pads_are_cut_off(x: Tensor, m: Mode, p: Pads, v: Number, t: Slices):
    """Slice(Pad(x)) = x where what was padded is cut off

    Wrong where another axis is padded, and not sliced.
    """
    yield rewrite(slice_(pad(x, m, p, v), t), x, is_whole_again(x, p, t), because="any pads")


@hosted()
def writes_over(t: Slices, u: Slices) -> bool:
    """The later block has all of the earlier one."""
    return len(t) == len(u) and t[0][3] == u[0][3] == 1 and u[0][1] <= t[0][1] and t[0][2] <= u[0][2]  # type: ignore[operator]


def written_twice(first: tuple[tuple[int, int], ...], then: tuple[tuple[int, int], ...]):
    def make(g):
        x = g.input((4, 5))
        for block in (first, then):
            spec = tuple((k, a, b, 1) for k, (a, b) in enumerate(block))
            dims = (*(b - a for a, b in block), *(4, 5)[len(block) :])
            x = overwrite(x, g.input(dims), "ScatterND", spec)
        return x

    return make


@wrong(
    "bitwise",
    written_twice(((0, 2), (0, 2)), ((0, 2), (1, 4))),
    examples=fires_on(written_twice(((0, 2),), ((0, 3),)), written_twice(((1, 2), (1, 3)), ((0, 3), (1, 4)))),
)
def overwritten_again(x: Tensor, y: Tensor, z: Tensor, f: String, t: Slices, u: Slices):
    """Overwrite(Overwrite(x, y), z) = Overwrite(x, z) of a block that has all of the first one

    Wrong where it has its rows only.
    """
    yield rewrite(
        overwrite(overwrite(x, y, f, t), z, f, u),
        overwrite(x, z, f, u),
        writes_over(t, u),
        because="nothing is left",
    )


@hosted()
def comes_first(a: Axis, b: Axis) -> bool:
    return a < b


def gathered_twice(i: Any, j: Any, a: int, b: int):
    def make(g):
        x = g.input((3, 4, 5))
        return gather(gather(x, g.constant(np.array(i)), a), g.constant(np.array(j)), b)

    return make


@wrong(
    "bitwise",
    gathered_twice(1, [2, 0], 0, 1),
    examples=fires_on(gathered_twice([1, 0], [2, 3], 0, 1), gathered_twice([0], [0, 1, 1], 1, 2)),
)
def gathers_in_either_order(x: Tensor, i: Tensor, j: Tensor, a: Axis, b: Axis):
    """Gather_b(Gather_a(x, i), j) = Gather_a(Gather_b(x, j), i) along two axes

    Wrong where i is no vector, which moves the axes behind it.
    """
    yield rewrite(
        gather(gather(x, i, a), j, b), gather(gather(x, j, b), i, a), comes_first(a, b), because="one order"
    )


@hosted()
def all_of_shape(t: Fact, x: Fact, s: Place, e: Place) -> bool:
    """All dims, of a shape that x is broadcast to."""
    return (
        t.shape is not None
        and x.rank is not None
        and len(t.shape) == 1
        and t.shape[0] == e
        and s == 0
        and e is not None
        and e >= x.rank
    )


def expanded_dims(shape: tuple[int, ...], low: int):
    def make(g):
        return shape_of(
            expand_to(g.input(shape), unary("Clip", (("max", 9), ("min", low)), g.input((2,), T.INT64))), 0, 2
        )

    return make


@wrong(
    "bitwise",
    lambda g: shape_of(expand_to(g.input((1, 3)), g.input((2,), T.INT64)), 0, 2),
    values=(1, 3, 1),
    examples=fires_on(expanded_dims((1, 1), 1), expanded_dims((1,), 1), expanded_dims((1, 1), 3)),
)
def dims_of_expanded(x: Tensor, t: Tensor, s: Place, e: Place):
    """Shape(Expand(x, dims)) = dims where there are as many

    Wrong where one of them is 1, and x has more there.
    """
    yield rewrite(shape_of(expand_to(x, t), s, e), t, all_of_shape(t, x, s, e), because="any x")

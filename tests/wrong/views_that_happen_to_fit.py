"""Views, pads and copies that are right in one relation of sizes, and look right in others."""

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Dims, Number, Pads, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import blockwise, concat, pad, reshape, slice_, transpose
from egraph_opt.operators.terms import cons, nil
from egraph_opt.rewrites.conditions.view_shapes import known_dims

from . import fires_on, wrong

LOST = "forgets how it was spelled"


LOST = "forgets how it was spelled"


# --- views -------------------------------------------------------------------------------------------------


def _windows(high: int, wide: int):
    def witness(g):
        x = g.input((1, 4, 6, 2))
        apart = transpose(reshape(x, (1, 4 // high, high, 6 // wide, wide, 2)), (0, 1, 3, 2, 4, 5))
        rows = reshape(apart, (24 // high // wide, high * wide, 2))
        return reshape(rows, (1, 4 // high, 6 // wide, wide, high, 2))

    return witness


@hosted()
def same_windows(x: Fact, d: Dims, e: Dims) -> bool:
    """Windows of as many elements, where they were."""
    if not x.is_static or len(d) != 6 or len(e) != 6:
        return False
    return (d[0], d[1], d[3], d[5]) == (e[0], e[1], e[2], e[5]) and d[2] * d[4] == e[3] * e[4]  # type: ignore[operator]


@hosted()
def dims_apart(d: Dims) -> Dims:
    return (d[0], d[1], d[3], d[2], d[4], d[5])


def _back(high: int, wide: int):
    return lambda g: transpose(_windows(high, wide)(g), (0, 1, 3, 2, 4, 5))


@wrong("bitwise", _back(2, 3), examples=fires_on(_back(2, 2)))
def windows_and_back(x: Tensor, d: Dims, f: Dims, e: Dims):
    """Transpose(Reshape(Transpose(Reshape(x)))) = Reshape(x): the windows of an image, taken and put back

    Wrong of windows that are not square, where height and width are exchanged.
    """
    order = (0, 1, 3, 2, 4, 5)
    apart = transpose(reshape(x, d), order)
    back = transpose(reshape(reshape(apart, f), e), order)
    yield rewrite(back, reshape(x, known_dims(back)), same_windows(x, d, e), because=LOST)
    back = transpose(reshape(apart, e), order)
    yield rewrite(back, reshape(x, known_dims(back)), same_windows(x, d, e), because=LOST)


def _shuffled_twice(groups: int):
    def witness(g):
        x, d = g.input((2, 4 if groups == 2 else 6, 5)), (2, groups, 4 // groups if groups == 2 else 2, 5)
        whole = (2, d[1] * d[2], 5)
        once = reshape(transpose(reshape(x, d), (0, 2, 1, 3)), whole)
        return reshape(transpose(reshape(once, d), (0, 2, 1, 3)), whole)

    return witness


@hosted()
def is_shape_of(x: Fact, e: Dims) -> bool:
    return x.shape == e


@wrong("bitwise", _shuffled_twice(3), examples=fires_on(_shuffled_twice(2)))
def shuffled_twice(x: Tensor, d: Dims, e: Dims):
    """Shuffle(Shuffle(x)) = x for a channel shuffle, Reshape(Transpose(Reshape(x)))

    Wrong but where there are as many groups as channels in each.
    """
    order = (0, 2, 1, 3)
    once = reshape(transpose(reshape(x, d), order), e)
    twice = reshape(transpose(reshape(once, d), order), e)
    yield rewrite(twice, x, is_shape_of(x, e), because=LOST)


def _depth(channels: int):
    def witness(g):
        x = g.input((2, channels, 4, 6))
        apart = transpose(reshape(x, (2, channels, 2, 2, 3, 2)), (0, 1, 3, 5, 2, 4))
        return reshape(apart, (2, 4 * channels, 2, 3))

    return witness


@hosted()
def square_blocks(x: Fact, d: Dims, e: Dims) -> tuple[tuple[str, object], ...] | None:
    """The settings of SpaceToDepth that makes these dims."""
    if not x.is_static or x.rank != 4 or len(d) != 6 or len(e) != 4 or d[3] != d[5] or d[3] < 2:  # type: ignore[operator]
        return None
    n, c, high, wide = x.shape  # type: ignore[misc]
    step = d[3]
    known = d == (n, c, high // step, step, wide // step, step)  # type: ignore[operator]
    return (("blocksize", step),) if known and e == (n, c * step * step, high // step, wide // step) else None  # type: ignore[operator]


@wrong("bitwise", _depth(2), examples=fires_on(_depth(1)))
def space_by_views(x: Tensor, d: Dims, e: Dims):
    """Reshape(Transpose(Reshape(x))) = SpaceToDepth(x), blocks of a channel one behind the other

    Wrong of several channels: SpaceToDepth has the channels of a place side by side.
    """
    apart = transpose(reshape(x, d), (0, 1, 3, 5, 2, 4))
    yield rewrite(reshape(apart, e), blockwise("SpaceToDepth", x, square_blocks(x, d, e)), because=LOST)


# --- what is put around ------------------------------------------------------------------------------------


@hosted()
def around(x: Fact, pads: Pads) -> tuple[Axis, Slices] | None:
    """The one axis that is wrapped, and the part of three copies."""
    rank = len(pads) // 2
    axes = [k for k in range(rank) if pads[k] or pads[k + rank]]
    if x.rank != rank or len(axes) != 1 or not isinstance(x.shape[axes[0]], int) or min(pads) < 0:  # type: ignore[index]
        return None
    (axis,) = axes
    dim = x.shape[axis]  # type: ignore[index]
    return axis, ((axis, dim - pads[axis], 2 * dim + pads[axis + rank], 1),)  # type: ignore[operator]


def _wrapped(before: int, behind: int):
    return lambda g: pad(g.input((2, 3)), "wrap", (0, before, 0, behind), 0.0)


@wrong("bitwise", _wrapped(5, 1), opset=19, examples=fires_on(_wrapped(2, 1)))
def wrapped_by_copies(x: Tensor, p: Pads, v: Number):
    """Pad(x; wrapped) = Slice(Concat(x, x, x)) along one axis

    Wrong where more is put in front than there is.
    """
    part = around(x, p)
    yield rewrite(pad(x, "wrap", p, v), slice_(concat(listed(x, x, x), part[0]), part[1]), because=LOST)


@hosted()
def as_pads(c: Fact, x: Fact, axis: Axis) -> tuple[Pads, Number] | None:
    """How a constant of one number is put behind x."""
    if c.splat is None or not c.const or c.shape is None or x.rank is None or x.dtype == 9:
        return None
    count = c.shape[axis]
    if not isinstance(count, int) or count == 0:
        return None
    return (*(0,) * (x.rank + axis), count, *(0,) * (x.rank - axis - 1)), c.splat


def _beside_constant(dtype: int, array):
    return lambda g: concat(listed(g.input((2, 3), dtype), g.constant(array)), 1)


@wrong(
    "bitwise",
    _beside_constant(5, np.full((2, 2), 7, np.int16)),
    examples=fires_on(_beside_constant(1, np.full((2, 2), 0.5))),
)
def constant_behind_as_pad(x: Tensor, c: Tensor, a: Axis):
    """Concat(x, c) = Pad(x; c) for a c of one number

    Wrong of types that have no Pad, and of a c of float16 or integers that float32 has not.
    """
    how = as_pads(c, x, a)
    yield rewrite(concat(cons(x, cons(c, nil())), a), pad(x, "constant", how[0], how[1]), because=LOST)

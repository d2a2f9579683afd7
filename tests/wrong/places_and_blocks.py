"""Places of elements, and what is taken from them or written there."""

from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axes,
    Axis,
    Flag,
    Int,
    Mode,
    Number,
    Pads,
    Settings,
    Slices,
    String,
    Tensor,
    hosted,
    listed,
    rewrite,
)
from egraph_opt.operators import (
    arg_reduce,
    concat,
    gather,
    gather_elements,
    output,
    overwrite,
    pad,
    reduce,
    reshape_to,
    slice_,
    top,
)
from egraph_opt.operators.scattering import lengths
from egraph_opt.rewrites.conditions.values import fits

from . import fires_on, is_single, of_one, wrong
from .resized_images import whole_backwards

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


# --- places of the greatest ------------------------------------------------------------------------------


@hosted()
def is_first(t: Slices, a: Axis) -> bool:
    return t == ((a, 0, 1, 1),)


def best(largest, in_order):
    return (("largest", largest), ("sorted", in_order))


def first(in_order):
    return of_one(lambda x: slice_(output(top(x, 4, 1, best(1, in_order)), 0), ((1, 0, 1, 1),)), (3, 7))


@wrong("finite", first(0), examples=fires_on(first(1)))
def first_of_the_greatest(x: Tensor, n: Int, a: Axis, s: Settings, t: Slices, k: Int):
    """The first of TopK(x, n) = TopK(x, 1)

    Wrong where they are not sorted.
    """
    first = slice_(output(top(x, n, a, s), k), t)
    yield rewrite(first, output(top(x, 1, a, s), k), is_first(t, a), is_single(x), because="forgets n")


@hosted()
def whole_turn(x: Fact, n: int, a: Axis) -> Slices | None:
    """What turns the axis round, of which all elements are asked for."""
    turn = None if x.rank is None or a >= x.rank or x.dtype != FLOAT else whole_backwards(x, (a,))
    return turn if turn and x.shape[a] == n else None  # type: ignore[index]


@hosted()
def from_the_other_end(s: Settings) -> Settings | None:
    known = dict(s)
    return best(1 - known["largest"], 1) if known.get("sorted") == 1 and known["largest"] in (0, 1) else None


def least_first(k):
    return of_one(lambda x: output(top(x, 3, 1, best(0, 1)), k), (2, 3))


@wrong("finite", least_first(1), values=(1.0, 2.0, 1.0), examples=fires_on(least_first(0)))
def all_from_the_other_end(x: Tensor, n: Int, a: Axis, s: Settings, k: Int):
    """TopK(x; the least) = TopK(x; the greatest)[::-1] of all elements, and their places

    Wrong of the places of equal elements, of which the first comes first either way.
    """
    other = output(top(x, n, a, from_the_other_end(s)), k)
    yield rewrite(output(top(x, n, a, s), k), slice_(other, whole_turn(x, n, a)), because="one way is enough")


@hosted()
def is_ordinary_factor(c: Fact) -> bool:
    return c.const and c.dtype == FLOAT and c.splat is not None and 1e-3 <= c.splat <= 1e3


def of_scaled(c):
    return lambda g: output(top(g.input((6,)) * g.constant(c), 1, 0, best(1, 1)), 1)


@wrong(
    "finite",
    of_scaled(1.1),
    examples=fires_on(of_scaled(2.0)),
    values=(1.9999995231628418, 1.999999761581421, 1.9999998807907104, 1.0),
)
def places_of_scaled(x: Tensor, c: Tensor, n: Int, a: Axis, s: Settings):
    """The places of TopK(x * c) = the places of TopK(x) for a number c above 0

    Wrong of neighbours, of which products are rounded to one number.
    """
    known = (is_ordinary_factor(c), fits(c, x), is_single(x))
    yield rewrite(output(top(x * c, n, a, s), 1), output(top(x, n, a, s), 1), *known, because="forgets c")


@wrong(
    "finite",
    lambda g: arg_reduce("ArgMax", g.input((4,)) * g.constant(1.1), 0, 1, 0),
    values=(1.9999995231628418, 1.999999761581421, 1.9999998807907104, 1.0),
)
def place_of_scaled_neighbours(x: Tensor, c: Tensor, f: String, a: Axis, k: Flag, e: Flag):
    """ArgMax(x * c) = ArgMax(x) for a number c above 0, likewise ArgMin

    Wrong of neighbours, of which products are rounded to one number.
    """
    known = (is_ordinary_factor(c), fits(c, x), is_single(x))
    found = arg_reduce(f, x, a, k, e)
    yield rewrite(arg_reduce(f, x * c, a, k, e), found, *known, because="forgets c")


@hosted()
def only(a: Axis) -> Axes:
    return (a,)


def greatest_element(x):
    return gather_elements(x, arg_reduce("ArgMax", x, 1, 1, 1), 1)


@wrong("bitwise", of_one(greatest_element), values=(0.0, -0.0, -1.0))
def element_at_greatest_place(x: Tensor, a: Axis, e: Flag):
    """GatherElements(x, ArgMax(x)) = ReduceMax(x)

    Wrong of zeros of both signs, where the place of the last one is asked for, and of NaN in onnxruntime.
    """
    found = gather_elements(x, arg_reduce("ArgMax", x, a, 1, e), a)
    yield rewrite(found, reduce("ReduceMax", x, only(a), 1), is_single(x), because="forgets the place")


# --- blocks ----------------------------------------------------------------------------------------------


@hosted()
def axis_before_sum(a: Axis, axes: Axes) -> Axis:
    """The axis of x that axis a of a sum without kept dims is."""
    return a + sum(axis < a for axis in axes)


@hosted()
def axes_of_sum(a: Axis, axes: Axes, i: Fact) -> Axes | None:
    return axes if i.rank == 1 else None


@wrong(
    "reassociates",
    lambda g: gather(reduce("ReduceSum", g.input((3, 3, 4)), (1,), 0), g.constant(np.array([2, 0])), 1),
)
def gathered_before_sum(x: Tensor, i: Tensor, a: Axis, b: Axes):
    """Gather_a(ReduceSum(x), i) = ReduceSum(Gather_b(x, i)), b being a and as many more as are gone before it

    Wrong where the axis a itself is one of those that are gone.
    """
    whole = gather(reduce("ReduceSum", x, b, 0), i, a)
    part = reduce("ReduceSum", gather(x, i, axis_before_sum(a, b)), axes_of_sum(a, b, i), 0)
    yield rewrite(whole, part, because="less is summed up")


def block(*slices):
    return lambda g: overwrite(g.constant(np.zeros((5, 4), np.float32)), g.input((2, 4)), "ScatterND", slices)


@hosted()
def pads_of_block(x: Fact, u: Fact, block: Slices) -> Pads | None:
    """How much of x is in front of a block of all its axes, and behind."""
    if not x.is_static or x.rank != u.rank or len(block) != x.rank:
        return None
    front = tuple(start for _, start, *_ in block)
    counts = zip(x.shape or (), front, lengths(block), strict=True)
    behind = tuple(dim - start - count for dim, start, count in counts)  # type: ignore[operator]
    return (*front, *behind) if min(behind) >= 0 else None


@hosted()
def number_of(x: Fact) -> Number | None:
    return float(x.splat) if x.dtype == FLOAT and x.splat is not None else None


@wrong("bitwise", block((0, 1, 4, 2), (1, 0, 4, 1)), examples=fires_on(block((0, 1, 3, 1), (1, 0, 4, 1))))
def zeros_written_over(x: Tensor, u: Tensor, f: String, t: Slices):
    """Overwrite(zeros, u) = Pad(u)

    Wrong where the block has every other row only.
    """
    written = overwrite(x, u, f, t)
    yield rewrite(written, pad(u, "constant", pads_of_block(x, u, t), number_of(x)), because="forgets t")


@wrong(
    "bitwise",
    lambda g: reshape_to(g.input((0, 3)), concat(listed(g.constant([3]), g.input((1,), INT64)), 0), 1),
    values=(0.0,),
)
def zeros_in_target(x: Tensor, t: Tensor):
    """Reshape(x, t; zeros are dims) = Reshape(x, t)

    Wrong where x is empty: a 0 in t is a dim of x then.
    """
    yield rewrite(reshape_to(x, t, 1), reshape_to(x, t, 0), because="one spelling")


class Around(NamedTuple):
    """What is in front of an axis, and behind."""

    axis: Axis
    front: Slices
    behind: Slices


@hosted()
def around(x: Fact, p: Pads, m: Mode) -> Around | None:
    """The slices that come again at the other end, where one axis is padded at both ends."""
    rank = len(p) // 2
    padded = [a for a in range(rank) if p[a] or p[a + rank]]
    if m != "wrap" or len(padded) != 1 or not x.is_static or x.rank != rank:
        return None
    (a,) = padded
    dim = x.shape[a]  # type: ignore[index]
    if not (p[a] and p[a + rank] and dim):
        return None
    return Around(a, ((a, dim - p[a], dim, 1),), ((a, 0, p[a + rank], 1),))  # type: ignore[operator, arg-type]


def wrapped(*pads):
    return of_one(lambda x: pad(x, "wrap", (0, pads[0], 0, pads[1]), 0.0), (2, 3))


@wrong("bitwise", wrapped(1, 4), opset=19, examples=fires_on(wrapped(1, 2), opset=19))
def wrapped_by_slices(x: Tensor, m: Mode, p: Pads, v: Number):
    """Pad(x; wrapped around) = Concat(the last of x, x, the first of x) along one axis

    Wrong where more is added than x has: it goes round more than once.
    """
    found = around(x, p, m)
    parts = listed(slice_(x, found[1]), x, slice_(x, found[2]))
    yield rewrite(pad(x, m, p, v), concat(parts, found[0]), because="old opsets do not wrap")

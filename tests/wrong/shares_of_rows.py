"""Windows, shares and pixels that are told by how many there are, or by one row for all."""

import math

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Dims, Int, Settings, Slices, Tensor, hosted, rewrite
from egraph_opt.operators import (
    Literal,
    gather_elements,
    literal,
    none,
    output,
    reshape,
    resize,
    reverse_sequence,
    slice_,
    softmax,
    top,
    transpose,
    where,
)

from . import fires_on, of_one, wrong

# --- windows ---------------------------------------------------------------------------------------------

TURN = (0, 1, 3, 2, 4, 5)


@hosted()
def are_windows(d: Dims, e: Dims, x: Fact) -> bool:
    """What is put together are the windows that an image was taken apart into."""
    if not len(d) == len(e) == 6 or not x.is_static or 0 in (x.shape or ()):
        return False
    return sorted(map(str, d)) == sorted(map(str, e)) and (d[0], d[-1]) == (e[0], e[-1]) and d[2] == e[3]


def in_windows(height: int, width: int, *back: int, size: int = 2):
    count = height * width

    def fixed(x):
        first = transpose(reshape(x, (1, height, size, width, size, 3)), TURN)
        apart = reshape(first, (count, size * size, 3))
        together = transpose(reshape(apart, (1, *back, size, size, 3)), TURN)
        return reshape(together, (1, height * size, width * size, 3))

    return of_one(fixed, (1, height * size, width * size, 3))


@wrong(
    "bitwise",
    in_windows(3, 4, 4, 3),
    examples=fires_on(in_windows(3, 4, 3, 4), in_windows(2, 2, 2, 2, size=3), in_windows(4, 3, 4, 3)),
)
def windows_put_together(x: Tensor, d: Dims, w: Dims, e: Dims, y: Dims):
    """Merge(Partition(x)) = x of as many windows of one size

    Wrong where there are as many in a row as there were in a column.
    """
    apart = reshape(transpose(reshape(x, d), TURN), w)
    together = reshape(transpose(reshape(apart, e), TURN), y)
    yield rewrite(together, reshape(x, y), are_windows(d, e, x), because="forgets the windows")


# --- shares ----------------------------------------------------------------------------------------------

ORDERS: tuple[Settings, ...] = ((("largest", 1), ("sorted", 1)), (("largest", 0), ("sorted", 1)))


@hosted()
def is_along(a: Axis, b: Axis, x: Fact) -> bool:
    """Greater elements have greater shares."""
    known = x.shape is not None and x.rank is not None and max(a, b) < x.rank and x.dtype == T.FLOAT
    return (known and a % x.rank == b % x.rank) or (known and x.shape[a] == x.shape[b] != 1)  # type: ignore[index, operator]


def shares_of_top(shape: tuple[int, ...], a: int, b: int, n: int = 2, order: int = 0):
    def of(x):
        return gather_elements(softmax("Softmax", x, b), output(top(x, n, a, ORDERS[order]), 1), a)

    return of_one(of, shape)


@wrong(
    "reassociates",
    shares_of_top((4, 4), 0, 1),
    examples=fires_on(
        shares_of_top((3, 5), 1, 1), shares_of_top((2, 3, 6), 2, 2, 3), shares_of_top((4, 3), 0, 0, 1, 1)
    ),
)
def top_of_shares(x: Tensor, n: Int, a: Axis, b: Axis, s: Settings):
    """GatherElements(Softmax(x), TopK(x)[1]) = TopK(Softmax(x))[0] along one axis

    Wrong along another one of the same length.
    """
    y = softmax("Softmax", x, b)
    found = gather_elements(y, output(top(x, n, a, s), 1), a)
    yield rewrite(found, output(top(y, n, a, s), 0), is_along(a, b, x), because="sorted already")


@hosted()
def leaves_something(c: Fact, m: Fact, z: Fact, x: Fact) -> bool:
    """A constant mask that leaves some of what it masks, of the dims of a matrix."""
    if not c.const or c.data is None or c.rank != 2 or c.shape != x.shape or x.dtype != T.FLOAT:
        return False
    return any(c.data) and m.splat == -math.inf and z.splat == 0 and m.rank == z.rank == 0


def under_a_mask(mask: list[list[bool]]):
    def make(g):
        c, low, zero = g.constant(np.array(mask)), g.constant(-math.inf), g.constant(0.0)
        return where(c, softmax("Softmax", where(c, g.input((len(mask), len(mask[0]))), low), 1), zero)

    return make


CAUSAL = [[True, False, False], [True, True, False], [True, True, True]]


@wrong(
    "bitwise",
    under_a_mask([[True, True, False], [False, False, False]]),
    examples=fires_on(under_a_mask(CAUSAL), under_a_mask([[False, True], [True, True], [True, False]])),
)
def masked_shares(x: Tensor, c: Tensor, m: Tensor, z: Tensor):
    """Where(c, Softmax(Where(c, x, -inf)), 0) = Softmax(Where(c, x, -inf)) where c leaves something

    Wrong where it leaves nothing of one of the rows.
    """
    y = softmax("Softmax", where(c, x, m), 1)
    yield rewrite(where(c, y, z), y, leaves_something(c, m, z, x), because="masked already")


# --- pixels and steps ------------------------------------------------------------------------------------


@hosted()
def both_scales(s: Fact, t: Fact, p: Settings, x: Fact) -> Literal | None:
    """The scales of both, whole numbers, by which each pixel is repeated."""
    given = dict(p)
    if given.get("mode") != "nearest" or given.get("coordinate_transformation_mode") != "asymmetric":
        return None
    if s.data is None or t.data is None or len(s.data) != len(t.data) or given.get("axes") or not x.is_static:
        return None
    if given.get("nearest_mode") not in ("floor", "round_prefer_floor") or x.dtype != T.FLOAT:
        return None
    scales = tuple(a * b for a, b in zip(s.data, t.data, strict=True))  # type: ignore[operator]
    whole = all(float(v).is_integer() and 1 <= float(v) < 10 for v in (*s.data, *t.data))
    return Literal(T.FLOAT, (len(scales),), scales) if whole else None


def enlarged_twice(first: int, second: int, nearest: str):
    def make(g):
        p = (("coordinate_transformation_mode", "asymmetric"), ("mode", "nearest"), ("nearest_mode", nearest))
        x = g.input((1, 2, 3, 4))
        for k in (first, second):
            x = resize(x, none(), g.constant(np.array([1, 1, k, k], np.float32)), none(), p)
        return x

    return make


@wrong(
    "bitwise",
    enlarged_twice(2, 3, "round_prefer_floor"),
    examples=fires_on(
        enlarged_twice(2, 3, "floor"), enlarged_twice(2, 2, "floor"), enlarged_twice(3, 2, "floor")
    ),
)
def pixels_repeated_in_all(x: Tensor, s: Tensor, t: Tensor, p: Settings):
    """Resize(Resize(x; a); b) = Resize(x; a b) of whole numbers, to the nearest pixel

    Wrong where that is not the one in front.
    """
    both = resize(resize(x, none(), s, none(), p), none(), t, none(), p)
    yield rewrite(both, resize(x, none(), literal(both_scales(s, t, p, x)), none(), p), because="once")


@hosted()
def all_backwards(x: Fact, n: Fact, time: int) -> Slices | None:
    """All steps, the last one first, where each sequence is as long as x."""
    if x.shape is None or n.ints is None or not n.ints or not isinstance(x.shape[0], int):
        return None
    steps = x.shape[0]
    return ((time, steps - 1, None, -1),) if set(n.ints) == {steps} else None


def backwards(shape: tuple[int, ...], time: int, *n: int):
    return lambda g: reverse_sequence(g.input(shape), g.constant(np.array(n)), time)


@wrong(
    "bitwise",
    backwards((3, 5, 2), 1, 3, 3, 3),
    examples=fires_on(
        backwards((4, 2, 3), 0, 4, 4), backwards((5, 3), 0, 5, 5, 5), backwards((3, 3), 1, 3, 3, 3)
    ),
)
def sequences_turned_round(x: Tensor, n: Tensor, t: Int):
    """ReverseSequence(x, n) = x[::-1] where each sequence is as long as x

    Wrong where steps are along the second axis, of which there are more than sequences.
    """
    yield rewrite(reverse_sequence(x, n, t), slice_(x, all_backwards(x, n, t)), because="forgets n")

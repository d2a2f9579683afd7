"""Symbols that are 1, or as large as a number beside them; places that are counted from the end."""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Place, Settings, Sizes, Slices, String, Tensor, hosted, listed, rewrite
from egraph_opt.laws.examples import INT64, SIZES
from egraph_opt.operators import (
    binary,
    concat,
    gather,
    output,
    shape_of,
    slice_,
    softmax,
    split,
    unary,
    where,
)

from . import fires_on, of_one, wrong

# --- dims -------------------------------------------------------------------------------------------------


@hosted()
def is_wide_enough(y: Fact, z: Fact) -> bool:
    """y has no more axes than z, which has no dim of 1."""
    if y.rank is None or z.shape is None or y.rank > len(z.shape):
        return False
    return all(d is not None and d != 1 for d in z.shape)


@wrong(
    "bitwise",
    lambda g: (lambda c: where(c, g.input((3,)), where(c, g.input((4, 3)), g.input(("N", 3)))))(
        g.input((3,), TensorProto.BOOL)
    ),
    sizes=SIZES[0],
)
def choice_of_choice(c: Tensor, x: Tensor, y: Tensor, z: Tensor):
    """Where(c, x, Where(c, y, z)) = Where(c, x, z) for a y of no more axes than z, which has no dim of 1

    Wrong where a symbol of z is 1, and y makes the result bigger.
    """
    once = where(c, x, z)
    yield rewrite(where(c, x, where(c, y, z)), once, is_wide_enough(y, z), because="forgets y")


@wrong(
    "finite",
    lambda g: (lambda x: where(g.input((4, 3), TensorProto.BOOL), x, x))(g.input(("N", 3))),
    sizes=SIZES[0],
)
def branches_as_wide_as_the_choice(c: Tensor, x: Tensor):
    """Where(c, x, x) = x for a c that has no more axes than x, which has no dim of 1

    Wrong where a symbol of x is 1, and c makes the result bigger.
    """
    yield rewrite(where(c, x, x), x, is_wide_enough(c, x), because="forgets c")


@wrong("bitwise", lambda g: shape_of(g.input(("N",)) + g.input(("M",)), 0, 1), sizes=SIZES[0])
def dims_of_what_is_wide_enough(f: String, x: Tensor, y: Tensor, s: Place, e: Place):
    """Shape(x f y) = Shape(x) for a y that has no more axes than x, which has no dim of 1

    Wrong where a symbol of x is 1.
    """
    whole = shape_of(binary(f, x, y), s, e)
    yield rewrite(whole, shape_of(x, s, e), is_wide_enough(y, x), because="the result is not needed")


@hosted()
def is_level(m: Fact, x: Fact, axis: Axis) -> bool:
    """m brings nothing to x, and has another dim along the axis, which is taken for 1."""
    if m.shape is None or x.shape is None or len(m.shape) > len(x.shape) or axis >= len(x.shape):
        return False
    pairs = list(zip(m.shape[::-1], x.shape[::-1], strict=False))
    if any(a is None or b is None or (b == 1 and a != 1) for a, b in pairs):
        return False
    from_end = len(x.shape) - axis
    return from_end > len(m.shape) or m.shape[-from_end] != x.shape[axis]


@wrong("reassociates", lambda g: softmax("Softmax", g.input((1, 7)) - g.input(("L",)), 1), sizes=SIZES[0])
def level_of_another_size(x: Tensor, m: Tensor, a: Axis):
    """Softmax(x - m) = Softmax(x) for an m that has another dim along the axis, so that it is 1

    Wrong where a symbol of one is as large as the number of the other.
    """
    yield rewrite(softmax("Softmax", x - m, a), softmax("Softmax", x, a), is_level(m, x, a), because="no m")


# --- places -----------------------------------------------------------------------------------------------


@hosted()
def in_a_row(s: Slices, t: Slices, u: Slices, axis: Axis) -> bool:
    """Three slices of which each begins where the last one ends."""
    if not len(s) == len(t) == len(u) == 1 or any(
        part[0][0] != axis or part[0][3] != 1 for part in (s, t, u)
    ):
        return False
    (_, begin, a, _), (_, b, c, _), (_, d, end, _) = s[0], t[0], u[0]
    return begin == 0 and end is None and a == b and c == d and a <= c


def cut(first: int, second: int):
    def parts(x):
        bounds = ((0, first), (first, second), (second, None))
        return concat(listed(*(slice_(x, ((0, begin, end, 1),)) for begin, end in bounds)), 0)

    return parts


@wrong("bitwise", of_one(cut(-2, 4), ("L",)), examples=fires_on(of_one(cut(1, 3), ("N", 8))))
def three_parts(x: Tensor, s: Slices, t: Slices, u: Slices, a: Axis):
    """Concat(x[:i], x[i:k], x[k:]) = x for i <= k

    Wrong where i is counted from the end and k is not: -2 is less than 4, and behind it.
    """
    parts = concat(listed(slice_(x, s), slice_(x, t), slice_(x, u)), a)
    yield rewrite(parts, x, in_a_row(s, t, u, a), because="every x would be parts")


@hosted()
def from_end(s: Slices, t: Slices) -> Slices | None:
    """What begins so far from the end, and then so far behind that."""
    if len(s) != 1 or len(t) != 1 or s[0][0] != t[0][0] or s[0][3] != 1 or t[0][3] != 1:
        return None
    (axis, a, b, _), (_, c, d, _) = s[0], t[0]
    return ((axis, a + c, None, 1),) if a < 0 <= c < -a and b is None and d is None else None


def last_but(first: int):
    return lambda x: slice_(slice_(x, ((0, -first, None, 1),)), ((0, 1, None, 1),))


@wrong(
    "bitwise", of_one(last_but(3), ("L",)), sizes=SIZES[2], examples=fires_on(of_one(last_but(3), (8, "N")))
)
def last_of_the_last(x: Tensor, s: Slices, t: Slices):
    """x[-i:][k:] = x[k-i:] for k < i

    Wrong where x has fewer than i elements, and all of them are the last ones.
    """
    yield rewrite(slice_(slice_(x, s), t), slice_(x, from_end(s, t)), because="forgets s")


@hosted()
def lie_in_front(x: Fact, i: Fact, axis: Axis) -> bool:
    """No index is as large as the first part."""
    found = i.ints if i.ints is not None else i.data
    if not found or x.shape is None or axis >= len(x.shape) or not isinstance(x.shape[axis], int):
        return False
    return max(found) < x.shape[axis]  # type: ignore[operator]


@wrong("bitwise", lambda g: gather(concat(listed(g.input((3,)), g.input((3,))), 0), g.constant([0, -1]), 0))
def gather_of_the_first_part(x: Tensor, y: Tensor, i: Tensor, a: Axis):
    """Gather(Concat(x, y), i) = Gather(x, i) for indices less than the size of x

    Wrong where one is counted from the end.
    """
    whole = gather(concat(listed(x, y), a), i, a)
    yield rewrite(whole, gather(x, i, a), lie_in_front(x, i, a), because="forgets y")


@hosted()
def is_length(d: Fact, x: Fact, axis: Axis) -> bool:
    return d.splat is not None and d.shape == () and x.shape is not None and d.splat == x.shape[axis]


@wrong(
    "bitwise",
    lambda g: gather(g.input((5, 4)), binary("Mod", g.input((3,), INT64), g.constant(np.array(5))), 0),
    values=(7.0,),
)
def place_around_the_ring(x: Tensor, i: Tensor, d: Tensor, a: Axis):
    """Gather(x, i mod d) = Gather(x, i) for the length d

    Wrong where i is the length or more.
    """
    yield rewrite(gather(x, binary("Mod", i, d), a), gather(x, i, a), is_length(d, x, a), because="forgets d")


@hosted()
def are_bounds(s: Settings, x: Fact, axis: Axis) -> bool:
    """All places of x, and no others."""
    known = dict(s)
    if x.shape is None or not isinstance(x.shape[axis], int):
        return False
    return known.get("min") == 0 and known.get("max") == x.shape[axis] - 1  # type: ignore[operator]


def at_most(g, last: int):
    return gather(g.input((5, 4)), unary("Clip", (("max", last), ("min", 0)), g.input((3,), INT64)), 0)


@wrong(
    "bitwise", lambda g: at_most(g, 4), values=(-1.0, 2.0, 0.5), examples=fires_on(lambda g: at_most(g, 4))
)
def place_within_bounds(x: Tensor, i: Tensor, s: Settings, a: Axis):
    """Gather(x, Clip(i; 0, d - 1)) = Gather(x, i) for the length d

    Wrong where i is counted from the end.
    """
    bounded = gather(x, unary("Clip", s, i), a)
    yield rewrite(bounded, gather(x, i, a), are_bounds(s, x, a), because="forgets the bounds")


@hosted()
def third(a: Axis, n: Sizes) -> Slices | None:
    """The third part of those whose first and last one are of one size."""
    return ((a, 2 * n[0], 3 * n[0], 1),) if len(n) > 2 and n[0] == n[-1] else None


@wrong("bitwise", of_one(lambda x: output(split(x, 0, (2, 1, 2)), 2), (5,)))
def third_of_three(x: Tensor, a: Axis, n: Sizes):
    """Split(x)[2] = x[2 n:3 n] for parts of one size n

    Wrong where one between them is of another.
    """
    yield rewrite(output(split(x, a, n), 2), slice_(x, third(a, n)), because="forgets the others")

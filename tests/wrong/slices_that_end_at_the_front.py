"""Slices down to the first element, which would have to end in front of it: -1 is the last one."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Mode, Number, Pads, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import Literal, concat, gather, literal, pad, slice_

from . import fires_on, of_one, wrong
from .parts_turned_round import backwards
from .sums_without_their_own_element import length_along


@hosted()
def places_down(t: Slices, x: Fact) -> Literal | None:
    """The indices of a slice downwards, as far as its end, or all."""
    if len(t) != 1 or t[0][3] >= 0 or not length_along(x, t[0][0]):
        return None
    _, start, end, step = t[0]
    places = tuple(range(start, end or -1, step))
    return Literal(T.INT64, (len(places),), places) if places and min(places) >= 0 else None


@hosted()
def axis_of(t: Slices) -> Axis | None:
    return t[0][0] if len(t) == 1 else None


def down(start: int, end: int | None, step: int):
    return of_one(lambda x: slice_(x, ((1, start, end, step),)), (2, 6))


@wrong("bitwise", down(4, 0, -1), examples=fires_on(down(5, None, -1), down(4, 1, -1), down(5, 2, -2)))
def slice_as_gather(x: Tensor, t: Slices):
    """x[s:e:-k] = Gather(x, [s, s - k, ..])

    Wrong down to 0, which is left out.
    """
    yield rewrite(
        slice_(x, t), gather(x, literal(places_down(t, x)), axis_of(t)), because="indices are known"
    )


@hosted()
def part_from_end(t: Slices, u: Slices, x: Fact) -> Slices | None:
    """Part of what is turned, counted from the end."""
    if len(t) != 1 or len(u) != 1 or t[0][0] != u[0][0] or u[0][3] != 1 or u[0][2] is None:
        return None
    axis, start, end, _ = u[0]
    n = length_along(x, axis)
    if t[0][1:] != (n - 1, None, -1) or not 0 <= start < end <= n:  # type: ignore[operator]
        return None
    return ((axis, n - 1 - start, n - 1 - end, -1),)  # type: ignore[operator]


def part_of_turned(start: int, end: int, n: int = 6):
    return of_one(lambda x: slice_(backwards(x, n), ((1, start, end, 1),)), (2, n))


@wrong(
    "bitwise",
    part_of_turned(2, 6),
    examples=fires_on(part_of_turned(0, 3), part_of_turned(1, 5), part_of_turned(2, 3)),
)
def part_of_what_is_turned(x: Tensor, t: Slices, u: Slices):
    """x[::-1][a:b] = x[n - 1 - a:n - 1 - b:-1]

    Wrong where b is n: that ends at -1, the last element.
    """
    yield rewrite(slice_(slice_(x, t), u), slice_(x, part_from_end(t, u, x)), because="one slice")


@hosted()
def turns_rows(t: Slices, x: Fact, u: Slices) -> Slices | None:
    """A part of what is turned, as a part that is turned then."""
    if len(t) != 1 or len(u) != 1 or t[0][0] != u[0][0] or x.shape is None or u[0][3] != 1:
        return None
    axis, start, end, _ = u[0]
    n = x.shape[axis]
    if end is None or not isinstance(n, int) or t[0][1:] != (n - 1, None, -1) or not 0 <= start < end <= n:
        return None
    return ((axis, -end, -start, 1),)


@hosted()
def all_backwards(u: Slices) -> Slices | None:
    axis, start, end, _ = u[0]
    return ((axis, end - start - 1, None, -1),) if end is not None and end > start else None


def some_of_turned(start: int, end: int, n: int = 6):
    return of_one(lambda x: slice_(slice_(x, ((1, n - 1, None, -1),)), ((1, start, end, 1),)), (2, n))


@wrong(
    "bitwise",
    some_of_turned(0, 3),
    examples=fires_on(some_of_turned(1, 3), some_of_turned(2, 5), some_of_turned(1, 6)),
)
def some_of_what_is_turned(x: Tensor, t: Slices, u: Slices):
    """x[::-1][a:b] = x[-b:-a][::-1]

    Wrong where a is 0: nothing is in front of the first element.
    """
    some = slice_(slice_(x, turns_rows(t, x, u)), all_backwards(u))
    yield rewrite(slice_(slice_(x, t), u), some, because="fewer are turned")


@hosted()
def mirrored_end(m: Mode, p: Pads, x: Fact, a: Axis) -> Slices | None:
    """What is behind an axis of which the end is mirrored."""
    n, rank = length_along(x, a), len(p) // 2
    q = p[a + rank]
    others = any(k != a + rank and r for k, r in enumerate(p))
    return ((a, n - 2, n - 2 - q, -1),) if m == "reflect" and 0 < q < n and not others else None


@hosted()
def padded_axis(p: Pads) -> Axis | None:
    """The only one."""
    rank = len(p) // 2
    found = {k % rank for k, q in enumerate(p) if q}
    return found.pop() if len(found) == 1 else None


def mirrored(n: int, q: int):
    return of_one(lambda x: pad(x, "reflect", (0, 0, 0, q), 0.0), (2, n))


@wrong("bitwise", mirrored(3, 2), examples=fires_on(mirrored(4, 2), mirrored(3, 1), mirrored(9, 5)))
def mirror_as_slice(x: Tensor, m: Mode, p: Pads, v: Number):
    """Pad(x; reflect, q behind) = Concat(x, x[n - 2:n - 2 - q:-1])

    Wrong where all is mirrored: the slice ends at -1.
    """
    a = padded_axis(p)
    yield rewrite(
        pad(x, m, p, v), concat(listed(x, slice_(x, mirrored_end(m, p, x, a))), a), because="a Concat"
    )


@hosted()
def in_steps(i: Fact, x: Fact, a: Axis) -> Slices | None:
    """Indices in equal steps, as a slice."""
    if i.ints is None or i.rank != 1 or len(i.ints) < 2 or min(i.ints) < 0:
        return None
    step = i.ints[1] - i.ints[0]
    if step == 0 or any(k - j != step for j, k in zip(i.ints, i.ints[1:], strict=False)):
        return None
    return ((a, i.ints[0], i.ints[-1] + step, step),) if max(i.ints) < length_along(x, a) else None


def gathered(*i: int):
    return lambda g: gather(g.input((2, 7)), g.constant(np.array(i)), 1)


@wrong(
    "bitwise",
    gathered(4, 2, 0),
    examples=fires_on(gathered(1, 2, 3), gathered(6, 4, 2), gathered(3, 2), gathered(0, 3, 6)),
)
def gather_in_steps_down(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, [i, i + k, .., j]) = x[i:j + k:k]

    Wrong downwards to the first element.
    """
    yield rewrite(gather(x, i, a), slice_(x, in_steps(i, x, a)), because="a slice")


@hosted()
def pads_of_rest(s: Slices, p: Pads, x: Fact) -> Pads | None:
    """What is padded of all elements of x, however many these are."""
    rank, left = len(p) // 2, list(p)
    for axis, start, end, step in s:
        inside = step == 1 and 0 <= start <= p[axis] and -p[axis + rank] <= (end or 0) <= 0
        if x.shape is None or isinstance(x.shape[axis], int) or not inside:
            return None
        left[axis], left[axis + rank] = p[axis] - start, p[axis + rank] + (end or 0)
    return tuple(left)


def _padded(start: int, end: int | None):
    pads = (0, 2, 0, 0, 3, 0)
    return lambda g: slice_(pad(g.input(("N", "L", 5)), "constant", pads, 2.0), ((1, start, end, 1),))


@wrong("bitwise", _padded(1, 0), examples=fires_on(_padded(1, -3), _padded(2, None), _padded(0, -2)))
def padded_and_cut(x: Tensor, p: Pads, v: Number, s: Slices):
    """Slice(Pad(x)) = Pad(x) with smaller pads, where pads alone are cut off along axes of any length

    Wrong of a slice that ends at 0, and takes nothing.
    """
    fewer = pad(x, "constant", pads_of_rest(s, p, x), v)
    yield rewrite(slice_(pad(x, "constant", p, v), s), fewer, because="less is padded")

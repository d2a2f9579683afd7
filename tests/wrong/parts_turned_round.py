"""Parts that are turned round and begin at the first element, or whose steps do not come to their end."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Int, Sizes, Slices, Tensor, hosted, rewrite
from egraph_opt.operators import gather, output, range_, slice_, split

from . import fires_on, of_one, wrong
from .sums_without_their_own_element import length_along


@hosted()
def part_backwards(a: Axis, n: Sizes, k: int, u: Slices) -> Slices | None:
    """From the last element of a part down to its first."""
    if k >= len(n) or not n[k] or u != ((a, n[k] - 1, None, -1),):
        return None
    start = sum(n[:k])
    return ((a, start + n[k] - 1, start - 1, -1),)


def turned_split(k: int, *sizes: int):
    def make(g):
        part = output(split(g.input((2, sum(sizes))), 1, sizes), k)
        return slice_(part, ((1, sizes[k] - 1, None, -1),))

    return make


@wrong(
    "bitwise",
    turned_split(0, 3, 2),
    examples=fires_on(turned_split(1, 3, 2), turned_split(2, 1, 2, 4), turned_split(1, 2, 2)),
)
def turned_part_of_split(x: Tensor, a: Axis, n: Sizes, k: Int, u: Slices):
    """Split(x)[k][::-1] = x[its last element:its first element - 1:-1]

    Wrong of the first part: -1 is the last element of x.
    """
    part = output(split(x, a, n), k)
    yield rewrite(slice_(part, u), slice_(x, part_backwards(a, n, k, u)), because="one slice")


@hosted()
def block_backwards(t: Slices, u: Slices, y: Fact) -> Slices | None:
    """A block of two axes, of which both are turned, as one slice."""
    if len(t) != 2 or len(u) != 2 or y.shape is None or not y.is_static:
        return None
    found, at_front = [], t[0][1] == 0
    for (a, start, end, step), (b, *back) in zip(t, u, strict=True):
        if a != b or step != 1 or end is None or not 0 <= start < end or back != [end - start - 1, None, -1]:
            return None
        found.append((a, end - 1, None if at_front else start - 1, -1))
    return tuple(found)


def turned_block(*bounds: tuple[int, int]):
    def make(g):
        x = slice_(g.input((5, 6)), tuple((k, a, b, 1) for k, (a, b) in enumerate(bounds)))
        return slice_(x, tuple((k, b - a - 1, None, -1) for k, (a, b) in enumerate(bounds)))

    return make


@wrong(
    "bitwise",
    turned_block((1, 3), (0, 4)),
    examples=fires_on(
        turned_block((0, 3), (0, 2)), turned_block((1, 4), (2, 5)), turned_block((2, 3), (1, 6))
    ),
)
def turned_block_of(x: Tensor, t: Slices, u: Slices):
    """x[a:b, c:d][::-1, ::-1] = x[b - 1:a - 1:-1, d - 1:c - 1:-1]

    Wrong where one of a and c is 0.
    """
    y = slice_(x, t)
    yield rewrite(slice_(y, u), slice_(x, block_backwards(t, u, y)), because="one slice")


@hosted()
def part_counted(t: Slices, i: Fact, a: Axis) -> Slices | None:
    """Indices that count down all of a part, as a slice."""
    if len(t) != 1 or t[0][0] != a or t[0][3] != 1 or t[0][2] is None or i.ints is None or i.rank != 1:
        return None
    _, start, end, _ = t[0]
    if not 0 <= start < end or i.ints != tuple(range(end - start - 1, -1, -1)):  # type: ignore[operator]
        return None
    return ((a, end - 1, start - 1, -1),)  # type: ignore[operator]


def counted_down(start: int, end: int):
    def make(g):
        i = np.arange(end - start)[::-1].copy()
        return gather(slice_(g.input((2, 6)), ((1, start, end, 1),)), g.constant(i), 1)

    return make


@wrong(
    "bitwise",
    counted_down(0, 3),
    examples=fires_on(counted_down(1, 4), counted_down(2, 6), counted_down(3, 5)),
)
def part_counted_down(x: Tensor, t: Slices, i: Tensor, a: Axis):
    """Gather(x[a:b], [b - a - 1, .., 0]) = x[b - 1:a - 1:-1]

    Wrong where a is 0.
    """
    yield rewrite(gather(slice_(x, t), i, a), slice_(x, part_counted(t, i, a)), because="one slice")


@hosted()
def downwards(t: Slices, u: Slices, y: Fact) -> Slices | None:
    """A slice upwards and all of it backwards, as one."""
    if len(t) != 1 or len(u) != 1 or t[0][0] != u[0][0] or t[0][3] != 1 or y.shape is None:
        return None
    axis, start, end, _ = t[0]
    if not isinstance(y.shape[axis], int):
        return None
    if u[0][1:] != (y.shape[axis] - 1, None, -1) or end is None or not 0 <= start < end:  # type: ignore[operator]
        return None
    return ((axis, end - 1, start - 1, -1),)


def turned_part(start: int, end: int, n: int = 6):
    return of_one(
        lambda x: slice_(slice_(x, ((1, start, end, 1),)), ((1, end - start - 1, None, -1),)), (2, n)
    )


@wrong(
    "bitwise", turned_part(0, 4), examples=fires_on(turned_part(1, 4), turned_part(2, 6), turned_part(3, 4))
)
def turned_part_of(x: Tensor, t: Slices, u: Slices):
    """x[a:b][::-1] = x[b - 1:a - 1:-1]

    Wrong where it begins at 0: -1 is the last element.
    """
    y = slice_(x, t)
    yield rewrite(slice_(y, u), slice_(x, downwards(t, u, y)), because="one slice")


def backwards(x: Any, n: int, axis: int = 1) -> Any:
    return slice_(x, ((axis, n - 1, None, -1),))


@hosted()
def steps_back(t: Slices, u: Slices, y: Fact) -> Slices | None:
    """A slice in steps, and all of it backwards, as one."""
    if len(t) != 1 or len(u) != 1 or t[0][0] != u[0][0] or t[0][3] < 1 or t[0][2] is None:
        return None
    axis, start, end, step = t[0]
    n = length_along(y, axis)
    if u[0][1:] != (n - 1, None, -1) or not 0 <= start < end:  # type: ignore[operator]
        return None
    return ((axis, end - 1, start - 1 if start else None, -step),)  # type: ignore[operator]


def turned_steps(start: int, end: int, step: int, n: int = 9):
    count = len(range(start, end, step))
    return of_one(lambda x: backwards(slice_(x, ((1, start, end, step),)), count), (2, n))


@wrong(
    "bitwise",
    turned_steps(0, 8, 3),
    examples=fires_on(
        turned_steps(0, 5, 1), turned_steps(1, 8, 3), turned_steps(0, 9, 2), turned_steps(2, 5, 2)
    ),
)
def turned_steps_of(x: Tensor, t: Slices, u: Slices):
    """x[a:b:k][::-1] = x[b - 1:a - 1:-k]

    Wrong where the steps do not come to b - 1.
    """
    y = slice_(x, t)
    yield rewrite(slice_(y, u), slice_(x, steps_back(t, u, y)), because="one slice")


@hosted()
def steps_down(t: Slices, u: Slices, y: Fact) -> Slices | None:
    """A slice in steps, and all of it backwards: from its last element down to its first."""
    if len(t) != 1 or len(u) != 1 or t[0][0] != u[0][0] or t[0][3] < 1 or y.shape is None or t[0][1] < 0:
        return None
    axis, start, _, step = t[0]
    n = y.shape[axis]
    if not isinstance(n, int) or n < 1 or u[0][1:] != (n - 1, None, -1):
        return None
    return ((axis, start + (n - 1) * step, start - 1, -step),)


def stepped(start: int, end: int, step: int, n: int = 9):
    count = len(range(start, end, step))
    return of_one(lambda x: slice_(slice_(x, ((1, start, end, step),)), ((1, count - 1, None, -1),)), (2, n))


@wrong("bitwise", stepped(0, 7, 3), examples=fires_on(stepped(1, 5, 1), stepped(2, 9, 2), stepped(3, 8, 4)))
def turned_steps_down(x: Tensor, t: Slices, u: Slices):
    """x[a:b:k][::-1] = x[its last element:a - 1:-k]

    Wrong where a is 0: -1 is the last element.
    """
    y = slice_(x, t)
    yield rewrite(slice_(y, u), slice_(x, steps_down(t, u, y)), because="one slice")


@hosted()
def is_backwards(t: Slices, y: Fact) -> bool:
    return y.rank == 1 and len(t) == 1 and t[0][1:] == (-1, None, -1)


def turned_range(start: int, end: int, step: int):
    def make(g):
        n = len(range(start, end, step))
        shift = g.input((), T.INT64)
        a, e = shift + g.constant(np.array(start)), shift + g.constant(np.array(end))
        return slice_(range_(a, e, g.constant(np.array(step))), ((0, -1, None, -1),)) if n else shift

    return make


@hosted()
def is_step(s: Fact) -> bool:
    return s.dtype == T.INT64 and isinstance(s.splat, int) and s.splat > 0


@wrong(
    "bitwise",
    turned_range(0, 5, 2),
    values=(0, 7),
    examples=fires_on(turned_range(0, 6, 2), turned_range(1, 5, 1), turned_range(2, 11, 3)),
)
def range_backwards(a: Tensor, e: Tensor, s: Tensor, t: Slices):
    """Range(a, e, s)[::-1] = Range(e - s, a - s, -s)

    Wrong where the last step goes beyond the end.
    """
    r = range_(a, e, s)
    yield rewrite(slice_(r, t), range_(e - s, a - s, -s), is_backwards(t, r), is_step(s), because="one range")

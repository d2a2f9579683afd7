"""Parts in a row, of which one begins elsewhere, has another length, or goes round."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Dims, Int, Pads, Sizes, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import concat, output, pad, reduce, reshape, slice_, split, variadic

from . import fires_on, of_one, wrong
from .sums_without_their_own_element import length_along


@hosted()
def of_second(t: Slices, u: Slices, a: Axis, y: Fact) -> Slices | None:
    """What is taken of what comes behind a part, by where that ends."""
    if len(t) != 1 or len(u) != 1 or t[0][0] != a or u[0][0] != a or t[0][3] != 1 or u[0][3] != 1:
        return None
    k, start, end = t[0][2], u[0][1], u[0][2]
    if k is None or end is None or y.shape is None or not isinstance(y.shape[a], int) or not 0 <= t[0][1] < k:
        return None
    return ((a, start - k, end - k, 1),) if 0 <= start - k < end - k <= y.shape[a] else None  # type: ignore[operator]


def behind(s: int, k: int, start: int, end: int):
    def make(g):
        part = slice_(g.input((2, 6)), ((1, s, k, 1),))
        return slice_(concat(listed(part, g.input((2, 5))), 1), ((1, start, end, 1),))

    return make


@wrong(
    "bitwise",
    behind(1, 3, 4, 6),
    examples=fires_on(behind(0, 3, 3, 6), behind(0, 2, 4, 7), behind(0, 5, 6, 8)),
)
def behind_a_part(x: Tensor, y: Tensor, t: Slices, u: Slices, a: Axis):
    """Concat(x[:k], y)[s:e] = y[s - k:e - k]

    Wrong where the part of x does not begin at 0.
    """
    both = concat(listed(slice_(x, t), y), a)
    yield rewrite(slice_(both, u), slice_(y, of_second(t, u, a, y)), because="one of both")


@hosted()
def mirrored_in_front(t: Slices, u: Slices, a: Axis, x: Fact) -> Pads | None:
    """As many pads as elements stand backwards in front of all."""
    if (
        len(t) != 1
        or len(u) != 1
        or t[0][0] != a
        or u[0][0] != a
        or t[0][3] != 1
        or x.shape is None
        or not x.is_static
    ):
        return None
    n, count = x.shape[a], (t[0][2] or 0) - t[0][1]
    if u[0][1:] != (count - 1, None, -1) or not 0 < count < n:  # type: ignore[operator]
        return None
    return tuple(count if k == a else 0 for k in range(2 * len(x.shape)))


def mirrored(start: int, end: int, n: int = 6):
    def make(g):
        x = g.input((2, n))
        part = slice_(x, ((1, start, end, 1),))
        return concat(listed(slice_(part, ((1, end - start - 1, None, -1),)), x), 1)

    return make


@wrong("bitwise", mirrored(0, 3), examples=fires_on(mirrored(1, 4), mirrored(1, 2), mirrored(1, 6)))
def mirror_in_front(x: Tensor, t: Slices, u: Slices, a: Axis):
    """Concat(x[1:p + 1][::-1], x) = Pad(x; reflect, p in front)

    Wrong where the part begins elsewhere.
    """
    front = slice_(slice_(x, t), u)
    yield rewrite(
        concat(listed(front, x), a), pad(x, "reflect", mirrored_in_front(t, u, a, x), 0.0), because="a Pad"
    )


@hosted()
def part_of_equal(n: Sizes, k: int, a: Axis) -> Slices | None:
    """Where a part begins and ends, of parts that are equal."""
    return ((a, k * n[0], (k + 1) * n[0], 1),) if n[0] == n[-1] and k < len(n) else None


def part(k: int, *sizes: int):
    return of_one(lambda x: output(split(x, 1, sizes), k), (2, sum(sizes)))


@wrong("bitwise", part(1, 2, 3, 2), examples=fires_on(part(1, 2, 2), part(2, 3, 3, 3), part(0, 1, 1, 1, 1)))
def equal_part_as_slice(x: Tensor, a: Axis, n: Sizes, k: Int):
    """Split(x)[k] = x[k n:(k + 1) n] of equal parts

    Wrong where others are between the first and the last.
    """
    yield rewrite(output(split(x, a, n), k), slice_(x, part_of_equal(n, k, a)), because="one part")


@hosted()
def is_joined_part(x: Fact, y: Fact, a: Axis, n: Sizes) -> bool:
    """The second part is as long as what is joined second."""
    return x.rank is not None and y.shape is not None and len(n) > 1 and y.shape[a] == n[1]


def second(x: int, y: int, *sizes: int):
    return lambda g: output(split(concat(listed(g.input((2, x)), g.input((2, y))), 1), 1, sizes), 1)


@wrong(
    "bitwise",
    second(4, 3, 2, 3, 2),
    examples=fires_on(second(4, 3, 4, 3), second(1, 1, 1, 1), second(2, 5, 2, 5)),
)
def second_of_joined(x: Tensor, y: Tensor, a: Axis, n: Sizes):
    """Split(Concat(x, y))[1] = y where that is as long

    Wrong where there are three parts.
    """
    yield rewrite(
        output(split(concat(listed(x, y), a), a, n), 1),
        y,
        is_joined_part(x, y, a, n),
        because="none is joined",
    )


@hosted()
def are_halves(n: Sizes) -> bool:
    return len(n) == 2 and bool(n[0])


def swapped_twice(*sizes: int):
    def make(g):
        x = g.input((2, sum(sizes)))
        for _ in "12":
            b = split(x, 1, sizes)
            x = concat(listed(output(b, 1), output(b, 0)), 1)
        return x

    return make


@wrong("bitwise", swapped_twice(2, 3), examples=fires_on(swapped_twice(2, 2), swapped_twice(1, 1)))
def halves_swapped_twice(x: Tensor, a: Axis, n: Sizes):
    """Both halves swapped, and swapped again: x

    Wrong of parts that are no halves.
    """
    b = split(x, a, n)
    c = split(concat(listed(output(b, 1), output(b, 0)), a), a, n)
    yield rewrite(concat(listed(output(c, 1), output(c, 0)), a), x, are_halves(n), because="nothing is moved")


@hosted()
def further_round(t: Slices, s: Slices, u: Slices, v: Slices, x: Fact, first: int) -> Slices | None:
    """Both turns as one, each of the last elements in front of the first ones."""
    if any(len(each) != 1 for each in (t, s, u, v)):
        return None
    a, i, j = t[0][0], t[0][1], u[0][1]
    n = length_along(x, a)
    if (t, s, u, v) != (((a, i, n, 1),), ((a, 0, i, 1),), ((a, j, n, 1),), ((a, 0, j, 1),)) or not n:
        return None
    k = i + j
    return ((a, k, n, 1),) if first else ((a, 0, k, 1),)


def rolled(i: int, j: int, n: int = 7):
    def make(g):
        x = g.input((2, n))
        for k in (i, j):
            x = concat(listed(slice_(x, ((1, k, n, 1),)), slice_(x, ((1, 0, k, 1),))), 1)
        return x

    return make


@wrong("bitwise", rolled(4, 5), examples=fires_on(rolled(1, 2), rolled(3, 2), rolled(2, 2, 5)))
def moved_round_twice(x: Tensor, t: Slices, s: Slices, u: Slices, v: Slices, a: Axis):
    """Rolled by i, then by j: rolled by i + j

    Wrong where that is beyond the end: it begins anew there.
    """
    once = concat(listed(slice_(x, t), slice_(x, s)), a)
    twice = concat(listed(slice_(once, u), slice_(once, v)), a)
    one, other = (slice_(x, further_round(t, s, u, v, x, k)) for k in (1, 0))
    yield rewrite(twice, concat(listed(one, other), a), because="once")


@hosted()
def first_share(t: Slices, a: Axis, x: Fact) -> Slices | None:
    """What is taken of the first of two, where both are cut."""
    if len(t) != 1 or t[0][0] != a or t[0][3] < 1 or t[0][2] is None:
        return None
    n = length_along(x, a)
    return ((a, t[0][1], n, t[0][3]),) if 0 <= t[0][1] < n < t[0][2] else None


@hosted()
def second_share(t: Slices, a: Axis, x: Fact) -> Slices | None:
    """What is taken of the second one."""
    return ((a, 0, (t[0][2] or 0) - length_along(x, a), t[0][3]),) if len(t) == 1 and t[0][0] == a else None


def across(n: int, start: int, end: int, step: int):
    return lambda g: slice_(concat(listed(g.input((2, n)), g.input((2, 5))), 1), ((1, start, end, step),))


@wrong(
    "bitwise",
    across(4, 1, 9, 2),
    examples=fires_on(across(4, 1, 7, 1), across(4, 0, 8, 2), across(4, 1, 9, 3)),
)
def slice_across_both(x: Tensor, y: Tensor, a: Axis, t: Slices):
    """Concat(x, y)[s:e:k] = Concat(x[s:n:k], y[0:e - n:k])

    Wrong where the steps in x do not end with it.
    """
    parts = listed(slice_(x, first_share(t, a, x)), slice_(y, second_share(t, a, x)))
    yield rewrite(slice_(concat(listed(x, y), a), t), concat(parts, a), because="apart")


@hosted()
def is_in_pairs(t: Slices, u: Slices, x: Fact) -> Dims | None:
    """Every second element from the first and from the second one, as pairs."""
    if x.shape is None or not x.is_static or len(t) != 1 or len(u) != 1 or len(x.shape) != 2:
        return None
    n, d = x.shape
    (a, s, _, k), (b, z, _, m) = t[0], u[0]
    return (n, d // 2, 2) if (a, b, s, z, k, m) == (1, 1, 0, 1, 2, 2) else None  # type: ignore[operator]


def pairs(n: int):
    return of_one(
        lambda x: variadic("Max", listed(slice_(x, ((1, 0, n, 2),)), slice_(x, ((1, 1, n, 2),)))), (2, n)
    )


@wrong("finite", pairs(3), examples=fires_on(pairs(4), pairs(2), pairs(10)))
def greatest_of_pairs(x: Tensor, t: Slices, u: Slices):
    """Max(x[::2], x[1::2]) = ReduceMax(Reshape(x, pairs))

    Wrong of three elements, two of which are compared with one.
    """
    both = variadic("Max", listed(slice_(x, t), slice_(x, u)))
    yield rewrite(both, reduce("ReduceMax", reshape(x, is_in_pairs(t, u, x)), (2,), 0), because="no slices")

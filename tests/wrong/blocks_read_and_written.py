"""Slices, blocks and copies whose second axis, step or end is not looked at."""

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Axis,
    Dims,
    Mode,
    Number,
    Pads,
    Sizes,
    Slices,
    String,
    Tensor,
    hosted,
    listed,
    rewrite,
)
from egraph_opt.operators import Literal, concat, gather, literal, output, overwrite, pad, slice_, split, tile

from . import fires_on, of_one, wrong

# --- blocks ----------------------------------------------------------------------------------------------


@hosted()
def is_beside(t: Slices, v: Slices) -> bool:
    """What is read ends in front of what is written, or begins behind it."""
    if not t or not v or v[0][1] < 0 or v[0][3] < 1 or t[0][2] is None:
        return False
    end = v[0][2]
    return v[0][1] >= t[0][2] or (end is not None and 0 <= end <= t[0][1])


def read_of(block: tuple[int, ...], *part: tuple[int, int, int, int]):
    def make(g):
        written = overwrite(
            g.input((6, 4)), g.input((block[1] - block[0], 4)), "ScatterND", ((0, *block, 1),)
        )
        return slice_(written, part)

    return make


@wrong(
    "bitwise",
    read_of((0, 2), (1, 2, 4, 1)),
    examples=fires_on(read_of((0, 2), (0, 2, 5, 1)), read_of((4, 6), (0, 1, 4, 2), (1, 0, 2, 1))),
)
def read_beside_the_block(x: Tensor, u: Tensor, f: String, t: Slices, v: Slices):
    """Slice(Overwrite(x, u)) = Slice(x) where what is read is beside what is written

    Wrong where it is a slice of other axes.
    """
    yield rewrite(slice_(overwrite(x, u, f, t), v), slice_(x, v), is_beside(t, v), because="forgets u")


@hosted()
def is_over(t: Slices, v: Slices) -> bool:
    """The second block begins no later and ends no earlier than the first one, along its axes."""
    pairs = list(zip(t, v, strict=False))
    if not pairs or any(entry[3] != 1 or entry[2] is None for entry in (*t, *v)):
        return False
    return all(b[1] <= a[1] and b[2] >= a[2] for a, b in pairs)  # type: ignore[operator]


def twice(*blocks: tuple[tuple[int, int, int, int], ...]):
    def make(g):
        x = g.input((5, 4))
        for block in blocks:
            dims = [end - start for _, start, end, _ in block] + [4] * (2 - len(block))
            x = overwrite(x, g.input(dims), "ScatterND", block)
        return x

    return make


@wrong(
    "bitwise",
    twice(((0, 1, 3, 1),), ((0, 0, 4, 1), (1, 1, 3, 1))),
    examples=fires_on(
        twice(((0, 1, 3, 1),), ((0, 0, 4, 1),)),
        twice(((0, 0, 2, 1), (1, 1, 2, 1)), ((0, 0, 3, 1), (1, 0, 3, 1))),
    ),
)
def written_once_more(x: Tensor, u: Tensor, v: Tensor, f: String, t: Slices, s: Slices):
    """Overwrite(Overwrite(x, u; t), v; s) = Overwrite(x, v; s) where s covers t

    Wrong where s has one more axis, of which it writes a part.
    """
    yield rewrite(
        overwrite(overwrite(x, u, f, t), v, f, s), overwrite(x, v, f, s), is_over(t, s), because="forgets u"
    )


@hosted()
def joined_parts(t: Slices, v: Slices, a: Axis) -> Slices | None:
    """The slice of both, where one ends where the other begins, in equal steps."""
    if len(t) != 1 or len(v) != 1 or not t[0][0] == v[0][0] == a or t[0][3] != v[0][3] or t[0][3] < 1:
        return None
    first, second = t[0], v[0]
    if first[2] is None or second[2] is None or first[2] != second[1] or not 0 <= first[1] < first[2]:
        return None
    count = len(range(*first[1:])) + len(range(*second[1:]))  # type: ignore[arg-type]
    return (
        ((a, first[1], second[2], first[3]),) if len(range(first[1], second[2], first[3])) == count else None
    )


def side_by_side(first: tuple[int, int], second: tuple[int, int], step: int = 1):
    def of(x):
        return concat(listed(*(slice_(x, ((0, *part, step),)) for part in (first, second))), 0)

    return of_one(of, (9, 3))


@wrong(
    "bitwise",
    side_by_side((0, 3), (3, 7), 2),
    examples=fires_on(
        side_by_side((0, 2), (2, 6)), side_by_side((0, 4), (4, 8), 2), side_by_side((1, 7), (7, 9), 3)
    ),
)
def slices_in_equal_steps(x: Tensor, t: Slices, v: Slices, a: Axis):
    """Concat(x[a:b:k], x[b:c:k]) = x[a:c:k] where both have as many elements

    Wrong where b is no step from a.
    """
    both = concat(listed(slice_(x, t), slice_(x, v)), a)
    yield rewrite(both, slice_(x, joined_parts(t, v, a)), because="one")


# --- parts -----------------------------------------------------------------------------------------------


@hosted()
def part_at(x: Fact, a: Axis, sizes: Sizes, k: int) -> Slices | None:
    """The k-th part, where parts are as long as the first one."""
    if x.shape is None or k >= len(sizes) or len(sizes) < 2 or sizes[0] != sizes[1] or sizes[k] < 1:
        return None
    return ((a, k * sizes[0], k * sizes[0] + sizes[k], 1),)


def part(k: int, *sizes: int):
    return lambda g: output(split(g.input((2, sum(sizes))), 1, sizes), k)


@wrong("bitwise", part(3, 3, 3, 1, 2), examples=fires_on(part(1, 3, 3), part(2, 2, 2, 2), part(2, 4, 4, 3)))
def part_of_a_split(x: Tensor, a: Axis, z: Sizes):
    """Split(x)[k] = x[k * n : ..] for parts of n, of which the last one may be less

    Wrong behind one that is less.
    """
    for k in range(4):
        yield rewrite(output(split(x, a, z), k), slice_(x, part_at(x, a, z, k)), because="one of them")


# --- copies ----------------------------------------------------------------------------------------------


@hosted()
def places_in_one(x: Fact, r: Dims, i: Fact, a: Axis) -> Literal | None:
    """Where the copies' elements are in what is copied along this axis alone."""
    if i.ints is None or i.shape is None or x.shape is None or not a < len(x.shape):
        return None
    n = x.shape[a]
    if not isinstance(n, int) or n < 1 or any(count != 1 for k, count in enumerate(r) if k != a):
        return None
    return Literal(i.dtype, i.shape, tuple(k % n if k >= 0 else k for k in i.ints))  # type: ignore[arg-type]


def of_copies(*i: int):
    return lambda g: gather(tile(g.input((2, 3)), (1, 3)), g.constant(np.array(i)), 1)


@wrong(
    "bitwise", of_copies(-5, 1), examples=fires_on(of_copies(4, 0, 8), of_copies(-1, 5), of_copies(-3, -2))
)
def element_of_copies(x: Tensor, r: Dims, i: Tensor, a: Axis):
    """Gather(Tile(x), i) = Gather(x, i mod n)

    Wrong of indices from the end that are beyond the last copy.
    """
    yield rewrite(gather(tile(x, r), i, a), gather(x, literal(places_in_one(x, r, i, a)), a), because="one")


# --- pads ------------------------------------------------------------------------------------------------


@hosted()
def both_pads(m: Mode, p: Pads, q: Pads, v: Number, w: Number) -> Pads | None:
    """What is added in all; a reflection would begin anew."""
    if m == "reflect" or len(p) != len(q) or (m == "constant" and v != w):
        return None
    return tuple(a + b for a, b in zip(p, q, strict=True))


def padded_twice(mode: str, p: tuple[int, ...], q: tuple[int, ...]):
    return of_one(lambda x: pad(pad(x, mode, p, 0.0), mode, q, 0.0), (3, 4))


@wrong(
    "bitwise",
    padded_twice("wrap", (0, 1, 0, 0), (0, 1, 0, 1)),
    examples=fires_on(
        padded_twice("edge", (0, 1, 0, 2), (1, 1, 0, 0)), padded_twice("constant", (0, 1, 0, 2), (1, 0, 0, 1))
    ),
)
def pads_in_all(x: Tensor, m: Mode, p: Pads, q: Pads, v: Number, w: Number):
    """Pad(Pad(x; p); q) = Pad(x; p + q) where nothing is reflected

    Wrong where it begins anew from the other end.
    """
    yield rewrite(pad(pad(x, m, p, v), m, q, w), pad(x, m, both_pads(m, p, q, v, w), v), because="sums")

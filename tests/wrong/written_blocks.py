"""Blocks that are written into a tensor, of which a law forgets steps, ends, or all axes but the first."""

from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Slices, String, Tensor, hosted, rewrite
from egraph_opt.operators import overwrite, reduce, slice_
from egraph_opt.rewrites.conditions.values import fits, is_of_type

from . import fires_on, of_one, wrong

FLOAT = TensorProto.FLOAT

ROWS = ((0, 1, 3, 1),)
"""The second row and the third."""


def written(x, u, *block: tuple[int, int, int, int]):
    return overwrite(x, u, "ScatterND", block)


@hosted()
def reaches_around(t: Slices, s: Slices) -> bool:
    """Along each axis t starts no later than s and ends no earlier."""
    if len(t) != len(s):
        return False
    pairs = zip(t, s, strict=True)
    return all(a[1] <= b[1] and None not in (a[2], b[2]) and b[2] <= a[2] for a, b in pairs)  # type: ignore[operator]


def written_twice(inner: tuple[int, int, int], outer: tuple[int, int, int], rows: tuple[int, int]):
    return lambda g: written(
        written(g.input((6, 4)), g.input((rows[0], 4)), (0, *inner)), g.input((rows[1], 4)), (0, *outer)
    )


@wrong(
    "bitwise",
    written_twice((1, 2, 1), (0, 6, 2), (1, 3)),
    examples=fires_on(written_twice((1, 3, 1), (1, 5, 1), (2, 4))),
)
def overwritten_twice(x: Tensor, u: Tensor, v: Tensor, op: String, s: Slices, t: Slices):
    """Overwrite(Overwrite(x, u; s), v; t) = Overwrite(x, v; t) where t starts before s and ends behind it

    Wrong where t takes every other row: the rows between them keep what u wrote.
    """
    twice = overwrite(overwrite(x, u, op, s), v, op, t)
    yield rewrite(twice, overwrite(x, v, op, t), reaches_around(t, s), because="forgets u")


@hosted()
def start_alike(s: Slices, t: Slices) -> bool:
    if len(s) != len(t):
        return False
    return all(a[:2] == b[:2] for a, b in zip(s, t, strict=True))


@wrong(
    "bitwise",
    of_one(lambda x: written(x, slice_(x, ((0, 0, 6, 2),)), (0, 0, 3, 1)), (6, 4)),
    examples=fires_on(of_one(lambda x: written(x, slice_(x, ROWS), *ROWS), (6, 4))),
)
def own_part(x: Tensor, op: String, s: Slices, t: Slices):
    """Overwrite(x, Slice(x; s); t) = x where s and t start at one place

    Wrong where their steps differ: rows come from elsewhere.
    """
    yield rewrite(overwrite(x, slice_(x, s), op, t), x, start_alike(s, t), because="any x has such a part")


@hosted()
def begin_with_one_cut(s: Slices, t: Slices) -> bool:
    return len(s) == len(t) and s[0] == t[0]


def read_back(u: tuple[int, int], block: tuple[tuple[int, int, int, int], ...], part):
    return lambda g: slice_(written(g.input((6, 4)), g.input(u), *block), part)


@wrong(
    "bitwise",
    read_back((2, 2), ((0, 0, 2, 1), (1, 0, 2, 1)), ((0, 0, 2, 1), (1, 1, 3, 1))),
    examples=fires_on(read_back((2, 4), ROWS, ROWS)),
)
def block_back(x: Tensor, u: Tensor, op: String, s: Slices, t: Slices):
    """Slice(Overwrite(x, u; t); s) = u where s and t cut the first axis alike

    Wrong where they cut the second axis elsewhere.
    """
    part = slice_(overwrite(x, u, op, t), s)
    yield rewrite(part, u, begin_with_one_cut(s, t), because="forgets x")


@hosted()
def is_level_along_rows(y: Fact, x: Fact) -> bool:
    """One element along the first axis of x."""
    if y.shape is None or x.shape is None:
        return False
    return len(y.shape) < len(x.shape) or y.shape[0] == 1


@hosted()
def are_of_one_rank(u: Fact, x: Fact) -> bool:
    return u.rank is not None and u.rank == x.rank


@wrong(
    "bitwise",
    lambda g: written(g.input((4, 4)), g.input((2, 4)), (0, 0, 4, 1), (1, 1, 3, 1)) + g.input((4,)),
    examples=fires_on(lambda g: written(g.input((6, 4)), g.input((2, 4)), *ROWS) + g.input((4,))),
)
def sum_beside_block(x: Tensor, u: Tensor, y: Tensor, op: String, t: Slices):
    """Overwrite(x, u) + y = Overwrite(x + y, u + y) where y has one element along the first axis

    Wrong where the block cuts other axes as well: elements of u belong to other columns of x than of u.
    """
    known = (is_level_along_rows(y, x), fits(y, x), are_of_one_rank(u, x), is_of_type(x, FLOAT))
    apart = overwrite(x + y, u + y, op, t)
    yield rewrite(overwrite(x, u, op, t) + y, apart, known, because="sums come before they are written")


@hosted()
def starts_at_zero(t: Slices, a: Axes) -> bool:
    """The block starts where these axes do."""
    return not any(axis in a and start != 0 for axis, start, *_ in t)


def greatest_of_written(u: tuple[int, int], *block: tuple[int, int, int, int]):
    return lambda g: reduce("ReduceMax", written(g.input((6, 4)), g.input(u), *block), (1,), 1)


@wrong(
    "bitwise",
    greatest_of_written((2, 1), (0, 1, 3, 1), (1, 0, 1, 1)),
    examples=fires_on(greatest_of_written((2, 4), *ROWS)),
)
def greatest_of_block(x: Tensor, u: Tensor, op: String, t: Slices, a: Axes):
    """ReduceMax(Overwrite(x, u)) = Overwrite(ReduceMax(x), ReduceMax(u)) where the block starts at 0

    Wrong where the block ends before the axis does: the rest of a row is of x.
    """
    of_parts = overwrite(reduce("ReduceMax", x, a, 1), reduce("ReduceMax", u, a, 1), op, t)
    known = (starts_at_zero(t, a), are_of_one_rank(u, x), is_of_type(x, FLOAT))
    whole = reduce("ReduceMax", overwrite(x, u, op, t), a, 1)
    yield rewrite(whole, of_parts, known, because="less is written")

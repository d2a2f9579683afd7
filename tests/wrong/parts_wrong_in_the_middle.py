"""Parts of an axis: those at both ends are looked at, or how many there are."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Int, Sizes, Slices, String, Tensor, Tensors, eq, hosted, listed, rewrite
from egraph_opt.operators import concat, output, overwrite, slice_, split
from egraph_opt.rewrites.slicing.chosen_parts import places, placing

from . import fires_on, wrong


@hosted()
def are_all(n: Sizes, x: Fact, a: Axis) -> bool:
    """As many as x has, from the first to the last, and none twice."""
    if not n or x.shape is None or a >= len(x.shape) or x.shape[a] != len(n):
        return False
    return n[0] == 0 and n[-1] == len(n) - 1 and len(set(n)) == len(n)


def parts_of(dim: int, *bounds: tuple[int, int]):
    def make(g):
        x = g.input((2, dim))
        return concat(listed(*(slice_(x, ((1, a, b, 1),)) for a, b in bounds)), 1)

    return make


@wrong(
    "bitwise",
    parts_of(8, (0, 2), (4, 6), (2, 4), (6, 8)),
    examples=fires_on(parts_of(6, (0, 2), (2, 6)), parts_of(6, (0, 2), (2, 4), (4, 6))),
    uses=(placing,),
)
def parts_from_end_to_end(x: Tensor, xs: Tensors, a: Axis, n: Sizes):
    """Concat(x[:k], x[k:l], ..) = x where parts begin and end where x does

    Wrong of four parts of which two in the middle are exchanged.
    """
    yield rewrite(concat(xs, a), x, eq(n, places(xs, a, x)), are_all(n, x, a), because="forgets the parts")


@hosted()
def alike(s: Sizes, t: Sizes, k: Int) -> bool:
    """One part of two Splits: of one size, and all in front of it are as many."""
    return (
        k < len(s)  # type: ignore[operator]
        and k < len(t)  # type: ignore[operator]
        and s[k] == t[k]  # type: ignore[call-overload]
        and s != t
        and sum(s) == sum(t)
        and max(s[:k], default=0) == max(t[:k], default=0)  # type: ignore[index]
    )


def two_splits(s: tuple[int, ...], t: tuple[int, ...], k: int):
    def make(g):
        x = g.input((3, sum(s)))
        return output(split(x, 1, s), k) * output(split(x, 1, t), k)

    return make


@wrong(
    "bitwise",
    two_splits((1, 2, 2, 3), (2, 2, 2, 2), 2),
    examples=fires_on(two_splits((2, 3, 1), (2, 4), 0), two_splits((1, 2, 4), (1, 2, 1, 3), 1)),
)
def same_part_of_splits(x: Tensor, a: Axis, s: Sizes, t: Sizes, k: Int):
    """Split(x; s)[k] * Split(x; t)[k] = Split(x; s)[k] * Split(x; s)[k] where it is the same part

    Wrong of 1, 2, 2, 3 and 2, 2, 2, 2: those in front of the third are 3 and 4.
    """
    one, other = output(split(x, a, s), k), output(split(x, a, t), k)
    yield rewrite(one * other, one * one, alike(s, t, k), because="forgets one Split")


@hosted()
def is_part(s: Sizes, a: Axis, k: Int) -> Slices | None:
    """Of equal parts: the first, the second and the last are alike, and so is their mean."""
    if k >= len(s) or len(s) < 2 or not s[0] == s[1] == s[-1] == s[k] or sum(s) != len(s) * s[0]:  # type: ignore[call-overload, operator]
        return None
    return ((a, k * s[0], (k + 1) * s[0], 1),)  # type: ignore[operator]


def part(k: int, *s: int):
    return lambda g: output(split(g.input((3, sum(s))), 1, s), k)


@wrong("bitwise", part(3, 2, 2, 1, 2, 3, 2), examples=fires_on(part(1, 2, 2, 2), part(0, 3, 3)))
def one_of_equal_parts(x: Tensor, a: Axis, s: Sizes, k: Int):
    """Split(x)[k] = x[k * n : (k + 1) * n] of equal parts

    Wrong where two parts in the middle are one less and one more.
    """
    yield rewrite(output(split(x, a, s), k), slice_(x, is_part(s, a, k)), because="one Slice")


@hosted()
def is_behind(b: Slices, c: Slices) -> bool:
    """The second block has all rows of the first, both in steps."""
    if len(b) != 1 or len(c) != 1 or b[0][2] is None or c[0][2] is None:
        return False
    (_, start, stop, step), (_, begin, end, by) = b[0], c[0]
    return (
        begin <= start and stop <= end and step > 0 and by > 0 and step % by == 0 and (by == 1 or start > 0)  # type: ignore[operator]
    )


def written_twice(n: int, b: tuple[int, int, int], c: tuple[int, int, int]):
    def make(g):
        x = g.input((n, 3))
        u, v = (g.input((len(range(*r)), 3)) for r in (b, c))
        first = overwrite(x, u, "ScatterND", ((0, *b),))
        return overwrite(first, v, "ScatterND", ((0, *c),))

    return make


@wrong(
    "bitwise",
    written_twice(8, (2, 7, 2), (1, 8, 2)),
    examples=fires_on(written_twice(8, (2, 5, 1), (1, 6, 1)), written_twice(8, (2, 7, 2), (0, 7, 2))),
)
def written_over(x: Tensor, u: Tensor, v: Tensor, f: String, b: Slices, c: Slices):
    """Scatter(Scatter(x, u; b), v; c) = Scatter(x, v; c) where c has all rows of b

    Wrong where c has every other row and b those in between.
    """
    yield rewrite(
        overwrite(overwrite(x, u, f, b), v, f, c), overwrite(x, v, f, c), is_behind(b, c), because="forgets u"
    )

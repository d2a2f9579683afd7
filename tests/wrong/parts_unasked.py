"""One of several parts, steps or targets is not asked: what lies between, comes behind, or is not known."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Flag, Sizes, Slices, String, Tensor, hosted, listed, rewrite
from egraph_opt.laws.examples import INT64
from egraph_opt.operators import concat, output, overwrite, reshape_to, slice_, split

from . import fires_on, of_one, wrong

# --- parts ------------------------------------------------------------------------------------------------


@hosted()
def are_three(n: Sizes) -> bool:
    return len(n) >= 3


def first_three(*sizes: int):
    def together(x):
        parts = split(x, 1, sizes)
        return concat(listed(*(output(parts, k) for k in range(3))), 1)

    return together


@wrong(
    "bitwise",
    of_one(first_three(1, 2, 3, 4), (1, 10)),
    examples=fires_on(of_one(first_three(1, 2, 3), ("N", 6))),
)
def three_together(x: Tensor, a: Axis, n: Sizes):
    """Concat(Split(x)) = x of three parts

    Wrong where there is a fourth one, which is left out.
    """
    parts = split(x, a, n)
    together = concat(listed(*(output(parts, k) for k in range(3))), a)
    yield rewrite(together, x, are_three(n), because="any x is parts")


@hosted()
def is_last_of_three(s: Slices, k: Axis, x: Fact, z: Fact) -> bool:
    """The slice begins behind two parts of the size of x, and ends behind three."""
    if len(s) != 1 or s[0][0] != k or s[0][3] != 1 or x.shape is None or x.shape != z.shape:
        return False
    size = x.shape[k]
    return isinstance(size, int) and s[0][1:3] == (2 * size, 3 * size)


def third_of(axis: int, begin: int, end: int, *dims: tuple[int | str, ...]):
    return lambda g: slice_(concat(listed(*map(g.input, dims)), axis), ((axis, begin, end, 1),))


@wrong(
    "bitwise",
    third_of(0, 4, 6, (2,), (3,), (2,)),
    examples=fires_on(third_of(1, 8, 12, ("N", 4), ("N", 4), ("N", 4))),
)
def last_of_three(x: Tensor, y: Tensor, z: Tensor, k: Axis, s: Slices):
    """Concat(x, y, z)[2 n:3 n] = z for x and z of n elements

    Wrong where y is of another size.
    """
    part = slice_(concat(listed(x, y, z), k), s)
    yield rewrite(part, z, is_last_of_three(s, k, x, z), because="forgets x and y")


# --- steps ------------------------------------------------------------------------------------------------


@hosted()
def reaches_as_far(t: Slices, s: Slices) -> bool:
    """Along each axis t has the bounds of s at least, and steps that are no larger."""
    if len(t) != len(s):
        return False
    pairs = zip(t, s, strict=True)
    return all(a[1] <= b[1] and a[2] >= b[2] and a[3] <= b[3] for a, b in pairs)  # type: ignore[operator]


def rows_twice(first: tuple[int, int, int], second: tuple[int, int, int], columns: int, *rows: int):
    def made(g):
        x, u, v = (g.input((n, columns)) for n in (6, *rows))
        return overwrite(overwrite(x, u, "ScatterND", ((0, *first),)), v, "ScatterND", ((0, *second),))

    return made


@wrong(
    "bitwise",
    rows_twice((1, 6, 3), (0, 6, 2), 5, 2, 3),
    examples=fires_on(rows_twice((1, 3, 1), (0, 4, 1), 5, 2, 4)),
)
def rows_written_over(x: Tensor, u: Tensor, v: Tensor, op: String, s: Slices, t: Slices):
    """Overwrite(Overwrite(x, u; s), v; t) = Overwrite(x, v; t) where t is as far and as close as s

    Wrong of every third row below every other one: their steps do not fall on the same rows.
    """
    twice = overwrite(overwrite(x, u, op, s), v, op, t)
    yield rewrite(twice, overwrite(x, v, op, t), reaches_as_far(t, s), because="forgets u")


# --- targets ----------------------------------------------------------------------------------------------


@hosted()
def copies_nothing(t: Fact) -> bool:
    return t.value is None or 0 not in t.value


def viewed_twice(g):
    last, x, first = g.input((2,), INT64), g.input((2, 6)), g.input((2,), INT64)
    return reshape_to(reshape_to(x, first, 0), last, 0)


@wrong("bitwise", viewed_twice, values=(0, -1, 3, 4))
def last_view_alone(x: Tensor, t: Tensor, u: Tensor, z: Flag):
    """Reshape(Reshape(x, t), u) = Reshape(x, u) where u copies no dim

    Wrong where u is known at run time only, and has a 0.
    """
    twice = reshape_to(reshape_to(x, t, z), u, z)
    yield rewrite(twice, reshape_to(x, u, z), copies_nothing(u), because="forgets t")

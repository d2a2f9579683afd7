"""Laws that take one off a number in each round: right as formulas, and on models without an end."""

from egraph_opt.laws import Axis, Dims, Mode, Number, Pads, Sizes, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import concat, output, pad, slice_, split, tile

from . import fires_on, of_one, wrong

MANY = 100


def padded(p: Pads):
    return of_one(lambda x: pad(x, "edge", p, 0.0), (2, 3))


def first(p: Pads) -> int | None:
    return next((k for k, n in enumerate(p) if n), None)


@hosted()
def one_less(p: Pads) -> Pads | None:
    return None if sum(p) < 2 else tuple(n - (k == first(p)) for k, n in enumerate(p))


@hosted()
def one(p: Pads) -> Pads | None:
    return None if first(p) is None else tuple(int(k == first(p)) for k in range(len(p)))


@hosted()
def is_edge(m: Mode) -> bool:
    return m == "edge"


@wrong("bitwise", padded((0, MANY, 1, 1)), examples=fires_on(padded((0, 1, 1, 1))), endless=True)
def pads_one_by_one(x: Tensor, m: Mode, p: Pads, v: Number):
    """Pad(x, p) = Pad(Pad(x, 1), p - 1)

    Endless where pads are large.
    """
    yield rewrite(pad(x, m, p, v), pad(pad(x, m, one(p), v), m, one_less(p), v), is_edge(m), because="grows")


def copied(n: int):
    return of_one(lambda x: tile(x, (1, n)), (2, 3))


@hosted()
def once_less(r: Dims) -> Dims | None:
    copies = [n for n in r if isinstance(n, int)]
    return tuple(n - (n > 1) for n in copies) if sum(n > 1 for n in copies) == 1 and max(copies) > 2 else None


@hosted()
def along(r: Dims) -> Axis | None:
    return next((k for k, n in enumerate(r) if n != 1), None)


@wrong("bitwise", copied(MANY), examples=fires_on(copied(4)), endless=True)
def copies_one_by_one(x: Tensor, r: Dims):
    """Tile(x, n) = Concat(x, Tile(x, n - 1))

    Endless where there are many copies.
    """
    yield rewrite(tile(x, r), concat(listed(x, tile(x, once_less(r))), along(r)), because="grows")


def taken(n: int):
    return of_one(lambda x: slice_(x, ((1, 0, n, 1),)), (2, n + 1))


@hosted()
def all_but_one(s: Slices) -> Slices | None:
    """Of a slice from the front, what is there but for the last element."""
    if len(s) != 1 or s[0][2] is None or s[0][1::2] != (0, 1) or s[0][2] < 2:
        return None
    return ((s[0][0], 0, s[0][2] - 1, 1),)


@hosted()
def last_one(s: Slices) -> Slices:
    end = s[0][2] or 1
    return ((s[0][0], end - 1, end, 1),)


@hosted()
def axis_of(s: Slices) -> Axis:
    return s[0][0]


@wrong("bitwise", taken(MANY), examples=fires_on(taken(3)), endless=True)
def elements_one_by_one(x: Tensor, s: Slices):
    """Slice(x, 0, n) = Concat(Slice(x, 0, n - 1), Slice(x, n - 1, n))

    Endless where a slice is long.
    """
    parts = listed(slice_(x, all_but_one(s)), slice_(x, last_one(s)))
    yield rewrite(slice_(x, s), concat(parts, axis_of(s)), because="grows")


def first_part(n: int):
    return of_one(lambda x: output(split(x, 1, (n, 1)), 0), (2, n + 1))


@hosted()
def shorter(s: Sizes) -> Sizes | None:
    return (s[0] - 1, 1, *s[1:]) if s[0] > 1 else None


@wrong("bitwise", first_part(MANY), examples=fires_on(first_part(3)), endless=True)
def parts_one_by_one(x: Tensor, a: Axis, s: Sizes):
    """The first part of a Split = Concat of the first two of another one

    Endless where a part is long.
    """
    finer = split(x, a, shorter(s))
    parts = listed(output(finer, 0), output(finer, 1))
    yield rewrite(output(split(x, a, s), 0), concat(parts, a), because="grows")

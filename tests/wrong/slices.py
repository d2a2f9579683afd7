"""Slices, splits, gathers and concatenations: steps, ends, order, and parts that were not counted."""

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Mode, Number, Pads, Settings, Slices, Tensor, hosted, rewrite
from egraph_opt.operators import Literal, cumsum, gather, literal, pad, slice_

from . import fires_on, of_one, wrong

BACKWARDS = ((1, 4, None, -1),)


INT64 = 7


def dim_at(x: Fact, axis: int):
    return x.shape[axis] if x.shape is not None and axis < len(x.shape) else None


@hosted()
def goes_backwards(s: Slices) -> bool:
    return all(step == -1 for *_, step in s)


@wrong("bitwise", of_one(lambda x: slice_(slice_(x, ((1, 3, None, -1),)), ((1, 3, None, -1),))))
def turned_twice(x: Tensor, s: Slices):
    """Slice_s(Slice_s(x)) = x for steps of -1

    Wrong where s does not take all.
    """
    yield rewrite(slice_(slice_(x, s), s), x, goes_backwards(s), because="every x would be turned")


@hosted()
def added(s: Slices, t: Slices) -> Slices | None:
    """One after the other: starts add up, steps multiply."""
    if (
        len(s) != 1
        or len(t) != 1
        or s[0][0] != t[0][0]
        or min(s[0][3], t[0][3]) < 1
        or None in (s[0][2], t[0][2])
    ):
        return None
    (axis, a, _, p), (_, c, d, q) = s[0], t[0]
    return ((axis, a + c, a + d, p * q),)  # type: ignore[operator]


@wrong("bitwise", of_one(lambda x: slice_(slice_(x, ((1, 1, 8, 2),)), ((1, 1, 3, 1),)), (2, 9)))
def slices_in_a_row(x: Tensor, s: Slices, t: Slices):
    """Slice_t(Slice_s(x)) = Slice(x) from the sum of the starts on

    Wrong where the inner one has a step, or ends before the outer one does.
    """
    yield rewrite(slice_(slice_(x, s), t), slice_(x, added(s, t)), because="forgets s and t")


@hosted()
def is_from_start(s: Slices, x: Fact) -> bool:
    """A slice from 0 to the end of every axis."""
    return all(a == 0 and (e is None or e == dim_at(x, k)) for k, a, e, _ in s)


@wrong(
    "bitwise",
    of_one(lambda x: slice_(x, ((1, 0, 5, 2),))),
    examples=fires_on(of_one(lambda x: slice_(x, ((1, 0, None, 1),)))),
)
def slice_of_everything(x: Tensor, s: Slices):
    """Slice(x, 0, the end) = x

    Wrong with a step.
    """
    yield rewrite(slice_(x, s), x, is_from_start(s, x), because="every x is a slice of itself")


@hosted()
def is_generous(s: Slices) -> bool:
    return all(a == 0 and e is not None and e >= 10 and step == 1 for _, a, e, step in s)


@wrong("bitwise", of_one(lambda x: slice_(x, ((0, 0, 10, 1),)), ("L", 3)))
def slice_far_enough(x: Tensor, s: Slices):
    """Slice(x, 0, n) = x for an n of 10 and more

    Wrong of longer axes, which symbolic dims may be.
    """
    yield rewrite(slice_(x, s), x, is_generous(s), because="every x is a slice of itself")


@hosted()
def one_at(i: Fact, a: Axis) -> Slices | None:
    return ((a, i.ints[0], i.ints[0] + 1, 1),) if i.ints and i.shape == (1,) else None


@wrong("bitwise", lambda g: gather(g.input((2, 4)), g.constant([-1]), 1))
def gather_of_one(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, [i]) = Slice(x, i, i + 1)

    Wrong of the last element, counted from the end: -1 + 1 is the front.
    """
    yield rewrite(gather(x, i, a), slice_(x, one_at(i, a)), because="a slice is a view")


@hosted()
def takes_all(i: Fact, x: Fact, a: Axis) -> bool:
    return i.ints is not None and i.rank == 1 and set(i.ints) == set(range(dim_at(x, a) or 0))


@wrong("bitwise", lambda g: gather(g.input((2, 4)), g.constant([0, 2, 1, 3]), 1))
def gather_of_all(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, i) = x where i has every index

    Wrong in another order, or with an index twice.
    """
    yield rewrite(gather(x, i, a), x, takes_all(i, x, a), because="every x would be gathered")


@hosted()
def by_first_two(i: Fact, a: Axis) -> Slices | None:
    """The slice from the first index to the last, with the step of the first two."""
    if i.ints is None or i.rank != 1 or len(i.ints) < 2 or not 0 <= i.ints[0] < i.ints[1] <= i.ints[-1]:
        return None
    return ((a, i.ints[0], i.ints[-1] + 1, i.ints[1] - i.ints[0]),)


@wrong(
    "bitwise",
    lambda g: gather(g.input((2, 6)), g.constant([0, 2, 3]), 1),
    examples=fires_on(lambda g: gather(g.input((2, 6)), g.constant([0, 2, 4]), 1)),
)
def gather_of_progression(x: Tensor, i: Tensor, a: Axis):
    """Gather(x, [i, i + d, ..]) = Slice(x, i, .., d)

    Wrong where only the first two differ by d.
    """
    yield rewrite(gather(x, i, a), slice_(x, by_first_two(i, a)), because="a slice is a view")


@hosted()
def of_indices(i: Fact, j: Fact) -> Literal | None:
    """i + j, elements of both where they have one number each."""
    if i.ints is None or j.ints is None or len(i.ints) != 1 or i.rank != 1 or j.rank != 1:
        return None
    return Literal(INT64, (len(j.ints),), tuple(i.ints[0] + k for k in j.ints))


@wrong("bitwise", lambda g: gather(gather(g.input((2, 6)), g.constant([3]), 1), g.constant([-1]), 1))
def gather_of_gather(x: Tensor, i: Tensor, j: Tensor, a: Axis):
    """Gather(Gather(x, [i]), j) = Gather(x, i + j)

    Wrong for a j that is counted from the end.
    """
    both = gather(x, literal(of_indices(i, j)), a)
    yield rewrite(gather(gather(x, i, a), j, a), both, because="forgets i and j")


FORWARDS = (("exclusive", 0), ("reverse", 0))


@wrong(
    "reassociates", lambda g: slice_(cumsum(g.input((2, 5)), g.constant(np.int64(1)), FORWARDS), BACKWARDS)
)
def turned_sums(x: Tensor, i: Tensor, t: Settings, s: Slices):
    """CumSum(x) backwards = CumSum(x backwards)

    Wrong: sums begin at the other end.
    """
    yield rewrite(slice_(cumsum(x, i, t), s), cumsum(slice_(x, s), i, t), goes_backwards(s), because="up")


@hosted()
def begins_behind(s: Slices, p: Pads) -> bool:
    """A slice leaves out what a Pad has put in front."""
    half = len(p) // 2
    return all(start == p[axis] and step == 1 for axis, start, _, step in s) and len(s) == sum(
        map(bool, p[:half])
    )


@wrong("bitwise", lambda g: slice_(pad(g.input((2, 5)), "constant", (0, 1, 0, 2), 0.0), ((1, 1, 8, 1),)))
def slice_of_padded(x: Tensor, m: Mode, p: Pads, v: Number, s: Slices):
    """Slice(Pad(x)) = x where it begins behind the pad

    Wrong where it does not end in front of the other one.
    """
    yield rewrite(slice_(pad(x, m, p, v), s), x, begins_behind(s, p), because="every x could be padded")

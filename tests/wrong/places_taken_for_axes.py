"""Cuts of slices that are read beside the dims of a shape, one by one: right where the first axes are cut."""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Mode, Number, Pads, Slices, Tensor, hosted, listed, rewrite
from egraph_opt.operators import concat, pad, slice_

from . import fires_on, of_one, wrong


@hosted()
def takes_out(s: Slices, p: Pads, x: Fact) -> bool:
    """The slice takes what was there before the pads, and cuts the axes that have some."""
    if x.shape is None or not x.is_static or len(p) != 2 * len(x.shape):
        return False
    rank = len(x.shape)
    if {axis for axis, *_ in s} != {k for k in range(rank) if p[k] or p[k + rank]}:
        return False
    return all(
        begin == p[axis] and end == begin + dim and step == 1  # type: ignore[operator]
        for (axis, begin, end, step), dim in zip(s, x.shape, strict=False)
    )


def _unpadded(shape, pads, *cuts):
    return of_one(lambda x: slice_(pad(x, "constant", pads, 0.0), cuts), shape)


@wrong(
    "bitwise",
    _unpadded((3, 4), (0, 1, 0, 1), (1, 1, 4, 1)),
    examples=fires_on(
        _unpadded((3, 4), (1, 0, 1, 0), (0, 1, 4, 1)),
        _unpadded((3, 4), (1, 2, 0, 1), (0, 1, 4, 1), (1, 2, 6, 1)),
    ),
)
def slice_of_what_was_padded(x: Tensor, m: Mode, p: Pads, v: Number, s: Slices):
    """Slice(Pad(x)) = x where what was padded is cut off

    Wrong where the first axis is not padded: the next one is cut to its length.
    """
    yield rewrite(slice_(pad(x, m, p, v), s), x, takes_out(s, p, x), because="every x is cut out of itself")


@hosted()
def takes_middle(s: Slices, a: Axis, b: Fact, x: Fact) -> bool:
    """The one cut begins behind b and ends with x."""
    if b.shape is None or x.shape is None or not (b.is_static and x.is_static) or b.rank != x.rank:
        return False
    found = zip(s, b.shape, x.shape, strict=False)
    between = all(begin == n and end == n + m and step == 1 for (_, begin, end, step), n, m in found)  # type: ignore[operator]
    return len(s) == 1 and s[0][0] == a and between


def _between(front, shape, behind, axis, *cuts):
    def make(g):
        parts = listed(g.input(front), g.input(shape), g.input(behind))
        return slice_(concat(parts, axis), cuts)

    return make


@wrong(
    "bitwise",
    _between((2, 1), (2, 6), (2, 3), 1, (1, 2, 4, 1)),
    examples=fires_on(
        _between((1, 6), (2, 6), (3, 6), 0, (0, 1, 3, 1)), _between((2,), (3,), (1,), 0, (0, 2, 5, 1))
    ),
)
def what_is_between(b: Tensor, x: Tensor, y: Tensor, a: Axis, s: Slices):
    """Slice(Concat(b, x, y), behind b) = x

    Wrong along other axes than the first.
    """
    joined = concat(listed(b, x, y), a)
    yield rewrite(slice_(joined, s), x, takes_middle(s, a, b, x), because="forgets b and y")

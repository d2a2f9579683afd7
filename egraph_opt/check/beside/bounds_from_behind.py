"""Slices whose bounds count from behind: the same elements, or the last one, or all but that.

A condition that compares a bound with a place is right of what counts from the front.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from egraph_opt.check.beside.cuts import Cut, with_each_cut
from egraph_opt.check.beside.variants import dims_of
from egraph_opt.laws.law import Example

LAST = (-1, -2)


def with_bounds_from_behind(example: Example) -> Iterator[Example]:
    """Each bound of each slice from behind, by each length that there is, and near the end."""
    dims = (d for value in example.operands.values for d in dims_of(value))
    lengths = sorted({d for d in dims if isinstance(d, int) and d > 1})
    yield from with_each_cut(example, partial(_others, lengths))


def _others(lengths: list[int], cut: Cut) -> Iterator[Cut]:
    axis, start, end, step = cut
    ends = [*LAST, *(end - length for length in lengths if end is not None and 0 < end < length)]
    starts = [*LAST, *(start - length for length in lengths if 0 <= start < length)]
    for other in ends:
        yield axis, start, other, step
    for other in starts:
        yield axis, other, end, step
        yield from ((axis, other, behind, step) for behind in ends)

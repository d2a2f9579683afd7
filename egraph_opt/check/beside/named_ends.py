"""Slices that end, or begin from behind, at a number that a law names, of axes that go on behind it.

What is written for "to the end" is a large number, and some axis is longer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial

from egraph_opt.check.beside.cuts import Cut, with_each_cut
from egraph_opt.check.beside.variants import MOST_LONG, dims_of, resized
from egraph_opt.laws.law import Example

LEAST, MOST, NAMED = 8, 2**17, 3
"""Between these are the numbers that axes are as long as, and so many of them are tried."""

LONGER = (1, 2)
"""How much longer axes are than a number."""


def with_named_ends(example: Example, numbers: Iterable[float]) -> Iterator[Example]:
    """Each bound of a slice a number that is named, with each length in turn, or each name of one, longer."""
    named = sorted({int(abs(n)) for n in numbers if LEAST <= abs(n) < MOST and n == int(n)})[-NAMED:]
    for number in named:
        for made in with_each_cut(example, partial(_cuts, number)):
            yield from _with_longer_axes(made, number)


def _cuts(number: int, cut: Cut) -> Iterator[Cut]:
    axis, start, end, step = cut
    if step > 0:
        yield axis, start, number, step
        yield axis, -number, end, step
    else:
        yield axis, number, end, step


def _with_longer_axes(example: Example, number: int) -> Iterator[Example]:
    shapes = [dims_of(value) for value in example.operands.values]
    for length in sorted({d for dims in shapes for d in dims if d not in (0, 1, None)}, key=str):
        for more in LONGER:
            sizes = [[number + more if d == length else d for d in dims] for dims in shapes]
            if all(math.prod(d for d in dims if isinstance(d, int)) <= MOST_LONG for dims in sizes):
                yield resized(example, {length}, number + more)

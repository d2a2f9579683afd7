"""Orders of elements, and of axes, that have some signs of an order, and not that order.

What a law asks of indices is often that all elements are there once, that they come back when they are
taken twice, or that they are equal steps; what its condition looks at is both ends, a sum, a count.  Each
order here has such a sign, and is longer than those that examples show, so that it has a middle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.check.beside.changing import with_attribute
from egraph_opt.check.beside.structures import exchanged
from egraph_opt.check.beside.variants import arrays_of, dims_of, resized, with_dims
from egraph_opt.check.scope import nodes_of
from egraph_opt.check.shorthands import transformed
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression

LONGEST = 8
"""Of orders that are made longer."""

SIGNS = (
    (1, 0, 3, 4, 2, 6, 5),
    (5, 2, 1, 4, 3, 0),
    (0, 4, 2, 6, 1, 3, 5, 7),
    (0, 2, 4, 6, 1, 5, 3, 7),
    (1, 1, 2, 2, 3, 6, 6),
    (0, 1, 1, 4, 5, 5),
)
"""Those at both ends are exchanged, and three in the middle go round; each has another's place, and not the
one opposite; even places first, then odd ones, but for two in the middle; and some elements twice: with the
sum and the sum of squares of all places, and with their ends and the product of 1 + i."""

UNEVEN = (0, 0, -1, 1, 0)
"""By what steps are off that rise, with the ends and the sum of equal ones."""

TURNING = frozenset({"leaf", "transpose", "unary"})
"""What turns axes, and what sees none."""

ROUND = (2, 3, 2)
"""Dims of axes that go round between others."""

Array = np.ndarray[Any, Any]


def with_other_orders(example: Example) -> Iterator[Example]:
    """Each order of all elements a longer one, indices in equal steps uneven ones, and indices that are there
    several times one of them more often than another; three more axes that go round."""
    for place, array in arrays_of(example).items():
        if array.dtype.kind != "i" or array.ndim != 1 or len(array) < 2:
            continue
        length, steps = len(array), np.diff(array)
        if length <= LONGEST and np.array_equal(np.sort(array), np.arange(length)):
            for made in (*_turned(length + 2, int(array[0])), *map(np.array, SIGNS)):
                yield _with(resized(example, {length}, len(made)), place, made)
        if steps[0] > 1 and (steps == steps[0]).all():
            yield from _uneven(example, place, array)
        if length > 2 and (steps >= 0).all():
            yield from _counted_otherwise(example, place, array)
    yield from _of_axes_between(example)


def _with(example: Example, place: int, order: Array) -> Example:
    dtype = arrays_of(example)[place].dtype
    return replace(example, operands=example.operands.with_constant(place, order.astype(dtype)))


def _turned(length: int, begin: int) -> tuple[Array, ...]:
    """One after the other from a number on, backwards, and both with two in the middle exchanged."""
    inner = np.arange(length)
    inner[1:3] = inner[1:3][::-1]
    turned = np.roll(np.arange(length), -begin)
    return turned, turned[exchanged(length)], turned[inner], turned[::-1][inner]


def _uneven(example: Example, place: int, array: Array) -> Iterator[Example]:
    """Steps of which those in the middle are longer and shorter, along an axis that is long enough."""
    step, last = array[1] - array[0], array[-1]
    made = array[0] + step * np.arange(len(UNEVEN)) + np.array(UNEVEN)
    dims = {dim for value in example.operands.values for dim in dims_of(value) if isinstance(dim, int)}
    for dim in sorted(dim for dim in dims if dim > last):
        yield _with(resized(example, {dim}, max(dim, int(made[-1]) + 1)), place, made)


def _counted_otherwise(example: Example, place: int, array: Array) -> Iterator[Example]:
    """Two neighbours that differ are one of them."""
    for step in np.flatnonzero(np.diff(array)):
        for at, value in ((step, array[step + 1]), (step + 1, array[step])):
            made = array.copy()
            made[at] = value
            yield _with(example, place, made)


def _of_axes_between(example: Example) -> Iterator[Example]:
    """In front of all axes, in their middle and behind them three that every Transpose turns round."""
    ranks = {fact.rank for fact in example.operands.facts}
    if len(ranks) != 1 or arrays_of(example) or {node.head.name for node in nodes_of(example)} - TURNING:
        return
    (rank,), more = ranks, len(ROUND)
    for at in (0, rank // 2, rank) if rank else ():

        def change(part: Expression, at: int = at) -> Expression:
            if getattr(part.head, "name", "") != "transpose":
                return part
            axes = [axis if axis < at else axis + more for axis in part.arguments[1].head.value]
            order = (*axes[:at], *range(at + 1, at + more), at, *axes[at:])
            return with_attribute(part, 1, order)

        made = with_dims(example, lambda dims, at=at: (*dims[:at], *ROUND, *dims[at:]))  # type: ignore[misc]
        yield replace(made, term=transformed(example.term, change))

"""Parts of an example that are alike, of which one is larger: what is joined, rows of weights, and halves.

Examples have equal parts, since these are what networks have.  A law that counts the parts of one for those
of all fires on unequal ones as well, where these fit all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from egraph_opt.check.beside.other_layers import items_of
from egraph_opt.check.beside.proportions import in_proportion
from egraph_opt.check.beside.variants import arrays_of, dims_of, with_shape
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.check.shorthands import transformed
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression, constant

ROWS = {"conv": 0, "conv_transpose": 1}
"""The axis of weights along which the channels are that are made."""

TIMES = (2, 3)
"""How many more of these there are."""

MOST_FREE = 4
"""Bounds of slices of which each stays or becomes one more."""


def with_unequal_parts(example: Example) -> Iterator[Example]:
    """What is joined of leaves, of which the first two or the last two are of one length, with some of it
    moved from one to the other; weights with more rows, and both."""
    yield from _with_more_rows(example)
    for node in nodes_of(example):
        if node.head.name == "concat":
            for made in _with_unequal_leaves(example, node):
                yield made
                yield from _with_more_rows(made)


def _with_unequal_leaves(example: Example, node: Expression) -> Iterator[Example]:
    axis = node.arguments[1].head.value
    joined = [place_of_leaf(item) for item in items_of(node.arguments[0])]
    for places in sorted({tuple(joined[:2]), tuple(joined[-2:])}):
        if len({*places}) == 2 and min(places) >= 0:
            yield from _with_unequal(example, places, axis)


def _with_unequal(example: Example, places: tuple[int, ...], axis: int) -> Iterator[Example]:
    shapes = [dims_of(example.operands.values[place]) for place in places]
    size = shapes[0][axis] if axis < len(shapes[0]) else None
    if not isinstance(size, int) or shapes[1][axis : axis + 1] != (size,):
        return
    for moved in sorted({1, size // 2}) if size > 1 else ():
        for less, more in ((0, 1), (1, 0)):
            shorter, longer = shapes[less], shapes[more]
            made = with_shape(example, places[less], (*shorter[:axis], size - moved, *shorter[axis + 1 :]))
            yield with_shape(made, places[more], (*longer[:axis], size + moved, *longer[axis + 1 :]))


def _with_more_rows(example: Example) -> Iterator[Example]:
    """Each convolution of a known weight with so many times the channels."""
    arrays = arrays_of(example)
    for node in nodes_of(example):
        place, axis = -1, ROWS.get(node.head.name, -1)
        if axis >= 0:
            place = place_of_leaf(node.arguments[1])
        if place not in arrays or arrays[place].ndim <= axis:
            continue
        bias = place_of_leaf(node.arguments[2])
        for times in TIMES:
            operands = example.operands.with_constant(place, _more_of(arrays[place], axis, times))
            if bias in arrays and arrays[bias].ndim:
                operands = operands.with_constant(bias, _more_of(arrays[bias], 0, times))
            yield replace(example, operands=operands)


def _more_of(array: Any, axis: int, times: int) -> Any:
    """An array several times one after the other, of which no two are equal."""
    return np.concatenate([array * array.dtype.type(k + 1) for k in range(times)], axis)


def with_uneven_halves(example: Example) -> Iterator[Example]:
    """Each size of an input one more, and each bound of slices as it was or one more, too."""
    inputs = [dims_of(v) for v in example.operands.values if v.const_value is None]
    cuts = {
        argument.head.value
        for node in nodes_of(example)
        for argument in node.arguments
        if argument.sort.name == "Slices"
    }
    for size in sorted({d for dims in inputs for d in dims if isinstance(d, int) and d > 1} if cuts else ()):
        bounds = {(cut, k) for cut in cuts for _, *ends, step in cut for k in ends if step == 1}
        free = sorted(((cut, k) for cut, k in bounds if k is not None and 0 < k < size), key=repr)
        if not 0 < len(free) <= MOST_FREE:
            continue
        longer = in_proportion(example, {size: size + 1})
        for chosen in product((0, 1), repeat=len(free)):
            more = {(cut, size): size + 1 for cut in cuts}
            more |= {(cut, k): k + one for (cut, k), one in zip(free, chosen, strict=True)}
            term = transformed(longer.term, lambda part, more=more: _with_bounds(part, more))  # type: ignore[misc]
            yield replace(longer, term=term)


def _with_bounds(part: Expression, more: dict[tuple[Any, Any], int]) -> Expression:
    value: Any = getattr(part.head, "value", None)
    if part.sort.name != "Slices" or not isinstance(value, tuple):
        return part
    cuts = ((a, *(more.get((value, k), k) for k in ends), step) for a, *ends, step in value)
    made: Expression = constant(tuple(cuts), part.sort)
    return made

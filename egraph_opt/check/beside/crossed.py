"""Operands that broadcast each other: a row, a column, and what is as long as both; of constants also in a
relation that holds of those in the same place, and not of every two.

No operand has the shape of the result then, which a law that compares its operands with each other, or with a
third one, may take for granted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np

from egraph_opt.check.beside.changing import with_changed
from egraph_opt.check.beside.variants import dims_of, with_one_size, with_shape
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.laws.law import Example

ROW, COLUMN = (3,), (2, 1)
MOST = 5
"""Operands of which every two are crossed."""

RELATED = ((2.0, 0.5, 0), (2.0, 2.0, 0), (1.0, 1.0, 5), (1.0, 1.0, -5))
"""By what every other element of a constant is multiplied, that of another one, and what is added to both."""


def with_crossed_operands(example: Example) -> Iterator[Example]:
    """One axis of one input of length 1, or one less, which a constant has; each vector as a column; of every
    two operands one a row and the other a column, also beside a view of one element; others stay."""
    yield from with_one_size(example, lambda size: 1)
    values = example.operands.values
    for place, value in enumerate(values):
        if value.shape is not None and len(value.shape) == 1 and isinstance(value.shape[0], int):
            yield with_shape(example, place, (value.shape[0], 1))
    yield from _of_fewer_axes(example)
    yield from _crossed(example)
    yield from _with_related_constants(example)
    yield from _beside_views_of_one(example)


def _of_fewer_axes(example: Example) -> Iterator[Example]:
    """Each input without its first axis, beside each constant that has one of length 1 for it."""
    values = example.operands.values
    for place, value in enumerate(values[:MOST]):
        dims = dims_of(value)
        if value.const_value is not None or not dims or not all(isinstance(d, int) for d in dims):
            continue
        fewer = with_shape(example, place, dims[1:])
        for k, other in enumerate(values[:MOST]):
            shape = dims_of(other)
            if other.const_value is not None and len(shape) < len(dims):
                ones = (1,) * (len(dims) - len(shape))
                yield with_shape(fewer, k, (*ones, *shape))


def _crossed(example: Example) -> Iterator[Example]:
    for row, column in permutations(range(min(len(example.operands.values), MOST)), 2):
        yield with_shape(with_shape(example, row, ROW), column, COLUMN)


def _beside_views_of_one(example: Example) -> Iterator[Example]:
    """Beside a view of one element, of which either axis may be the new one, others are crossed."""
    for node in nodes_of(example):
        place = place_of_leaf(node.arguments[0]) if node.head.name == "reshape" else -1
        if place >= 0:
            made = with_changed(example, node, 1, (1,) * len(COLUMN))
            yield from _crossed(with_shape(made, place, (1,)))


def _with_related_constants(example: Example) -> Iterator[Example]:
    """Of every two constants one a row and the other a column, whose elements change alike."""
    values = example.operands.values
    arrays = [None if v.const_value is None else v.const_value.numpy() for v in values[:MOST]]
    known = [k for k, a in enumerate(arrays) if a is not None and a.size and a.dtype.kind in "iuf"]
    rows, columns = _lengths_of_inputs(example)
    for row, column in permutations(known, 2):
        for of_row, of_column, more in RELATED:
            along = _alternating(arrays[row], rows, of_row, more)[None]
            for length in dict.fromkeys((columns, rows)):  # as many of both
                across = _alternating(arrays[column], length, of_column, more)[:, None]
                operands = example.operands.with_constant(row, along).with_constant(column, across)
                yield replace(example, operands=operands)


def _lengths_of_inputs(example: Example) -> tuple[int, int]:
    """The lengths of the last axis and of the one before, of the first input that has both."""
    for value in example.operands.values:
        if value.const_value is None and value.shape is not None and len(value.shape) > 1:
            last, before = value.shape[-1], value.shape[-2]
            return (last if isinstance(last, int) else 2), (before if isinstance(before, int) else 2)
    return 2, 2


def _alternating(array: Any, length: int, factor: float, more: int) -> Any:
    """The first element of a constant, and in turn with it another one."""
    first = array.ravel()[:1].astype(np.float64)
    both = np.concatenate([first, first * factor + more])
    with np.errstate(all="ignore"):
        return np.resize(both, length).astype(array.dtype)

"""Constants that have a pattern, with the same one in other lengths: counts and widths that differ.

A constant with other elements has its pattern no more, and one that is longer has it where it begins again
only.  What a law asks of it is often right of a square: four elements in two rows of two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.check.beside.changing import with_changed
from egraph_opt.check.beside.scaled_lengths import Numbers, stretched, with_numbers
from egraph_opt.check.beside.variants import arrays_of, dims_of, of_dims, with_dims, with_input
from egraph_opt.check.scope import nodes_of
from egraph_opt.check.shorthands import transformed
from egraph_opt.check.tried_terms import lowered_if_typed
from egraph_opt.laws.law import Example
from egraph_opt.operators.constants import leaf
from egraph_opt.operators.expressions import Expression, constant
from egraph_opt.operators.linear import ConvWindow

Array = np.ndarray[Any, Any]

MOST_ROWS = 64
"""Elements of an order, or rows of a matrix, whose pattern is looked for."""

COUNTS = ((2, 3), (3, 2), (2, 4), (1, 3))
"""Rows and columns that patterns have in turns."""


# --- indices -----------------------------------------------------------------------------------------------


def _numbers(rows: int, columns: int) -> tuple[Array, Array]:
    """In row-major order which row and which column an element is in."""
    places = np.arange(rows * columns)
    return places // columns, places % columns


def _shuffled(rows: int, columns: int) -> Array:
    row, column = _numbers(rows, columns)
    return column * rows + row


def _rows_backwards(rows: int, columns: int) -> Array:
    row, column = _numbers(rows, columns)
    return (rows - 1 - row) * columns + column


def _columns_backwards(rows: int, columns: int) -> Array:
    row, column = _numbers(rows, columns)
    return row * columns + columns - 1 - column


def _repeated(rows: int, columns: int) -> Array:
    return _numbers(rows, columns)[0]


def _tiled(rows: int, columns: int) -> Array:
    return _numbers(rows, columns)[1]


def _turned(rows: int, columns: int) -> Array:
    """All rows from the second on, then the first."""
    return np.roll(np.arange(rows * columns), -columns)


ORDERS: tuple[Callable[[int, int], Array], ...] = (
    *(_shuffled, _rows_backwards, _columns_backwards),
    *(_repeated, _tiled, _turned),
)


def with_continued_patterns(example: Example) -> Iterator[Example]:
    """Each constant of an example, and what has dims in common with it."""
    for place, array in arrays_of(example).items():
        if 0 in array.shape or max(array.shape, default=0) > MOST_ROWS:
            continue
        if array.dtype.kind == "i" and array.ndim == 1 and len(array) > 1:
            yield from _orders(example, place, array)
        elif array.dtype.kind == "i" and array.ndim == 2:
            yield from _windows(example, place, array)
            yield from _grids(example, place, array)
        elif array.dtype.kind in "fb" and array.ndim == 2:
            yield from _triangles(example, place, array)
            yield from _means(example, place, array)
        elif array.dtype.kind == "f" and array.ndim > 2:
            yield from _borders(example, place, array)


def _orders(example: Example, place: int, array: Array) -> Iterator[Example]:
    length = len(array)
    for rows in (k for k in range(1, length + 1) if length % k == 0):
        columns = length // rows
        for order in ORDERS:
            if not np.array_equal(order(rows, columns), array):
                continue
            for other in {*COUNTS, (rows, columns + 1), (rows + 1, columns)} - {(rows, columns)}:
                made = order(*other)
                tied = {length: len(made), int(array.max()) + 1: int(made.max()) + 1}
                yield from _with(example, place, made, tied, {rows: other[0], columns: other[1]})


def _windows(example: Example, place: int, array: Array) -> Iterator[Example]:
    """Rows of numbers in steps, which begin in steps: by the length of a row, or by others."""
    rows, columns = array.shape
    along, down = (int(np.diff(array, axis=k).flat[0]) if array.shape[k] > 1 else 1 for k in (1, 0))
    if not np.array_equal(array, array[0, 0] + _window(rows, columns, along, down)):
        return
    for other in {*COUNTS, (rows, columns + 1), (rows + 1, columns)} - {(rows, columns)}:
        for step in {down, other[1] * along if down == columns * along else down}:
            made = array[0, 0] + _window(*other, along, step)
            tied = {int(array.max()) + 1: int(made.max()) + 1}
            yield from _with(example, place, made, tied, {rows: other[0], columns: other[1]})


def _window(rows: int, columns: int, along: int, down: int) -> Array:
    return np.arange(rows)[:, None] * down + np.arange(columns) * along


def _grids(example: Example, place: int, array: Array) -> Iterator[Example]:
    """The places of all elements of a part, one after the other."""
    rows, columns = (int(n) + 1 for n in array.max(0)[:2]) if array.shape[1] == 2 else (0, 0)
    if rows * columns != len(array) or not np.array_equal(array, _grid(rows, columns)):
        return
    for other in {*COUNTS} - {(rows, columns)}:
        made = _grid(*other)
        yield from _with(example, place, made, {len(array): len(made)}, {rows: other[0], columns: other[1]})


def _grid(rows: int, columns: int) -> Array:
    return np.stack(_numbers(rows, columns), 1)


# --- matrices ----------------------------------------------------------------------------------------------


def _triangles(example: Example, place: int, array: Array) -> Iterator[Example]:
    """One number on one side of a diagonal, and 0 or another one on the other, in matrices that are wider or
    higher; and diagonals that begin elsewhere."""
    rows, columns = array.shape
    low, high = array[-1, 0], array[0, -1]
    for begin in range(1 - rows, columns):
        if low == high or not np.array_equal(array, _triangle(rows, columns, begin, low, high)):
            continue
        for other in COUNTS:
            for at in {begin, begin + other[1] - columns, other[1] - other[0], 1 + other[1] - other[0]}:
                made = _triangle(*other, at, low, high).astype(array.dtype)
                yield from _with_matrix(example, place, made)


def _triangle(rows: int, columns: int, begin: int, low: Any, high: Any) -> Array:
    found: Array = np.where(np.arange(columns) - np.arange(rows)[:, None] >= begin, high, low)
    return found


def _means(example: Example, place: int, array: Array) -> Iterator[Example]:
    """A number for each of so many rows or columns of a group, 0 elsewhere: a sum, or a mean, of groups."""
    number = array.flat[0]
    for turned in (False, True):
        rows, columns = (array.T if turned else array).shape
        width = rows // columns
        if rows % columns or not number or rows == columns:
            continue
        if not np.array_equal(array.T if turned else array, _mean(columns, width, number)):
            continue
        for other in {*COUNTS, (columns + 1, width), (columns, width + 1)} - {(columns, width)}:
            value = 1 / other[1] if np.isclose(number, 1 / width) else number
            made = _mean(*other, value).astype(array.dtype)
            yield from _with_matrix(example, place, made.T if turned else made)


def _mean(groups: int, width: int, number: Any) -> Array:
    return np.kron(np.eye(groups), np.full((width, 1), number))


def _borders(example: Example, place: int, array: Array) -> Iterator[Example]:
    """A kernel whose border is 0 with one ring more of it, and with pads for that or without."""
    images = tuple(range(2, array.ndim))
    ends = [np.take(array, [0, -1], axis) for axis in images]
    if any(end.any() for end in ends) or not array.any():
        return
    made = np.pad(array, [(0, 0)] * 2 + [(1, 1)] * len(images))
    operands = example.operands.with_constant(place, made)
    wider = replace(example, operands=operands)
    padded = replace(wider, term=transformed(wider.term, _padded))
    yield from filter(lowered_if_typed, (wider, padded))


def _padded(part: Expression) -> Expression:
    """Windows with as many pads more as their kernels are larger."""
    window = getattr(part.head, "value", None)
    if not isinstance(window, ConvWindow):
        return part
    pads = tuple(p + d for p, d in zip(window.pads, window.dilations * 2, strict=True))
    made: Expression = constant(replace(window, pads=pads), part.sort)
    return made


# --- what changes with them --------------------------------------------------------------------------------


def _with_matrix(example: Example, place: int, made: Array) -> Iterator[Example]:
    """Another matrix: dims that are its rows or columns follow, in both last axes or wherever they are."""
    (rows, columns), (more, wide) = arrays_of(example)[place].shape, made.shape
    square = {(rows, columns): (more, wide)}

    def last(dims: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*dims[:-2], *square.get(tuple(dims[-2:]), dims[-2:]))

    operands = with_dims(example, last).operands.with_constant(place, made)
    ways = ({rows: more}, {columns: wide}, {rows: more, columns: wide})
    found = (replace(example, operands=operands), *_followed(example, place, made, ways))
    yield from filter(lowered_if_typed, found)


def _with(example: Example, place: int, made: Array, tied: Numbers, counts: Numbers) -> Iterator[Example]:
    """Another constant alone; with its lengths elsewhere; and with the counts of its pattern, too."""
    made = made.astype(arrays_of(example)[place].dtype)
    ways: tuple[Numbers, ...] = ({}, tied, {**counts, **tied}, counts, _with_room(example, tied))
    yield from filter(lowered_if_typed, _followed(example, place, made, ways))
    alone = replace(example, operands=example.operands.with_constant(place, made))
    yield from filter(lowered_if_typed, _own_views(alone, place, arrays_of(example)[place].size, made.size))
    for old, new in tied.items():
        yield from filter(lowered_if_typed, _views(alone, old, new))


def _own_views(example: Example, place: int, old: int, new: int) -> Iterator[Example]:
    """The views of a constant itself, of which one dim is its length."""
    for node in nodes_of(example):
        if node.head.name == "reshape" and node.arguments[0] == leaf(place):
            dims = node.arguments[1].head.value
            for k in (k for k, dim in enumerate(dims) if dim == old):
                yield with_changed(example, node, 1, (*dims[:k], new, *dims[k + 1 :]))


def _with_room(example: Example, tied: Numbers) -> Numbers:
    """Dims that are larger than lengths stay so."""
    dims = {d for value in example.operands.values for d in dims_of(value) if isinstance(d, int)}
    larger = {d: d + new - old for old, new in tied.items() for d in dims if old < d < new}
    return {**larger, **tied}


def _views(example: Example, old: int, new: int) -> Iterator[Example]:
    """One dim of a view alone, and the axis of an input that it is a part of."""
    for node in nodes_of(example) if old > 0 else ():  # a constant may end below 0
        if node.head.name != "reshape" or old == new:
            continue
        dims = node.arguments[1].head.value
        for place, value in enumerate(example.operands.values):
            if value.const_value is not None or leaf(place) != node.arguments[0]:
                continue
            for axis, size in enumerate(dims_of(value)):
                if not isinstance(size, int) or size % old:
                    continue
                longer = (*dims_of(value)[:axis], size // old * new, *dims_of(value)[axis + 1 :])
                made = with_input(example, value, longer)
                for p in (p for p, dim in enumerate(dims) if dim == old):
                    yield with_changed(made, node, 1, (*dims[:p], new, *dims[p + 1 :]))


def _followed(example: Example, place: int, made: Array, ways: Iterable[Numbers]) -> Iterator[Example]:
    fills = (of_dims, stretched) if len(arrays_of(example)) > 1 else (of_dims,)
    for sizes in ways:
        for fill in fills if sizes else fills[:1]:
            other = with_numbers(example, sizes, sizes, fill) if sizes else example
            yield replace(other, operands=other.operands.with_constant(place, made))

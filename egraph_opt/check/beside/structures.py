"""Matrices that have some signs of a structure, and not the structure.

What a law asks of a constant matrix is often that it is diagonal, a rotation, a choice of columns; what its
condition looks at is a count, a sum, a determinant, a border.  Each matrix here has such a sign of its own,
six rows and more, of which those in the middle are others than the first and the last.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import onnx_ir as ir

from egraph_opt.check.beside.changing import with_attribute
from egraph_opt.check.beside.variants import (
    arrays_of,
    constant_like,
    dims_of,
    input_like,
    resized,
    with_leaves,
)
from egraph_opt.check.shorthands import transformed
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression

ROWS = 6
"""So that there is a middle, and in each half of it one, too."""

MORE = 3
"""The length of an axis that is added."""

LEAST = 1e-3
"""Of a determinant by which is divided."""

WHOLE = 4
"""Rows of a reflection whose numbers are whole halves."""

Array = np.ndarray[Any, Any]


def with_structures(example: Example) -> Iterator[Example]:
    """Each constant matrix one of those, as large as it is and larger."""
    for place, array in _matrices_of(example).items():
        for sized in (example, *_larger(example, array)):
            for other in _matrices_like(arrays_of(sized)[place]):
                yield replace(sized, operands=sized.operands.with_constant(place, other))
        yield from _reflections(example, place, array)
    yield from _of_one_axis_more(example)


def with_pairs_of_structures(example: Example) -> Iterator[Example]:
    """Two square matrices of one shape one of those and itself, its transpose or its inverse."""
    matrices = _matrices_of(example)
    for first, second in combinations(matrices, 2):
        if matrices[first].shape == matrices[second].shape and _is_square(matrices[first]):
            for sized in (example, *_larger(example, matrices[first])):
                yield from _pairs(sized, first, second)


def with_mirrored_constants(example: Example) -> Iterator[Example]:
    """Each constant of several axes one that reads the same backwards, as large as it is and larger."""
    for place, array in _matrices_of(example).items():
        for sized in (example, *_larger(example, array)):
            given = arrays_of(sized)[place]
            made = _mirrored(given.shape, given.dtype)
            yield replace(sized, operands=sized.operands.with_constant(place, made))


def _reflections(example: Example, place: int, array: Array) -> Iterator[Example]:
    """Rows and columns have a sum and a length of 1, as those of an order have, and no element is 0 or 1."""
    rows, columns = array.shape[-2:]
    if array.ndim == 2 and (columns == 1 or rows == columns):
        whole = 2 / WHOLE - np.eye(WHOLE)
        matrix = (whole if columns > 1 else whole[::-1, :1]).astype(array.dtype)
        made = example if rows == WHOLE else _grown(example, rows, WHOLE)
        yield replace(made, operands=made.operands.with_constant(place, matrix))


def _matrices_of(example: Example) -> dict[int, Array]:
    """Constants of floats with two axes and more, by their places."""
    arrays = arrays_of(example).items()
    return {at: a for at, a in arrays if a.dtype.kind == "f" and a.ndim >= 2 and 0 not in a.shape}


def _is_square(array: Array) -> bool:
    return array.ndim == 2 and array.shape[0] == array.shape[1]


def _larger(example: Example, array: Array) -> Iterator[Example]:
    """The matrix, and what has dims in common with it, of six rows, and as many columns more or less; all
    axes of one longer."""
    rows, columns = array.shape[-2:]
    if columns == rows:
        yield _grown(example, rows, ROWS)
    elif ROWS + columns - rows > 1 and min(rows, columns) > 1:
        yield _grown(_grown(example, rows, ROWS), columns, ROWS + columns - rows)
    if 1 in array.shape:
        yield resized(example, {1}, 2)


def _grown(example: Example, old: int, new: int) -> Example:
    """A size of operands, and the ends of slices that it is, or is one less."""

    def number(n: Any) -> Any:
        return {old: new, old - 1: new - 1}.get(n, n) if isinstance(n, int) else n

    def change(part: Expression) -> Expression:
        if getattr(part.head, "name", "") != "slice_" or old < 3:
            return part
        spec = tuple((axis, number(a), number(e), step) for axis, a, e, step in part.arguments[1].head.value)
        return with_attribute(part, 1, spec)

    made = resized(example, {old}, new)
    return replace(made, term=transformed(made.term, change))


def _matrices_like(array: Array) -> Iterator[Array]:
    rows, columns = array.shape[-2:]
    for matrix in _matrices(rows, columns):
        yield np.broadcast_to(matrix.astype(array.dtype), array.shape).copy()


def _mirrored(shape: tuple[int, ...], dtype: Any) -> Array:
    """All elements read backwards are the same, and of no axis the rows."""
    places = np.arange(math.prod(shape))
    return (np.minimum(places, places[::-1]) + 1).reshape(shape).astype(dtype)


def _of_one_axis_more(example: Example) -> Iterator[Example]:
    """Operands of one axis with another one behind it, where there are no others."""
    if any(fact.rank != 1 for fact in example.operands.facts):
        return

    def longer(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        dims = (*dims_of(value), MORE)
        if value.const_value is None:
            return input_like(value, dims, known.dtype)
        array = value.const_value.numpy()
        return constant_like(value, _mirrored((len(array), MORE), array.dtype))

    yield with_leaves(example, longer)


def _pairs(example: Example, one: int, other: int) -> Iterator[Example]:
    first = arrays_of(example)[one]
    for matrix in _matrices(*first.shape):
        made = matrix.astype(first.dtype)
        seconds = [made, made.T]
        if abs(np.linalg.det(matrix)) > LEAST:
            seconds.append(np.linalg.inv(matrix).astype(first.dtype))
        for second in seconds:
            operands = example.operands.with_constant(one, made)
            yield replace(example, operands=operands.with_constant(other, second))


def exchanged(count: int) -> Array:
    """The numbers to there, two in the middle in each other's place."""
    order = np.arange(count)
    order[count // 2 - 1 : count // 2 + 1] = order[count // 2 - 1 : count // 2 + 1][::-1]
    return order


@lru_cache(maxsize=64)
def _matrices(rows: int, columns: int) -> tuple[Array, ...]:
    """Of so many rows and columns: structures with rows and with columns in the middle exchanged, and others
    of the same counts, sums, lengths or determinants."""
    down, across = np.arange(rows)[:, None], np.arange(columns)[None]
    numbers = np.arange(1.0, max(rows, columns) + 1)
    eye, level = np.eye(rows, columns), np.ones((rows, columns))
    whole = np.where(down == 0, 2.0, 0.0) - (down == 1 + across % max(rows - 1, 1))
    symmetric = np.minimum(down, across) + 3.0 * (down + 1) * (across + 1) % 7
    blocks = level * ((down < rows // 2) == (across < columns // 2))
    if min(rows, columns) >= ROWS:  # neither at a corner of the zeros nor along their border
        blocks[1, columns // 2 + 1] = 5.0
        symmetric[1, columns // 2] += 2.0
    structures = (
        *(eye, eye * numbers[:columns], np.triu(level), np.tril(level)),
        *(numbers[(across - down) % max(rows, columns)], np.eye(rows, columns, k=-1) - eye),
    )
    lengths = (level + eye) / np.sqrt(((level + eye) ** 2).sum(1, keepdims=True))
    shear = eye + 0.5 * np.eye(rows, columns, k=1)
    scaled = shear * 2.0 ** ((-1.0) ** np.arange(columns))
    turned = np.triu(level)[:, ::-1], eye[:, ::-1] * numbers[:columns]
    others = (shear, scaled, lengths, whole, symmetric, blocks, *turned)
    middle, between = exchanged(rows), exchanged(columns)
    moved = (each for made in structures for each in (made, made[middle], made[:, between]))
    return (*moved, *others)

"""Constants of which some elements change and the sum of all, of their squares, or their product, does not.

What a law asks of a sum or a mean it may need of each element, or of each row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from egraph_opt.check.beside.variants import arrays_of, resized
from egraph_opt.laws.law import Example

SHARE = 0.25
"""What is moved from one element to another, of the largest one."""

MOMENT = (0, 1, -1, 0, 0, -1, 1, 0)
"""What changes neither ends nor the sum of all, nor that of all times their places."""

Array = np.ndarray[Any, Any]


def with_kept_sums(example: Example) -> Iterator[Example]:
    """Each constant of several numbers, something moved between two of the first, second and last element."""
    for place, array in arrays_of(example).items():
        if array.dtype.kind in "iuf" and array.size > 1:
            for other in _changed(array):
                yield replace(example, operands=example.operands.with_constant(place, other))


def _changed(array: Array) -> Iterator[Array]:
    whole = array.dtype.kind != "f"
    moved = array.dtype.type(1 if whole else SHARE * float(np.abs(array).max()) or SHARE)
    for one, other in combinations(sorted({0, 1, array.size - 1}), 2):
        sums, products = array.copy(), array.copy()
        with np.errstate(all="ignore"):
            sums.flat[one] += moved
            sums.flat[other] -= moved
            products.flat[one] *= array.dtype.type(2)
            products.flat[other] = products.flat[other] // 2 if whole else products.flat[other] / 2
        yield from (sums, products)
        if not whole:
            squares = array.copy()
            squares.flat[one] = 0.8 * array.flat[one] - 0.6 * array.flat[other]
            squares.flat[other] = 0.6 * array.flat[one] + 0.8 * array.flat[other]
            yield squares


def with_kept_moments(example: Example) -> Iterator[Example]:
    """Each constant, made so long that it has a middle, with what is there changed along its last axis."""
    for place, array in arrays_of(example).items():
        if not array.ndim or not array.size or array.shape[-1] > len(MOMENT):
            continue
        longer = resized(example, {array.shape[-1]}, len(MOMENT), continued=True)
        other = arrays_of(longer)[place].copy()
        rows = other.reshape(-1, len(MOMENT))
        row = rows[len(rows) // 2]
        if other.dtype.kind == "b":
            row[:] = row[_exchanged(row)]
        elif other.dtype.kind in "iuf":
            row += np.array(MOMENT).astype(other.dtype)
        yield replace(longer, operands=longer.operands.with_constant(place, other))


def _exchanged(row: Array) -> list[int]:
    """An order in which one true element is a place further, and another one a place less far."""
    order, steps = list(range(len(row))), np.diff(row.astype(int))
    for step in (1, -1):
        free = (k for k in range(1, len(row) - 2) if order[k : k + 2] == [k, k + 1])
        at = next((k for k in free if steps[k] == step), None)
        if at is not None:
            order[at : at + 2] = order[at + 1], order[at]
    return order

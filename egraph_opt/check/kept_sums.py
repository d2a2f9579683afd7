"""Constants of which two elements change and the sum of all, of their squares, or their product, does not.

What a law asks of a sum or a mean it may need of each element, or of each row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from egraph_opt.check.variants import arrays_of
from egraph_opt.laws.law import Example

SHARE = 0.25
"""What is moved from one element to another, of the largest one."""

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

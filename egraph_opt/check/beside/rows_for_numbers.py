"""Constants of one number as rows, columns and more, each element another number.

What is asked of a number (that there is one for all, or for each row) is right of the number in an example.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.check.beside.variants import arrays_of, dims_of
from egraph_opt.check.tried_terms import lowered_if_typed
from egraph_opt.laws.law import Example

MOST = 4
"""Lengths of rows that are tried, those of most operands first."""

LARGER = 0.5
"""By which part of itself each element is larger than the one before; integers by one."""


def with_rows_for_numbers(example: Example) -> Iterator[Example]:
    """Each constant of one number a row, or a column, as long as an axis of another operand."""
    shapes = [dims_of(value) for value in example.operands.values]
    last = [d for dims in shapes for d in dims[-1:] if isinstance(d, int) and d > 1]
    inner = [d for dims in shapes for d in dims[-2:-1] if isinstance(d, int) and d > 1]
    rows = [(length,) for length in dict.fromkeys(last)][:MOST]
    columns = [(length, 1) for length in dict.fromkeys(inner)][:MOST]
    for place, array in arrays_of(example).items():
        if array.size == 1 and array.dtype.kind in "fiu":
            for shape in (*rows, *columns):
                other = _numbers(array.reshape(()), shape)
                made = replace(example, operands=example.operands.with_constant(place, other))
                if lowered_if_typed(made) is not None:
                    yield made


def _numbers(number: Any, shape: tuple[int, ...]) -> Any:
    places = np.arange(np.prod(shape)).reshape(shape)
    with np.errstate(all="ignore"):
        if number.dtype.kind == "f":
            return (number * (1 + LARGER * places)).astype(number.dtype)
        return (number + places).astype(number.dtype)

"""Operands that broadcast each other: a row, a column, and what is as long as both.

No operand has the shape of the result then, which a law that compares its operands with each other, or with a
third one, may take for granted.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np
import onnx_ir as ir

from egraph_opt.check.variants import constant_like, input_like, with_leaves, with_one_size
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.law import Example

ROW, COLUMN = (3,), (2, 1)
MOST = 5
"""Operands of which every two are crossed."""


def with_crossed_operands(example: Example) -> Iterator[Example]:
    """One axis of one input of length 1; each vector as a column; of every two operands one a row and the
    other a column; others stay."""
    yield from with_one_size(example, lambda size: 1)
    values = example.operands.values
    for place, value in enumerate(values):
        if value.shape is not None and len(value.shape) == 1 and isinstance(value.shape[0], int):
            yield _with_shape(example, place, (value.shape[0], 1))
    for row, column in permutations(range(min(len(values), MOST)), 2):
        yield _with_shape(_with_shape(example, row, ROW), column, COLUMN)


def _with_shape(example: Example, place: int, shape: tuple[int, ...]) -> Example:
    """The same term, of one leaf of another shape; elements of a constant begin again."""
    old = example.operands.values[place]

    def leaf(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        if value is not old:
            return value, known
        if value.const_value is None:
            return input_like(value, shape, known.dtype)
        array = value.const_value.numpy()
        elements = array if array.size else np.ones(1, array.dtype)
        return constant_like(value, np.resize(elements, shape))

    return with_leaves(example, leaf)

"""Operands that broadcast each other: a row, a column, and what is as long as both.

No operand has the shape of the result then, which a law that compares its operands with each other, or with a
third one, may take for granted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

import numpy as np
import onnx_ir as ir

from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example

ROW, COLUMN = (3,), (2, 1)
MOST = 5
"""Operands of which every two are crossed."""


def with_crossed_operands(example: Example) -> Iterator[Example]:
    """Each vector as a column; of every two operands one a row and the other a column; others stay."""
    operands = example.operands
    for place, value in enumerate(operands.values):
        if value.shape is not None and len(value.shape) == 1 and isinstance(value.shape[0], int):
            yield replace(example, operands=_with_shape(operands, place, (value.shape[0], 1)))
    for row, column in permutations(range(min(len(operands.values), MOST)), 2):
        crossed = _with_shape(_with_shape(operands, row, ROW), column, COLUMN)
        yield replace(example, operands=crossed)


def _with_shape(operands: Operands, place: int, shape: tuple[int, ...]) -> Operands:
    """The same leaves, one of them of another shape; elements of a constant begin again."""
    old = operands.values[place]
    if old.const_value is not None:
        array = old.const_value.numpy()
        elements = array if array.size else np.ones(1, array.dtype)
        return operands.with_constant(place, np.resize(elements, shape))
    values, facts = list(operands.values), list(operands.facts)
    values[place] = ir.Value(name=old.name, type=old.type, shape=ir.Shape(shape))
    facts[place] = Fact(facts[place].dtype, shape)
    return replace(operands, values=values, facts=facts)

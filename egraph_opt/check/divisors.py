"""An example that divides by another constant: one whose rounded inverse is too small, or too large.

What holds of 2 and 7 need not hold of 41, and what holds of small numbers need not hold of all that a bound
lets through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from egraph_opt.check import tables
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression

DIVIDING = frozenset({"Div", "Mod"})
"""Operators of ONNX whose second operand is a divisor."""


def with_other_divisors(example: Example) -> Iterator[Callable[[], Example]]:
    """Each divisor that is a constant, all of it another number."""
    for place in sorted(set(map(divisor_of, nodes_of(example))) - {-1}):
        value = example.operands.values[place].const_value
        array = None if value is None else value.numpy()
        if array is not None and array.dtype.kind in "iuf":
            yield from (partial(_with, example, place, other) for other in _others(array))


def divisor_of(node: Expression) -> int:
    """The number of the leaf by which a node divides; -1 where it does not, or by something computed."""
    if node.head.name != "binary" or node.arguments[0].head.value not in DIVIDING:
        return -1
    return place_of_leaf(node.arguments[2])


def _others(array: Any) -> Iterator[Any]:
    for number in divisors_of(array.dtype):
        yield np.full_like(array, number)


def divisors_of(dtype: np.dtype[Any]) -> tuple[float, ...]:
    """The divisors of `tables` that a type has."""
    if dtype.kind == "f":
        return (*tables.DIVISORS, *tables.FRACTIONS)
    info = np.iinfo(dtype)
    return tuple(n for n in tables.DIVISORS if info.min <= n <= info.max)


def _with(example: Example, place: int, array: Any) -> Example:
    return replace(example, operands=example.operands.with_constant(place, array))

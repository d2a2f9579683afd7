"""Axes of one element that are longer together: a batch, a position, a head of which an author has one.

Of one of them alone operands do not fit, and of all at once what was asked of one is asked of none.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations

import onnx_ir as ir

from egraph_opt.check.beside.variants import constant_like, dims_of, input_like, of_dims, with_leaves
from egraph_opt.check.tried_terms import lowered_if_typed
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.law import Example

LONGER = 3
"""Elements of an axis that had one."""

MOST = 9
"""Axes of one element of which all choices are looked at."""

Place = tuple[int, int]
"""The number of an operand, and an axis."""


def with_longer_ones(example: Example) -> Iterator[Example]:
    """Some of the axes of one element longer, several operands' at once, where they fit so."""
    dims = [dims_of(value) for value in example.operands.values]
    ones = [(k, axis) for k, own in enumerate(dims) for axis, d in enumerate(own) if d == 1]
    for count in range(2, len(ones)) if len(ones) <= MOST else ():
        for places in combinations(ones, count):
            if len({k for k, _ in places}) > 1:
                made = _longer(example, frozenset(places))
                if lowered_if_typed(made) is not None:
                    yield made


def _longer(example: Example, places: frozenset[Place]) -> Example:
    numbers = {id(value): k for k, value in enumerate(example.operands.values)}
    return with_leaves(example, partial(_leaf, numbers=numbers, places=places))


def _leaf(
    value: ir.Value, known: Fact, numbers: dict[int, int], places: frozenset[Place]
) -> tuple[ir.Value, Fact]:
    own = numbers[id(value)]
    dims = tuple(LONGER if (own, axis) in places else d for axis, d in enumerate(dims_of(value)))
    if value.const_value is None:
        return input_like(value, dims, known.dtype)
    return constant_like(value, of_dims(value.const_value.numpy(), dims))

"""Terms with large numbers: pads and copies of a small input, and sizes with what is cut of them.

What a law does once for each of them ends on a small term, and on a model it does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

import onnx_ir as ir

from egraph_opt.check.beside.changing import with_changed
from egraph_opt.check.beside.variants import (
    Dims,
    arrays_of,
    constant_like,
    dims_of,
    input_like,
    of_dims,
    with_leaves,
)
from egraph_opt.check.scope import attributes_in, nodes_of, operators_in, roots_of
from egraph_opt.check.shorthands import transformed
from egraph_opt.facts.fact import SMALL, Fact
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression, constant

LARGE = 100
"""What numbers become that say how much there is, one by one and all of one attribute."""

TIMES = 50
"""How much longer axes are, and what is cut of them."""

MOST_ELEMENTS = SMALL
"""Of a constant with longer axes: of larger ones a law alone does not see that they are equal."""

COUNTING = {"Pads": 1, "Dims": 2}
"""Sorts of attributes, and the least number in them that says how much there is."""


def with_large_numbers(example: Example) -> Iterator[Example]:
    """Each pad and number of copies a large one, and all axes long; none of these need be well-typed."""
    for node in nodes_of(example):
        for k in attributes_in(node):
            least = COUNTING.get(node.arguments[k].sort.name)
            given = node.arguments[k].head.value
            if least is not None and isinstance(given, tuple):
                yield from (with_changed(example, node, k, value) for value in _larger(given, least))
    yield from _with_long_axes(example)


def _larger(given: tuple[Any, ...], least: int) -> Iterator[tuple[Any, ...]]:
    places = [k for k, n in enumerate(given) if isinstance(n, int) and n >= least]
    for own in [places, *([k] for k in places if len(places) > 1)]:
        if own:
            yield tuple(LARGE if k in own else n for k, n in enumerate(given))


def _with_long_axes(example: Example) -> Iterator[Example]:
    """All sizes above 1, or each of them, so many times as large, and what is cut, in as many steps or in
    larger ones."""
    shapes = [dims_of(value) for value in example.operands.values]
    sizes = {d for dims in shapes for d in dims if isinstance(d, int) and d > 1}
    arrays = [array.shape for array in arrays_of(example).values()]
    for own in [sizes, *({size} for size in sorted(sizes) if len(sizes) > 1)]:
        if own and all(prod(_long(dims, own)) <= MOST_ELEMENTS for dims in arrays):
            made = with_leaves(example, partial(_leaf, own=own))
            for steps in (1, TIMES) if "slice_" in operators_in(roots_of(example)) else (1,):
                yield replace(made, term=transformed(made.term, partial(_cut, own=own, steps=steps)))


def _long(dims: Dims, own: Set[int]) -> Any:
    return tuple(d * TIMES if isinstance(d, int) and d in own else d for d in dims)


def _leaf(value: ir.Value, known: Fact, own: Set[int]) -> tuple[ir.Value, Fact]:
    dims = _long(dims_of(value), own)
    if value.const_value is None:
        return input_like(value, dims, known.dtype)
    return constant_like(value, of_dims(value.const_value.numpy(), dims, continued=True))


def _cut(part: Expression, own: Set[int], steps: int) -> Expression:
    """An attribute that says where something is cut, or how long it is."""
    value: Any = getattr(part.head, "value", None)
    sort = part.sort.name
    if sort == "Dims" and isinstance(value, tuple):
        value = _long(value, own)
    elif sort == "Sizes":
        value = tuple(n * TIMES for n in value)
    elif sort == "Slices":
        value = tuple((a, b * TIMES, e and e * TIMES, step * steps) for a, b, e, step in value)
    else:
        return part
    made: Expression = constant(value, part.sort)
    return made

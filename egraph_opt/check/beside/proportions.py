"""Sizes of an example that change together: all multiples of one; and an axis of one element with its name.

A chain of sizes that are multiples of each other is one of any of them alone no longer, and an axis that is
joined is in another place only where the views in front have it there.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import onnx_ir as ir

from egraph_opt.check.beside.variants import constant_like, dims_of, input_like, of_dims, with_leaves
from egraph_opt.check.scope import nodes_of
from egraph_opt.check.shorthands import transformed, with_arguments
from egraph_opt.check.tried_terms import lowered_if_typed
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression, Function, constant

MORE = (1, 3)
"""By how much a size becomes larger, to whose multiples the same happens in proportion."""

Dims = tuple[Any, ...]


def with_sizes_in_proportion(example: Example) -> Iterator[Example]:
    """Each size of an input another one, and all its multiples so many times as large as they were."""
    inputs = [dims_of(v) for v in example.operands.values if v.const_value is None]
    for size in sorted({d for dims in inputs for d in dims if isinstance(d, int) and d > 1}):
        for more in MORE:
            made = in_proportion(example, {size * k: (size + more) * k for k in range(1, 64)})
            if lowered_if_typed(made):
                yield made


def in_proportion(example: Example, sizes: Mapping[int, int]) -> Example:
    """Some sizes of inputs, of weights, whose elements begin again, and in lists of dims, other ones."""

    def leaf(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        dims = scaled(dims_of(value), sizes)
        if value.const_value is None:
            return input_like(value, dims, known.dtype)
        array = value.const_value.numpy()
        if array.dtype in (np.int32, np.int64):  # sizes are
            return constant_like(value, np.vectorize(lambda n: sizes.get(n, n), otypes=[array.dtype])(array))
        return constant_like(value, of_dims(array, dims))

    made = with_leaves(example, leaf)
    return replace(made, term=transformed(made.term, lambda part: with_sizes_in(part, sizes)))


def with_sizes_in(
    part: Expression, sizes: Mapping[int, int], sorts: Container[str] = ("Dims",)
) -> Expression:
    """An attribute that is a list of dims, or of another of some sorts."""
    value = getattr(part.head, "value", None)
    if part.sort.name not in sorts or not isinstance(value, tuple):
        return part
    made: Expression = constant(scaled(value, sizes), part.sort)
    return made


def scaled(dims: Dims, sizes: Mapping[int, int]) -> Dims:
    """Dims of which some sizes are other ones."""
    return tuple(sizes.get(d, d) if isinstance(d, int) else d for d in dims)


# --- axes of one element ---------------------------------------------------------------------------------


def with_moved_ones(example: Example) -> Iterator[Example]:
    """Axes of one element that views add in one place are in another one, and so is what names that axis."""
    added = {(place, len(dims)) for node in nodes_of(example) for dims, place in _added(node)}
    for place, rank in sorted(added):
        for other in set(range(rank)) - {place}:
            change = partial(_moved, place=place, other=other, rank=rank)
            made = replace(example, term=transformed(example.term, change))
            if made.term != example.term and lowered_if_typed(made):
                yield made


def _added(node: Expression) -> Iterator[tuple[Dims, int]]:
    """The dims of a view with an axis of one element, and which axis that is."""
    if getattr(node.head, "name", "") == "reshape":
        dims = tuple(node.arguments[1].head.value)
        yield from ((dims, k) for k, d in enumerate(dims) if d == 1)


def _moved(part: Expression, place: int, other: int, rank: int) -> Expression:
    if not isinstance(part.head, Function):
        return part
    if any((k, len(dims)) == (place, rank) for dims, k in _added(part)):
        dims = list(part.arguments[1].head.value)
        dims.insert(other, dims.pop(place))
        return with_arguments(part, (part.arguments[0], constant(tuple(dims), part.arguments[1].sort)))
    named = [
        constant(other, a.sort) if a.sort.name == "Axis" and getattr(a.head, "value", None) == place else a
        for a in part.arguments
    ]
    return with_arguments(part, tuple(named))

"""Lists of axes with a gap, beside others that begin and end where they do.

A condition that looks at the first and the last of them takes the one for the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import onnx_ir as ir

from egraph_opt.check.beside.variants import constant_like, dims_of, input_like, of_shape, with_leaves
from egraph_opt.check.scope import nodes_of
from egraph_opt.check.shorthands import with_argument, with_arguments
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression, constant

DIMS = (2, 3, 4, 5)
"""Of the tensors of the highest rank."""

ALL, GAP = (1, 2, 3), (1, 3)
"""Axes that are next to each other, and those with the same ends."""

Axes = tuple[int, ...]


def with_gaps_between_axes(example: Example) -> Iterator[Example]:
    """One list of axes with a gap and the others without, or the other way round; one element in the gap."""
    listed = {node: place for node in nodes_of(example) if (place := _place(node)) is not None}
    if all(len(_axes(node, place)) > 1 for node, place in listed.items()):
        yield from _with_one_between(example, listed)
    if len(listed) < 2:
        return
    of_more_axes = _of_four_axes(example)
    for node in listed:
        for own, others in ((GAP, ALL), (ALL, GAP)):
            yield _with_axes(of_more_axes, listed, {each: own if each == node else others for each in listed})


def _place(node: Expression) -> int | None:
    """Which argument of an operator is a list of axes, if it is not empty."""
    for k, argument in enumerate(node.arguments):
        if argument.sort.name == "Axes" and getattr(argument.head, "value", None):
            return k
    return None


def _with_axes(
    example: Example, places: Mapping[Expression, int], axes: Mapping[Expression, Axes]
) -> Example:
    """Operators with other axes, also within each other."""

    def made(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(map(made, part))
        inside = tuple(map(made, part.arguments))
        new = part if inside == part.arguments else with_arguments(part, inside)
        if part not in axes:
            return new
        place = places[part]
        return with_argument(new, place, constant(axes[part], part.arguments[place].sort))

    return replace(example, term=made(example.term))


def _of_four_axes(example: Example) -> Example:
    """The tensors of the highest rank with four axes, and the others with the last three of them, or none."""
    most = max((len(dims_of(value)) for value in example.operands.values), default=0)

    def leaf(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        dims = dims_of(value)
        if not any(d != 1 for d in dims):
            return value, known
        return of_shape(value, known, DIMS if len(dims) == most else DIMS[1:])

    return with_leaves(example, leaf)


def _with_one_between(example: Example, listed: Mapping[Expression, int]) -> Iterator[Example]:
    """An axis of one element between the last two axes of a list, which is no part of it."""
    for first in sorted({_axes(node, place)[-1] for node, place in listed.items()}):
        axes = {node: _moved(_axes(node, place), first) for node, place in listed.items()}

        def leaf(value: ir.Value, known: Fact, first: int = first) -> tuple[ir.Value, Fact]:
            dims = dims_of(value)
            if len(dims) <= first:
                return value, known
            shape = (*dims[:first], 1, *dims[first:])
            if value.const_value is None:
                return input_like(value, shape, known.dtype)
            return constant_like(value, np.expand_dims(value.const_value.numpy(), first))

        yield _with_axes(with_leaves(example, leaf), listed, axes)


def _axes(node: Expression, place: int) -> Axes:
    return tuple(node.arguments[place].head.value)


def _moved(axes: Axes, first: int) -> Axes:
    return tuple(a + 1 if a >= first else a for a in axes)

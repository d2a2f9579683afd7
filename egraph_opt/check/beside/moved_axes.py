"""An example with one axis more in front of all, or with its first and last axis exchanged, where slices
begin and end as dims of the new first axis say.

A law that takes the place of a cut among the cuts for its axis is right where axes are cut in order from the
first one on, as in small examples; elsewhere it compares bounds with the dims of another axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import onnx_ir as ir

from egraph_opt.check.beside.changing import with_attribute
from egraph_opt.check.beside.turned_axes import with_exchanged_axes
from egraph_opt.check.beside.variants import Dims, constant_like, dims_of, input_like, of_dims, with_leaves
from egraph_opt.check.scope import attributes_in, nodes_of
from egraph_opt.check.shorthands import transformed
from egraph_opt.check.tried_terms import lowered_if_typed
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression

SIZE = 2
"""The length of the first axis."""

CUTTING = frozenset({"Slices", "Pads"})
"""Sorts of attributes that say something of some axes, one after the other."""

Cuts = tuple[tuple[int, int, int | None, int], ...]


def with_moved_axes(example: Example) -> Iterator[Example]:
    """Each example that cuts or pads axes, cut as before, and as dims of the first axis say."""
    sorts = {node.arguments[k].sort.name for node in nodes_of(example) for k in attributes_in(node)}
    rank = max((len(dims_of(value)) for value in example.operands.values), default=0)
    if not rank or not sorts & CUTTING:
        return
    bases = [_with_one_in_front(example, rank)]
    found = list(bases)
    if "Slices" in sorts:
        bases += [_with_first(with_exchanged_axes(example, rank, (0, rank - 1), rank), rank)] * (rank > 1)
        found += [other for base in bases for other in _with_other_bounds(base)]
    yield from filter(lowered_if_typed, found)


# --- axes --------------------------------------------------------------------------------------------------


def _with_one_in_front(example: Example, rank: int) -> Example:
    """All operands of most axes have one more, and what names axes names the next ones."""

    def leaf(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        dims = dims_of(value)
        if len(dims) < rank:
            return value, known
        if value.const_value is None:
            return input_like(value, (SIZE, *dims), known.dtype)
        return constant_like(value, np.stack([value.const_value.numpy()] * SIZE))

    made = with_leaves(example, leaf)
    return replace(made, term=transformed(made.term, _moved))


def _moved(part: Expression) -> Expression:
    for k in attributes_in(part):
        value, change = part.arguments[k].head.value, MOVED.get(part.arguments[k].sort.name)
        if change is not None:
            part = with_attribute(part, k, change(value, 1 if part.head.name == "tile" else SIZE))
    return part


def _pads(pads: tuple[int, ...], _: int) -> tuple[int, ...]:
    rank = len(pads) // 2
    return (0, *pads[:rank], 0, *pads[rank:])


MOVED: dict[str, Callable[[Any, int], Any]] = {
    "Axis": lambda axis, _: axis + 1,
    "Axes": lambda axes, _: tuple(axis + 1 for axis in axes),
    "Slices": lambda slices, _: tuple((axis + 1, *rest) for axis, *rest in slices),
    "Permutation": lambda order, _: (0, *(axis + 1 for axis in order)),
    "Pads": _pads,
    "Dims": lambda dims, size: (size, *dims),
}
"""What attributes become, by their sorts, where there is an axis of a size in front."""


def _with_first(example: Example, rank: int) -> Example:
    """The first axis of operands of most axes as long as that."""

    def leaf(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        dims: Dims = (SIZE, *dims_of(value)[1:])
        if len(dims_of(value)) < rank or (value.const_value is not None and 0 in dims_of(value)):
            return value, known
        if value.const_value is None:
            return input_like(value, dims, known.dtype)
        return constant_like(value, of_dims(value.const_value.numpy(), dims))

    return with_leaves(example, leaf)


# --- bounds ------------------------------------------------------------------------------------------------


def _with_other_bounds(example: Example) -> Iterator[Example]:
    """Bounds of first cuts that count the first axis, as in what is joined, or its elements, as in parts of
    it; and each cut as long as the axis of its place."""
    cuts = [node.arguments[1].head.value for node in nodes_of(example) if node.head.name == "slice_"]
    bounds = sorted({0, *(n or 0 for (_, start, end, _), *_ in filter(None, cuts) for n in (start, end))})
    dims = max((dims_of(value) for value in example.operands.values), key=len)
    counted = [{bound: unit * k for k, bound in enumerate(bounds)} for unit in (SIZE, 1)]
    for change in (*(partial(_counted, counted=each) for each in counted), partial(_as_wide, dims=dims)):
        yield replace(example, term=transformed(example.term, partial(_with_cuts, change=change)))


def _with_cuts(part: Expression, change: Callable[[Cuts], Cuts]) -> Expression:
    if getattr(part.head, "name", "") != "slice_" or not part.arguments[1].head.value:
        return part
    return with_attribute(part, 1, change(part.arguments[1].head.value))


def _counted(cuts: Cuts, counted: dict[int, int]) -> Cuts:
    (axis, start, end, step), *rest = cuts
    return ((axis, counted[start], None if end is None else counted[end], step), *rest)


def _as_wide(cuts: Cuts, dims: Dims) -> Cuts:
    return tuple(
        (axis, start, start + dim if isinstance(dim, int) and start >= 0 else end, step)
        for (axis, start, end, step), dim in zip(cuts, dims, strict=False)
    )

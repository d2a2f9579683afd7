"""A length of an example, and all that is tied to it, longer: dims, halves, bounds of slices, views.

A law that compares two of these numbers does not fire where one of them alone is another one, and of four
elements a half is as long as there are halves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import onnx_ir as ir

from egraph_opt.check.beside.changing import with_attribute
from egraph_opt.check.beside.proportions import scaled, with_sizes_in
from egraph_opt.check.beside.variants import (
    arrays_of,
    constant_like,
    dims_of,
    input_like,
    of_dims,
    with_leaves,
)
from egraph_opt.check.shorthands import transformed
from egraph_opt.check.tried_terms import lowered_if_typed
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression, Function

LONGER = {2: (6,), 3: (6, 5), 4: (6, 8, 10)}
"""What lengths become; others are half as long again, or twice as long."""

MULTIPLES = 16
"""So many times a length is tied to it as well."""

LENGTHS = ("Dims", "Sizes")
"""Sorts of attributes that are lists of dims, or of lengths of parts."""

Array = np.ndarray[Any, Any]
Fill = Callable[[Array, tuple[int, ...]], Array]
Numbers = Mapping[int, int]


def with_scaled_lengths(example: Example) -> Iterator[Example]:
    """Each length another one, with its half or without; elements of constants begin again, or each is there
    more often."""
    values = example.operands.values
    lengths = {d for value in values for d in dims_of(value) if isinstance(d, int) and d > 1}
    fills = (of_dims, stretched) if arrays_of(example) else (of_dims,)
    for old in sorted(lengths):
        for new in LONGER.get(old, (old + old // 2, 2 * old)):
            for sizes, bounds in _ties(old, new):
                yield from filter(
                    lowered_if_typed, (with_numbers(example, sizes, bounds, fill) for fill in fills)
                )


def _ties(old: int, new: int) -> Iterator[tuple[Numbers, Numbers]]:
    """What dims become, and bounds of slices: with the half of both, where they have one."""
    whole = {old: new, old - 1: new - 1}
    times = {old * k: new * k for k in range(1, MULTIPLES)}
    yield times, whole
    if old % 2 == new % 2 == 0:
        halves = {old // 2: new // 2}
        yield times, {old // 2 - 1: new // 2 - 1} | halves | whole
        yield halves | times, {old // 2 - 1: new // 2 - 1} | halves | whole


def with_numbers(example: Example, sizes: Numbers, bounds: Numbers, fill: Fill) -> Example:
    """Other dims of operands and of views, and other bounds of slices.

    Args:
        fill: makes an array of other dims of one.
    """

    def leaf(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        dims = scaled(dims_of(value), sizes)
        if value.const_value is None:
            return input_like(value, dims, known.dtype)
        array = value.const_value.numpy()
        return (value, known) if array.shape == dims else constant_like(value, fill(array, dims))

    made = with_leaves(example, leaf)
    return replace(made, term=transformed(made.term, partial(_with_numbers, sizes=sizes, bounds=bounds)))


def _with_numbers(part: Expression, sizes: Numbers, bounds: Numbers) -> Expression:
    if not isinstance(part.head, Function):
        return with_sizes_in(part, sizes, LENGTHS)
    if part.head.name != "slice_":
        return part
    spec = tuple(
        (axis, bounds.get(start, start), bounds.get(end, end), step)
        for axis, start, end, step in part.arguments[1].head.value
    )
    return with_attribute(part, 1, spec)


def stretched(array: Array, dims: tuple[int, ...]) -> Array:
    """An array with more elements along its axes, each of which is there more often."""
    for axis, (old, new) in enumerate(zip(array.shape, dims, strict=True)):
        if old and old != new:
            array = np.take(array, np.arange(new) * old // new, axis)
    return array

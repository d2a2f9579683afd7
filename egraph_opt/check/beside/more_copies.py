"""A Tile of one copy more, and constants as long as all copies, of which one in the middle is another; and an
Expand of the axis beside the one of which it makes copies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.check.beside.changing import with_attribute
from egraph_opt.check.beside.variants import Dims, arrays_of, dims_of, resized, with_shape
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.check.shorthands import replaced, with_argument
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import constant


def with_more_copies(example: Example) -> Iterator[Example]:
    """Each Tile of a leaf, along each axis of which it makes several copies."""
    for node in nodes_of(example):
        place = place_of_leaf(node.arguments[0]) if node.head.name == "tile" else -1
        if place < 0:
            continue
        repeats, dims = node.arguments[1].head.value, dims_of(example.operands.values[place])
        for axis, (times, size) in enumerate(zip(repeats, dims, strict=False)):
            if times < 2 or not isinstance(size, int) or size < 1:
                continue
            more = (*repeats[:axis], times + 1, *repeats[axis + 1 :])
            copies = with_attribute(node, 1, more)
            longer = resized(example, {times * size}, (times + 1) * size)
            made = replace(longer, term=replaced(example.term, {node: copies}))
            yield made
            yield from _of_another_copy(made, size, (times + 1) * size)


def with_copies_along_another_axis(example: Example) -> Iterator[Example]:
    """Each Expand of an input, with two neighbouring axes in each other's place before it and behind it."""
    for node in nodes_of(example):
        place = place_of_leaf(node.arguments[0]) if node.head.name == "expand" else -1
        if place < 0 or example.operands.values[place].const_value is not None:
            continue
        wide, dims = node.arguments[1], dims_of(example.operands.values[place])
        for k in range(len(dims) - 1):
            if len(wide.head.value) == len(dims) and (dims[k] == 1) != (dims[k + 1] == 1):
                other = constant(_exchanged(wide.head.value, k), wide.sort)
                term = replaced(example.term, {node: with_argument(node, 1, other)})
                yield with_shape(replace(example, term=term), place, _exchanged(dims, k))


def _exchanged(dims: Dims, k: int) -> Any:
    return (*dims[:k], dims[k + 1], dims[k], *dims[k + 2 :])


def _of_another_copy(example: Example, size: int, whole: int) -> Iterator[Example]:
    """Each constant of that length with another number where the second copy begins."""
    for place, array in arrays_of(example).items():
        for axis in range(array.ndim if array.dtype.kind in "iuf" else 0):
            if array.shape[axis] == whole:
                other = array.copy()
                np.moveaxis(other, axis, 0)[size] += other.dtype.type(1)
                yield replace(example, operands=example.operands.with_constant(place, other))

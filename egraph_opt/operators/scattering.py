"""Operators that write into a copy of a tensor, where what they overwrite is a block of it."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.operators.declaration import Literal, OnnxForm, TermSpec, lowers, operator
from egraph_opt.operators.expressions import String, Tensor
from egraph_opt.operators.sorts import Slices

if TYPE_CHECKING:
    from egraph_opt.operators.node_reader import NodeReader

MOST = 2**20
"""Indices that are read; nodes with more of them stay as they are."""

Indices = np.ndarray[Any, Any]


def lengths(block: Slices) -> tuple[int, ...]:
    """The dims of a block, of the axes that it names."""
    return tuple(len(range(start, stop or 0, step)) for _, start, stop, step in block)


def _grid(block: Slices) -> Indices:
    """The places of a block's elements, row by row, in a last axis."""
    axes = [np.arange(start, stop, step) for _, start, stop, step in block]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)


def _axis_of(block: Slices) -> int:
    """The axis along which the elements of a block are elsewhere than at their own places; 0 if none is."""
    return next((k for k, (_, start, _, step) in enumerate(block) if (start, step) != (0, 1)), 0)


@lru_cache(maxsize=64)
def _indices(op: str, block: Slices, updates: tuple[int, ...]) -> Literal | None:
    """What the operator takes to write updates, of these dims without those behind the block's axes."""
    if [axis for axis, *_ in block] != list(range(len(block))) or not math.prod(lengths(block)):
        return None
    grid = _grid(block)
    if op == "ScatterElements":
        others = [part for k, part in enumerate(block) if k != _axis_of(block)]
        if lengths(block) != updates or any((start, step) != (0, 1) for _, start, _, step in others):
            return None
        grid = grid[..., _axis_of(block)]
    elif math.prod(updates) == math.prod(lengths(block)):
        grid = grid.reshape(*updates, len(block))
    else:
        return None
    return Literal(TensorProto.INT64, grid.shape, tuple(grid.ravel().tolist()))


def _form(opset: int, attributes: tuple[str, Slices], facts: tuple[Fact, ...]) -> OnnxForm | None:
    op, block = attributes
    x, updates = facts
    if opset < 11 or x.rank is None or updates.shape is None or not 0 < len(block) <= x.rank:
        return None
    rows = updates.shape[: len(updates.shape) - x.rank + len(block)]
    if any(not isinstance(dim, int) for dim in rows) or (op == "ScatterElements" and len(block) < x.rank):
        return None
    places = _indices(op, block, rows)
    if places is None:
        return None
    return OnnxForm(op, (0, places, 1), (("axis", _axis_of(block)),) if op == "ScatterElements" else ())


@operator(form=_form)
def overwrite(x: Tensor, updates: Tensor, op: String, block: Slices) -> Tensor:
    """x with `updates` instead of a block of it, whose slices name the first axes of x, all in order.

    `op` is what writes it: ScatterND, of which the first axes of `updates` are a view of the block's, or
    ScatterElements, of which all axes are named.
    """


def _block_of_rows(indices: Indices, dims: tuple[Any, ...]) -> Slices | None:
    """The block that the rows of indices enumerate one after the other."""
    rows = indices.reshape(-1, indices.shape[-1])
    if not len(rows) or rows.shape[1] > len(dims):
        return None
    if (rows < 0).any():
        if any(not isinstance(dim, int) for dim in dims[: rows.shape[1]]):
            return None
        rows = np.where(rows < 0, rows + np.array(dims[: rows.shape[1]]), rows)
    block = tuple(_progression(axis, np.unique(rows[:, axis])) for axis in range(rows.shape[1]))
    if math.prod(lengths(block)) != len(rows):
        return None
    return block if np.array_equal(_grid(block).reshape(rows.shape), rows) else None


def _progression(axis: int, values: Indices) -> tuple[int, int, int, int]:
    """The slice from the least to the greatest in steps of the first two."""
    first, last = int(values[0]), int(values[-1])
    step = int(values[1]) - first if len(values) > 1 else 1
    return axis, first, last + 1, step


@lowers("ScatterND")
def _lower_rows(node: NodeReader) -> TermSpec | None:
    x, dims = node.fact(0), node.fact(1).shape
    if x.shape is None or not _is_small(dims) or node.attribute("reduction") not in (None, "none"):
        return None
    indices = _known(node)
    block = None if indices is None else _block_of_rows(indices, x.shape)
    return None if block is None else TermSpec("overwrite", ("ScatterND", block), (0, 2))


@lowers("ScatterElements")
def _lower_elements(node: NodeReader) -> TermSpec | None:
    x, dims = node.fact(0), node.fact(1).shape
    if x.shape is None or not _is_small(dims) or node.attribute("reduction") not in (None, "none"):
        return None
    indices = _known(node)
    if indices is None or indices.ndim != len(x.shape) or not indices.size:
        return None
    axis = node.attribute("axis") % indices.ndim
    places = np.stack(np.meshgrid(*map(np.arange, indices.shape), indexing="ij"), axis=-1)
    places[..., axis] = indices
    block = _block_of_rows(places, x.shape)
    if block is None or lengths(block) != indices.shape:
        return None
    return TermSpec("overwrite", ("ScatterElements", block), (0, 2))


def _known(node: NodeReader) -> Indices | None:
    """The indices where they are constant, or computed of static dims."""
    found, fact = node.array(1), node.fact(1)
    if found is not None or fact.data is None or not fact.has_numbers or fact.shape is None:
        return found
    return np.array(fact.data, np.int64).reshape(fact.shape)


def _is_small(dims: tuple[Any, ...] | None) -> bool:
    """Dims that are all numbers, of a few elements."""
    return dims is not None and all(isinstance(d, int) for d in dims) and 0 < math.prod(dims) <= MOST

"""Facts of constant tensors: initializers and the outputs of Constant nodes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from egraph_opt.facts.dtypes import BOOL, FLOATS, INTEGERS
from egraph_opt.facts.fact import SMALL, Fact
from egraph_opt.imports import onnx_ir as ir

from .numbers import Array, completed, with_data
from .ranges import narrowed

MAX_SCANNED = 2**28
"""Tensors of more bytes are not read to find a splat."""

_CHUNK = 1 << 20

MAX_UNITS = 4096
"""Of more rows, what each of them is is not kept."""


def tensor_fact(tensor: ir.TensorProtocol) -> Fact:
    """Type, elements where there are few, and splat of a constant tensor; reads it chunk by chunk."""
    dtype = int(tensor.dtype)
    shape = tuple(int(d) for d in tensor.shape.numpy())
    is_empty = math.prod(shape) == 0
    if not _has_numbers(dtype) or (not is_empty and tensor.nbytes > MAX_SCANNED):
        return Fact(dtype, shape, const=True)
    return array_fact(np.empty(shape, dtype=np.object_) if is_empty else tensor.numpy(), dtype)


def _has_numbers(dtype: int) -> bool:
    return dtype in FLOATS or dtype in INTEGERS or dtype == BOOL


def array_fact(array: Array, dtype: int) -> Fact:
    """What is known of a constant with the elements of an array, of an element type with numbers."""
    fact = Fact(dtype, array.shape, const=True)
    if not array.size:
        return completed(with_data(fact, np.empty(array.shape, dtype=np.object_)))
    flat = array.reshape(-1)
    items = array.astype(np.object_) if flat.size <= SMALL else None
    known = completed(with_data(fact, items, flat[0].item() if _is_uniform(flat) else None))
    if dtype in FLOATS and array.ndim > 1:
        return replace(known, units=_units(array.reshape(len(array), -1)), twice=_twice(array))
    if dtype not in INTEGERS or known.has_numbers:
        return known
    return narrowed(known, (int(flat.min()), int(flat.max())))


def _units(rows: Array) -> tuple[int, ...] | None:
    """Where each row has its only 1, all else being 0."""
    if (
        len(rows) > MAX_UNITS or np.count_nonzero(rows[0]) != 1
    ):  # as most weights: the others are not looked at
        return None
    places = (rows != 0).argmax(axis=1)
    if np.count_nonzero(rows) != len(rows) or (rows[np.arange(len(rows)), places] != 1).any():
        return None
    return tuple(places.tolist())


def _twice(array: Array) -> str | None:
    """How rows have each number twice; of other constants the first row shows it."""
    if array.shape[-1] % 2:
        return None
    rows = array.reshape(-1, array.shape[-1])
    half = rows.shape[1] // 2
    for how, first, second in (
        ("halves", rows[:, :half], rows[:, half:]),
        ("neighbours", rows[:, ::2], rows[:, 1::2]),
    ):
        if np.array_equal(first[0], second[0]) and np.array_equal(first, second):
            return how
    return None


def _is_uniform(flat: Array) -> bool:
    """All elements have the same bits (0.0 and -0.0 differ)."""
    bits = flat.view(f"u{flat.dtype.itemsize}")
    if bits[0] != bits[-1]:
        return False
    return all(bool((bits[k : k + _CHUNK] == bits[0]).all()) for k in range(0, bits.size, _CHUNK))


def constant_lookup(ir_version: int, assume_defaults: bool = False) -> Callable[[ir.Value], Fact | None]:
    """The default answer to "what constant is this value", for ``infer_graph``.

    From IR version 4 on an initializer that is also a graph input is a default that a caller may override, so
    it is a constant only if ``assume_defaults``; before, every initializer had to be listed as an input.
    """

    def constant(value: ir.Value) -> Fact | None:
        if value.is_graph_input() and ir_version >= 4 and not assume_defaults:
            return None
        tensor = ir.convenience.get_const_tensor(value)
        return None if tensor is None else tensor_fact(tensor)

    return constant

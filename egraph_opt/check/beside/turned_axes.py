"""An example with two axes in each other's place, in all operands and in what names axes: a law about the
last axis along the first one, with its constants turned with it.

An operand of fewer axes stays as it is, or becomes one of as many first, as where it is broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import onnx_ir as ir

from egraph_opt.check.beside.variants import Dims, arrays_of, constant_like, dims_of, input_like, with_leaves
from egraph_opt.check.shorthands import transformed
from egraph_opt.facts.dtypes import ALL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression, constant


def with_turned_axes(example: Example) -> Iterator[Example]:
    """Each two axes of an example with a constant of all of them."""
    ranks = [len(dims_of(value)) for value in example.operands.values]
    rank = max(ranks, default=0)
    known = [array for array in arrays_of(example).values() if array.ndim == rank]
    if rank < 2 or not any(sum(n > 1 for n in array.shape) > 1 for array in known):
        return
    fewer = any(0 < own < rank for own in ranks)
    for pair in combinations(range(rank), 2):
        for least in (rank, 1) if fewer else (rank,):
            yield with_exchanged_axes(example, rank, pair, least)


def with_exchanged_axes(example: Example, rank: int, pair: tuple[int, int], least: int) -> Example:
    """Two axes exchanged in operands of so many axes at least, which get those that they lack in front."""
    order = _exchanged(tuple(range(rank)), pair)

    def leaf(value: ir.Value, known: Fact) -> tuple[ir.Value, Fact]:
        dims = dims_of(value)
        if len(dims) < rank and (len(dims) < least or known.dtype not in ALL_FLOATS):
            return value, known
        whole = (1,) * (rank - len(dims)) + dims
        if value.const_value is None:
            return input_like(value, _exchanged(whole, pair), known.dtype)
        array = value.const_value.numpy()
        return constant_like(value, np.expand_dims(array, tuple(range(rank - array.ndim))).transpose(order))

    made = with_leaves(example, leaf)
    return replace(made, term=transformed(made.term, partial(_with_axes, order=order)))


def _exchanged(items: tuple[Any, ...], pair: tuple[int, int]) -> tuple[Any, ...]:
    one, other = pair
    made = list(items)
    made[one], made[other] = made[other], made[one]
    return tuple(made)


def _with_axes(part: Expression, order: tuple[int, ...]) -> Expression:
    """An attribute that names axes, or says something of each."""
    change, value = NAMING.get(part.sort.name), getattr(part.head, "value", None)
    if change is None or value is None:
        return part
    try:
        made: Expression = constant(change(value, order), part.sort)
    except (IndexError, TypeError):  # of other axes than operands have
        return part
    return made


def _pads(pads: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    rank = len(order)
    if len(pads) != 2 * rank:
        return pads
    return tuple(pads[end + k] for end in (0, rank) for k in order)


def _dims(dims: Dims, order: tuple[int, ...]) -> Dims:
    return tuple(dims[k] for k in order) if len(dims) == len(order) else dims


def _permutation(p: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(order[p[k]] for k in order) if len(p) == len(order) else p


NAMING: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
    "Axis": lambda axis, order: order[axis],
    "Axes": lambda axes, order: tuple(sorted(order[k] for k in axes)),
    "Slices": lambda slices, order: tuple(sorted((order[k], *rest) for k, *rest in slices)),
    "Permutation": _permutation,
    "Pads": _pads,
    "Dims": _dims,
}
"""What attributes become, by their sorts, where axis k becomes the one that the order has there."""

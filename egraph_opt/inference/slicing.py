"""Operators that pick or join ranges: Slice, Split, Concat, Gather, Compress."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import SMALL, UNKNOWN, Dim, Fact

from .call import Attribute, Call, ContradictionError, formula, normal_axes, normal_axis
from .numbers import Array, array, with_data
from .views import axis_of, moved

FAR = 10**9
"""No dim is as long: a bound at or beyond it means "to the end"; jax2tf writes this one."""


def clamped(bound: Dim, dim: Dim, low: Dim, high: Dim) -> Dim:
    """A start or end of Slice: counted from the end if negative, then put between ``low`` and ``high``."""
    if bound is None or dim is None:
        return None
    if isinstance(bound, int) and abs(bound) >= FAR:
        # Of an empty dim, high may be below low; it wins.
        return high if bound > 0 else symbolic.minimum(low, high)
    if symbolic.is_at_least(-1, bound):
        bound = symbolic.add(bound, dim)
    elif not symbolic.is_at_least(bound, 0):
        return None
    return symbolic.minimum(symbolic.maximum(bound, low), high)


def slice_length(dim: Dim, start: Dim, end: Dim, step: Dim) -> Dim:
    """How many elements ``start:end:step`` takes of ``dim`` (ONNX's rule, with its clamping)."""
    if not isinstance(step, int):
        return None
    if step == 0:
        raise ContradictionError("a Slice with step 0")
    if step < 0 and end in (2**31 - 1, 2**63 - 1):  # see `operators.slicing.BEYOND_ALL`
        return None
    if step > 0:
        first, last = clamped(start, dim, 0, dim), clamped(end, dim, 0, dim)
        length = symbolic.sub(last, first)
    else:
        below = symbolic.sub(dim, 1)
        first, last = clamped(start, dim, 0, below), clamped(end, dim, -1, below)
        length = symbolic.sub(first, last)
    return symbolic.maximum(symbolic.ceildiv(length, abs(step)), 0)


@formula("Slice")
def _slice(call: Call) -> list[Fact]:
    x = call.fact(0)
    starts: Sequence[Dim] | None
    ends: Sequence[Dim] | None
    axes: Sequence[int] | None
    steps: Sequence[Dim] | None = None
    if call.opset < 10:
        starts, ends, axes = call.integers("starts"), call.integers("ends"), call.integers("axes")
    else:
        starts, ends, axes = call.fact(1).value, call.fact(2).value, call.fact(3).ints
        steps = call.fact(4).value
        if call.has(4) and steps is None:
            starts = None
        if call.has(3) and axes is None:
            # Which axes are cut is not known, so no dim is.
            return [moved(x, None if x.shape is None else (None,) * len(x.shape))]
    if x.shape is None:
        return [moved(x, None)]
    rank = len(x.shape)
    count = _count(call, starts, ends, axes)
    if count is None:
        return [moved(x, (None,) * rank)]
    cut = normal_axes(axes if axes is not None else range(count), rank)
    starts = starts if starts is not None else [None] * count
    ends = ends if ends is not None else [None] * count
    steps = steps if steps is not None else [1] * count
    if not len(cut) == len(starts) == len(ends) == len(steps):
        raise ContradictionError("starts, ends, axes and steps of different lengths")
    dims = list(x.shape)
    for axis, start, end, step in zip(cut, starts, ends, steps, strict=True):
        dims[axis] = slice_length(dims[axis], start, end, step)
    return [moved(x, tuple(dims), _part(array(x), cut, starts, ends, steps))]


def _count(
    call: Call, starts: Sequence[Dim] | None, ends: Sequence[Dim] | None, axes: Sequence[int] | None
) -> int | None:
    """The number of axes that a Slice cuts."""
    for given in (axes, starts, ends):
        if given is not None:
            return len(given)
    for k in (1, 2):
        shape = call.shape(k)
        if shape is not None and len(shape) == 1 and isinstance(shape[0], int):
            return shape[0]
    return None


def _part(
    items: Array | None, axes: Sequence[int], starts: Sequence[Dim], ends: Sequence[Dim], steps: Sequence[Dim]
) -> Array | None:
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if items is None or not (isinstance(start, int) and isinstance(end, int) and isinstance(step, int)):
            return None
        if step < 0 and end >= FAR:
            return None
        first, last = start, None if step < 0 and end < -items.shape[axis] else end
        # Python counts an end of -1 from the back, where a step down to before the first element is meant,
        # and begins before the first element, where ONNX does so at it.
        if step < 0:
            first = max(start, -items.shape[axis])
        items = items[(slice(None),) * axis + (slice(first, last, step),)]
    return items


def joined(operands: tuple[Fact | None, ...], axis: Attribute) -> tuple[Fact | None, ...]:
    """The operands of a Concat without those that are empty along its axis.

    The standard asks for their other dims to be those of the rest, onnxruntime does not: they say nothing.
    """
    if len({None if fact is None else fact.rank for fact in operands}) != 1 or not isinstance(axis, int):
        return operands
    rank = len(operands[0].shape or ()) if operands[0] is not None else 0
    if not -rank <= axis < rank:
        return operands
    full = tuple(fact for fact in operands if fact is None or fact.shape is None or fact.shape[axis] != 0)
    return full or operands


@formula("Concat")
def _concat(call: Call) -> list[Fact]:
    operands = call.present
    dtype = next((f.dtype for f in operands if f.dtype), 0)
    shapes = [f.shape for f in operands if f.shape is not None]
    if not shapes:
        return [Fact(dtype)]
    rank = len(shapes[0])
    if any(len(s) != rank for s in shapes):
        raise ContradictionError("Concat of different ranks")
    axis = axis_of(call, 1, rank)
    complete = len(shapes) == len(operands)
    dims: list[Dim] = []
    for k in range(rank):
        column = [s[k] for s in shapes]
        dims.append(_total(column) if k == axis and complete else None if k == axis else _agreed(column))
    splats = {f.splat for f in operands}
    arrays = [array(f) for f in operands]
    known = [a for a in arrays if a is not None]
    joins = len(known) == len(arrays) and sum(a.size for a in known) <= SMALL
    items = np.concatenate(known, axis) if joins else None
    return [with_data(Fact(dtype, tuple(dims)), items, splats.pop() if len(splats) == 1 else None)]


def _total(dims: Sequence[Dim]) -> Dim:
    total: Dim = 0
    for dim in dims:
        total = symbolic.add(total, dim)
    return total


def _agreed(dims: Sequence[Dim]) -> Dim:
    """The one dim that all of these are: a number if one is known."""
    numbers = {d for d in dims if isinstance(d, int)}
    if len(numbers) > 1:
        raise ContradictionError(f"dims {tuple(dims)} should be equal")
    if numbers:
        return numbers.pop()
    return next((d for d in dims if d is not None), None)


@formula("Split")
def _split(call: Call) -> list[Fact]:
    if call.integer("num_outputs", call.n_outputs) != call.n_outputs:
        raise ContradictionError(f"Split into {call.n_outputs} outputs that says otherwise")
    x = call.fact(0)
    if x.shape is None:
        return [moved(x, None)] * call.n_outputs
    axis = axis_of(call, 0, len(x.shape))
    dim = x.shape[axis]
    given = call.fact(1).value if call.opset >= 13 else call.integers("split")
    if given is not None:
        parts: list[Dim] = list(given)
        if len(parts) != call.n_outputs or any(isinstance(p, int) and p < 0 for p in parts):
            raise ContradictionError(f"Split into {call.n_outputs} outputs of lengths {tuple(parts)}")
        total = _total(parts)
        if isinstance(dim, int) and isinstance(total, int) and dim != total:
            raise ContradictionError(f"Split of {dim} into {tuple(parts)}")
    elif call.has(1):
        parts = [None] * call.n_outputs
    else:
        parts = _even_parts(dim, call.n_outputs, call.opset)
    facts = []
    items, at = array(x), 0
    for part in parts:
        piece = None
        if items is not None and isinstance(part, int):
            piece, at = items[(slice(None),) * axis + (slice(at, at + part),)], at + part
        else:
            items = None
        facts.append(moved(x, (*x.shape[:axis], part, *x.shape[axis + 1 :]), piece))
    return facts


def _even_parts(dim: Dim, count: int, opset: int) -> list[Dim]:
    """Equal lengths; from opset 18 on the last one may be shorter."""
    if opset < 18:
        if isinstance(dim, int) and dim % count:
            raise ContradictionError(f"Split of {dim} into {count} equal parts")
        return [symbolic.floordiv(dim, count)] * count
    each = symbolic.ceildiv(dim, count)
    last = symbolic.sub(dim, symbolic.mul(each, count - 1))
    if isinstance(last, int) and last < 0:
        raise ContradictionError(f"Split of {dim} into {count} parts")
    return [each] * (count - 1) + [last]


@formula("Gather")
def _gather(call: Call) -> list[Fact]:
    x, indices = call.fact(0), call.fact(1)
    if x.shape is None or indices.shape is None:
        return [moved(x, None)]
    axis = axis_of(call, 0, len(x.shape))
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    items, at = array(x), array(indices)
    if items is None or at is None or not all(isinstance(k, int) for k in at.flat):
        return [moved(x, shape)]
    if any(not -items.shape[axis] <= k < items.shape[axis] for k in at.flat):
        raise ContradictionError(f"Gather of {at.tolist()} from {items.shape[axis]} elements")
    if at.size * items.size > SMALL**2:
        return [moved(x, shape)]
    return [moved(x, shape, np.asarray(items.take(at.astype(np.int64), axis), dtype=np.object_))]


@formula("GatherElements")
def _gather_elements(call: Call) -> list[Fact]:
    return [moved(call.fact(0), call.shape(1))]


@formula("GatherND")
def _gather_nd(call: Call) -> list[Fact]:
    x, indices = call.fact(0), call.fact(1)
    batch = call.integer("batch_dims", 0)
    if batch < 0:
        raise ContradictionError(f"GatherND with {batch} batch dims")
    if (
        x.shape is None
        or indices.shape is None
        or not indices.shape
        or not isinstance(indices.shape[-1], int)
    ):
        return [moved(x, None)]
    if batch + indices.shape[-1] > len(x.shape) or batch >= len(indices.shape):
        raise ContradictionError("GatherND indices are longer than the rank of the data")
    return [moved(x, indices.shape[:-1] + x.shape[batch + indices.shape[-1] :])]


@formula("Compress")
def _compress(call: Call) -> list[Fact]:
    x = call.fact(0)
    if "axis" not in call.attributes:
        return [moved(x, (None,))]
    if x.shape is None:
        return [UNKNOWN]
    axis = normal_axis(call.integer("axis", 0), len(x.shape))
    return [moved(x, (*x.shape[:axis], None, *x.shape[axis + 1 :]))]

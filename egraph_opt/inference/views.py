"""Operators that keep every element and change the shape only: Reshape, Flatten, Squeeze, Transpose and such.

``volume(out) = volume(in)``, which is how a -1 is found when dims are symbolic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact, Shape

from .call import Call, ContradictionError, formula, normal_axes, normal_axis
from .numbers import Array, array, with_data


def moved(x: Fact, shape: Shape | None, items: Array | None = None) -> Fact:
    """A fact of elements of ``x`` in another shape; ``items`` are they, where known."""
    return with_data(Fact(x.dtype, shape), items, x.splat)


def viewed(x: Fact, shape: Shape | None) -> Fact:
    """All elements of ``x`` in their order, in another shape."""
    items = array(x)
    if items is None or shape is None or not all(isinstance(d, int) for d in shape):
        return moved(x, shape)
    return moved(x, shape, items.reshape(shape) if math.prod(shape) == items.size else None)  # type: ignore[arg-type]


@formula("Identity", "Dropout")
def _identity(call: Call) -> list[Fact]:
    x = call.fact(0)
    if call.op_type == "Dropout" and (call.opset < 7 or call.has(2)):
        # It may be in training mode.
        return [Fact(x.dtype, x.shape)]
    return [viewed(x, x.shape)]


@formula("Reshape")
def _reshape(call: Call) -> list[Fact]:
    x = call.fact(0)
    if call.opset < 5:
        target: Sequence[Dim] | None = call.integers("shape")
    else:
        target = call.fact(1).value
        length = call.shape(1)
        if target is None and length is not None and len(length) == 1 and isinstance(length[0], int):
            return [viewed(x, (None,) * length[0])]
    if target is None:
        return [viewed(x, None)]
    return [viewed(x, reshaped(x.shape, target, copies_zero=not call.integer("allowzero", 0)))]


def reshaped(shape: Shape | None, target: Sequence[Dim], copies_zero: bool) -> Shape:
    """The shape that Reshape gives, with 0 (copy) and -1 (the rest) resolved as far as possible.

    A symbolic element is taken for the dim that it names: where it is 0 at run time, Reshape would copy a dim
    of the input instead, which differs for empty tensors only, and not where it is that very dim.
    """
    dims: list[Dim] = []
    rest: int | None = None
    for k, dim in enumerate(target):
        if dim == 0 and copies_zero:
            if shape is not None and k >= len(shape):
                raise ContradictionError("Reshape copies a dim that the input does not have")
            dims.append(None if shape is None else shape[k])
        elif dim == -1:
            if rest is not None:
                raise ContradictionError("Reshape has two dims of -1")
            rest = k
            dims.append(None)
        elif isinstance(dim, int) and dim < 0:
            raise ContradictionError(f"Reshape to {dim}")
        elif isinstance(dim, str) and not symbolic.is_at_least(dim, 0):
            dims.append(None)
        else:
            dims.append(dim)
    if rest is not None and shape is not None:
        dims[rest] = _rest(shape, dims, rest, copied=_copied(shape, target, copies_zero))
    total, kept = symbolic.product(shape) if shape is not None else None, symbolic.product(dims)
    if isinstance(total, int) and isinstance(kept, int) and total != kept:
        raise ContradictionError(f"Reshape of {shape} to {tuple(target)}")
    return tuple(dims)


def _copied(shape: Shape, target: Sequence[Dim], copies_zero: bool) -> frozenset[int]:
    return frozenset(k for k, d in enumerate(target) if d == 0 and copies_zero and k < len(shape))


def _rest(shape: Shape, dims: Sequence[Dim], rest: int, copied: frozenset[int]) -> Dim:
    """``volume(shape) / volume(dims)``: copied dims cancel even where they are unknown."""
    above = symbolic.product(d for k, d in enumerate(shape) if k not in copied)
    below = symbolic.product(d for k, d in enumerate(dims) if k != rest and k not in copied)
    if below == 0 or (above == 0 and not isinstance(below, int)):
        return None
    if isinstance(above, int) and isinstance(below, int) and above % below:
        raise ContradictionError(f"Reshape of {tuple(shape)}: {above} is no multiple of {below}")
    exact = symbolic.exact_div(above, below)
    # The model runs only where the division leaves nothing.
    return exact if exact is not None else symbolic.floordiv(above, below)


@formula("Flatten")
def _flatten(call: Call) -> list[Fact]:
    x = call.fact(0)
    if x.shape is None:
        return [viewed(x, (None, None))]
    axis = call.integer("axis", 1)
    if axis < 0:
        axis += len(x.shape)
    if not 0 <= axis <= len(x.shape):
        raise ContradictionError(f"axis {axis} of a tensor of rank {len(x.shape)}")
    return [viewed(x, (symbolic.product(x.shape[:axis]), symbolic.product(x.shape[axis:])))]


@formula("Squeeze")
def _squeeze(call: Call) -> list[Fact]:
    x = call.fact(0)
    if x.shape is None:
        return [viewed(x, None)]
    if not call.gives_axes(1):
        if not all(isinstance(d, int) for d in x.shape):
            return [viewed(x, None)]
        return [viewed(x, tuple(d for d in x.shape if d != 1))]
    axes = call.axes(1)
    if not axes:
        # Whether an empty list means all or none is not agreed upon.
        return [viewed(x, None)]
    gone = set(normal_axes(axes, len(x.shape)))
    if any(isinstance(x.shape[k], int) and x.shape[k] != 1 for k in gone):
        raise ContradictionError(f"Squeeze of {x.shape} at {tuple(sorted(gone))}")
    return [viewed(x, tuple(d for k, d in enumerate(x.shape) if k not in gone))]


@formula("Unsqueeze")
def _unsqueeze(call: Call) -> list[Fact]:
    x, axes = call.fact(0), call.axes(1)
    if x.shape is None or axes is None:
        return [viewed(x, None)]
    rank = len(x.shape) + len(axes)
    new = set(normal_axes(axes, rank))
    old = iter(x.shape)
    return [viewed(x, tuple(1 if k in new else next(old) for k in range(rank)))]


@formula("Transpose")
def _transpose(call: Call) -> list[Fact]:
    x, perm = call.fact(0), call.integers("perm")
    if x.shape is None:
        return [moved(x, None if perm is None else (None,) * len(perm))]
    rank = len(x.shape)
    if perm is None:
        perm = tuple(reversed(range(rank)))
    if sorted(perm) != list(range(rank)):
        raise ContradictionError(f"perm {perm} of a tensor of rank {rank}")
    items = array(x)
    return [moved(x, tuple(x.shape[k] for k in perm), None if items is None else items.transpose(perm))]


@formula("DepthToSpace", "SpaceToDepth")
def _depth_to_space(call: Call) -> list[Fact]:
    x, block = call.fact(0), call.integer("blocksize", 0)
    if x.shape is None or block <= 0:
        return [moved(x, None)]
    if len(x.shape) != 4:
        raise ContradictionError(f"{call.op_type} of rank {len(x.shape)}")
    n, c, h, w = x.shape
    if call.op_type == "DepthToSpace":
        shape = (n, _quotient(c, block * block), symbolic.mul(h, block), symbolic.mul(w, block))
    else:
        shape = (n, symbolic.mul(c, block * block), _quotient(h, block), _quotient(w, block))
    return [moved(x, shape)]


def _quotient(dim: Dim, divisor: int) -> Dim:
    if isinstance(dim, int) and dim % divisor:
        raise ContradictionError(f"{dim} is no multiple of {divisor}")
    return symbolic.floordiv(dim, divisor)


@formula("Trilu")
def _trilu(call: Call) -> list[Fact]:
    x = call.fact(0)
    return [with_data(Fact(x.dtype, x.shape), None, 0 if x.splat == 0 else None)]


def axis_of(call: Call, default: int, rank: int) -> int:
    """The attribute ``axis``, counted from the front."""
    return normal_axis(call.integer("axis", default), rank)

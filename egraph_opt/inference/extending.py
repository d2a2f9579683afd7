"""Operators that make a tensor larger: Pad, Expand, Tile."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import SMALL, Dim, Element, Fact, Shape

from .call import Call, ContradictionError, formula, normal_axes
from .elementwise import broadcast
from .numbers import array, with_data
from .views import moved


@formula("Pad")
def _pad(call: Call) -> list[Fact]:
    x = call.fact(0)
    pads: Sequence[Dim] | None
    if call.opset < 11:
        pads = call.integers("pads") if call.opset >= 2 else call.integers("paddings")
        filler: Element | float = call.number("value", 0.0)
    else:
        pads = call.fact(1).value
        filler = call.fact(2).splat if call.has(2) else 0
    if x.shape is None:
        return [moved(x, None)]
    rank = len(x.shape)
    axes: Sequence[int] | None = range(rank)
    if call.has(3):
        given = call.fact(3).ints
        axes = None if given is None else normal_axes(given, rank)
    if pads is None or axes is None:
        return [moved(x, (None,) * rank)]
    if len(pads) != 2 * len(axes):
        raise ContradictionError(f"{len(pads)} pads of {len(axes)} axes")
    dims = list(x.shape)
    for k, axis in enumerate(axes):
        dims[axis] = symbolic.add(symbolic.add(dims[axis], pads[k]), pads[k + len(axes)])
        if isinstance(dims[axis], int) and dims[axis] < 0:  # type: ignore[operator]
            raise ContradictionError(f"Pad to a dim of {dims[axis]}")
    keeps = call.text("mode", "constant") != "constant" or (x.splat is not None and filler == x.splat)
    return [with_data(Fact(x.dtype, tuple(dims)), None, x.splat if keeps else None)]


@formula("Expand")
def _expand(call: Call) -> list[Fact]:
    x, target = call.fact(0), call.fact(1).value
    if target is None:
        length = call.shape(1)
        if x.shape is None or length is None or len(length) != 1 or not isinstance(length[0], int):
            return [moved(x, None)]
        return [moved(x, broadcast([x.shape, (None,) * length[0]]))]
    shape = broadcast([x.shape, tuple(d if symbolic.is_at_least(d, 0) else None for d in target)])
    items = array(x)
    if items is not None and shape is not None and all(isinstance(d, int) for d in shape):
        items = np.broadcast_to(items, shape) if math.prod(shape) <= SMALL else None  # type: ignore[arg-type]
    return [moved(x, shape, items)]


@formula("Tile")
def _tile(call: Call) -> list[Fact]:
    x, repeats = call.fact(0), call.fact(1).value
    if x.shape is None or call.opset < 6:
        return [moved(x, None)]
    if repeats is None:
        return [moved(x, (None,) * len(x.shape))]
    if len(repeats) != len(x.shape) or any(isinstance(r, int) and r < 0 for r in repeats):
        raise ContradictionError(f"Tile of {x.shape} by {repeats}")
    shape: Shape = tuple(symbolic.mul(d, r) for d, r in zip(x.shape, repeats, strict=True))
    items = array(x)
    counts = call.fact(1).ints
    if items is None or counts is None or items.size * math.prod(counts) > SMALL:
        return [moved(x, shape)]
    return [moved(x, shape, np.tile(items, counts))]

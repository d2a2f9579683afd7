"""Views of which a dim is 1 in what the author wrote, with two or three there, and all that is a factor of.

Where images have one channel, it may be in front of a block or behind it, and views in a row hold the same
either way.  A dim of a view alone is another one nowhere: the input is longer, and so are the views behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
import onnx_ir as ir

from egraph_opt.check.beside.changing import with_roots
from egraph_opt.check.beside.followed_sizes import with_dims_of
from egraph_opt.check.beside.shapes_of_parts import ShapesOfParts
from egraph_opt.check.beside.variants import dims_of, of_dims, with_input
from egraph_opt.check.scope import nodes_of, roots_of
from egraph_opt.check.tried_terms import lowered_if_typed
from egraph_opt.facts.fact import Dim
from egraph_opt.laws.law import Example
from egraph_opt.operators.constants import leaf
from egraph_opt.operators.expressions import Expression, constant, parts

TIMES = (2, 3)
"""What a dim of 1 becomes."""

MOST_VIEWS, MOST_WAYS = 6, 24
"""Views in a row, and ways in which they can be longer, that are looked at."""

LARGER = 0.25
"""By which part of themselves elements are larger where they begin again: copies would hide a change."""

OF_A_SYMBOL = 1009
"""What a symbol counts as, which is no factor of anything else."""

Dims = tuple[Any, ...]


@dataclass(frozen=True)
class LongerViews:
    """What views become where an axis of an input is so many times as long.

    Attributes:
        dims: of each of them, as an attribute.
        sizes: what has become longer, and how long that is.
        raised: whether one of the dims was 1.
    """

    dims: Mapping[Expression, Expression] = field(default_factory=dict)
    sizes: Mapping[int, int] = field(default_factory=dict)
    raised: bool = False


def with_factors_of_one(example: Example) -> Iterator[Example]:
    """Each axis of an operand, alone and in all that are alike, two and three times as long, where a dim of 1
    of a view becomes so long."""
    found = {node for node in nodes_of(example) if node.head.name == "reshape"}
    views = sorted(found, key=lambda view: (sum(1 for _ in parts(view)), repr(view)))
    if not any(1 in _dims(view) for view in views):
        return
    for places, axis, size in _axes(example):
        leaves = {leaf(place) for place in places}
        own = [view for view in views if not leaves.isdisjoint(parts(view))]
        if not 0 < len(own) <= MOST_VIEWS:
            continue
        for times in TIMES:
            longer = example
            for place in places:
                longer = _with_longer(longer, place, min(axis, _rank(example, place) - 1), times * size)
            begin = LongerViews(sizes={size: times * size} if size > 1 else {})
            for way in _ways(example, longer, own, begin):
                yield from _followed(longer, places, way)


def _axes(example: Example) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Operands, one of their axes and how long that is: each alone, then those of one shape, with rows that
    are as long, as biases are."""
    shapes = [_shape(value) for value in example.operands.values]
    for place, shape in enumerate(shapes):
        for axis, size in enumerate(shape):
            if not isinstance(size, int) or size < 1:
                continue
            yield (place,), axis, size
            alike = tuple(k for k, other in enumerate(shapes) if other in (shape, (size,)))
            if len(alike) > 1 and len(shape) > 1 and place == shapes.index(shape):
                yield alike, axis, size


def _shape(value: ir.Value) -> Dims:
    """Of an input, or of a constant of floats; of other constants, which are orders or bounds, nothing."""
    is_other = value.const_value is not None and not value.const_value.dtype.is_floating_point()
    return () if is_other else dims_of(value)


def _rank(example: Example, place: int) -> int:
    return len(dims_of(example.operands.values[place]))


def _with_longer(example: Example, place: int, axis: int, size: int) -> Example:
    """An operand with a longer axis; elements of a constant begin again, larger each time."""
    value = example.operands.values[place]
    dims = dims_of(value)
    longer = (*dims[:axis], size, *dims[axis + 1 :])
    if value.const_value is None:
        return with_input(example, value, longer)
    array = value.const_value.numpy()
    shares = 1 + LARGER * (np.arange(size) // max(array.shape[axis], 1))
    shares = shares.reshape(-1, *(1,) * (array.ndim - 1 - axis))
    made = (of_dims(array, longer) * shares).astype(array.dtype)
    return replace(example, operands=example.operands.with_constant(place, made))


def _ways(
    example: Example, longer: Example, views: Sequence[Expression], begin: LongerViews
) -> list[LongerViews]:
    """How views may hold what operands have more, one after the other, where one of 1 becomes longer."""
    ways, before, beyond = [begin], ShapesOfParts(example), ShapesOfParts(longer)
    for view in views:
        old = before.of(view.arguments[0])
        found: list[LongerViews] = []
        for way in ways:
            new = beyond.of(with_dims_of(view.arguments[0], way.dims))
            found += _with_view(way, view, old, new)
        ways = found[:MOST_WAYS]
    return [way for way in ways if way.raised]


def _with_view(
    way: LongerViews, view: Expression, old: Dims | None, new: Dims | None
) -> Iterator[LongerViews]:
    """The same with one more view, of something that was of one shape and is of another one."""
    if old is None or new is None or len(old) != len(new):
        return
    changed = [axis for axis, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
    if not changed:
        yield way
    if len(changed) != 1 or not all(isinstance(shape[changed[0]], int) for shape in (old, new)):
        return
    times, dims = new[changed[0]] // old[changed[0]], _dims(view)
    alike = [made for other, made in way.dims.items() if other.arguments[1] == view.arguments[1]]
    for k in _beside(old, changed[0], dims):
        made = constant((*dims[:k], dims[k] * times, *dims[k + 1 :]), view.arguments[1].sort)
        if alike and made not in alike:
            continue  # views of several operands that are alike stay so
        sizes = {dims[k]: dims[k] * times} if dims[k] > 1 else {}
        raised = way.raised or dims[k] == 1
        yield replace(way, dims={**way.dims, view: made}, sizes={**way.sizes, **sizes}, raised=raised)


def _beside(old: Dims, axis: int, dims: Dims) -> Iterator[int]:
    """The dims of a view in which a factor of an axis is, or may be: those of the same elements in a row."""
    low = prod(map(_count, old[axis + 1 :]))
    high = low * _count(old[axis])
    for k, dim in enumerate(dims):
        inner = prod(map(_count, dims[k + 1 :]))
        outer = inner * _count(dim)
        if isinstance(dim, int) and dim > 0 and inner <= high and low <= outer:
            yield k


def _count(dim: Dim) -> int:
    return dim if isinstance(dim, int) else OF_A_SYMBOL


def _dims(view: Expression) -> Dims:
    return tuple(view.arguments[1].head.value)


def _followed(longer: Example, places: Sequence[int], way: LongerViews) -> Iterator[Example]:
    """The same term with these views, where it is well-typed, else with an axis of another operand longer."""
    made = with_roots(longer, (with_dims_of(term, way.dims) for term in roots_of(longer)))
    if lowered_if_typed(made):
        yield made
        return
    for place, value in enumerate(longer.operands.values):
        for axis, size in enumerate(_shape(value) if place not in places else ()):
            if size in way.sizes:
                wider = _with_longer(made, place, axis, way.sizes[size])
                if lowered_if_typed(wider):
                    yield wider

"""What an example does not say since it need not, or its opset has not got it.

Dilations of pools, strides and dilations with a common divisor, settings of a Resize that were added later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from egraph_opt.check.beside.changing import with_changed, with_parts
from egraph_opt.check.beside.variants import Dims, arrays_of, with_dims
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.check.shorthands import with_argument
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression, constant
from egraph_opt.operators.linear import ConvWindow
from egraph_opt.operators.windows import PoolWindow

NEWEST = 21
"""An opset that has all of it."""

STEPS = ((1, 2), (2, 2), (2, 4), (4, 6), (6, 4))
"""Strides and dilations: of the last two neither divides the other."""

ROOM = (0, 1, 11)
"""By how much images are larger."""

UNEVEN = 1.5
"""A factor by which parts of an image are not as long as the whole is."""

ADDED: tuple[tuple[str, Any], ...] = (
    ("antialias", 1),
    ("coordinate_transformation_mode", "half_pixel_symmetric"),
    ("coordinate_transformation_mode", "align_corners"),
    ("cubic_coeff_a", -0.5),
    ("exclude_outside", 1),
    ("keep_aspect_ratio_policy", "not_larger"),
    ("keep_aspect_ratio_policy", "not_smaller"),
    ("nearest_mode", "ceil"),
    ("nearest_mode", "round_prefer_ceil"),
)
"""Settings of a Resize."""


def with_newer_settings(example: Example) -> Iterator[Example]:
    """Each window with other steps, and each Resize with one more setting, on images of several sizes."""
    changed = [other for node in nodes_of(example) for other in _otherwise(node)]
    if not changed:
        return
    newest = replace(example, opset=max(example.opset, NEWEST))
    roomy = [with_dims(newest, partial(_grown, more)) for more in ROOM]
    for each, (node, other) in product(roomy, changed):
        yield with_parts(each, {node: other})
    for base, node in product((newest, with_dims(newest, _all_longer)), nodes_of(example)):
        yield from _with_named_axes(base, node)


def _with_named_axes(example: Example, node: Expression) -> Iterator[Example]:
    """A Resize along two axes next to each other, one of which may stay, whose scales are of these only."""
    arrays = arrays_of(example)
    place = place_of_leaf(node.arguments[2]) if node.head.name == "resize" else -1
    changed = arrays[place][arrays[place] != 1] if place in arrays else np.ones(0)
    for first in range(arrays[place].size - 1) if changed.size else ():
        settings = {**dict(node.arguments[4].head.value), "axes": (first, first + 1)}
        named = with_changed(example, node, 4, tuple(sorted(settings.items())))
        for scales in ((UNEVEN, 1), (1, UNEVEN), (changed[0], 1), (1, changed[0]), (changed[0], changed[-1])):
            operands = named.operands.with_constant(place, np.array(scales, np.float32))
            yield replace(named, operands=operands)


def _otherwise(node: Expression) -> Iterator[tuple[Expression, Expression]]:
    """An operator, and what it is with another attribute."""
    for position, argument in enumerate(node.arguments):
        value = getattr(argument.head, "value", None)
        for made in _values(node.head.name, value):
            yield node, with_argument(node, position, constant(made, argument.sort))


def _values(operator: str, value: Any) -> Iterator[Any]:
    if isinstance(value, PoolWindow | ConvWindow):
        axes = len(value.strides)
        for stride, dilation in STEPS:
            yield replace(value, strides=(stride,) * axes, dilations=(dilation,) * axes)
        yield replace(value, dilations=(2,) * axes)  # the strides as they are
    elif operator == "resize" and isinstance(value, tuple) and value and isinstance(value[0], tuple):
        given = dict(value)
        yield from (tuple(sorted({**given, name: v}.items())) for name, v in ADDED if given.get(name) != v)


def _grown(more: int, dims: Dims) -> Dims:
    """Those of a larger image."""
    return tuple(d + more if isinstance(d, int) and k > 1 else d for k, d in enumerate(dims))


def _all_longer(dims: Dims) -> Dims:
    return tuple(d + 1 if isinstance(d, int) else d for d in dims)

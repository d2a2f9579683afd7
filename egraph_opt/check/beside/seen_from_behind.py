"""Images that are turned round in front of a window and turned back behind it, with other windows: where the
steps do not end with the image, or more is added behind it than in front, nothing is the same from behind.

The slices that take all of an axis backwards follow its length, which another window changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from egraph_opt.check.beside.changing import with_attribute, with_parts
from egraph_opt.check.beside.variants import dims_of, with_shape
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.check.shorthands import with_argument
from egraph_opt.check.terms import Builder
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression

WINDOWED = {"conv": 3, "conv_transpose": 3, "pool": 2, "lp_pool": 2}
"""Where the window is among the arguments of operators."""

STEPS = ((3, 1, 1), (2, 0, 2), (2, 1, 1), (3, 0, 1))
"""Strides, pads at either end and dilations."""

LONGER = (0, 1, 2)
"""By how much the axis is longer: one of these lengths ends with the last step of 3."""

BACKWARDS = -1


def with_windows_seen_from_behind(example: Example) -> Iterator[Example]:
    """Each window between two slices that take all of one axis backwards."""
    for back in nodes_of(example):
        if back.head.name != "slice_":
            continue
        window = _between(back)
        if window is None:
            continue
        at, axis = WINDOWED[window.head.name], back.arguments[1].head.value[0][0]
        for longer, other in product(LONGER, _others(window.arguments[at].head.value)):
            made = _turned(example, back, with_attribute(window, at, other), axis, longer)
            if made is not None:
                yield made


def _between(back: Expression) -> Expression | None:
    """The window of which a slice turns one axis round that was turned before; None where there is none."""
    window = back.arguments[0]
    if getattr(window.head, "name", "") not in WINDOWED:
        return None
    front = next((part for part in window.arguments if getattr(part.head, "name", "") == "slice_"), None)
    if front is None or place_of_leaf(front.arguments[0]) < 0:
        return None
    (one, *more), (other, *others) = front.arguments[1].head.value, back.arguments[1].head.value
    return window if not more and not others and one[::3] == other[::3] == (one[0], BACKWARDS) else None


def _others(window: Any) -> Iterator[Any]:
    """A window with other steps, of a transposed one also with more behind."""
    axes = len(window.strides)
    for stride, pad, dilation in STEPS:
        pads, dilations = (pad,) * (2 * axes), (dilation,) * axes
        made = replace(window, strides=(stride,) * axes, pads=pads, dilations=dilations)
        yield made
        if hasattr(window, "output_padding"):
            yield replace(made, output_padding=(1,) * axes)


def _turned(example: Example, back: Expression, window: Expression, axis: int, longer: int) -> Example | None:
    """The same image, longer along an axis, all of which is turned round before and behind another window."""
    place, front = next(
        (k, part) for k, part in enumerate(window.arguments) if getattr(part.head, "name", "") == "slice_"
    )
    leaf = place_of_leaf(front.arguments[0])
    dims = dims_of(example.operands.values[leaf])
    size = dims[axis] if axis < len(dims) else None
    if not isinstance(size, int):
        return None
    sized = with_shape(example, leaf, (*dims[:axis], size + longer, *dims[axis + 1 :]))
    whole = with_argument(window, place, _backwards(front, axis, size + longer))
    try:
        builder = Builder(sized.operands, sized.opset)
        known = builder.lowered.facts[builder.term(whole)]
    except Exception:  # of windows that do not suit an image inference fails in many ways
        return None
    length = None if known is None or known.shape is None else known.shape[axis]
    if not isinstance(length, int) or length < 1:
        return None
    return with_parts(sized, {back: with_argument(_backwards(back, axis, length), 0, whole)})


def _backwards(node: Expression, axis: int, size: int) -> Expression:
    """All of an axis backwards, one element as it is."""
    return with_attribute(node, 1, ((axis, size - 1, None, -1) if size > 1 else (axis, 0, 1, 1),))

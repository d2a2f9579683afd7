"""Kernels with zeros in front or behind, and windows whose pads keep the size of the result, on either side.

Where all kernels of an author are of one element, what is asked of a row of weights is right by accident: a
place in a row is a channel and a place within the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from egraph_opt.check.beside.changing import with_changed
from egraph_opt.check.beside.variants import arrays_of, resized
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression
from egraph_opt.operators.linear import ConvWindow

ZEROS = ((0, 1), (1, 0), (1, 1))
"""Zeros in front of a kernel and behind it."""

WINDOWED = {"conv": 3, "conv_transpose": 3}
"""Where the window is among the arguments of operators with a kernel."""

Pair = tuple[int, int]


def with_wider_kernels(example: Example) -> Iterator[Example]:
    """Each constant kernel longer along one axis of the image, or along all of them; also of one channel."""
    arrays = arrays_of(example)
    for node in nodes_of(example):
        place = place_of_leaf(node.arguments[1]) if node.head.name in WINDOWED else -1
        if place not in arrays or arrays[place].ndim < 3:
            continue
        channels, images = set(arrays[place].shape[:2]) - {0, 1}, arrays[place].ndim - 2
        bases = (example, resized(example, channels, 1)) if channels else (example,)
        for axes in dict.fromkeys((*((axis,) for axis in range(images)), tuple(range(images)))):
            for base, zeros in product(bases, ZEROS):
                yield from _wider(base, node, place, axes, zeros)


def _wider(
    example: Example, node: Expression, place: int, axes: tuple[int, ...], zeros: Pair
) -> Iterator[Example]:
    array = arrays_of(example)[place]
    added = [(0, 0), (0, 0), *(zeros if axis in axes else (0, 0) for axis in range(array.ndim - 2))]
    operands = example.operands.with_constant(place, np.pad(array, added))
    made = replace(example, operands=operands)
    position = WINDOWED[node.head.name]
    window: ConvWindow = node.arguments[position].head.value
    for pads in dict.fromkeys((zeros[::-1], zeros, (sum(zeros), 0), (0, sum(zeros)))):
        yield with_changed(made, node, position, _padded(window, axes, pads))


def _padded(window: ConvWindow, axes: tuple[int, ...], pads: Pair) -> Any:
    """A window with more pads in front and behind, in steps of its dilations."""
    steps = [d if axis in axes else 0 for axis, d in enumerate(window.dilations)]
    more = [pads[0] * step for step in steps] + [pads[1] * step for step in steps]
    return replace(window, pads=tuple(p + n for p, n in zip(window.pads, more, strict=True)))

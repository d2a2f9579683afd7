"""Images that are resized by other factors, of sizes that suit them.

What holds of a factor of two need not hold of three, four or one and a half, and an image of an odd size does
not show it where a law asks that the sizes come out even.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np

from egraph_opt.check.beside.variants import arrays_of, dims_of, input_like
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.laws.law import Example

SCALES = (2.0, 3.0, 4.0, 8.0, 1.5, 0.5, 0.25, 0.125)

PAIRS = ((1.5, 2.0), (2.0, 1.5), (0.5, 2.0), (2.0, 0.5), (0.5, 0.5), (4.0, 0.25), (3.0, 2.0))
"""Scales of two that follow each other: of some the product is whole, though a scale is none."""

SIZE = 8
"""What divides by all factors below 1, and is not made too large by the others."""


def with_other_scales(example: Example) -> Iterator[Example]:
    """All scales of a Resize that change a size another one; the first of them alone, and the others; and
    those of two Resizes."""
    nodes, arrays = nodes_of(example), arrays_of(example)
    places = {place_of_leaf(node.arguments[2]) for node in nodes if node.head.name == "resize"}
    scales = {place: arrays[place] for place in sorted(places & set(arrays)) if (arrays[place] != 1).any()}
    for place, old in scales.items():
        changed = np.flatnonzero(old != 1)
        for axes in (changed, changed[:1], changed[1:]) if changed.size > 1 else (changed,):
            for scale in SCALES:
                new = old.copy()
                new[axes] = scale
                yield _with_room(example, {place: new})
    for both in permutations(scales, 2):
        for pair in PAIRS:
            made = {k: np.where(scales[k] == 1, 1, n) for k, n in zip(both, pair, strict=True)}
            yield _with_room(example, made)


def _with_room(example: Example, scales: Mapping[int, Any]) -> Example:
    """Other scales, and inputs that are of one size along the axes that they change."""
    operands = example.operands
    for place, array in scales.items():
        operands = operands.with_constant(place, array.astype(np.float32))
    axes = {int(k) for array in scales.values() for k in np.flatnonzero(array != 1)}
    values, facts = [*operands.values], [*operands.facts]
    for place, value in enumerate(operands.values):
        dims = dims_of(value)
        if value.const_value is None and len(dims) > max(axes):
            sized = tuple(SIZE if k in axes and isinstance(d, int) else d for k, d in enumerate(dims))
            values[place], facts[place] = input_like(value, sized, facts[place].dtype)
    return replace(example, operands=replace(operands, values=values, facts=facts))

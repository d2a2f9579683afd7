"""Images that are resized by other factors, of sizes that suit them.

What holds of a factor of two need not hold of three, four or one and a half, and an image of an odd size does
not show it where a law asks that the sizes come out even.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from egraph_opt.check.beside.variants import arrays_of, dims_of, input_like
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.laws.law import Example

SCALES = (2.0, 3.0, 4.0, 8.0, 1.5, 0.5, 0.25, 0.125)

SIZE = 8
"""What divides by all factors below 1, and is not made too large by the others."""


def with_other_scales(example: Example) -> Iterator[Example]:
    """All scales of a Resize that change a size another one; the first of them alone, and the others."""
    arrays = arrays_of(example)
    places = {place_of_leaf(node.arguments[2]) for node in nodes_of(example) if node.head.name == "resize"}
    for place in sorted(places & set(arrays)):
        old = arrays[place]
        changed = np.flatnonzero(old != 1)
        for axes in (changed, changed[:1], changed[1:]) if changed.size > 1 else (changed,):
            for scale in SCALES if axes.size else ():
                new = old.copy()
                new[axes] = scale
                yield _with_room(
                    replace(example, operands=example.operands.with_constant(place, new)), changed
                )


def _with_room(example: Example, axes: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Example:
    """Inputs that are of one size along some axes."""
    operands = example.operands
    values, facts = [*operands.values], [*operands.facts]
    for place, value in enumerate(operands.values):
        dims = dims_of(value)
        if value.const_value is None and len(dims) > max(axes):
            sized = tuple(SIZE if k in axes and isinstance(d, int) else d for k, d in enumerate(dims))
            values[place], facts[place] = input_like(value, sized, facts[place].dtype)
    return replace(example, operands=replace(operands, values=values, facts=facts))

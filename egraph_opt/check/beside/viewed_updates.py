"""Updates of ScatterND as other views of the block that they overwrite: merged axes, one more, or one in two.

What is written is the same, and a law that takes updates for the block itself gets their shape wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from egraph_opt.check.beside.inputs_under import shape_under
from egraph_opt.check.beside.variants import dims_of, with_shape
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.laws.law import Example

Dims = tuple[Any, ...]


def with_viewed_updates(example: Example) -> Iterator[Example]:
    """Each input that overwrites a block of something, by ScatterND, in other dims of as many elements."""
    for node in nodes_of(example):
        if node.head.name != "overwrite" or node.arguments[2].head.value != "ScatterND":
            continue
        place, whole = place_of_leaf(node.arguments[1]), shape_under(example, node)
        if place < 0 or whole is None or example.operands.values[place].const_value is not None:
            continue
        dims, block = dims_of(example.operands.values[place]), node.arguments[3].head.value
        count = len(dims) - len(whole) + len(block)
        rows, rest = dims[:count], dims[count:]
        if all(isinstance(d, int) for d in rows):
            for view in _views(rows):
                yield with_shape(example, place, (*view, *rest))


def _views(rows: Dims) -> Iterator[Dims]:
    if len(rows) > 1:
        yield (math.prod(rows),)
    yield from ((1, *rows), (*rows, 1))
    yield from ((2, d // 2) for d in rows if len(rows) == 1 and d > 2 and not d % 2)

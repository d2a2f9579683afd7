"""Blocks of the first axis that are overwritten, in other steps, from other rows; of two blocks both.

Updates have as many rows as a block, so that one of its numbers alone is seldom another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from egraph_opt.check.beside.changing import with_changed
from egraph_opt.check.beside.shapes_of_parts import ShapesOfParts
from egraph_opt.check.beside.variants import dims_of, with_shape
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression

STARTS, STEPS = (0, 1), (1, 2, 3)

Cut = tuple[int, int, int, int]


def with_stepped_blocks(example: Example) -> Iterator[Example]:
    """Each block that inputs overwrite, and each pair of them, from the first or second row to the last."""
    shapes = ShapesOfParts(example)
    blocks = filter(None, (_block(example, node, shapes) for node in nodes_of(example)))
    rows = dict(sorted(blocks)[:2])
    places = list(rows)
    cuts = [[(0, start, rows[place], step) for start, step in product(STARTS, STEPS)] for place in places]
    for chosen in product(*cuts) if places else ():
        made = example
        for place, cut in zip(places, chosen, strict=True):
            made = _with_block(made, place, cut)
        yield made


def _block(example: Example, node: Expression, shapes: ShapesOfParts) -> tuple[int, int] | None:
    """The operand that overwrites rows, and how many rows there are; None where it is anything else."""
    place = place_of_leaf(node.arguments[1]) if node.head.name == "overwrite" else -1
    whole = shapes.of(node) if place >= 0 and len(node.arguments[3].head.value) == 1 else None
    if not whole or not isinstance(whole[0], int):
        return None
    return (place, whole[0]) if len(dims_of(example.operands.values[place])) == len(whole) else None


def _with_block(example: Example, place: int, cut: Cut) -> Example:
    """Another block for an operand, which has its rows."""
    _, start, end, step = cut
    dims = dims_of(example.operands.values[place])
    sized = with_shape(example, place, (-(-(end - start) // step), *dims[1:]))
    for node in nodes_of(sized):
        if node.head.name == "overwrite" and place_of_leaf(node.arguments[1]) == place:
            return with_changed(sized, node, 3, (cut,))
    return sized

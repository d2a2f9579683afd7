"""Rotary embeddings of other parts of a row: of its first features only, or of more heads than one.

The angles follow: what a law knows of a row as a whole, such as that its halves are alike, is not so of a
part.
"""

from __future__ import annotations

from collections.abc import Iterator

from egraph_opt.check.beside.changing import with_changed
from egraph_opt.check.beside.variants import dims_of, with_shape
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.check.terms import Builder
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression
from egraph_opt.operators.rotary import settings_of

SETTINGS = 3
"""Where these are among the arguments."""

HEADS = (1, 2)


def with_other_rotations(example: Example) -> Iterator[Example]:
    """Each rotation whose angles are leaves, of every part and of one head and two, in either order."""
    for node in nodes_of(example):
        if node.head.name != "rotary":
            continue
        leaves = {place_of_leaf(angles) for angles in node.arguments[1:SETTINGS]}
        row, rank = _row_of(example, node)
        if min(leaves) < 0 or row is None:
            continue
        given = node.arguments[SETTINGS].head.value
        for heads in HEADS if rank == 3 else (0,):
            size = row // max(heads, 1)
            for part in (0, *range(2, size, 2)) if row % max(heads, 1) == 0 and size % 2 == 0 else ():
                for order in (0, 1):
                    other = settings_of(order, heads, part)
                    if other != given:
                        yield with_changed(
                            _with_angles(example, leaves, (part or size) // 2), node, SETTINGS, other
                        )


def _row_of(example: Example, node: Expression) -> tuple[int | None, int]:
    """How long the rows are that are rotated, if that is known, and how many axes there are."""
    builder = Builder(example.operands, example.opset)
    known = builder.lowered.facts[builder.term(node.arguments[0])]
    shape = None if known is None else known.shape
    return (None, 0) if not shape or not isinstance(shape[-1], int) else (shape[-1], len(shape))


def _with_angles(example: Example, leaves: set[int], pairs: int) -> Example:
    for place in sorted(leaves):
        dims = dims_of(example.operands.values[place])
        example = with_shape(example, place, (*dims[:-1], pairs))
    return example

"""Parts of an axis of which those in the middle are others: two of a Concat, or two more, in each other's
place, and three more of a Split, of other sizes.

What a law asks of parts is that they are in order, and cover an axis; what its condition looks at may be both
ends, how many there are, or their sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from egraph_opt.check.beside.changing import with_attribute, with_parts
from egraph_opt.check.beside.variants import dims_of, resized
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.check.shorthands import replaced, with_argument
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression, constant
from egraph_opt.operators.terms import listed

LENGTH, FEW = 2, 3
"""Of a part that is added; of how many parts there are some in the middle."""


def with_parts_between(example: Example) -> Iterator[Example]:
    """Each Concat of slices, each one of neighbours in one leaf, and each Split of a leaf."""
    for node in nodes_of(example):
        if node.head.name == "concat":
            yield from _exchanged(example, node)
            yield from _in_another_order(example, node)
        elif node.head.name == "split" and place_of_leaf(node.arguments[0]) >= 0:
            yield from _of_other_sizes(example, node)


def _in_another_order(example: Example, node: Expression) -> Iterator[Example]:
    """Each two of several slices that are neighbours, in each other's place."""
    parts = list(_elements(node.arguments[0]))
    if len(parts) < FEW or any(getattr(part.head, "name", "") != "slice_" for part in parts):
        return
    for k in range(len(parts) - 1):
        exchanged = [*parts[:k], parts[k + 1], parts[k], *parts[k + 2 :]]
        yield with_parts(example, {node: with_argument(node, 0, listed(*exchanged))})


def _exchanged(example: Example, node: Expression) -> Iterator[Example]:
    """Behind the first part the two that come next, in the wrong order."""
    parts, axis = list(_elements(node.arguments[0])), node.arguments[1].head.value
    if len(parts) < 2 or any(getattr(part.head, "name", "") != "slice_" for part in parts):
        return
    specs = [part.arguments[1].head.value for part in parts]
    places = {place_of_leaf(part.arguments[0]) for part in parts}
    if len(places) > 1 or min(places) < 0:
        return
    if any(len(spec) != 1 or spec[0][0] != axis or spec[0][3] != 1 for spec in specs):
        return
    bounds, dim = [spec[0][1:3] for spec in specs], dims_of(example.operands.values[min(places)])[axis]
    if not isinstance(dim, int) or not all(0 <= low < (high or 0) <= dim for low, high in bounds):
        return
    at, more = bounds[0][1], 2 * LENGTH
    moved = [(low + more, high + more) if low >= at else (low, high) for low, high in bounds[1:]]
    inserted = [(at + LENGTH, at + more), (at, at + LENGTH)]
    cut = [_cut(parts[0], axis, *each) for each in (bounds[0], *inserted, *moved)]
    whole = with_argument(node, 0, listed(*cut))
    yield replace(resized(example, {dim}, dim + more), term=replaced(example.term, {node: whole}))


def _elements(xs: Expression) -> Iterator[Expression]:
    while xs.arguments:
        yield xs.arguments[0]
        xs = xs.arguments[1]


def _cut(part: Expression, axis: int, low: int, high: int) -> Expression:
    return with_attribute(part, 1, ((axis, low, high, 1),))


def _of_other_sizes(example: Example, node: Expression) -> Iterator[Example]:
    """In the middle one that is longer, one like the first, and one that is shorter; each output in turn."""
    sizes = node.arguments[2].head.value
    if len(sizes) < 2 or sizes[0] < 2:
        return
    half, first = (len(sizes) + 1) // 2, sizes[0]
    more = (*sizes[:half], first + 1, first, first - 1, *sizes[half:])
    longer = with_attribute(node, 2, more)
    wider = resized(example, {sum(sizes)}, sum(more))
    outputs = [part for part in nodes_of(example) if part.head.name == "output" and part.arguments[0] == node]
    for part in outputs:
        for number in range(len(more)):
            taken = with_argument(with_argument(part, 0, longer), 1, constant(number, part.arguments[1].sort))
            yield replace(wider, term=replaced(example.term, {part: taken}))

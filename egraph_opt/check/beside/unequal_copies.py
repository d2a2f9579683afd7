"""Copies of as many as there are, or of another number: Expands whose dims were equal, and the views behind.

Of a square grid rows and columns are told apart by nothing: what is written for one is right of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from egraph_opt.check.beside.changing import with_roots
from egraph_opt.check.beside.followed_sizes import with_dims_of
from egraph_opt.check.beside.shapes_of_parts import ShapesOfParts
from egraph_opt.check.scope import nodes_of, roots_of
from egraph_opt.check.tried_terms import lowered_if_typed
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression, constant, parts

MOST_VIEWS, MOST_WAYS = 6, 24
"""Views behind an Expand, and ways in which they may follow it, that are looked at."""

Dims = Mapping[Expression, Expression]


def with_unequal_copies(example: Example) -> Iterator[Example]:
    """Each dim of an Expand, or of a Tile, one more or less, and the views behind it of as many elements."""
    nodes = nodes_of(example)
    views = sorted((n for n in nodes if n.head.name == "reshape"), key=lambda v: sum(1 for _ in parts(v)))
    for node in nodes:
        behind = [view for view in views if node in parts(view)]
        given = node.arguments[1].head.value if node.head.name in ("expand", "tile") else ()
        for k, dim in enumerate(given if len(behind) <= MOST_VIEWS else ()):
            for other in (dim + 1, dim - 1) if isinstance(dim, int) and dim > 1 else ():
                made = constant((*given[:k], other, *given[k + 1 :]), node.arguments[1].sort)
                yield from filter(lowered_if_typed, _followed(example, behind, {node: made}))


def _followed(example: Example, views: list[Expression], changed: Dims) -> list[Example]:
    shapes, ways = ShapesOfParts(example), [changed]
    for view in views:
        ways = [other for way in ways for other in _with_view(shapes, view, way)][:MOST_WAYS]
    return [with_roots(example, (with_dims_of(term, way) for term in roots_of(example))) for way in ways]


def _with_view(shapes: ShapesOfParts, view: Expression, way: Dims) -> Iterator[Dims]:
    """The same with a view of as many elements as there are now: one of its dims is another."""
    old, new = shapes.of(view.arguments[0]), shapes.of(with_dims_of(view.arguments[0], way))
    dims: tuple[Any, ...] = tuple(view.arguments[1].head.value)
    if old is None or new is None or not all(isinstance(d, int) for d in (*old, *new, *dims)):
        return
    before, count = prod(old), prod(new)
    if count == before:
        yield way
    for k, dim in enumerate(dims if count != before else ()):
        if dim > 0 and not dim * count % before:
            made = constant((*dims[:k], dim * count // before, *dims[k + 1 :]), view.arguments[1].sort)
            yield {**way, view: made}

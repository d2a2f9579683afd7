"""Views between dims of which several are equal: by its length none of them is told from another one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from egraph_opt.check.beside.changing import with_changed, with_parts
from egraph_opt.check.beside.inputs_under import shape_under, with_shape_under
from egraph_opt.check.choices import spread
from egraph_opt.check.scope import named_by, nodes_of
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import constant

LENGTHS = (2, 4)
"""Of axes of what is viewed; those of the view are these and the next power."""

MOST_AXES, MOST = 4, 24
"""Of either side of a view, and views of two ranks."""

Pair = tuple[tuple[int, ...], tuple[int, ...]]


def with_equal_views(example: Example) -> Iterator[Example]:
    """Each view of inputs that has fewer axes, and each axis of it that something is along."""
    for node in nodes_of(example):
        viewed = shape_under(example, node) if node.head.name == "reshape" else None
        if viewed is None:
            continue
        rank = len(node.arguments[1].head.value)
        for shape, other in _pairs(len(viewed), rank):
            made = with_shape_under(example, node, shape)
            yield from _along_each(with_changed(made, node, 1, other), rank)


@lru_cache
def _pairs(rank: int, fewer: int) -> tuple[Pair, ...]:
    """Some shapes of a rank and views of them, of which no two axes can be told apart by their lengths."""
    if not 1 < fewer < rank <= MOST_AXES:
        return ()
    shapes, views = product(LENGTHS, repeat=rank), list(product((*LENGTHS, 8), repeat=fewer))
    found = [(s, v) for s in shapes for v in views if math.prod(s) == math.prod(v) and {*s} & {*v}]
    return tuple(spread(sorted(found, key=_unlike), MOST))


def _unlike(pair: Pair) -> tuple[int, Pair]:
    """Those first of which the most axes are of one length."""
    return len({*pair[0], *pair[1]}), pair


def _along_each(example: Example, rank: int) -> Iterator[Example]:
    yield example
    for axis in named_by(example, "Axis")[:1]:
        for other in set(range(rank)) - {axis.head.value}:
            yield with_parts(example, {axis: constant(other, axis.sort)})

"""Views that put in axes of one element, or leave them out, with several of these anywhere.

Where an axis is behind such a view, depends on how many are in front of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, product

from egraph_opt.check.beside.changing import with_changed, with_parts
from egraph_opt.check.beside.inputs_under import shape_under, with_shape_under
from egraph_opt.check.scope import named_by, nodes_of
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import constant

DIMS = (2, 3, 4)
"""Axes of several elements, which their lengths tell apart."""

FEWEST = 2
"""Axes of one element."""


def with_more_ones(example: Example) -> Iterator[Example]:
    """Each view of inputs that differs by axes of one element, with two of them and more in all places, and
    what is along an axis along each other one."""
    for node in nodes_of(example):
        old = shape_under(example, node) if node.head.name == "reshape" else None
        if old is None:
            continue
        new = node.arguments[1].head.value
        if len(old) == len(new) or [d for d in old if d != 1] != [d for d in new if d != 1]:
            continue
        for ones in _with_ones():
            shape, view = (DIMS, ones) if len(new) > len(old) else (ones, DIMS)
            made = with_shape_under(example, node, shape)
            yield from _along(with_changed(made, node, 1, view), [k for k, d in enumerate(view) if d != 1])


def _with_ones() -> Iterator[tuple[int, ...]]:
    """All axes with ones in some of the places between them."""
    places = range(len(DIMS) + 1)
    for chosen in chain.from_iterable(combinations(places, k) for k in range(FEWEST, len(places) + 1)):
        yield tuple(chain.from_iterable((*(1,) * (k in chosen), *DIMS[k : k + 1]) for k in places))


def _along(example: Example, axes: list[int]) -> Iterator[Example]:
    named = named_by(example, "Axis")
    for axis, _ in product(axes, named[:1]):
        yield with_parts(example, {named[0]: constant(axis, named[0].sort)})
    if not named:
        yield example

"""Sizes of inputs that the dims of views follow: both change together, where one alone is ill-typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any

from egraph_opt.check.beside.changing import with_roots
from egraph_opt.check.beside.variants import dims_of, with_input
from egraph_opt.check.scope import nodes_of, roots_of
from egraph_opt.check.tried_terms import lowered_if_typed
from egraph_opt.laws.law import Example
from egraph_opt.operators.constants import leaf
from egraph_opt.operators.expressions import Expression, constant, parts

Shape = tuple[Any, ...]
EMPTY: Mapping[Shape, Shape] = MappingProxyType({})

FOLLOWING = frozenset({"reshape", "expand", "tile"})
TIMES = (2, 3)
"""How much longer an axis is; it is as long as another one as well, where that is a multiple."""

FEW_VIEWS, MOST_VIEWS = 3, 6
"""Views of what an input is: of few each changes by itself, of more those that have the same dims change
alike, and of more than that none is looked at."""


def with_followed_sizes(example: Example) -> Iterator[Example]:
    """Each size of an input times some number, and so is one of the dims of some views."""
    views = [node for node in nodes_of(example) if node.head.name in FOLLOWING]
    values = example.operands.values
    sizes = {d for v in values for d in dims_of(v) if isinstance(d, int)}
    sizes |= {d for view in views for d in _dims(view) if isinstance(d, int)}
    for place, value in enumerate(values if views else ()):
        own = [view for view in views if leaf(place) in parts(view)]
        if value.const_value is not None or not 0 < len(own) <= MOST_VIEWS:
            continue
        for axis, size in enumerate(dims_of(value)):
            if not isinstance(size, int) or size < 1:
                continue
            for times in sorted({*TIMES, *(s // size for s in sizes if s > size and s % size == 0)}):
                dims = (*dims_of(value)[:axis], times * size, *dims_of(value)[axis + 1 :])
                longer = with_input(example, value, dims)
                if len(own) <= FEW_VIEWS:
                    found = followed(longer, [(view,) for view in own], times)
                else:
                    found = followed(longer, _alike(own), times, {dims_of(value): dims})
                yield from filter(lowered_if_typed, found)


def _alike(views: Sequence[Expression]) -> list[tuple[Expression, ...]]:
    """Views with those that have the same dims."""
    found: dict[Shape, tuple[Expression, ...]] = {}
    for view in views:
        found[_dims(view)] = (*found.get(_dims(view), ()), view)
    return list(found.values())


def followed(
    example: Example, groups: Sequence[Sequence[Expression]], times: int, known: Mapping[Shape, Shape] = EMPTY
) -> Iterator[Example]:
    """The same term where one of the dims of each group of views, or none, is so many times what it was.

    Args:
        known: what dims become that are not free to choose.
    """
    given = [_dims(views[0]) for views in groups]
    ways = ([known[dims]] if dims in known else [dims, *_larger(dims, times)] for dims in given)
    for chosen in product(*ways):
        dims = {
            view: constant(d, view.arguments[1].sort)
            for views, d in zip(groups, chosen, strict=True)
            for view in views
        }
        terms = tuple(with_dims_of(term, dims) for term in roots_of(example))
        yield with_roots(example, terms)


def _dims(view: Expression) -> Shape:
    return tuple(view.arguments[1].head.value)


def _larger(dims: Shape, times: int) -> Iterator[Shape]:
    for k, d in enumerate(dims):
        if isinstance(d, int) and d > 0:
            yield (*dims[:k], d * times, *dims[k + 1 :])


def with_dims_of(term: Expression, dims: Mapping[Expression, Expression]) -> Expression:
    """A term with other dims of its views, which may lie in one another."""
    arguments = tuple(with_dims_of(argument, dims) for argument in term.arguments)
    if term in dims:
        arguments = (arguments[0], dims[term])
    return type(term)(term.head, arguments, term.sort)

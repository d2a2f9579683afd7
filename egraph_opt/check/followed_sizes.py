"""Sizes of inputs that the dims of views follow: both change together, where one alone is ill-typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from egraph_opt.check.scope import nodes_of, roots_of
from egraph_opt.check.trying import lowered_if_typed
from egraph_opt.check.variants import dims_of, with_input
from egraph_opt.laws.law import Example
from egraph_opt.operators.constants import leaf
from egraph_opt.operators.expressions import Expression, constant, parts

FOLLOWING = frozenset({"reshape", "expand", "tile"})
TIMES = (2, 3)
"""How much longer an axis is; it is as long as another one as well, where that is a multiple."""

MOST_VIEWS = 3
"""Views of what an input is, beyond which none is looked at."""


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
                yield from filter(lowered_if_typed, _followed(with_input(example, value, dims), own, times))


def _followed(example: Example, views: list[Expression], times: int) -> Iterator[Example]:
    """The same term where one of the dims of each view, or none, is so many times what it was."""
    ways = ([_dims(view), *_larger(_dims(view), times)] for view in views)
    for chosen in product(*ways):
        dims = {view: constant(d, view.arguments[1].sort) for view, d in zip(views, chosen, strict=True)}
        terms = tuple(_with_dims(term, dims) for term in roots_of(example))
        yield replace(example, term=terms if isinstance(example.term, tuple) else terms[0])


def _dims(view: Expression) -> tuple[Any, ...]:
    return tuple(view.arguments[1].head.value)


def _larger(dims: tuple[Any, ...], times: int) -> Iterator[tuple[Any, ...]]:
    for k, d in enumerate(dims):
        if isinstance(d, int) and d > 0:
            yield (*dims[:k], d * times, *dims[k + 1 :])


def _with_dims(term: Expression, dims: Mapping[Expression, Expression]) -> Expression:
    """A term with other dims of its views, which may lie in one another."""
    arguments = tuple(_with_dims(argument, dims) for argument in term.arguments)
    if term in dims:
        arguments = (arguments[0], dims[term])
    return type(term)(term.head, arguments, term.sort)

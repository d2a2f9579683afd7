"""Orders of axes, lists of them, equations and words that a law's host functions name, on operands that fit.

A table by rank or by equation is as long as its author made it, and the examples show some of its entries. A
slip in another one is seen on operands of its rank.  All their dims are equal, so that what comes of a wrong
order has the right shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from egraph_opt.check.beside.changing import in_one_and_in_all, with_changed, with_parts
from egraph_opt.check.beside.inputs_under import shape_under
from egraph_opt.check.beside.other_layers import items_of
from egraph_opt.check.beside.variants import with_dims, with_shape
from egraph_opt.check.choices import spread
from egraph_opt.check.named_numbers import MOST_AXES, NamedAttributes
from egraph_opt.check.scope import attributes_in, named_by, nodes_of, place_of_leaf
from egraph_opt.check.shorthands import transformed
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression, constant

SIZE = 3
"""Of axes that tell nothing by their length."""

MOST = 64
"""Terms of an example and a rank."""

RANKS = range(1, MOST_AXES + 1)
"""Of what is reduced along axes that a law names."""

Shape = tuple[Any, ...]


def with_named_attributes(example: Example, named: NamedAttributes) -> Iterator[Example]:
    """Each way to give transposes the orders of one rank that a law names, and reductions the axes; each
    equation, and each word for another."""
    if named.equations:
        yield from _with_equations(example, sorted(named.equations))
    yield from _with_words(example, sorted(named.words))
    transposes = [node for node in nodes_of(example) if node.head.name == "transpose"]
    ranks = {len(node.arguments[1].head.value) for node in transposes}
    for rank, orders in sorted(named.orders.items() if len(ranks) == 1 else ()):
        yield from _of_rank(example, min(ranks), rank, sorted(orders), sorted(named.axes))
    reduced = [node for node in nodes_of(example) if node.head.name == "reduce"]
    ranks = {len(shape_under(example, node) or ()) for node in reduced}
    for rank in RANKS if len(ranks) == 1 and named.axes and not transposes else ():
        yield from _of_rank(example, min(ranks), rank, (), sorted(named.axes))


def _of_rank(
    example: Example, old: int, rank: int, named: Sequence[Shape], named_axes: Sequence[Shape]
) -> Iterator[Example]:
    """Each transpose with each of some orders, and what is along axes along others of the rank."""
    orders, axes, single = (named_by(example, sort) for sort in ("Permutation", "Axes", "Axis"))
    ways = [[constant(order, p.sort) for order in named] for p in orders]
    fitting = [each for each in named_axes if max(each) < rank]
    ways += [[constant(each, a.sort) for each in fitting or [a.head.value]] for a in axes]
    ways += [[constant(axis, a.sort) for axis in range(rank)] for a in single[:1]]
    bases = list(_with_axes(example, old, rank))
    for chosen in spread(list(product(*ways)), MOST // max(len(bases), 1) or 1):
        by = dict(zip([*orders, *axes, *single[:1]], chosen, strict=True))
        for base in bases:
            yield with_parts(base, by)


def _with_axes(example: Example, old: int, rank: int) -> Iterator[Example]:
    """The same of operands and views of another rank, of which all axes are as long that are not of one
    element: more of them, or fewer, in front and behind the others."""
    if rank == old:
        yield _changed(example, lambda dims: dims)
        return
    for behind in (False, True):
        yield _changed(example, lambda dims, behind=behind: _resized(dims, rank - old, behind=behind))


def _resized(dims: Shape, more: int, *, behind: bool) -> Shape:
    long = [k for k, d in enumerate(dims) if d != 1]
    if not long:
        return dims
    at = long[-1] if behind else long[0]
    return (*dims[:at], *(SIZE,) * more, *dims[at:]) if more > 0 else (*dims[:at], *dims[at - more :])


def _changed(example: Example, change: Any) -> Example:
    def other(dims: Shape) -> Shape:
        made: Shape = change(tuple(SIZE if isinstance(d, int) and d > 1 else d for d in dims))
        return made

    def part_of(part: Expression) -> Expression:
        value = getattr(part.head, "value", None)
        is_dims = part.sort.name == "Dims" and isinstance(value, tuple)
        return constant(other(value), part.sort) if is_dims else part  # type: ignore[arg-type]

    made = with_dims(example, lambda dims: other(dims) if dims else dims)
    return replace(made, term=transformed(made.term, part_of))


def _with_equations(example: Example, equations: Sequence[str]) -> Iterator[Example]:
    for node in nodes_of(example):
        if node.head.name != "einsum":
            continue
        places = [place_of_leaf(item) for item in items_of(node.arguments[1])]
        for equation in equations:
            letters = equation.partition("->")[0].split(",")
            if "." in equation or len(letters) != len(places):
                continue
            made = with_changed(example, node, 0, equation)
            for sizes in ({}, {x: 2 + k for k, x in enumerate(sorted({*equation} - {*",->"}))}):
                yield _with_letters(made, places, letters, sizes)


def _with_words(example: Example, words: Sequence[str]) -> Iterator[Example]:
    """Each setting that is a word as each other one, in one operator and in all that have the same."""
    for node in nodes_of(example) if words else ():
        for position in attributes_in(node):
            old = node.arguments[position]
            for value in (other for word in words for other in _reworded(old.head.value, word)):
                for term in in_one_and_in_all(example.term, node, position, constant(value, old.sort)):
                    yield replace(example, term=term)


def _reworded(value: Any, word: str) -> Iterator[Any]:
    """A word instead of another one, or of one in a list of settings."""
    if isinstance(value, str) and value != word:
        yield word
    elif isinstance(value, tuple):
        for k, pair in enumerate(value):
            if isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], str) and pair[1] != word:
                yield (*value[:k], (pair[0], word), *value[k + 1 :])


def _with_letters(
    example: Example, places: Sequence[int], letters: Sequence[str], sizes: dict[str, int]
) -> Example:
    """Inputs of as many axes as an equation has letters for, of some lengths."""
    for place, own in zip(places, letters, strict=True):
        if place >= 0 and example.operands.values[place].const_value is None:
            example = with_shape(example, place, tuple(sizes.get(letter, SIZE) for letter in own))
    return example

"""Every equation of Einsum in the tables, of as many operands, all dims of which are 1 or 2.

What is a sum, and what is a diagonal, shows in the sign of a zero where there is one element to add.
"""

from __future__ import annotations

from collections.abc import Iterator

from egraph_opt.check import tables
from egraph_opt.check.beside.changing import with_changed
from egraph_opt.check.beside.variants import with_shape
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression
from egraph_opt.operators.terms import unlisted

SIZES = (1, 2)


def with_other_equations(example: Example) -> Iterator[Example]:
    """Each Einsum of leaves with another equation, and leaves of as many axes as that has letters."""
    for node in nodes_of(example):
        if node.head.name == "einsum":
            places = [place_of_leaf(each) for each in unlisted(node.arguments[1])[0]]
            if min(places, default=-1) >= 0 and len({*places}) == len(places):
                yield from _of_equations(example, node, places)


def _of_equations(example: Example, node: Expression, places: list[int]) -> Iterator[Example]:
    for equation in tables.EQUATIONS:
        letters = equation.partition("->")[0].split(",")
        for size in SIZES if len(letters) == len(places) else ():
            made = with_changed(example, node, 0, equation)
            for place, own in zip(places, letters, strict=True):
                made = with_shape(made, place, (size,) * len(own))
            yield made

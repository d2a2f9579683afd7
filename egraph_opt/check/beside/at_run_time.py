"""Operands that only a run knows: each constant as an input, and a zero point where there was none.

A law that asks what a constant holds may take what is not known for its default, or for anything.
"""

from __future__ import annotations

from collections.abc import Iterator

from egraph_opt.check.beside.optional_operands import QUANTIZING, given, places_in
from egraph_opt.check.beside.variants import dims_of, with_input
from egraph_opt.check.scope import operators_in, roots_of
from egraph_opt.laws.law import Example


def with_operands_at_run_time(example: Example) -> Iterator[Example]:
    """Each constant an input; each zero point that is not there an input."""
    for value in example.operands.values:
        if value.const_value is not None:
            yield with_input(example, value, dims_of(value))
    for place in places_in(example) if operators_in(roots_of(example)) & QUANTIZING else ():
        if place.is_absent and place.node.head.name in QUANTIZING:
            yield from (given(example, place, shape, at_run_time=True) for shape in place.shapes())

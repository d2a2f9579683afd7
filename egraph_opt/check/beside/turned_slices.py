"""Slices that are turned round, of which the last step ends anywhere: bounds of both change together; and
slices that go to the last element, which follow the size of what they cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from egraph_opt.check.beside.changing import with_parts
from egraph_opt.check.beside.cuts import Cut
from egraph_opt.check.beside.proportions import in_proportion
from egraph_opt.check.beside.variants import dims_of
from egraph_opt.check.scope import nodes_of
from egraph_opt.check.shorthands import transformed, with_argument
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression, constant

ENDS, STEPS = (0, -1, 1, 2), (0, 1)
"""By how much the end of a slice, and its step, are changed."""


def with_turned_slices(example: Example) -> Iterator[Example]:
    """Each slice of a slice that takes all of it backwards along one of its axes, the inner one longer or
    shorter there, from where it begins and from the first element."""
    for node in nodes_of(example):
        inner = node.arguments[0] if node.head.name == "slice_" else node
        if node.head.name != "slice_" or getattr(inner.head, "name", "") != "slice_":
            continue
        turns, cuts = node.arguments[1], inner.arguments[1]
        for j, k in product(range(len(turns.head.value)), range(len(cuts.head.value))):
            for back, cut in _turned(turns.head.value[j], cuts.head.value[k]):
                given = with_argument(inner, 1, _with(cuts, k, cut))
                whole = with_argument(node, 1, _with(turns, j, back))
                yield with_parts(example, {node: with_argument(whole, 0, given)})


def _with(slices: Expression, place: int, cut: Cut) -> Expression:
    value = slices.head.value
    made: Expression = constant((*value[:place], cut, *value[place + 1 :]), slices.sort)
    return made


def _turned(turn: Cut, cut: Cut) -> Iterator[tuple[Cut, Cut]]:
    """All of what is cut backwards, and other cuts."""
    axis, start, end, step = cut
    if (turn[0], turn[3]) != (axis, -1) or end is None or min(start, end, step) < 0:
        return
    for begin, more, larger in product(dict.fromkeys((start, 0)), ENDS, STEPS):
        count = -(-(end + more - begin) // (step + larger))
        if count > 0:
            yield (axis, count - 1, turn[2], -1), (axis, begin, end + more, step + larger)


def with_ends_that_follow(example: Example) -> Iterator[Example]:
    """Each size of an input one more, and so are the bounds of slices that say where it ends."""
    inputs = [dims_of(v) for v in example.operands.values if v.const_value is None]
    for size in sorted({d for dims in inputs for d in dims if isinstance(d, int) and d > 1}):
        longer = in_proportion(example, {size: size + 1})
        term = transformed(longer.term, lambda part, size=size: _to_the_end(part, size))  # type: ignore[misc]
        if term != longer.term:
            yield replace(longer, term=term)


def _to_the_end(part: Expression, size: int) -> Expression:
    value: Any = getattr(part.head, "value", None)
    if part.sort.name != "Slices" or not isinstance(value, tuple):
        return part
    cuts = (
        (axis, start + (step < 0 and start == size - 1), end if end != size else end + 1, step)
        for axis, start, end, step in value
    )
    made: Expression = constant(tuple(cuts), part.sort)
    return made

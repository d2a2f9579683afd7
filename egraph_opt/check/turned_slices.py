"""Slices that are turned round, of which the last step ends anywhere: bounds of both change together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from egraph_opt.check.scope import nodes_of
from egraph_opt.check.shorthands import replaced, with_argument
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import constant

ENDS, STEPS = (0, -1, 1, 2), (0, 1)
"""By how much the end of a slice, and its step, are changed."""


def with_turned_slices(example: Example) -> Iterator[Example]:
    """Each slice of a slice along the same axis that takes all of it backwards, the inner one longer or
    shorter, from where it begins and from the first element."""
    for node in nodes_of(example):
        inner = node.arguments[0] if node.head.name == "slice_" else node
        if node.head.name != "slice_" or getattr(inner.head, "name", "") != "slice_":
            continue
        turn, spec = node.arguments[1].head.value, inner.arguments[1].head.value
        if len(turn) != 1 or len(spec) != 1 or turn[0][0] != spec[0][0] or turn[0][3] != -1:
            continue
        axis, start, end, step = spec[0]
        if not isinstance(end, int) or min(start, end, step) < 0:
            continue
        for begin, more, larger in product(dict.fromkeys((start, 0)), ENDS, STEPS):
            stop, stride = end + more, step + larger
            count = -(-(stop - begin) // stride)
            if count > 0:
                bounds = ((axis, begin, stop, stride),)
                back = ((axis, count - 1, turn[0][2], -1),)
                cut = with_argument(inner, 1, constant(bounds, inner.arguments[1].sort))
                whole = with_argument(node, 1, constant(back, node.arguments[1].sort))
                yield replace(example, term=replaced(example.term, {node: with_argument(whole, 0, cut)}))

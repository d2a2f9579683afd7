"""A convolution of an example in several groups instead of one: a setting and a weight change together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.check.shorthands import replaced, with_arguments
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression, constant


def with_more_groups(example: Example) -> Iterator[Example]:
    """Each convolution of a known weight in twice as many groups, and with one for each channel."""
    for node in nodes_of(example):
        if node.head.name == "conv" and place_of_leaf(node.arguments[1]) >= 0:
            yield from _of(example, node)


def _of(example: Example, node: Expression) -> Iterator[Example]:
    _, weight, _, window = node.arguments
    place = place_of_leaf(weight)
    known = example.operands.values[place].const_value
    array = None if known is None else known.numpy()
    channels = 0 if array is None or array.ndim < 2 else array.shape[1]
    for times in dict.fromkeys((2, channels)):
        if array is None or times < 2 or channels % times:
            continue
        value = replace(window.head.value, group=window.head.value.group * times)
        other = with_arguments(node, (*node.arguments[:3], constant(value, window.sort)))
        operands = example.operands.with_constant(place, array[:, : channels // times])
        yield replace(example, term=replaced(example.term, {node: other}), operands=operands)

"""Channels of an example in more groups, or fewer: their number, weights, and orders of channels change
together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from egraph_opt.check.beside.changing import with_parts
from egraph_opt.check.beside.proportions import in_proportion
from egraph_opt.check.beside.variants import resized
from egraph_opt.check.scope import attributes_in, nodes_of, place_of_leaf
from egraph_opt.check.shorthands import replaced, with_argument
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression, constant

CONVOLUTIONS = ("conv", "conv_transpose")
"""Of both a weight has along its second axis what one group has."""

EVEN = 4
"""Groups, of which some are fewer."""

TWICE = {size: 2 * size for size in range(2, 64)}


def with_more_groups(example: Example) -> Iterator[Example]:
    """Each convolution of a known weight in fewer groups, in twice as many, of twice the channels where these
    are odd, and with one for each channel; each setting of groups another one that divides an order of
    channels."""
    for node in nodes_of(example):
        if node.head.name in CONVOLUTIONS and place_of_leaf(node.arguments[1]) >= 0:
            if node.head.name == "conv":
                yield from _of_a_weight(example, node)
            yield from _in_fewer_groups(example, node)
        for k in attributes_in(node):
            if "num_groups" in dict(_settings(node.arguments[k])):
                yield from _of_a_setting(example, node, k)


def _of_a_weight(example: Example, node: Expression) -> Iterator[Example]:
    _, weight, _, window = node.arguments
    place = place_of_leaf(weight)
    known = example.operands.values[place].const_value
    array = None if known is None else known.numpy()
    channels = 0 if array is None or array.ndim < 2 else array.shape[1]
    if channels % 2 and array is not None and node.arguments[3].head.value.group == 1:
        yield from _of_a_weight(resized(example, {channels}, 2 * channels), node)
        if channels in TWICE:  # of channels that are joined
            yield from _of_a_weight(in_proportion(example, TWICE), node)
    for times in dict.fromkeys((2, channels)):
        if array is None or times < 2 or channels % times:
            continue
        value = replace(window.head.value, group=window.head.value.group * times)
        other = with_argument(node, 3, constant(value, window.sort))
        operands = example.operands.with_constant(place, array[:, : channels // times])
        made = replace(example, term=replaced(example.term, {node: other}), operands=operands)
        yield made
        orders = _orders(operands)
        if any(not lengths % value.group for lengths in orders.values()):
            yield replace(made, operands=_beyond_the_first(operands, orders, value.group))


def _in_fewer_groups(example: Example, node: Expression) -> Iterator[Example]:
    """Each number of groups that divides the one of an example, or four where that is odd; rows of weights
    begin again."""
    place, window = place_of_leaf(node.arguments[1]), node.arguments[3]
    known, groups = example.operands.values[place].const_value, window.head.value.group
    if groups > 1 and groups % 2:
        four = with_argument(node, 3, constant(replace(window.head.value, group=EVEN), window.sort))
        wider = resized(with_parts(example, {node: four}), {groups}, EVEN)
        yield from _in_fewer_groups(wider, four)
    for fewer in (g for g in range(1, groups) if known is not None and groups % g == 0):
        other = with_argument(node, 3, constant(replace(window.head.value, group=fewer), window.sort))
        weight = np.concatenate([known.numpy()] * (groups // fewer), 1)
        operands = example.operands.with_constant(place, weight)
        yield replace(example, term=replaced(example.term, {node: other}), operands=operands)


def _of_a_setting(example: Example, node: Expression, k: int) -> Iterator[Example]:
    given, orders = node.arguments[k], _orders(example.operands)
    for groups in sorted({g for length in orders.values() for g in range(2, length + 1) if not length % g}):
        settings = tuple((n, groups if n == "num_groups" else v) for n, v in _settings(given))
        term = replaced(example.term, {node: with_argument(node, k, constant(settings, given.sort))})
        operands = _beyond_the_first(example.operands, orders, groups)
        yield replace(example, term=term, operands=operands)


def _settings(argument: Expression) -> tuple[tuple[str, object], ...]:
    """Settings by name; nothing of another attribute."""
    value = getattr(argument.head, "value", None)
    if not isinstance(value, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        return ()
    return tuple((name, given) for name, given in value if isinstance(name, str))


def _orders(operands: Operands) -> dict[int, int]:
    """Constants that are orders of so many, by place."""
    values = ((k, v.const_value) for k, v in enumerate(operands.values))
    arrays = ((k, known.numpy()) for k, known in values if known is not None)
    rows = ((k, array) for k, array in arrays if array.ndim == 1 and array.dtype.kind == "i")
    return {k: len(a) for k, a in rows if len(a) > 1 and np.array_equal(np.sort(a), np.arange(len(a)))}


def _beyond_the_first(operands: Operands, orders: dict[int, int], groups: int) -> Operands:
    """The same with orders in which the first groups keep their channels and the last two mix them."""
    for place, length in orders.items():
        if length % groups == 0:
            known, border = operands.values[place].const_value, length - length // groups
            assert known is not None
            order = np.arange(length, dtype=known.numpy().dtype)
            order[[border - 1, border]] = order[[border, border - 1]]
            operands = operands.with_constant(place, order)
    return operands

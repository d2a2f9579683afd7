"""A recurrent layer that runs one way as one that runs both ways: weights and states for each of them, and
the dims of views behind it, which have to hold twice as much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.check.beside.followed_sizes import FEW_VIEWS, FOLLOWING, followed
from egraph_opt.check.beside.other_layers import LAYER, TURNED, items_of, with_layer
from egraph_opt.check.beside.variants import Dims, constant_like, dims_of, input_like
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.check.tried_terms import lowered_if_typed
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression, parts
from egraph_opt.operators.recurrent import RecurrentLayer

STATES = slice(3, 5)
"""Where the first states are among the arguments of a layer."""


def with_both_directions(example: Example) -> Iterator[Example]:
    """Each layer both ways, and one of the dims of each of some views behind it twice what it was."""
    for node in nodes_of(example):
        if node.head.name != "recurrent":
            continue
        layer: RecurrentLayer = node.arguments[LAYER].head.value
        if layer.direction not in TURNED:
            continue
        settings: dict[str, Any] = {**dict(layer.settings), "direction": "bidirectional"}
        if "activations" in settings:
            settings["activations"] = settings["activations"] * 2
        leaves = {place_of_leaf(item) for item in (*items_of(node.arguments[1]), *node.arguments[STATES])}
        both = with_layer(_twice(example, leaves - {-1}), node, layer.kind, settings)
        layers = {each for each in nodes_of(both) if each.head.name == "recurrent"}
        views = [view for view in nodes_of(both) if _is_view_of(view, layers)]
        if 0 < len(views) <= FEW_VIEWS:
            yield from filter(lowered_if_typed, followed(both, [(view,) for view in views], 2))
        elif not views:
            yield both


def _is_view_of(view: Expression, layers: set[Expression]) -> bool:
    return view.head.name in FOLLOWING and not layers.isdisjoint(parts(view))


def _twice(example: Example, places: set[int]) -> Example:
    """Leaves with as many rows again along their first axis, those of constants turned round."""
    operands = example.operands
    values, facts = [*operands.values], [*operands.facts]
    for place in places:
        dims: Dims = dims_of(values[place])
        first = dims[0] if dims else None
        if not isinstance(first, int):
            continue
        if values[place].const_value is None:
            twice = (2 * first, *dims[1:])
            values[place], facts[place] = input_like(values[place], twice, facts[place].dtype)
        else:
            array = values[place].const_value.numpy()
            both = np.concatenate([array, array[..., ::-1]], 0)
            values[place], facts[place] = constant_like(values[place], both)
    return replace(example, operands=replace(operands, values=values, facts=facts))

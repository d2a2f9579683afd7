"""A recurrent layer as one of another kind, for which constants get as many rows as its gates need, half by
half, with other activations, the other way round in time, or, an LSTM, with peepholes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from onnx import TensorProto

from egraph_opt.check.beside.changing import with_changed, with_parts
from egraph_opt.check.beside.variants import constant_like, dims_of, in_dtype, input_like
from egraph_opt.check.layers import FUNCTIONS
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.check.shorthands import with_argument
from egraph_opt.check.themes.activations import ACTIVATIONS
from egraph_opt.facts.dtypes import ALL_FLOATS
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example
from egraph_opt.operators.constants import leaf, none
from egraph_opt.operators.expressions import Expression, constant
from egraph_opt.operators.recurrent import GATES, RecurrentLayer
from egraph_opt.operators.terms import listed, unlisted

LAYER = 5
"""Where the attributes of a layer are among its arguments."""

HALVES = (1, 1, 2)
"""Of how many parts the rows of W, R and B consist, each of which has some of every gate."""

TURNED = ("forward", "reverse")

PEEPHOLES = 3
"""Gates of an LSTM that look at its cell."""

LOOKED_AT = (6.0, -4.0, 3.0, -7.0, 5.0)
"""By how much: so much that a cell of one step shows."""

ORDINARY = np.array((0.5, -0.75, 0.375, 1.25, -0.25, 0.875, -1.0), np.float32)
"""What weights are that are constants."""


def with_other_layers(example: Example) -> Iterator[Example]:
    """Each layer of every other kind, a GRU both ways, with every activation, and the other way round."""
    for node in nodes_of(example):
        if node.head.name == "recurrent":
            yield from _of_other_kinds(example, node)
            layer: RecurrentLayer = node.arguments[LAYER].head.value
            if layer.direction in TURNED:
                turned = next(way for way in TURNED if way != layer.direction)
                yield with_layer(example, node, layer.kind, {**dict(layer.settings), "direction": turned})
            for activations in _other_activations(layer):
                settings = {**dict(layer.settings), "activations": activations}
                yield with_layer(example, node, layer.kind, settings)
            yield from _with_peepholes(example, node)


def _with_peepholes(example: Example, node: Expression) -> Iterator[Example]:
    """An LSTM that looks at its cell, of float32 and of ordinary numbers, with its usual activations."""
    layer: RecurrentLayer = node.arguments[LAYER].head.value
    weights = items_of(node.arguments[1])
    if layer.kind != "LSTM" or len(weights) != len(HALVES) + 1 or weights[3] != none():
        return
    single = in_dtype(example, TensorProto.FLOAT, ALL_FLOATS)
    place, *others = (place_of_leaf(w) for w in (weights[1], weights[0], weights[2]))
    dims = dims_of(single.operands.values[place]) if place >= 0 else ()
    if len(dims) != 3 or not all(isinstance(d, int) for d in dims):
        return
    operands = single.operands
    for each in (place, *others):
        if each >= 0 and operands.values[each].const_value is not None:
            shape = operands.values[each].const_value.shape.numpy()
            operands = operands.with_constant(each, np.resize(ORDINARY, shape))
    directions, _, hidden = dims
    count = PEEPHOLES * hidden  # type: ignore[operator]
    numbers = np.resize(LOOKED_AT, (directions, count)).astype(np.float32)  # type: ignore[arg-type]
    operands = operands.with_leaf(*constant_like(operands.values[place], numbers))
    looking = listed(*weights[:3], leaf(len(operands.values) - 1))
    made = with_argument(with_argument(node, 1, looking), LAYER, _plain(layer, node))
    yield with_parts(replace(example, operands=operands), {node: made})


def _plain(layer: RecurrentLayer, node: Expression) -> Expression:
    settings = {name: v for name, v in layer.settings if name in ("direction", "hidden_size")}
    plain = RecurrentLayer(layer.kind, tuple(sorted(settings.items())))
    made: Expression = constant(plain, node.arguments[LAYER].sort)
    return made


def _other_activations(layer: RecurrentLayer) -> Iterator[tuple[str, ...]]:
    """Each function as each of those of a layer; were all of them without an end, states would have none."""
    settings = dict(layer.settings)
    count = FUNCTIONS[layer.kind]
    usual = ("Sigmoid",) * (count - 1) + ("Tanh",)
    given = settings.get("activations", usual * (2 if settings["direction"] == "bidirectional" else 1))
    for place in range(count):
        yield from ((*given[:place], function, *given[place + 1 :]) for function in ACTIVATIONS)


def _of_other_kinds(example: Example, node: Expression) -> Iterator[Example]:
    layer: RecurrentLayer = node.arguments[LAYER].head.value
    common = {name: v for name, v in layer.settings if name in ("direction", "hidden_size", "clip")}
    for kind, more in (*((k, {}) for k in sorted(GATES)), ("GRU", {"linear_before_reset": 1})):
        operands = _with_rows(example, node, layer.kind, kind)
        if operands is None or RecurrentLayer(kind, tuple(sorted({**common, **more}.items()))) == layer:
            continue
        yield with_layer(replace(example, operands=operands), node, kind, {**common, **more})


def with_layer(example: Example, node: Expression, kind: str, settings: dict[str, object]) -> Example:
    made = RecurrentLayer(kind, tuple(sorted(settings.items())))
    return with_changed(example, node, LAYER, made)


def items_of(whole: Expression) -> list[Expression]:
    """What a list of operands consists of."""
    return unlisted(whole)[0]


def _with_rows(example: Example, node: Expression, old: str, new: str) -> Operands | None:
    """The leaves with weights of another kind; None where weights are no leaves, or there are peepholes."""
    weights = items_of(node.arguments[1])
    places = [place_of_leaf(w) for w in weights]
    if len(weights) != len(HALVES) + 1 or min(places[:2]) < 0 or places[3] >= 0:
        return None
    operands: Operands = example.operands
    values, facts = [*operands.values], [*operands.facts]
    for place, parts in zip(places, HALVES, strict=False):
        if place < 0:
            continue
        value, dims = values[place], dims_of(values[place])
        rows = dims[1] if len(dims) > 1 else None
        if not isinstance(rows, int) or rows % (parts * GATES[old]):
            return None
        size = rows // (parts * GATES[old]) * GATES[new]
        if value.const_value is None:
            wider = (dims[0], parts * size, *dims[2:])
            values[place], facts[place] = input_like(value, wider, facts[place].dtype)
            continue
        halves = np.split(value.const_value.numpy(), parts, 1)
        more = [np.take(half, np.arange(size) % half.shape[1], 1) for half in halves]
        values[place], facts[place] = constant_like(value, np.concatenate(more, 1))
    return replace(operands, values=values, facts=facts)

"""Nodes of a rebuilt graph that depend on constants alone, computed as far as the file has room for them."""

from __future__ import annotations

import math
from typing import TypeVar

import onnx_ir as ir

from egraph_opt.graph.constants import Constants, constants_of, fold_constants
from egraph_opt.graph.walks import captured_values
from egraph_opt.rebuild.value_info import ValueInfo

Known = TypeVar("Known")

OLDEST_IR = 4
"""Before this version of the file every initializer is an input."""


def with_constants_computed(
    model: ir.Model,
    info: ValueInfo,
    *,
    fold_bytes: int,
    memory_bytes: float = math.inf,
    fold_quantized: bool = False,
) -> None:
    """Compute constant nodes, in their order, until their results would add more than `fold_bytes`; in place.

    Each result becomes an initializer with the name of the tensor.  Constants that nobody reads any more go.

    Args:
        info: of the values of the model; what is known of a tensor is kept with its initializer.
    """
    graph = model.graph
    if model.ir_version < OLDEST_IR or fold_bytes <= 0:
        return
    before = constants_of(graph, model.ir_version, Constants())
    known = fold_constants(
        *(graph, info.facts, before, graph.opset_imports, model.ir_version),
        fold_bytes=fold_bytes,
        memory_bytes=memory_bytes,
        fold_quantized=fold_quantized,
    )
    outputs = set(graph.outputs)
    for value in [value for value in known.tensors if not before.has(value) and value not in outputs]:
        _computed(graph, value, known.tensor(value), info)
    _without_unread(graph)


def _computed(graph: ir.Graph, value: ir.Value, tensor: ir.TensorProtocol, info: ValueInfo) -> None:
    """An initializer instead of what a node computes."""
    made = ir.Value(name=value.name, type=value.type, shape=value.shape, const_value=tensor)
    if made.type is None:
        made.type, made.shape = ir.TensorType(tensor.dtype), ir.Shape(tensor.shape.numpy())
    _moved(info.facts, value, made)
    _moved(info.owners, value, made)
    _moved(info.choices, value, made)
    value.replace_all_uses_with(made)
    value.name = None  # the node that has it goes
    graph.register_initializer(made)


def _moved(known: dict[ir.Value, Known], value: ir.Value, made: ir.Value) -> None:
    if value in known:
        known[made] = known.pop(value)


def _without_unread(graph: ir.Graph) -> None:
    """Remove nodes and initializers that nobody reads; the others are in the order in which they are read."""
    kept = {*graph.outputs, *graph.inputs}
    for node in reversed(list(graph)):
        if not any(value in kept or value.uses() for value in node.outputs):
            graph.remove(node, safe=True)
    values = list(graph.initializers.values())
    graph.initializers.clear()
    read = [value for node in graph for value in (*node.inputs, *captured_values(node)) if value is not None]
    place = {value: number for number, value in reversed(list(enumerate(read)))}
    used = [value for value in values if value in kept or value in place]
    for value in sorted(used, key=lambda value: place.get(value, -1)):
        graph.register_initializer(value)

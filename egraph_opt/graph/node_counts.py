"""Counting the nodes of a model: those of the file, and of those the ones that run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnx_ir as ir
from onnx import ModelProto

from egraph_opt.graph.walks import RANDOM, bodies
from egraph_opt.model.encoding import ENCODED_DOMAIN, SPARSE_INITIALIZER, carry

_FIRST_CONSTANT_INPUTS_IR = 4


@dataclass(frozen=True)
class OperatorCount:
    """How many nodes of one operator there are before and after (run-time nodes)."""

    before: int
    after: int


@dataclass(frozen=True)
class NodeCount:
    """What `nodes_of` counts.

    Attributes:
        file: all nodes of the model but Constant, those of bodies and local functions included.
        runtime: nodes that run: those of the main graph that depend on a graph input which is no constant,
            or are random, and all nodes of bodies; without Constant.
        operators: the run-time nodes by operator.
    """

    file: int
    runtime: int
    operators: Mapping[str, int]


def nodes_of(model: ir.Model | ModelProto) -> NodeCount:
    """Count the nodes of a model.

    An initializer that is also an input is a default that a caller may override from IR version 4 on, so what
    depends on it runs; below, it is a constant.
    """
    if isinstance(model, ModelProto):
        copy = ModelProto()
        copy.CopyFrom(model)
        carry(copy)
        model = ir.from_proto(copy)
    in_bodies = {node: _body_nodes(node) for node in model.graph}
    functions = [node for function in model.functions.values() for node in function.all_nodes()]
    within = [inner for nodes in in_bodies.values() for inner in nodes]
    in_file = [*model.graph, *within, *functions]
    counted = [node for node in (*_running(model, in_bodies), *within) if not _is_constant(node)]
    return NodeCount(
        file=sum(not _is_constant(node) for node in in_file),
        runtime=len(counted),
        operators=dict(sorted(Counter(map(_operator, counted)).items())),
    )


def computed_from_constants(model: ir.Model) -> set[str]:
    """The names of what nodes of the main graph but Constant make that depend on no input and no chance."""
    running = set(_running(model, {node: _body_nodes(node) for node in model.graph}))
    still = [node for node in model.graph if node not in running and not _is_constant(node)]
    return {value.name for node in still for value in node.outputs if value.name}


def _running(model: ir.Model, in_bodies: Mapping[ir.Node, Sequence[ir.Node]]) -> list[ir.Node]:
    """The nodes of the main graph that depend on an input, or are random."""
    graph = model.graph
    live: set[ir.Value] = set(graph.inputs)
    if model.ir_version < _FIRST_CONSTANT_INPUTS_IR:
        live = {value for value in live if value.name not in graph.initializers}
    running = []
    for node in graph:
        used = [*node.inputs, *(value for inner in in_bodies[node] for value in inner.inputs)]
        used += [value for body in bodies(node) for value in body.outputs]
        is_random = any(inner.op_type in RANDOM and not inner.domain for inner in (node, *in_bodies[node]))
        if is_random or any(value in live for value in used if value is not None):
            live.update(node.outputs)
            running.append(node)
    return running


def _is_constant(node: ir.Node) -> bool:
    if node.domain == ENCODED_DOMAIN:
        return node.op_type in ("Constant", SPARSE_INITIALIZER)
    return node.op_type == "Constant" and not node.domain


def _operator(node: ir.Node) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain not in ("", ENCODED_DOMAIN) else node.op_type


def _body_nodes(node: ir.Node) -> list[ir.Node]:
    return [inner for body in bodies(node) for inner in body.all_nodes()]


def operators_between(before: NodeCount, after: NodeCount) -> dict[str, OperatorCount]:
    """The counts of all operators that either side has, the most frequent of `before` first."""
    names = before.operators.keys() | after.operators.keys()
    counts = {
        name: OperatorCount(before.operators.get(name, 0), after.operators.get(name, 0)) for name in names
    }
    return dict(sorted(counts.items(), key=lambda item: (-item[1].before, -item[1].after, item[0])))

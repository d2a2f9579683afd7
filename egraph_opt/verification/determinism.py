"""Which models give other outputs every time they run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import onnx
from onnx import numpy_helper

from egraph_opt.graph.walks import RANDOM
from egraph_opt.model.encoding import bodies_of, graphs_of

GENERATORS = RANDOM | {"BiasDropout", "BitmaskBiasDropout", "BitmaskDropout"}
"""Operators that draw random numbers, whatever their domain."""


def random_operators(model: onnx.ModelProto) -> list[str]:
    """The random operators that some output may depend on, described; empty if outputs are reproducible.

    Bodies and local functions count with the node that has or calls them.  A generator with a seed counts as
    well: where it is in the order of execution decides which numbers it draws.
    """
    functions = {(f.domain, f.name): f for f in model.functions}
    random_functions: set[tuple[str, str]] = set()
    # Functions may call functions, without cycles: after as many rounds as there are functions all is known.
    for _ in range(len(functions)):
        before = len(random_functions)
        for key, function in functions.items():
            constants = _constants(function.node, ())
            if any(_is_random(node, constants, random_functions) for node in function.node):
                random_functions.add(key)
        if len(random_functions) == before:
            break
    graph = model.graph
    constants = _constants(graph.node, graph.initializer)
    wanted = {value.name for value in graph.output}
    found = []
    for node in reversed(graph.node):
        if not wanted.intersection(node.output):
            continue
        wanted.update(node.input)
        for body_node in _bodies(node):
            wanted.update(body_node.input)
        wanted.update(output.name for body in _graphs(node) for output in body.output)
        if _is_random(node, constants, random_functions):
            found.append(f"{node.op_type} {node.name!r}" if node.name else node.op_type)
    return found[::-1]


def _is_random(
    node: onnx.NodeProto, constants: dict[str, onnx.TensorProto], random_functions: set[tuple[str, str]]
) -> bool:
    known = dict(constants)
    inner = list(_bodies(node))
    known.update(_constants(inner, ()))
    return any(
        each.op_type in GENERATORS
        or (each.domain, each.op_type) in random_functions
        or (each.op_type == "Dropout" and _trains(each, known))
        for each in [node, *inner]
    )


def _trains(dropout: onnx.NodeProto, constants: dict[str, onnx.TensorProto]) -> bool:
    """Dropout drops something: from opset 12 on where its third input is not a constant false."""
    if any(a.name == "is_test" for a in dropout.attribute):
        return not any(a.name == "is_test" and a.i for a in dropout.attribute)
    if len(dropout.input) < 3 or not dropout.input[2]:
        return False
    mode = constants.get(dropout.input[2])
    return mode is None or bool(np.any(numpy_helper.to_array(mode)))


def _constants(
    nodes: Iterable[onnx.NodeProto], initializers: Iterable[onnx.TensorProto]
) -> dict[str, onnx.TensorProto]:
    """Boolean constants by name: nothing else is asked for."""
    found = {t.name: t for t in initializers if t.data_type == onnx.TensorProto.BOOL}
    for node in nodes:
        if node.op_type == "Constant":
            for attribute in node.attribute:
                if attribute.name == "value" and attribute.t.data_type == onnx.TensorProto.BOOL:
                    found[node.output[0]] = attribute.t
    return found


def _graphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """The bodies of a node, at any depth."""
    return [graph for body in bodies_of(node) for graph in graphs_of(body)]


def _bodies(node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
    """All nodes inside of a node, at any depth."""
    for graph in _graphs(node):
        yield from graph.node

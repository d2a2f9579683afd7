"""Digests of what a certificate is about: models by what they compute, laws by their text."""

from __future__ import annotations

import hashlib
import inspect
import textwrap
from collections.abc import Mapping
from typing import Any

import onnx

from egraph_opt.graph.content import tensor_key
from egraph_opt.graph.walks import run_by
from egraph_opt.imports import onnx_ir as ir
from egraph_opt.laws.law import Auxiliary, Law
from egraph_opt.laws.proved import digest_of
from egraph_opt.model.reading import LoadedModel


def digests_of_graph(loaded: LoadedModel) -> dict[str, str]:
    """Equal for models of the same nodes, names, constants, opsets and types of inputs and outputs; by part.

    Documentation, metadata and the types of values inside are none of it.
    """
    graph = loaded.model.graph
    parts = {
        name: hashlib.sha256() for name in ("opsets", "functions", "inputs and outputs", "constants", "nodes")
    }
    parts["opsets"].update(repr(sorted(loaded.opset_imports.items())).encode())
    for function in loaded.model.functions.values():
        _add_function(parts["functions"], function)
    _add_interface(parts["inputs and outputs"], graph)
    _add_constants(parts["constants"], graph)
    _add_nodes(parts["nodes"], graph)
    return {name: digest.hexdigest() for name, digest in parts.items()}


def digest_of_node(node: ir.Node) -> str:
    """Equal for nodes with the same operator, attributes and bodies, which go by the names that they have."""
    digest = hashlib.sha256()
    _add_operator(digest, node)
    return digest.hexdigest()


def digest_of_called(node: ir.Node, functions: Mapping[ir.OperatorIdentifier, ir.Function]) -> str:
    """Of the functions of the model that a node calls, itself or in bodies and functions; "" of none."""
    names = dict.fromkeys(inner.op_identifier() for inner in run_by(node, functions))
    called, digest = [functions[name] for name in names if name in functions], hashlib.sha256()
    for function in called:
        _add_function(digest, function)
    return digest.hexdigest() if called else ""


def _add_function(digest: Any, function: ir.Function) -> None:
    digest.update(ir.serde.serialize_function(function).SerializeToString(deterministic=True))


def _add_graph(digest: Any, graph: ir.Graph) -> None:
    _add_interface(digest, graph)
    _add_constants(digest, graph)
    _add_nodes(digest, graph)


def _add_interface(digest: Any, graph: ir.Graph) -> None:
    for value in (*graph.inputs, *graph.outputs):
        digest.update(repr((value.name, str(value.type), str(value.shape))).encode())


def _add_constants(digest: Any, graph: ir.Graph) -> None:
    for name in sorted(graph.initializers):
        tensor = graph.initializers[name].const_value
        digest.update(repr((name, None if tensor is None else tensor_key(tensor))).encode())


def _add_nodes(digest: Any, graph: ir.Graph) -> None:
    for node in graph:
        names = [None if v is None else v.name for v in node.inputs], [v.name for v in node.outputs]
        digest.update(repr(names).encode())
        _add_operator(digest, node)


def _add_operator(digest: Any, node: ir.Node) -> None:
    digest.update(repr((node.domain, node.op_type, node.overload)).encode())
    for name in sorted(node.attributes):
        attribute = node.attributes[name]
        if not attribute.is_ref() and attribute.type == ir.AttributeType.GRAPH:
            digest.update(name.encode())
            _add_graph(digest, attribute.as_graph())
            continue
        proto = ir.serde.serialize_attribute(attribute)
        proto.doc_string = ""
        if proto.type == onnx.AttributeProto.TENSOR:
            proto.t.name = proto.t.doc_string = ""
        digest.update(proto.SerializeToString(deterministic=True))


def digest_of_source(source: Law | Auxiliary) -> str:
    """The digest of a law with all that it calls, or of what fills tables of laws."""
    if isinstance(source, Law):
        return digest_of(source)
    text = textwrap.dedent(inspect.getsource(source.function))
    return hashlib.sha256(text.encode()).hexdigest()[:16]

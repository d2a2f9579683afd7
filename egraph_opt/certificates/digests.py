"""Digests of what a certificate is about: models by what they compute, laws by their text."""

from __future__ import annotations

import hashlib
import inspect
import textwrap
from typing import Any

import onnx

from egraph_opt.graph.content import tensor_key
from egraph_opt.imports import onnx_ir as ir
from egraph_opt.laws.law import Auxiliary, Law
from egraph_opt.laws.proved import digest_of
from egraph_opt.model.reading import LoadedModel


def digest_of_graph(loaded: LoadedModel) -> str:
    """Equal for models of the same nodes, names, constants, opsets and types of inputs and outputs.

    Documentation, metadata and the types of values inside are none of it.
    """
    digest = hashlib.sha256()
    digest.update(repr(sorted(loaded.opset_imports.items())).encode())
    for function in loaded.model.functions.values():
        digest.update(ir.serde.serialize_function(function).SerializeToString(deterministic=True))
    _add_graph(digest, loaded.model.graph)
    return digest.hexdigest()


def _add_graph(digest: Any, graph: ir.Graph) -> None:
    for value in (*graph.inputs, *graph.outputs):
        digest.update(repr((value.name, str(value.type), str(value.shape))).encode())
    for name in sorted(graph.initializers):
        tensor = graph.initializers[name].const_value
        digest.update(repr((name, None if tensor is None else tensor_key(tensor))).encode())
    for node in graph:
        names = [None if v is None else v.name for v in node.inputs], [v.name for v in node.outputs]
        digest.update(repr((node.domain, node.op_type, node.overload, names)).encode())
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

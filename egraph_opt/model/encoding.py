"""Carries through onnx_ir what it cannot represent.

onnx_ir 1.1 raises on sparse tensors in attributes and on map types, drops sparse initializers and training
information, and repeats the metadata of tensors.  So, on the way in, a node with such an attribute becomes a
*carrier*: the same operands and outputs, but an operator of `ENCODED_DOMAIN` which holds the original node as
text. No law, inference or folding knows that domain, so everybody treats it as opaque.  A sparse initializer
becomes an encoded Constant.  On the way out `restore` undoes both.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto, TypeProto

ENCODED_DOMAIN = "egraph_opt.encoded"
"""The domain of nodes that stand for what onnx_ir cannot hold; never in a written model."""

_PAYLOAD = "node"
SPARSE_INITIALIZER = "SparseInitializer"
"""The operator of the node that stands for a sparse initializer; it makes a constant."""

_UNHELD_ATTRIBUTES = (AttributeProto.SPARSE_TENSOR, AttributeProto.SPARSE_TENSORS)


def graphs_of(graph: GraphProto) -> Iterator[GraphProto]:
    """`graph` and the graphs of all bodies in it, outer ones first."""
    waiting = [graph]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(body for node in current.node for body in bodies_of(node))


def bodies_of(node: NodeProto) -> Iterator[GraphProto]:
    """The graphs in the attributes of a node."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def tensors_of(model: ModelProto) -> Iterator[TensorProto]:
    """All dense tensors of a model: initializers and attributes, in bodies and functions too."""
    roots: list[GraphProto] = [*graphs_of(model.graph)]
    for function in model.functions:
        roots.extend(graph for node in function.node for body in bodies_of(node) for graph in graphs_of(body))
    for graph in roots:
        yield from graph.initializer
    for nodes in [*(graph.node for graph in roots), *(function.node for function in model.functions)]:
        for node in nodes:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t
                yield from attribute.tensors


def is_held(type_proto: TypeProto) -> bool:
    """Whether onnx_ir can represent a type: not maps, opaque types, or sequences of nothing."""
    kind = type_proto.WhichOneof("value")
    while kind in ("sequence_type", "optional_type"):
        inner = getattr(type_proto, kind)
        if not inner.HasField("elem_type"):
            return False
        type_proto = inner.elem_type
        kind = type_proto.WhichOneof("value")
        if kind is None:
            return False
    return kind in (None, "tensor_type", "sparse_tensor_type")


def _attribute_is_held(attribute: AttributeProto) -> bool:
    if attribute.type in _UNHELD_ATTRIBUTES:
        return False
    if attribute.type == AttributeProto.TYPE_PROTO:
        return is_held(attribute.tp)
    if attribute.type == AttributeProto.TYPE_PROTOS:
        return all(is_held(type_proto) for type_proto in attribute.type_protos)
    if attribute.type == AttributeProto.STRINGS:
        return all(is_text(text) for text in attribute.strings)
    return True


def is_text(text: bytes) -> bool:
    """Whether it is UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _carry_node(node: NodeProto) -> None:
    payload = base64.b85encode(node.SerializeToString(deterministic=True))
    del node.attribute[:]
    node.domain = ENCODED_DOMAIN
    node.attribute.add(name=_PAYLOAD, type=AttributeProto.STRING, s=payload)


def _sparse_type(sparse: SparseTensorProto, name: str) -> onnx.ValueInfoProto:
    return onnx.helper.make_tensor_value_info(name, sparse.values.data_type, list(sparse.dims))


def carry(model: ModelProto) -> bool:
    """Rewrite, in place, what onnx_ir would lose; whether there was anything."""
    found = False
    for graph in graphs_of(model.graph):
        found |= _carry_nodes(list(graph.node))
        for info in (*graph.input, *graph.output, *graph.value_info):
            if not is_held(info.type):
                info.ClearField("type")
                found = True
        if graph.sparse_initializer:
            found = True
            _carry_sparse_initializers(graph)
    for function in model.functions:
        found |= _carry_nodes(list(function.node))
        for node in function.node:
            for body in bodies_of(node):
                for graph in graphs_of(body):
                    found |= _carry_nodes(list(graph.node))
    if found:
        model.opset_import.add(domain=ENCODED_DOMAIN, version=1)
        for function in model.functions:
            function.opset_import.add(domain=ENCODED_DOMAIN, version=1)
    return found


def _carry_nodes(nodes: list[NodeProto]) -> bool:
    lost = [node for node in nodes if not all(_attribute_is_held(a) for a in node.attribute)]
    for node in lost:
        _carry_node(node)
    return bool(lost)


def _carry_sparse_initializers(graph: GraphProto) -> None:
    carriers = []
    declared = {info.name for info in graph.value_info}
    for sparse in graph.sparse_initializer:
        name = sparse.values.name
        constant = NodeProto(op_type=SPARSE_INITIALIZER, output=[name])
        constant.attribute.add(name="sparse_value", type=AttributeProto.SPARSE_TENSOR, sparse_tensor=sparse)
        _carry_node(constant)
        carriers.append(constant)
        if name not in declared:
            graph.value_info.append(_sparse_type(sparse, name))
    nodes = [*carriers, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    del graph.sparse_initializer[:]


def restore(model: ModelProto) -> None:
    """Undo `carry`, in place, on a model that came out of onnx_ir; and drop repeated metadata of tensors."""
    for graph in graphs_of(model.graph):
        _restore_nodes(list(graph.node))
        _restore_sparse_initializers(graph)
    for function in model.functions:
        _restore_nodes(list(function.node))
        for node in function.node:
            for body in bodies_of(node):
                for graph in graphs_of(body):
                    _restore_nodes(list(graph.node))
    for owner in (model, *model.functions):
        imports = [entry for entry in owner.opset_import if entry.domain != ENCODED_DOMAIN]
        if len(imports) != len(owner.opset_import):
            del owner.opset_import[:]
            owner.opset_import.extend(imports)
    for tensor in tensors_of(model):
        entries = {entry.key: entry.value for entry in tensor.metadata_props}
        if len(entries) != len(tensor.metadata_props):
            del tensor.metadata_props[:]
            for key, value in entries.items():
                tensor.metadata_props.add(key=key, value=value)


def _restore_nodes(nodes: list[NodeProto]) -> None:
    for node in nodes:
        if node.domain == ENCODED_DOMAIN:
            original = NodeProto.FromString(base64.b85decode(node.attribute[0].s))
            node.ClearField("domain")
            if original.domain:
                node.domain = original.domain
            del node.attribute[:]
            node.attribute.extend(original.attribute)


def _restore_sparse_initializers(graph: GraphProto) -> None:
    kept = []
    for node in graph.node:
        if node.op_type == SPARSE_INITIALIZER and node.domain == "" and len(node.attribute) == 1:
            sparse = graph.sparse_initializer.add()
            sparse.CopyFrom(node.attribute[0].sparse_tensor)
            sparse.values.name = node.output[0]
        else:
            kept.append(node)
    if len(kept) != len(graph.node):
        del graph.node[:]
        graph.node.extend(kept)

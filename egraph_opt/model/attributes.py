"""Attributes of nodes: named once, of a type that says where the value is, and that the operator has.

What is refused here onnxruntime refuses as well.  Everybody downstream may then take an attribute that a
schema declares for what it declares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto
from onnx.defs import OpSchema

from egraph_opt.errors import InvalidModelError
from egraph_opt.model.encoding import bodies_of, graphs_of, is_text
from egraph_opt.model.structure import describe, opsets_of

_FIELDS = {
    AttributeProto.FLOAT: "f",
    AttributeProto.INT: "i",
    AttributeProto.STRING: "s",
    AttributeProto.TENSOR: "t",
    AttributeProto.GRAPH: "g",
    AttributeProto.SPARSE_TENSOR: "sparse_tensor",
    AttributeProto.TYPE_PROTO: "tp",
    AttributeProto.FLOATS: "floats",
    AttributeProto.INTS: "ints",
    AttributeProto.STRINGS: "strings",
    AttributeProto.TENSORS: "tensors",
    AttributeProto.GRAPHS: "graphs",
    AttributeProto.SPARSE_TENSORS: "sparse_tensors",
    AttributeProto.TYPE_PROTOS: "type_protos",
}
"""Where the value of an attribute is, by its type."""

_NAMES: dict[int, str] = {number: name for name, number in AttributeProto.AttributeType.items()}

_NUMBERS = {getattr(OpSchema.AttrType, _NAMES[number]): number for number in _FIELDS}
"""The types of attributes as schemas have them."""

_MESSAGES = frozenset(("t", "g", "sparse_tensor", "tp"))
"""Fields that have no default: an attribute of such a type has to have one."""


def check_attributes(model: ModelProto, source: str) -> None:
    """Check the attributes of all nodes.

    Raises:
        InvalidModelError: one has no name or a name of another one, a type that there is not or that the
            value or the operator's schema contradicts, text that is none; or a required one is missing, or
            an operand or a result.
    """
    local = {(function.domain, function.name) for function in model.functions}
    for owner, versions, nodes in _owners(model):
        in_function = isinstance(owner, FunctionProto)
        for node in nodes:
            schema = None if (node.domain, node.op_type) in local else schema_of(node, versions)
            problem = next(_problems(node, schema, in_function), None)
            if problem is not None:
                raise InvalidModelError(f"{source}: {describe(node)} {problem}")


def schema_of(node: NodeProto, versions: Mapping[str, int]) -> OpSchema | None:
    """What ONNX says of a node's operator in the opset of its domain; None where it says nothing."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    try:
        return onnx.defs.get_schema(node.op_type, versions.get(domain, 1), domain)
    except onnx.defs.SchemaError:
        return None


def _owners(
    model: ModelProto,
) -> Iterator[tuple[GraphProto | FunctionProto, Mapping[str, int], list[NodeProto]]]:
    """Graphs, functions and the bodies in them, the latter by the function that they are of."""
    versions = opsets_of(model)
    for graph in graphs_of(model.graph):
        yield graph, versions, list(graph.node)
    for function in model.functions:
        versions = opsets_of(function)
        yield function, versions, list(function.node)
        for node in function.node:
            for body in bodies_of(node):
                for graph in graphs_of(body):
                    yield function, versions, list(graph.node)


def _problems(node: NodeProto, schema: OpSchema | None, in_function: bool) -> Iterator[str]:
    declared = {} if schema is None else schema.attributes
    seen: set[str] = set()
    for attribute in node.attribute:
        name = attribute.name
        if not name:
            yield "has an attribute without a name"
        if name in seen:
            yield f"has the attribute {name!r} twice"
        seen.add(name)
        if in_function and attribute.ref_attr_name:
            continue  # what it stands for is in the call
        if problem := _of_value(attribute):
            yield f"has an attribute {name!r} {problem}"
        if name in declared and _NUMBERS[declared[name].type] != attribute.type:
            kinds = _kind(attribute.type), _kind(_NUMBERS[declared[name].type])
            yield f"has an attribute {name!r} of type {kinds[0]}, which has to be {kinds[1]}"
    if schema is not None:
        for side, names, least in (
            ("inputs", node.input, schema.min_input),
            ("outputs", node.output, schema.min_output),
        ):
            if len(names) < least:
                yield f"has {len(names)} {side}, the schema needs {least}"
    missing = sorted(name for name, entry in declared.items() if entry.required and name not in seen)
    if missing:
        yield f"lacks the attribute {missing[0]!r}, which it has to have"


def _of_value(attribute: AttributeProto) -> str:
    """What is wrong with the value of an attribute, whatever the operator."""
    if attribute.type not in _FIELDS:
        return f"of a type {attribute.type}, which there is not"
    own = _FIELDS[attribute.type]
    given = [f.name for f, _ in attribute.ListFields() if f.name in _FIELDS.values() and f.name != own]
    if given:
        return f"of type {_kind(attribute.type)} with a value in {given[0]!r}"
    if own in _MESSAGES and not attribute.HasField(own):
        return f"of type {_kind(attribute.type)} without a value"
    if own == "s" and not is_text(attribute.s):
        return "whose text is not UTF-8"
    return ""


def _kind(number: int) -> str:
    return _NAMES[number].lower()

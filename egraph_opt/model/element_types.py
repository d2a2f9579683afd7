"""Element types of a model against the schemas of its operators.

onnxruntime refuses a model whose element types break a schema, and takes nearly everything else that onnx's
checker complains of; so this is the one part of the checker that is an error.  Shapes are left to inference,
which reports declared ones that contradict it.
"""

from __future__ import annotations

from collections.abc import Iterator

import onnx
from onnx import ModelProto, NodeProto, TensorProto, TypeProto
from onnx.defs import OpSchema

from egraph_opt.errors import InvalidModelError
from egraph_opt.model.attributes import schema_of
from egraph_opt.model.structure import describe

_REFUSALS = (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, ValueError, RuntimeError)

_NAMES = {number: "tensor(" + name.lower() + ")" for name, number in TensorProto.DataType.items()}


def without_shapes(model: ModelProto) -> ModelProto:
    """A copy in which no shape is known, and constants of the main graph are inputs.

    Types follow from types alone, and ONNX's inference aborts the process over a Slice of what it takes to
    have a dim below 0, such as a pool of a window that is larger than its image.
    """
    copy = ModelProto(ir_version=model.ir_version)
    copy.opset_import.extend(model.opset_import)
    copy.functions.extend(model.functions)
    graph, light = model.graph, copy.graph
    light.name = graph.name or "graph"
    light.input.extend(graph.input)
    light.output.extend(graph.output)
    light.value_info.extend(graph.value_info)
    inputs = {info.name for info in graph.input}
    constants = [(tensor.name, tensor.data_type) for tensor in graph.initializer]
    constants += [(sparse.values.name, sparse.values.data_type) for sparse in graph.sparse_initializer]
    for node in graph.node:
        if (element_type := _constant_type(node)) is None:
            light.node.append(node)
        else:
            constants.append((node.output[0], element_type))
    light.input.extend(
        onnx.helper.make_tensor_value_info(name, element_type, None)
        for name, element_type in constants
        if name not in inputs
    )
    for info in (*light.input, *light.output, *light.value_info):
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")
    return copy


def _constant_type(node: NodeProto) -> int | None:
    """The element type of a Constant that is given as a tensor."""
    if node.op_type != "Constant" or node.domain not in ("", "ai.onnx") or len(node.output) != 1:
        return None
    return next((a.t.data_type for a in node.attribute if a.name == "value" and a.HasField("t")), None)


def check_types(model: ModelProto, source: str) -> list[str]:
    """Check the element types of the main graph.

    Args:
        model: is only read.
        source: how messages name the model.

    Returns:
        Complaints of ONNX's inference that do no harm.

    Raises:
        InvalidModelError: an operand or result has an element type that its operator's schema rules out.
    """
    warnings: list[str] = []
    light = without_shapes(model)
    try:
        inferred = onnx.shape_inference.infer_shapes(light)
    except _REFUSALS as error:
        warnings.append(f"ONNX's own shape inference failed: {_one_line(error)}")
        inferred = light
    types = dict(_known_types(inferred))
    # What is declared counts too: onnxruntime refuses a declared element type that is wrong.
    types.update({name: text for name, text in _known_types(light) if text})
    versions = {entry.domain: entry.version for entry in model.opset_import}
    versions.setdefault("", versions.get("ai.onnx", 1))
    local = {(function.domain, function.name) for function in model.functions}
    for node in model.graph.node:
        domain = "" if node.domain == "ai.onnx" else node.domain
        if (node.domain, node.op_type) in local:
            continue
        schema = schema_of(node, versions)
        if schema is None:
            if domain == "":
                warnings.append(
                    f"{describe(node)}: opset {versions['']} has no such operator; it is kept as it is"
                )
            continue
        if problem := _broken_schema(node, schema, types):
            raise InvalidModelError(f"{source}: types of {describe(node)} do not check: {problem}")
    return warnings


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _known_types(model: ModelProto) -> Iterator[tuple[str, str]]:
    graph = model.graph
    for info in (*graph.value_info, *graph.output, *graph.input):
        if text := type_text(info.type):
            yield info.name, text
    for tensor in graph.initializer:
        yield tensor.name, _NAMES.get(tensor.data_type, "")


def type_text(type_proto: TypeProto) -> str:
    """A type as schemas write it, `seq(tensor(float))` for instance; empty if it is not known."""
    around: list[str] = []
    while True:
        kind = type_proto.WhichOneof("value")
        if kind in ("sequence_type", "optional_type"):
            around.append("seq" if kind == "sequence_type" else "optional")
            type_proto = getattr(type_proto, kind).elem_type
            continue
        if kind == "tensor_type" and type_proto.tensor_type.elem_type:
            inner = _NAMES.get(type_proto.tensor_type.elem_type, "")
            return "".join(f"{name}(" for name in around) + inner + ")" * len(around) if inner else ""
        return ""


def _broken_schema(node: NodeProto, schema: OpSchema, types: dict[str, str]) -> str | None:
    """What breaks the schema: a type that a parameter does not allow, or two types for one type variable."""
    allowed = {
        constraint.type_param_str: constraint.allowed_type_strs for constraint in schema.type_constraints
    }
    bound: dict[str, tuple[str, str]] = {}
    sides = (("inputs", node.input, schema.inputs), ("outputs", node.output, schema.outputs))
    for side, names, formals in sides:
        if len(names) > len(formals) and not (formals and formals[-1].option == _VARIADIC):
            return f"it has {len(names)} {side}, the schema has {len(formals)}"
        for position, name in enumerate(names):
            formal = formals[min(position, len(formals) - 1)]
            actual = types.get(name, "")
            if not name or not actual:
                continue
            variable = formal.type_str
            if variable not in allowed:
                if actual != variable:
                    return f"{name!r} is {actual}, but {formal.name!r} has to be {variable}"
                continue
            if actual not in allowed[variable]:
                return f"{name!r} is {actual}, which {formal.name!r} cannot be"
            if formal.option == _VARIADIC and not formal.is_homogeneous:
                continue
            other, first = bound.setdefault(variable, (name, actual))
            if first != actual:
                return f"{name!r} is {actual}, but {other!r} is {first}; both have to be of one type"
    return None


_VARIADIC = OpSchema.FormalParameterOption.Variadic

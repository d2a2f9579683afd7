"""ONNX's own shape inference for one node, as facts.

Messages are built once per distinct part (node, type, value): building them costs more than the inference.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper

from egraph_opt.facts.fact import CLASH, UNKNOWN, Dim, Fact, Shape

from .call import Attribute

_MEMO = 1 << 14
_Attributes = tuple[tuple[str, Attribute], ...]


@lru_cache(_MEMO)
def schema(op_type: str, domain: str, opset: int) -> defs.OpSchema | None:
    """The operator's schema in this opset, or None if ONNX does not know it."""
    try:
        return defs.get_schema(op_type, opset, domain)
    except defs.SchemaError:
        return None


@lru_cache(_MEMO)
def accepts(op_type: str, domain: str, dtypes: tuple[int | None, ...], n_outputs: int, opset: int) -> bool:
    """The operator takes operands of these element types (None: absent, 0: unknown) and has so many results.

    ONNX's inference does not look at that, and crashes over some operands that are missing.
    """
    found = schema(op_type, domain, opset)
    if found is None:
        return True
    if not found.min_input <= len(dtypes) <= found.max_input or n_outputs > found.max_output:
        return False
    bound: dict[str, int] = {}
    for k, dtype in enumerate(dtypes):
        formal = found.inputs[min(k, len(found.inputs) - 1)]
        if dtype is None:
            if formal.option == defs.OpSchema.FormalParameterOption.Single:
                return False
        elif dtype:
            if formal.types and TYPE_NAMES[dtype] not in formal.types:
                return False
            if formal.is_homogeneous and bound.setdefault(formal.type_str, dtype) != dtype:
                return False
    return True


TYPE_NAMES = {number: f"tensor({name.lower()})" for name, number in onnx.TensorProto.DataType.items()}


def infer_by_onnx(
    op_type: str,
    domain: str,
    attributes: _Attributes,
    inputs: tuple[Fact | None, ...],
    n_outputs: int,
    *,
    opset: int,
) -> list[Fact]:
    """Types of the outputs by ONNX alone; ``CLASH`` where it finds an error."""
    found = schema(op_type, domain, opset)
    if found is None or any(fact is not None and not fact.dtype for fact in inputs):
        # The inference of some operators reads the types of operands without looking whether there are any.
        return [UNKNOWN] * n_outputs
    facts = _inferred(op_type, domain, attributes, tuple(map(_seen, inputs)), n_outputs, opset=opset)
    trusted = _is_trusted(op_type, domain, inputs)
    if facts is None:
        return [CLASH if trusted else UNKNOWN] * n_outputs
    return list(facts) if trusted else [_without_dims(op_type, fact) for fact in facts]


_Elements = tuple[int | float, ...]
_Seen = tuple[int, Shape | None, _Elements | None]
"""What ONNX is shown of an operand: weights of different ranges are one to it."""


def _seen(fact: Fact | None) -> _Seen | None:
    if fact is None:
        return None
    elements = fact.data if fact.data is not None else fact.value
    numbers = tuple(e for e in elements or () if not isinstance(e, str))
    if elements is None or not fact.is_static or len(numbers) < len(elements):
        return fact.dtype, fact.shape, None
    return fact.dtype, fact.shape, numbers


@lru_cache(_MEMO)
def _inferred(
    op_type: str,
    domain: str,
    attributes: _Attributes,
    inputs: tuple[_Seen | None, ...],
    n_outputs: int,
    *,
    opset: int,
) -> tuple[Fact, ...] | None:
    """What ONNX infers; None where it finds an error."""
    found = schema(op_type, domain, opset)
    assert found is not None  # as the caller has seen
    types: dict[str, bytes] = {}
    data: dict[str, bytes] = {}
    known: set[str] = set()
    for k, seen in enumerate(inputs):
        if seen is None:
            continue
        dtype, shape, elements = seen
        types[f"i{k}"] = _type_bytes(dtype, shape)
        known.update(d for d in shape or () if isinstance(d, str))
        if elements is not None:
            data[f"i{k}"] = _tensor_bytes(dtype, shape, elements)
    present = tuple(seen is not None for seen in inputs)
    node = _node_bytes(op_type, domain, attributes, present, n_outputs, opset=opset)
    try:
        outputs = found._infer_node_outputs(node, types, data, {}, {domain: opset}, onnx.IR_VERSION)  # type: ignore[call-arg]
    except (onnx.shape_inference.InferenceError, ValueError):
        return None
    except onnx.checker.ValidationError:
        # A required attribute is missing: it is a tensor or a graph, which is not passed here.
        return (UNKNOWN,) * n_outputs
    return tuple(_fact(outputs.get(f"o{k}"), known) for k in range(n_outputs))


SELF_JUDGED = frozenset(
    {"MaxPool", "AveragePool", "LpPool", "ConvTranspose", "Resize", "Upsample", "Slice", "STFT"}
)
"""Operators of which ONNX's inference and onnxruntime disagree in a case: ceil_mode, auto_pad, output_shape,
a list of sizes of unknown length, an end beyond all ends with a negative step, one-sided by default.  Their
dims are our formula's alone."""


def _is_trusted(op_type: str, domain: str, inputs: tuple[Fact | None, ...]) -> bool:
    """ONNX's dims and errors are believed.

    With dims that are no numbers they are not for younger operators: Attention takes an unknown dim for 0.
    """
    if domain == "" and op_type in SELF_JUDGED:
        return False
    # Of an empty list of axes ONNX says that it squeezes none, onnxruntime squeezes all.
    if op_type == "Squeeze" and len(inputs) > 1 and inputs[1] is not None and not inputs[1].value:
        return False
    if all(fact is None or fact.is_static for fact in inputs):
        return True
    return domain != "" or schema(op_type, domain, _VETERAN_OPSET) is not None


_VETERAN_OPSET = 18


def _fact(data: bytes | None, known: set[str]) -> Fact:
    if data is None:
        return UNKNOWN
    return tensor_type_fact(onnx.TypeProto.FromString(data), known)


def _without_dims(op_type: str, fact: Fact) -> Fact:
    keeps_rank = fact.shape is not None and op_type != "Squeeze" and op_type not in SELF_JUDGED
    return Fact(fact.dtype, (None,) * len(fact.shape or ()) if keeps_rank else None)


def tensor_type_fact(proto: onnx.TypeProto, known: set[str]) -> Fact:
    """Type and shape of a dense tensor type; of named dims only those in ``known`` are kept."""
    if not proto.HasField("tensor_type"):
        return UNKNOWN
    tensor = proto.tensor_type
    if not tensor.HasField("shape"):
        return Fact(tensor.elem_type)
    dims: list[Dim] = []
    for dim in tensor.shape.dim:
        if dim.HasField("dim_value"):
            dims.append(dim.dim_value if dim.dim_value >= 0 else None)
        else:
            dims.append(dim.dim_param if dim.dim_param in known else None)
    return Fact(tensor.elem_type, tuple(dims))


@lru_cache(_MEMO)
def _type_bytes(dtype: int, shape: Shape | None) -> bytes:
    return bytes(helper.make_tensor_type_proto(dtype, shape).SerializeToString())


@lru_cache(_MEMO)
def _tensor_bytes(dtype: int, shape: tuple[int, ...], elements: tuple[int | float, ...]) -> bytes:
    array = np.array(elements).astype(helper.tensor_dtype_to_np_dtype(dtype)).reshape(shape)
    return bytes(numpy_helper.from_array(array).SerializeToString())


def _one_element(dtype: int, number: int | float) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array([number]).astype(helper.tensor_dtype_to_np_dtype(dtype)))


@lru_cache(_MEMO)
def _node_bytes(
    op_type: str,
    domain: str,
    attributes: _Attributes,
    present: tuple[bool, ...],
    n_outputs: int,
    *,
    opset: int,
) -> bytes:
    node = onnx.NodeProto(op_type=op_type, domain=domain)
    node.input.extend(f"i{k}" if there else "" for k, there in enumerate(present))
    node.output.extend(f"o{k}" for k in range(n_outputs))
    found = schema(op_type, domain, opset)
    declared = {} if found is None else found.attributes
    for name, value in attributes:
        node.attribute.append(_attribute(name, value, declared[name].type if name in declared else None))
    return bytes(node.SerializeToString())


_Kind = defs.OpSchema.AttrType
_LISTS = {
    _Kind.INTS: onnx.AttributeProto.INTS,
    _Kind.FLOATS: onnx.AttributeProto.FLOATS,
    _Kind.STRINGS: onnx.AttributeProto.STRINGS,
}


def _attribute(name: str, value: Attribute, kind: defs.OpSchema.AttrType | None) -> onnx.AttributeProto:
    """The attribute with the type that the schema gives it: 1 and 1.0 are one key of a memo."""
    if kind == _Kind.TENSOR and isinstance(value, tuple):
        return helper.make_attribute(name, _one_element(*value))
    if kind == _Kind.FLOAT and isinstance(value, int | float):
        return helper.make_attribute(name, float(value))
    if kind == _Kind.INT and isinstance(value, int | float):
        return helper.make_attribute(name, int(value))
    if isinstance(value, tuple):
        if kind in _LISTS:
            convert = {_Kind.INTS: int, _Kind.FLOATS: float}.get(kind)
            items = [convert(v) for v in value] if convert is not None else list(value)
            return helper.make_attribute(name, items, attr_type=_LISTS[kind])
        if not value:
            return onnx.AttributeProto(name=name, type=onnx.AttributeProto.INTS)
    return helper.make_attribute(name, value)

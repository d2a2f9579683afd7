"""What a model looks like from outside: names, order and types of its inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import onnx
from onnx import TensorProto

Kind = Literal["tensor", "sequence", "map", "other"]

DECLARED_DEFAULTS = 4
"""From this IR version on an initializer that is an input too is a default that callers may override."""


@dataclass(frozen=True)
class ValueSpec:
    """A declared graph input or output.

    Attributes:
        name: its name.
        type: the whole type without shapes, such as ``optional(seq(float))``.
        kind: what is left of the type once ``optional`` is taken off.
        optional: the value may be absent.
        dtype: the tensor's (or the sequence element's) ``TensorProto.DataType``; 0 for other kinds.
        shape: dimensions of that tensor: a number, a name, or None; None as a whole if the rank is open.
    """

    name: str
    type: str
    kind: Kind
    optional: bool
    dtype: int
    shape: tuple[int | str | None, ...] | None


@dataclass(frozen=True)
class Interface:
    """Inputs and outputs of a graph.

    Attributes:
        inputs: every graph input in order, those with a default among them.
        outputs: every graph output in order.
        defaults: names of inputs that have an initializer.
        overridable: names of inputs whose initializer a caller may override (IR version 4 and later).
    """

    inputs: tuple[ValueSpec, ...]
    outputs: tuple[ValueSpec, ...]
    defaults: frozenset[str]
    overridable: frozenset[str]

    @property
    def required(self) -> tuple[ValueSpec, ...]:
        """The inputs that a caller has to give."""
        return tuple(spec for spec in self.inputs if spec.name not in self.defaults)


def interface(model: onnx.ModelProto) -> Interface:
    """Reads the interface of a model; weights are not touched."""
    graph = model.graph
    listed = {value.name for value in graph.input}
    initialized = {tensor.name for tensor in graph.initializer}
    initialized |= {tensor.values.name for tensor in graph.sparse_initializer}
    defaults = frozenset(listed & initialized)
    return Interface(
        inputs=tuple(_spec(value) for value in graph.input),
        outputs=tuple(_spec(value) for value in graph.output),
        defaults=defaults,
        overridable=defaults if model.ir_version >= DECLARED_DEFAULTS else frozenset(),
    )


def differences(original: Interface, optimized: Interface) -> list[str]:
    """Every way in which the optimized interface is not the original one, in words; empty if it is.

    Inputs have to keep name, order, type, declared shape and having a default.  Outputs have to keep name,
    order and type: a declared output shape may be wrong, so the shapes that really come out are compared.
    """
    found = _names("inputs", original.inputs, optimized.inputs)
    found += _names("outputs", original.outputs, optimized.outputs)
    if found:
        return found
    for role, before, after in (
        ("input", original.inputs, optimized.inputs),
        ("output", original.outputs, optimized.outputs),
    ):
        for a, b in zip(before, after, strict=True):
            if a.type != b.type:
                found.append(f"{role} {a.name!r} was {a.type} and is {b.type}")
            elif role == "input" and a.shape != b.shape:
                found.append(f"{role} {a.name!r} was declared {_shape(a)} and is declared {_shape(b)}")
    if original.defaults != optimized.defaults:
        changed = sorted(original.defaults ^ optimized.defaults)
        found.append(f"inputs {changed} have a default in one of the models only")
    elif not original.overridable <= optimized.overridable:
        found.append("inputs with defaults can no longer be overridden (IR version below 4)")
    return found


def _names(role: str, before: Iterable[ValueSpec], after: Iterable[ValueSpec]) -> list[str]:
    a, b = [spec.name for spec in before], [spec.name for spec in after]
    if a == b:
        return []
    missing, new = [n for n in a if n not in set(b)], [n for n in b if n not in set(a)]
    if missing or new:
        return [f"{role} differ: missing {missing}, new {new}"]
    return [f"{role} are in another order: {a} became {b}"]


def _shape(spec: ValueSpec) -> str:
    if spec.shape is None:
        return "with any rank"
    return "[" + ", ".join("?" if dim is None else str(dim) for dim in spec.shape) + "]"


def _dimensions(tensor: onnx.TypeProto.Tensor) -> tuple[int | str | None, ...] | None:
    if not tensor.HasField("shape"):
        return None
    dims: list[int | str | None] = []
    for dim in tensor.shape.dim:
        if dim.HasField("dim_value"):
            # Exporters write -1 for "any".
            dims.append(dim.dim_value if dim.dim_value >= 0 else None)
        else:
            dims.append(dim.dim_param or None)
    return tuple(dims)


def _spec(value: onnx.ValueInfoProto) -> ValueSpec:
    kind, inner, optional = _strip(value.type)
    dtype, shape = 0, None
    if kind == "sequence":
        element = inner.sequence_type.elem_type
        if element.WhichOneof("value") == "tensor_type":
            dtype, shape = element.tensor_type.elem_type, _dimensions(element.tensor_type)
        else:
            kind = "other"
    elif kind == "tensor":
        dtype, shape = inner.tensor_type.elem_type, _dimensions(inner.tensor_type)
    return ValueSpec(value.name, type_text(value.type), kind, optional, dtype, shape)


def _strip(declared: onnx.TypeProto) -> tuple[Kind, onnx.TypeProto, bool]:
    optional = declared.WhichOneof("value") == "optional_type"
    inner = declared.optional_type.elem_type if optional else declared
    match inner.WhichOneof("value"):
        case "tensor_type":
            return "tensor", inner, optional
        case "sequence_type":
            return "sequence", inner, optional
        case "map_type":
            return "map", inner, optional
        case _:
            return "other", inner, optional


def type_text(declared: onnx.TypeProto) -> str:
    """A type without its shapes, as text."""
    wrappers = ""
    inner = declared
    while True:
        match inner.WhichOneof("value"):
            case "sequence_type":
                wrappers, inner = wrappers + "seq(", inner.sequence_type.elem_type
            case "optional_type":
                wrappers, inner = wrappers + "optional(", inner.optional_type.elem_type
            case "map_type":
                key = _dtype_name(inner.map_type.key_type)
                wrappers, inner = wrappers + f"map({key}, ", inner.map_type.value_type
            case "tensor_type":
                text = _dtype_name(inner.tensor_type.elem_type)
                break
            case "sparse_tensor_type":
                text = f"sparse({_dtype_name(inner.sparse_tensor_type.elem_type)})"
                break
            case other:
                text = str(other or "untyped")
                break
    return wrappers + text + ")" * wrappers.count("(")


def _dtype_name(dtype: int) -> str:
    if dtype in TensorProto.DataType.values():
        return TensorProto.DataType.Name(dtype).lower()  # type: ignore[arg-type, no-any-return, unused-ignore]
    return f"dtype {dtype}"

"""A node as a model of its own, to be timed: what it computes on, and under which key its time is kept.

The key says all that a kernel's time depends on: operator, attributes, types, which operands are constants,
and the elements of small integer operands (shapes, axes, pads).  Elements of floats are left out but for the
few operators whose kernels look at them, and within pseudo-operators, where a fusion does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from egraph_opt.cost.model import NodeView, Parts
from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.inference.onnx_inference import schema
from egraph_opt.measurement.timing import Specimen

Array = npt.NDArray[Any]

LOOKS_AT_ELEMENTS = frozenset(("Pow", "Clip"))
"""Operators with kernels of their own for some float operands, such as an exponent of 2."""

LARGEST = 1 << 28
"""Bytes of all operands of a specimen; larger nodes are not measured alone."""

_KEY = "specimen.key"

_FLOATS = frozenset((TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16))
_NO_FEED = frozenset((TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.COMPLEX128))


class UnmeasurableError(Exception):
    """A node that cannot be timed alone; the message says why."""


def specimen_key(view: NodeView) -> str:
    """What a node's time depends on, as a text: the same for equal nodes, in every process."""
    if _KEY not in view.memo:
        view.memo[_KEY] = _written(view)
    return str(view.memo[_KEY])


def _written(view: NodeView) -> str:
    if view.parts is None:
        return json.dumps(_description(view, whole=view.op_type in LOOKS_AT_ELEMENTS))
    parts = view.parts
    described = [
        [_description(node, whole=True), list(s)] for node, s in zip(parts.nodes, parts.sources, strict=True)
    ]
    operands = [_operand(fact, whole=False) for fact in parts.operands]
    return json.dumps([described, operands])


def _description(view: NodeView, *, whole: bool) -> list[Any]:
    declared = schema(view.op_type, view.domain, view.opset)
    version = 0 if declared is None else declared.since_version
    attributes = [[name, view.attributes[name]] for name in sorted(view.attributes)]
    inputs = [_operand(fact, whole=whole) for fact in view.inputs]
    outputs = [fact.dtype > 0 for fact in view.outputs]
    return [view.domain, view.op_type, version, attributes, inputs, outputs]


def _operand(fact: Fact | None, *, whole: bool) -> list[Any] | None:
    if fact is None or fact == ABSENT:
        return None
    elements = None
    if whole or fact.dtype not in _FLOATS:
        elements = [fact.splat] if fact.splat is not None else _elements(fact)
    return [fact.dtype, fact.shape, fact.const, elements]


def _elements(fact: Fact) -> list[Any] | None:
    """The elements of a small tensor, where all are numbers."""
    items = fact.data if fact.data is not None else fact.value
    if items is None or any(isinstance(item, str) for item in items):
        return None
    return list(items)


def specimen_of(view: NodeView) -> Specimen:
    """The model of a view.

    Raises:
        UnmeasurableError: a type or a dim that is not known, too large, or with a body.
    """
    if view.body_cost or any(name in view.attributes for name in ("body", "then_branch", "else_branch")):
        raise UnmeasurableError("it has a body")
    if not view.outputs:
        raise UnmeasurableError("nobody takes what it makes")
    if view.parts is not None:
        return _Builder(view).of_parts(view.parts)
    return _Builder(view).of_node()


class _Builder:
    def __init__(self, view: NodeView) -> None:
        self.view = view
        self.random = np.random.default_rng(0)
        self.inputs: list[onnx.ValueInfoProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.nodes: list[onnx.NodeProto] = []
        self.feeds: dict[str, Array] = {}
        self.size = 0

    def of_node(self) -> Specimen:
        names = [self.operand(fact, f"x{k}") for k, fact in enumerate(self.view.inputs)]
        outputs = self.node(self.view, names, "y")
        return self.finished(outputs, self.view.outputs)

    def of_parts(self, parts: Parts) -> Specimen:
        values: dict[int, str] = {}
        for number, fact in enumerate(parts.operands):
            if any(number in sources for sources in parts.sources):
                values[number] = self.operand(fact, f"x{number}")
        outputs: list[str] = []
        for number, (node, sources) in enumerate(zip(parts.nodes, parts.sources, strict=True)):
            names = [
                self.operand(fact, f"c{number}_{k}") if source is None else values[source]
                for k, (fact, source) in enumerate(zip(node.inputs, sources, strict=True))
            ]
            outputs = self.node(node, names, f"y{number}")
            values[len(parts.operands) + number] = outputs[0]
        if not outputs:
            raise UnmeasurableError("it does nothing")
        return self.finished(outputs, self.view.outputs)

    def operand(self, fact: Fact | None, name: str) -> str:
        """An input or a constant of the model; "" for one that is absent."""
        if fact is None or fact == ABSENT:
            return ""
        if fact.dtype <= 0 or fact.dtype in _NO_FEED or not fact.is_static:
            raise UnmeasurableError("the type of an operand is not known")
        shape: tuple[int, ...] = fact.shape  # type: ignore[assignment]
        itemsize = helper.tensor_dtype_to_np_dtype(fact.dtype).itemsize
        self.size += math.prod(shape) * itemsize
        if self.size > LARGEST:
            raise UnmeasurableError("its operands are too large")
        array = self.array(fact, shape)
        if fact.const:
            self.constants.append(_tensor(array, fact.dtype, name))
        else:
            if array.dtype == ml_dtypes.bfloat16 or array.dtype.kind == "V":
                raise UnmeasurableError("NumPy has no such type")
            self.inputs.append(helper.make_tensor_value_info(name, fact.dtype, shape))
            self.feeds[name] = array
        return name

    def array(self, fact: Fact, shape: tuple[int, ...]) -> Array:
        """Elements of an operand: those that are known, else normal numbers; integers that any axis has."""
        dtype = helper.tensor_dtype_to_np_dtype(fact.dtype)
        if fact.splat is not None:
            return np.full(shape, fact.splat).astype(dtype)
        known = _elements(fact)
        if known is not None:
            return np.array(known).astype(dtype).reshape(shape)
        if fact.dtype == TensorProto.BOOL:
            return self.random.random(shape) < 0.5
        if fact.dtype in _FLOATS:
            return self.random.standard_normal(shape).astype(np.float32).astype(dtype)
        least = 0 if fact.range is None else min(max(fact.range[0], 0), fact.range[1])
        return np.full(shape, least).astype(dtype)

    def node(self, view: NodeView, inputs: list[str], stem: str) -> list[str]:
        """Add a node; its outputs."""
        while inputs and not inputs[-1]:
            inputs.pop()
        every = view.op_type == "Split"  # of which not all may be used
        outputs = [f"{stem}_{k}" if every or fact.dtype != 0 else "" for k, fact in enumerate(view.outputs)]
        outputs += [f"{stem}_{k}" for k in range(len(outputs), _pieces(view))]
        if not any(outputs):
            raise UnmeasurableError("the types of its outputs are not known")
        made = helper.make_node(view.op_type, inputs, outputs, name=stem, domain=view.domain)
        made.attribute.extend(_attributes(view))
        self.nodes.append(made)
        return outputs

    def finished(self, outputs: list[str], facts: tuple[Fact, ...]) -> Specimen:
        declared = [
            helper.make_tensor_value_info(name, facts[min(k, len(facts) - 1)].dtype, None)
            for k, name in enumerate(outputs)
            if name
        ]
        graph = helper.make_graph(self.nodes, "specimen", self.inputs, declared, self.constants)
        domains = {node.domain for node in self.nodes} - {"", "ai.onnx"}
        opsets = [helper.make_opsetid("", self.view.opset)]
        opsets += [helper.make_opsetid(domain, 1) for domain in sorted(domains)]
        model = helper.make_model(graph, opset_imports=opsets)
        model.ir_version = min(max(helper.find_min_ir_version_for(opsets[:1]), 4), onnx.IR_VERSION)
        return Specimen(specimen_key(self.view), model.SerializeToString(), self.feeds, self.size)


def _pieces(view: NodeView) -> int:
    """How many outputs a Split has, of which not all may be used."""
    if view.op_type != "Split":
        return len(view.outputs)
    sizes = view.integers("split") or (
        () if len(view.inputs) < 2 or view.inputs[1] is None else view.inputs[1].ints
    )
    return max(len(sizes or ()), len(view.outputs))


def _attributes(view: NodeView) -> Iterator[onnx.AttributeProto]:
    for name in sorted(view.attributes):
        value = view.attributes[name]
        if view.op_type == "ConstantOfShape" and name == "value" and isinstance(value, tuple):
            yield helper.make_attribute(name, helper.make_tensor(name, value[0], (1,), [value[1]]))
        elif value == ():
            yield helper.make_attribute(name, [], attr_type=onnx.AttributeProto.INTS)
        else:
            yield helper.make_attribute(name, value)


def _tensor(array: Array, dtype: int, name: str) -> onnx.TensorProto:
    tensor = numpy_helper.from_array(np.ascontiguousarray(array), name)
    tensor.data_type = dtype
    return tensor

"""Nodes with bodies (If, Loop, Scan), and calls of model-local functions: the types of their outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import onnx
import onnx_ir as ir

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import UNKNOWN, Dim, Fact
from egraph_opt.graph.walks import captured_values

from .float_ranges import around, confined, interval_of
from .intervals import hull
from .onnx_inference import schema, tensor_type_fact
from .ranges import narrowed, range_of

Look = Callable[[ir.Value | None], Fact | None]


def infer_with_bodies(
    node: ir.Node,
    inputs: tuple[Fact | None, ...],
    opset: Mapping[str, int],
    look: Look,
    branch: Callable[[ir.Graph], list[Fact]],
) -> tuple[Fact, ...]:
    """Facts of the outputs of a node that has graphs among its attributes.

    If: what both branches agree on.  Others: numbers that ONNX's inference finds; names of dims inside a body
    mean nothing outside of it.
    """
    if node.op_type == "If" and node.domain in ("", "ai.onnx"):
        ways = [branch(node.attributes[name].as_graph()) for name in ("then_branch", "else_branch")]
        if all(len(facts) == len(node.outputs) for facts in ways):
            return tuple(agreed(a, b) for a, b in zip(*ways, strict=True))
        return (UNKNOWN,) * len(node.outputs)
    return infer_whole(node, inputs, opset, look)


def agreed(a: Fact, b: Fact) -> Fact:
    """What is true of a value that is one of the two."""
    shape = None
    if a.shape is not None and b.shape is not None and len(a.shape) == len(b.shape):
        pairs = zip(a.shape, b.shape, strict=True)
        shape = tuple(x if symbolic.known_equal(x, y) else None for x, y in pairs)
    value = a.value if a.value == b.value else None
    data = a.data if a.data == b.data else None
    splat = a.splat if a.splat == b.splat else None
    if a.dtype != b.dtype:
        return Fact(0, shape)
    known = narrowed(Fact(a.dtype, shape, False, value, splat, data), hull([range_of(a), range_of(b)]))
    return confined(known, around([interval_of(a), interval_of(b)]))


def infer_whole(
    node: ir.Node, inputs: tuple[Fact | None, ...], opset: Mapping[str, int], look: Look
) -> tuple[Fact, ...]:
    """Types with the numbers that ONNX finds from the node as it stands, its tensors and graphs included."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    unknown = (UNKNOWN,) * len(node.outputs)
    found = schema(node.op_type, domain, opset.get(domain, 0))
    if found is None or any(fact is not None and not fact.dtype for fact in inputs):
        return unknown
    types = {
        value.name: _type_bytes(fact)
        for value, fact in zip(node.inputs, inputs, strict=True)
        if value is not None and value.name and fact is not None
    }
    for value in captured_values(node):
        fact = look(value)
        if fact is not None and fact.dtype and value.name:
            types[value.name] = _type_bytes(fact)
    proto = ir.to_proto(node).SerializeToString()
    try:
        outputs = found._infer_node_outputs(proto, types, {}, {}, dict(opset), onnx.IR_VERSION)  # type: ignore[call-arg]
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, ValueError, RuntimeError):
        return unknown
    facts = []
    for value in node.outputs:
        data = outputs.get(value.name or "")
        facts.append(UNKNOWN if data is None else tensor_type_fact(onnx.TypeProto.FromString(data), set()))
    return tuple(facts)


def _type_bytes(fact: Fact) -> bytes:
    """The type with its numbers alone."""
    shape: tuple[Dim, ...] | None = None
    if fact.shape is not None:
        shape = tuple(d if isinstance(d, int) else None for d in fact.shape)
    return bytes(onnx.helper.make_tensor_type_proto(fact.dtype, shape).SerializeToString())


def infer_function(function: ir.Function, node: ir.Node, inputs: tuple[Fact | None, ...]) -> tuple[Fact, ...]:
    """Facts of the outputs of a call, with the dims that are numbers or named dims of the operands.

    Names of dims inside the body mean nothing outside, so operands go in with fresh ones.
    """
    unknown = (UNKNOWN,) * len(node.outputs)
    if any(fact is None or not fact.dtype for fact in inputs) or len(inputs) != len(function.inputs):
        return unknown
    dims: dict[str, str] = {}
    types = []
    for fact in inputs:
        assert fact is not None
        shape = fact.shape
        if shape is not None:
            shape = tuple(dims.setdefault(d, f"!{len(dims)}") if isinstance(d, str) else d for d in shape)
        types.append(onnx.helper.make_tensor_type_proto(fact.dtype, shape))
    attributes = [ir.to_proto(a) for a in node.attributes.values()]
    try:
        protos = onnx.shape_inference.infer_function_output_types(ir.to_proto(function), types, attributes)
    except (onnx.shape_inference.InferenceError, RuntimeError):
        # Functions inside functions and unknown operators are more than ONNX follows here.
        return unknown
    back = {name: dim for dim, name in dims.items()}
    facts = []
    for proto in protos[: len(node.outputs)]:
        fact = tensor_type_fact(proto, set(back))
        shape = fact.shape
        if shape is not None:
            shape = tuple(back[d] if isinstance(d, str) else d for d in shape)
        facts.append(Fact(fact.dtype, shape))
    return (*facts, *unknown[len(facts) :])

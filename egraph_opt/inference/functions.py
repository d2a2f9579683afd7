"""Calls of model-local functions: types of their outputs, by ONNX's inference through the body."""

from __future__ import annotations

import onnx
import onnx_ir as ir

from egraph_opt.facts.fact import UNKNOWN, Fact

from .onnx_inference import tensor_type_fact


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

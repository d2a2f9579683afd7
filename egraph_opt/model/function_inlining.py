"""Calls of a model's own functions, written out: laws look into them then, as runtimes do."""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir
from onnx_ir.passes.common import InlinePass

MOST_NODES = 50_000
"""Of the functions with all calls written out; beyond, calls stay calls."""

INLINING_ERRORS = (ValueError, KeyError, TypeError, AttributeError, ir.passes.PassError)
"""What onnx_ir raises where it cannot write a call out, such as one with a graph; the model is spoilt."""

RUNTIME_DOMAINS = ("ai.onnx", "com.microsoft")
"""What such domains begin with: a function there is for runtimes that have no kernel of that name."""


def inline_functions(model: ir.Model) -> None:
    """Write out the calls of a model's functions, in place.

    Functions of another opset than the model's stay, those that a runtime may have a kernel for, and those
    that hand on an operand as it is.

    Raises:
        INLINING_ERRORS
    """
    opsets = {**model.opset_imports}
    InlinePass(lambda function: _is_to_be_inlined(function, opsets))(model)


def _is_to_be_inlined(function: ir.Function, opsets: Mapping[str, int]) -> bool:
    if not function.domain or any(f"{function.domain}.".startswith(f"{d}.") for d in RUNTIME_DOMAINS):
        return False
    own = function.opset_imports
    if "ai.onnx" in own or any(opsets.get(domain, version) != version for domain, version in own.items()):
        return False
    outputs = {*function.outputs}
    return len(outputs) == len(function.outputs) and outputs.isdisjoint(function.inputs)

"""Values of inputs on which a model's path depends: random numbers would take one branch of many.

A boolean input of one element takes both its values.  An integer input of one element that the graph compares
with a constant (``sampling_rate == 16000``) takes that constant.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from egraph_opt.facts.assumption import Assumption
from egraph_opt.verification.inputs import is_integer
from egraph_opt.verification.interface import ValueSpec
from egraph_opt.verification.sizes import Ranges

COMPARISONS = frozenset({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})
VIEWS = frozenset({"Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"})
MAX_CASES = 8


def branch_cases(model: onnx.ModelProto, specs: Sequence[ValueSpec]) -> list[Ranges]:
    """Assumptions about one input each, under which the model should be run as well; at most `MAX_CASES`."""
    single = {spec.name: spec for spec in specs if spec.shape is not None and set(spec.shape) <= {1}}
    cases: list[Ranges] = [
        {name: Assumption(value, value)}
        for name, spec in single.items()
        if spec.dtype == TensorProto.BOOL and spec.kind == "tensor"
        for value in (0, 1)
    ]
    integers = {name for name, spec in single.items() if is_integer(spec) and spec.kind == "tensor"}
    if integers:
        found = _compared(model.graph, integers)
        cases += [{name: Assumption(value, value)} for name in sorted(found) for value in sorted(found[name])]
    return cases[:MAX_CASES]


def _compared(graph: onnx.GraphProto, integers: set[str]) -> dict[str, set[int]]:
    """Constants that are compared with these inputs in the main graph, views and casts between them."""
    constants = {t.name: t for t in graph.initializer if len(t.dims) <= 1}
    source = {name: name for name in integers}
    found: dict[str, set[int]] = {}
    for node in graph.node:
        if node.op_type == "Constant":
            for attribute in node.attribute:
                if attribute.name == "value" and len(attribute.t.dims) <= 1:
                    constants[node.output[0]] = attribute.t
                elif attribute.name == "value_int":
                    constants[node.output[0]] = numpy_helper.from_array(np.array(attribute.i))
        elif node.op_type in VIEWS and node.input and node.input[0] in source:
            source[node.output[0]] = source[node.input[0]]
        elif node.op_type in COMPARISONS and len(node.input) == 2:
            for one, other in (node.input, tuple(reversed(node.input))):
                if one in source and other in constants:
                    found.setdefault(source[one], set()).update(_whole(constants[other]))
    return found


def _whole(tensor: onnx.TensorProto) -> list[int]:
    if tensor.data_location == TensorProto.EXTERNAL or tensor.data_type == TensorProto.STRING:
        return []
    values = numpy_helper.to_array(tensor).reshape(-1)
    return [int(v) for v in values[:2] if np.isfinite(v) and v == int(v)]

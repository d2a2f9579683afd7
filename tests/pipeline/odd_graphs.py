"""Valid and unusual graphs in ONNX's text format, and what is checked of their results."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from egraph_opt import optimize
from egraph_opt.pipeline import Result


def parsed(text: str, *initializers: onnx.TensorProto, ir_version: int = 8, opset: int = 17) -> ModelProto:
    """A model in ONNX's text format, without its heading."""
    heading = f'<ir_version: {ir_version}, opset_import: ["": {opset}, "ai.onnx.ml": 3]>'
    model = onnx.parser.parse_model(heading + text)
    model.graph.initializer.extend(initializers)
    return model


def tensor(name: str, array: object, dtype: int = TensorProto.FLOAT) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(np.array(array, helper.tensor_dtype_to_np_dtype(dtype)), name)


def survives(model: ModelProto, rewrites: list[str] | None = None, status: str = "passed") -> Result:
    """Optimise a model and check all that can be checked of the result."""
    original = model.SerializeToString(deterministic=True)
    result = optimize(model, "nodes", rewrites=rewrites, strict=True)
    report = result.report
    assert model.SerializeToString(deterministic=True) == original, "the input was changed"
    assert report.verification.status == status, report.verification.detail
    assert report.status in ("optimized", "unchanged"), report.reason
    assert list(result.model.graph.input) == list(model.graph.input)
    assert list(result.model.graph.output) == list(model.graph.output)
    onnx.checker.check_model(result.model, full_check=not model.graph.sparse_initializer)
    assert names_are_unique(result.model)
    return result


def names_are_unique(model: ModelProto) -> bool:
    """No value is made twice and no two nodes share a name, bodies included."""
    values: list[str] = []
    nodes: list[str] = []
    pending = [model.graph]
    while pending:
        graph = pending.pop()
        inputs = [info.name for info in graph.input]
        values += inputs + [t.name for t in graph.initializer if t.name not in inputs]
        for node in graph.node:
            values += [name for name in node.output if name]
            nodes += [node.name] if node.name else []
            pending += [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    return len(values) == len(set(values)) and len(nodes) == len(set(nodes))


BOTH = pytest.mark.parametrize("rewrites", [None, []], ids=["laws", "no-laws"])

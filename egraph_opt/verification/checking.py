"""ONNX's checker, held against the optimized model as far as the original passes it."""

from __future__ import annotations

import onnx
from onnx import checker, shape_inference

from egraph_opt.verification.execution import RunnableModel

REFUSED = "onnx.checker refuses the optimized model"
"""How the detail of such a verification begins."""

_REFUSALS = (checker.ValidationError, shape_inference.InferenceError, RuntimeError, ValueError)


def checker_error(original: RunnableModel, optimized: RunnableModel) -> str:
    """Why the checker refuses the optimized model where it accepts the original; empty if it does not.

    The full check (types and shapes too) is asked for where the original passes it, else the plain one.
    """
    for full in (True, False):
        if not _refusal(original, full):
            return _refusal(optimized, full)
    return ""


def _refusal(model: RunnableModel, full: bool) -> str:
    try:
        if isinstance(model.content, str):
            checker.check_model(model.content, full_check=full)
        elif _external(model.proto):
            checker.check_model(_without_external(model.proto), full_check=full)
        else:
            checker.check_model(model.content, full_check=full)
    except _REFUSALS as error:
        return " ".join(str(error).split()) or type(error).__name__
    return ""


def _external(model: onnx.ModelProto) -> bool:
    return any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in model.graph.initializer)


def _without_external(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its external initializers as inputs.

    The checker looks for external data in the working directory if it is not given a path; whether the data
    is there is seen when the model runs.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    listed = {value.name for value in graph.input}
    for k in range(len(graph.initializer) - 1, -1, -1):
        tensor = graph.initializer[k]
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        if tensor.name not in listed:
            graph.input.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
            )
        del graph.initializer[k]
    return copy

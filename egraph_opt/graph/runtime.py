"""ONNX Runtime as it is used here: on the CPU, graph optimisations off, logs silent."""

from __future__ import annotations

import onnxruntime

SILENT = 4
"""The severity of messages from which on ONNX Runtime logs them: fatal ones."""


def plain_options() -> onnxruntime.SessionOptions:
    """Options under which every node runs as it is written."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = SILENT
    return options


def plain_session(
    model: bytes | str, options: onnxruntime.SessionOptions | None = None
) -> onnxruntime.InferenceSession:
    """A model, serialized or by its path, ready to run; onnxruntime raises its own errors."""
    return onnxruntime.InferenceSession(
        model, plain_options() if options is None else options, providers=["CPUExecutionProvider"]
    )

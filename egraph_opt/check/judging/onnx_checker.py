"""ONNX's checker, asked only where it comes back.

ONNX's inference aborts the process over a Slice of what it takes to have a dim below 0, such as a pool of a
window that is larger than its image; onnxruntime may run that, of sizes that are symbols.
"""

from __future__ import annotations

import onnx

from egraph_opt.inference.onnx_inference import SELF_JUDGED

OPAQUE = "opaque"
"""A domain of which ONNX infers nothing."""


def assert_valid(model: onnx.ModelProto) -> None:
    """Check a small model with all its types and shapes.

    Raises:
        ValueError: a dim is below 0, or one of those of `onnx.checker.check_model`.
    """
    if _slices_less_than_nothing(model):
        raise ValueError("a Slice of a tensor with a dim below 0")
    judged = any(node.op_type in SELF_JUDGED for node in model.graph.node)
    onnx.checker.check_model(_without_dims(model) if judged else model, full_check=True)


def _without_dims(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same without dims of what it computes, of which ONNX's inference says others than onnxruntime."""
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    for value in (*shown.graph.value_info, *shown.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            dim.Clear()
    return shown


def _slices_less_than_nothing(model: onnx.ModelProto) -> bool:
    """Whether a Slice takes a dim below 0: each is shown to ONNX once it is known of those in front of it."""
    slices = [k for k, node in enumerate(model.graph.node) if node.op_type == "Slice"]
    for seen in range(len(slices)):
        shown = onnx.ModelProto()
        shown.CopyFrom(model)
        shown.opset_import.add(domain=OPAQUE, version=1)
        for k in slices[seen:]:
            shown.graph.node[k].domain = OPAQUE
        graph = onnx.shape_inference.infer_shapes(shown, data_prop=True).graph
        given = set(graph.node[slices[seen]].input)
        for value in (*graph.input, *graph.value_info):
            if value.name in given and any(d.dim_value < 0 for d in value.type.tensor_type.shape.dim):
                return True
    return False

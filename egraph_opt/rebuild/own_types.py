"""Constants that laws wrote, as onnxruntime computes them when a model runs: each node in its own types.

Where every bit of a result is to stay, a constant that is computed now has to be the one that the nodes would
have given, each rounded, and not the more accurate one of `evaluation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx_ir as ir

from egraph_opt.graph.runtime import plain_options, plain_session
from egraph_opt.operators.declaration import Literal, OnnxForm
from egraph_opt.rebuild.evaluation import evaluate_form, is_float, literal_array, rounded

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

SESSIONS = 64
"""Nodes that are kept loaded."""


def evaluate_in_own_types(
    form: OnnxForm,
    operands: Sequence[np.ndarray[Any, Any] | None],
    dtypes: Sequence[int],
    result: int,
    opset: int,
) -> np.ndarray[Any, Any]:
    """One node on constant operands, by onnxruntime; as `evaluate_form`, which is for what it cannot run."""
    feeds: dict[str, np.ndarray[Any, Any]] = {}
    given: list[int | None] = []
    for place, item in enumerate(form.inputs):
        array = literal_array(item) if isinstance(item, Literal) else None if item is None else operands[item]
        if item is None or array is None:
            given.append(None)
            continue
        dtype = item.dtype if isinstance(item, Literal) else dtypes[item]
        given.append(dtype)
        feeds[f"x{place}"] = rounded(array, dtype)
    model = _model(form, given, result, opset)
    try:
        (answer,) = _session(model).run(None, feeds)
    except Exception:  # onnxruntime's errors share no base class; it lacks kernels, and types of feeds
        answer = rounded(evaluate_form(form, operands, dtypes, result, opset), result)
    return np.asarray(answer, dtype=np.float64) if is_float(result) else np.asarray(answer)


def _model(form: OnnxForm, given: Sequence[int | None], result: int, opset: int) -> bytes:
    """The node as a model; `given` are its operands' types, None for an absent one."""
    names = ["" if dtype is None else f"x{place}" for place, dtype in enumerate(given)]
    node = onnx.helper.make_node(form.op_type, names, ["y"], domain=form.domain, **dict(form.attributes))
    inputs = [
        onnx.helper.make_tensor_value_info(name, int(ir.DataType(dtype)), None)
        for name, dtype in zip(names, given, strict=True)
        if dtype is not None
    ]
    outputs = [onnx.helper.make_tensor_value_info("y", int(ir.DataType(result)), None)]
    graph = onnx.helper.make_graph([node], "constant", inputs, outputs)
    imports = [onnx.helper.make_opsetid("", opset)]
    model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=8)
    return bytes(model.SerializeToString())


@lru_cache(maxsize=SESSIONS)
def _session(model: bytes) -> InferenceSession:
    options = plain_options()
    options.intra_op_num_threads = 1
    return plain_session(model, options)

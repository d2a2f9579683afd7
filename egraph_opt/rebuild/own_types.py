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

from egraph_opt.graph.runtime import plain_options, plain_session
from egraph_opt.operators.declaration import OnnxForm
from egraph_opt.rebuild.evaluation import evaluate_form, is_float, node_model, rounded, typed_operands

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
    given = list(typed_operands(form, operands, dtypes))
    feeds = {f"x{k}": rounded(*operand) for k, operand in enumerate(given) if operand is not None}
    types = [None if operand is None else operand[1] for operand in given]
    output = onnx.helper.make_tensor_value_info("y", result, None)
    model = node_model(form, types, output, opset).SerializeToString()
    try:
        (answer,) = _session(model).run(None, feeds)
    except Exception:  # onnxruntime's errors share no base class; it lacks kernels, and types of feeds
        answer = rounded(evaluate_form(form, operands, dtypes, result, opset), result)
    return np.asarray(answer, dtype=np.float64) if is_float(result) else np.asarray(answer)


@lru_cache(maxsize=SESSIONS)
def _session(model: bytes) -> InferenceSession:
    return plain_session(model, plain_options(threads=1))

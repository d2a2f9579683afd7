"""Constants as onnxruntime computes them: every bit is the one that the node would give when a model runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from egraph_opt.graph.runtime import plain_session
from egraph_opt.operators.declaration import Literal, OnnxForm
from egraph_opt.rebuild.evaluation import evaluate_form, evaluate_in_own_types, rounded

NUMBERS = np.random.default_rng(0).standard_normal(4096).astype(np.float32)


def by_the_runtime(op: str, *operands: Any) -> Any:
    names = [f"x{k}" for k in range(len(operands))]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node(op, names, ["y"])], "g", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    feeds = dict(zip(names, operands, strict=True))
    return plain_session(model.SerializeToString()).run(None, feeds)[0]


@pytest.mark.parametrize("op", ["Exp", "Tanh", "Erf", "Sigmoid"])
def test_functions_have_the_bits_of_the_runtime(op: str) -> None:
    given = OnnxForm(op, (0,)), [NUMBERS.astype(np.float64)], [TensorProto.FLOAT], TensorProto.FLOAT, 17
    found = evaluate_in_own_types(*given)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found.astype(np.float32), by_the_runtime(op, NUMBERS))
    assert not np.array_equal(rounded(evaluate_form(*given), TensorProto.FLOAT), found)


def test_every_step_is_rounded() -> None:
    """(x + 1e8) - 1e8 is a multiple of 8 in float32, and x in float64."""
    kinds, large = [TensorProto.FLOAT], Literal(TensorProto.FLOAT, (), (1e8,))
    x = NUMBERS.astype(np.float64)
    for evaluate, loses in ((evaluate_in_own_types, True), (evaluate_form, False)):
        shifted = evaluate(OnnxForm("Add", (0, large)), [x], kinds, TensorProto.FLOAT, 17)
        back = evaluate(OnnxForm("Sub", (0, large)), [shifted], kinds, TensorProto.FLOAT, 17)
        assert (not np.allclose(back, x, atol=1e-3)) == loses


def test_what_the_runtime_has_no_kernel_for_is_computed_all_the_same() -> None:
    given = OnnxForm("Tanh", (0,)), [np.array([0.5, 2.0])], [TensorProto.BFLOAT16], TensorProto.BFLOAT16, 17
    found = evaluate_in_own_types(*given)
    np.testing.assert_allclose(found, np.tanh([0.5, 2.0]), rtol=2**-7)
    np.testing.assert_array_equal(found, rounded(found, TensorProto.BFLOAT16).astype(np.float64))

"""Of an If a branch goes that gives a rank on which what follows fails; nothing goes on a guess."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, parser

from egraph_opt import optimize
from egraph_opt.verification import verify

SQUEEZES = """
<ir_version: 8, opset_import: ["" : 17]>
agraph (float[N, 4, L] x) => (float[M, K] y)
<float[1, 8, 4] w = {W}, float[1, 8, 2] r = {R}, float[4, 4] v = {V},
 int64[1] last = {2}, int64[1] first = {0}, int64 axis = {2}, int64[1] one = {1}>
{
    shape = Shape (x)
    length = Gather (shape, axis)
    is_one = Equal (length, one)
    z = If (is_one) <
        then_branch = yes () => (float[N, 4] a) { a = Squeeze (x, last) },
        else_branch = no () => (float[N, 4, L] b) { b = Identity (x) }
    >
    BEHIND
}
"""

LSTM = """steps = Unsqueeze (z, first)
    all, hidden = LSTM <hidden_size = 2> (steps, w, r)
    y = Squeeze (hidden, first)"""

ONLY_IN_A_BRANCH = """hidden = If (is_one) <
        then_branch = runs () => (float[1, N, 2] h) {
            steps = Unsqueeze (z, first)
            all, h = LSTM <hidden_size = 2> (steps, w, r)
        },
        else_branch = another () => (float[1, N, 2] k) { k = Identity (r) }
    >
    y = Squeeze (hidden, first)"""


def model(behind: str) -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    text = SQUEEZES.replace("BEHIND", behind)
    for name, count in (("W", 32), ("R", 16), ("V", 16)):
        text = text.replace(f"{{{name}}}", "{" + ", ".join(f"{v:.3f}" for v in rng.normal(size=count)) + "}")
    return parser.parse_model(text)


def operators(found: onnx.ModelProto) -> set[str]:
    return {node.op_type for node in found.graph.node}


@pytest.mark.parametrize(
    "behind",
    [LSTM, "y = Gemm (z, v)", LSTM.replace("y = Squeeze (hidden, first)", "y = Squeeze (all, first)")],
)
def test_a_branch_goes_whose_rank_no_kernel_takes(behind: str) -> None:
    given = model(
        behind.replace("y = Squeeze (all, first)", "t = Squeeze (all, first)\n    y = Squeeze (t, first)")
    )
    result = optimize(given, "nodes", verify=False)
    assert "If" not in operators(result.model)
    fed = {"x": np.random.default_rng(1).normal(size=(3, 4, 1)).astype(np.float32)}
    known, ours = (
        onnxruntime.InferenceSession(m.SerializeToString()).run(None, fed) for m in (given, result.model)
    )
    np.testing.assert_allclose(known[0], ours[0], rtol=1e-5)


@pytest.mark.parametrize("behind", ["y = MatMul (z, v)", "y = Relu (z)", ONLY_IN_A_BRANCH])
def test_a_branch_stays_that_may_be_taken(behind: str) -> None:
    assert "If" in operators(optimize(model(behind), "nodes", verify=False).model)


def test_both_branches_stay_where_both_fail() -> None:
    deeper = LSTM.replace("first)\n    all", "first)\n    again = Unsqueeze (steps, first)\n    all")
    given = model(deeper.replace("(steps, w, r)", "(again, w, r)"))
    assert "If" in operators(optimize(given, "nodes", verify=False).model)


def _refused(op_type: str, rank: int) -> bool:
    """Whether onnxruntime refuses an operand of a rank that nobody declared."""
    weights = {
        "LSTM": ((1, 8, 4), (1, 8, 2)), "GRU": ((1, 6, 4), (1, 6, 2)), "RNN": ((1, 2, 4), (1, 2, 2)),
        "Conv": ((4, 4, 1),), "ConvTranspose": ((4, 4, 1),), "Gemm": ((4, 4),),
    }[op_type]  # fmt: skip
    settings: dict[str, Any] = {"hidden_size": 2} if len(weights) == 2 else {}
    constants = [
        helper.make_tensor(f"w{k}", TensorProto.FLOAT, shape, np.ones(shape).ravel())
        for k, shape in enumerate(weights)
    ]
    names = [tensor.name for tensor in constants]
    node = helper.make_node(op_type, ["x", *names], ["y"], **settings)
    declared = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", "y")]
    graph = helper.make_graph([node], "g", declared[:1], declared[1:], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    shape = {2: (3, 4), 3: (3, 4, 4), 4: (3, 4, 4, 4)}[rank]
    try:
        onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"x": np.ones(shape, np.float32)})
    except Exception:
        return True
    return False


@pytest.mark.parametrize("op_type", ["LSTM", "GRU", "RNN", "Conv", "ConvTranspose", "Gemm"])
def test_onnxruntime_refuses_what_is_said_to_fail(op_type: str) -> None:
    taken = 2 if op_type == "Gemm" else 3
    assert not _refused(op_type, taken)
    assert all(_refused(op_type, rank) for rank in {2, 3, 4} - {taken} if rank > 2 or op_type != "Gemm")


def test_a_trained_detector_of_speech_keeps_no_if() -> None:
    package = find_spec("silero_vad")
    if package is None or not package.submodule_search_locations:
        pytest.skip("silero_vad is not installed")
    path = f"{package.submodule_search_locations[0]}/data/silero_vad_16k_op15.onnx"
    result = optimize(path, "nodes")
    assert result.report.nodes.runtime_after <= 31
    assert "If" not in operators(result.model)
    assert verify(path, result.model).status == "passed"

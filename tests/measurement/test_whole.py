"""Whole models timed in turns: ratios, intervals, and inputs on which they run."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import parser

from egraph_opt.graph.timed_runtime import complaint_of
from egraph_opt.measurement.runtimes.onnxruntime import OrtRuntime
from egraph_opt.measurement.whole import LEAST_TURNS, Latency, feeds_for, latencies, latencies_here, quiet
from egraph_opt.verification.execution import ExecutionError


def products(count: int) -> onnx.ModelProto:
    lines = "".join(f"a{k + 1} = MatMul (a{k}, a{k})\n" for k in range(count))
    return parser.parse_model(
        f"""
        <ir_version: 8, opset_import: ["" : 17]>
        products (float[N,N] a0) => (float[N,N] y)
        {{ {lines} y = Neg (a{count}) }}
        """
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_a_model_that_does_less_is_faster(threads: int) -> None:
    slow, fast = products(12), products(3)
    models = [slow.SerializeToString(), fast.SerializeToString()]
    first, second = latencies(models, OrtRuntime(threads), {"N": 96}, slow, seconds=0.3)
    assert first.speedup == first.low == first.high == 1.0
    assert second.low <= second.speedup <= second.high
    assert second.low > 1.5
    assert second.micros < first.micros
    assert first.turns >= LEAST_TURNS


def test_what_cannot_be_run_is_an_error() -> None:
    model = products(1)
    broken = products(1)
    broken.graph.node[0].op_type = "Unheard"
    with pytest.raises(Exception, match="Unheard"):
        latencies([broken.SerializeToString()], OrtRuntime(), {}, model)


def test_of_models_that_are_refused_the_reason_is_said_and_the_others_are_timed() -> None:
    good, broken = products(1), products(1)
    broken.graph.node[0].op_type = "Unheard"
    models = [model.SerializeToString() for model in (good, broken, good)]
    first, refused, other = latencies_here(models, OrtRuntime(), {"N": 4}, good, seconds=0.01)
    assert isinstance(first, Latency) and isinstance(other, Latency)
    assert isinstance(refused, str) and "Unheard" in refused
    every = latencies_here(models[1:], OrtRuntime(), {"N": 4}, good, seconds=0.01)
    assert every == [refused] * 2, "nothing is compared with what does not run"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("[ONNXRuntimeError] : 1 : FAIL : no kernel", "[ONNXRuntimeError] : 1 : FAIL : no kernel"),
        (
            "Exception from src/cpp/core.cpp:105:\nCheck 'false' failed at src/a/report.cpp:151:\n"
            "FrontEnd API failed:\n-- No rule for: q.Foo\n\n",
            "FrontEnd API failed: -- No rule for: q.Foo",
        ),
        ("Exception from src/core.cpp:105:", "Exception from src/core.cpp:105:"),
        ("", "RuntimeError"),
    ],
)
def test_of_a_complaint_the_places_in_its_source_are_left_out(said: str, kept: str) -> None:
    assert complaint_of(RuntimeError(said)) == kept


def test_inputs_have_the_sizes_asked_for_where_the_model_runs_on_them() -> None:
    model = products(1)
    session = OrtRuntime().session(model.SerializeToString())
    feeds, sizes = feeds_for(model, session, {"N": 7})
    assert feeds["a0"].shape == (7, 7)
    assert sizes == {"N": 7}


def test_other_sizes_are_found_where_the_model_refuses_these() -> None:
    model = parser.parse_model(
        """
        <ir_version: 8, opset_import: ["" : 17]>
        rows (float[L] x) => (float[M,8] y)
        <int64[2] shape = {-1, 8}>
        { y = Reshape (x, shape) }
        """
    )
    feeds, sizes = feeds_for(model, OrtRuntime().session(model.SerializeToString()), {"L": 9})
    assert sizes["L"] % 8 == 0
    assert np.shape(feeds["x"]) == (sizes["L"],)


def test_a_model_that_never_runs_is_an_error() -> None:
    model = parser.parse_model(
        """
        <ir_version: 8, opset_import: ["" : 17]>
        never (float[N] x) => (float[M] y)
        { a = Concat <axis = 0> (x, x) b = Concat <axis = 0> (x, x, x) y = Add (a, b) }
        """
    )
    options = OrtRuntime(level="disable")
    with pytest.raises(ExecutionError):
        feeds_for(model, options.session(model.SerializeToString()), {})


def test_turns_in_which_a_run_was_interrupted_are_left_out() -> None:
    """Per turn and model the processor time and the time that went by; of 20 turns 4 were interrupted."""
    times = np.full((20, 2, 2), 1e-3)
    times[3, 0, 1], times[7, 1, 1], times[11, :, 1] = 5e-3, 2e-3, 3e-3
    times[15, 1] = 9e-3, 20e-3
    times[16, 0, 1] = 1.1e-3  # a tenth is no interruption
    assert quiet(times).shape == (16, 2, 2)
    assert quiet(times)[:, :, 0].max() == 1e-3


def test_a_short_wait_of_a_short_run_is_no_interruption() -> None:
    times = np.array([[[10e-6, 40e-6]], [[10e-6, 80e-6]]])
    assert len(quiet(times)) == 1


def test_where_the_clock_is_time_that_goes_by_no_turn_is_disturbed() -> None:
    times = np.repeat(np.random.default_rng(0).random((9, 3, 1)), 2, axis=2)
    assert len(quiet(times)) == 9

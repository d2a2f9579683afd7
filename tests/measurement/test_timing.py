"""Times of specimens: of the nodes alone, robust, within a budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from egraph_opt.cost.model import NodeView
from egraph_opt.facts.fact import Fact
from egraph_opt.graph.timed_runtime import Run
from egraph_opt.measurement.runtimes.onnxruntime import OrtRuntime, ProfiledSession, run_of
from egraph_opt.measurement.specimen import specimen_of
from egraph_opt.measurement.timing import (
    BATCH,
    CRASHED,
    LEAST,
    Answer,
    Measurement,
    Refusal,
    Specimen,
    measured,
    steadier,
    summary,
)


def relu(length: int) -> Specimen:
    x = Fact(TensorProto.FLOAT, (length,))
    return specimen_of(NodeView("Relu", "", {}, (x,), (x,), opset=17))


def answers_of(*specimens: Specimen, level: str = "all") -> dict[str, Answer]:
    """What was measured last of each."""
    found: dict[str, Answer] = {}
    for answers in measured(specimens, OrtRuntime(level=level), 20.0):
        found.update(answers)
    return found


def test_the_faster_half_counts() -> None:
    runs = [Run(micros, 0.0, 0.0, 1) for micros in (10.0, 12.0, 500.0, 80.0)]
    found = summary(runs)
    assert found.micros == 11.0
    assert found.spread == pytest.approx((80 - 11) / 11)
    assert found.runs == 4


def test_conversions_of_layout_are_told_apart() -> None:
    found = summary([Run(10.0, 15.0, 5.0, 1)] * 8)
    assert (found.micros, found.entering, found.leaving, found.kernels) == (10.0, 15.0, 5.0, 1)


def kernel(name: str, start: int, micros: int) -> dict[str, Any]:
    return {"ts": start, "dur": micros, "args": {"op_name": name}}


def test_conversions_count_as_such_only_at_the_ends() -> None:
    """One that a kernel in the middle forces is a part of what the nodes take together."""
    names = ("ReorderInput", "Conv", "ReorderOutput", "Exp", "ReorderInput", "Conv", "ReorderOutput")
    found = run_of([kernel(name, place, 2**place) for place, name in enumerate(names)])
    assert found == Run(kernels=2 + 4 + 8 + 32, entering=1 + 16, leaving=64, count=4)
    assert run_of([kernel("Conv", 0, 5), kernel("ReorderOutput", 5, 0)]).leaving > 0


def test_no_runs_are_no_measurement() -> None:
    with pytest.raises(ValueError, match="nothing"):
        summary([])


def test_the_profiler_counts_each_run(tmp_path: Path) -> None:
    specimen = relu(100)
    session = ProfiledSession(specimen.model, OrtRuntime(), tmp_path / "profile")
    for _ in range(5):
        session.run(specimen.feeds)
    runs = session.close()
    assert len(runs) == 5
    assert not list(tmp_path.iterdir())
    assert all(run.count == 1 and run.entering == run.leaving == 0 for run in runs)


def test_a_convolution_is_told_apart_from_its_reorders() -> None:
    x, w = Fact(TensorProto.FLOAT, (1, 64, 32, 32)), Fact(TensorProto.FLOAT, (64, 64, 3, 3), const=True)
    view = NodeView("Conv", "", {"pads": (1, 1, 1, 1)}, (x, w), (x,), opset=17)
    (alone,) = answers_of(specimen_of(view), level="extended").values()
    assert isinstance(alone, Measurement)
    assert (alone.kernels, alone.entering, alone.leaving) == (1, 0.0, 0.0)


def test_more_work_takes_longer() -> None:
    found = answers_of(small := relu(1000), big := relu(4_000_000))
    first, second = found[small.key], found[big.key]
    assert isinstance(first, Measurement)
    assert isinstance(second, Measurement)
    assert second.micros > 10 * first.micros
    assert min(first.runs, second.runs) >= LEAST


def test_what_the_runtime_refuses_has_its_reason() -> None:
    x = Fact(TensorProto.INT64, (4,))
    view = NodeView("Relu", "", {}, (x,), (x,), opset=13)  # integers since 14
    (answer,) = answers_of(specimen_of(view)).values()
    assert isinstance(answer, Refusal)
    assert "Relu" in answer.reason


def test_without_time_nothing_is_measured() -> None:
    assert list(measured([relu(10)], OrtRuntime(), 0.0)) == []


def test_progress_ends_at_one() -> None:
    told: list[float] = []
    list(measured([relu(n) for n in range(1, 60)], OrtRuntime(), 30.0, told.append))
    assert told[-1] == 1.0
    assert told == sorted(told)


def test_a_kernel_that_crashes_ends_no_process_of_ours() -> None:
    """onnxruntime 1.31 dies of a Split with an output that has no name."""
    text = """
    <ir_version: 8, opset_import: ["" : 18]>
    g (float[1,512] x0) => (float[] y0, float[] y2)
    <int64[3] sizes = {128, 128, 256}>
    { y0, z, y2 = Split <axis = 1> (x0, sizes) }
    """
    model = onnx.parser.parse_model(text)
    model.graph.node[0].output[1] = ""
    feeds = {"x0": np.zeros((1, 512), np.float32)}
    deadly = Specimen("deadly", model.SerializeToString(), feeds, 2048)
    answers = answers_of(before := relu(10), deadly, after := relu(11))
    assert answers["deadly"] == Refusal(CRASHED)
    assert isinstance(answers[before.key], Measurement)
    assert isinstance(answers[after.key], Measurement)


def test_what_was_measured_before_an_interrupt_is_kept() -> None:
    batches = measured([relu(n) for n in range(1, 100)], OrtRuntime(), 30.0)
    first = next(batches)
    batches.close()
    assert len(first) == BATCH


def test_of_two_measurements_the_faster_one_holds() -> None:
    slow, fast = Measurement(9.0, 0, 0, 1, 0.5, 8), Measurement(4.0, 0, 0, 1, 0.2, 8)
    refused = Refusal("no kernel")
    assert steadier(None, slow) is slow
    assert steadier(slow, fast) is fast and steadier(fast, slow) is fast
    assert steadier(slow, refused) is slow and steadier(None, refused) is refused

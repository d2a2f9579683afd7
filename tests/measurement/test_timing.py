"""Times of specimens: of the nodes alone, robust, within a budget."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from egraph_opt.cost.model import NodeView
from egraph_opt.facts.fact import Fact
from egraph_opt.graph.timed_runtime import Run
from egraph_opt.measurement import timing
from egraph_opt.measurement.runtimes.onnxruntime import OrtRuntime, ProfiledSession, run_of
from egraph_opt.measurement.specimen import specimen_of
from egraph_opt.measurement.timing import (
    BATCH,
    CRASHED,
    HANGS,
    LEAST,
    WARM,
    Answer,
    Measurement,
    Refusal,
    Specimen,
    measured,
    steadier,
    summary,
    time_batch,
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


WORKER = """
import pickle, sys, time
from egraph_opt.measurement.timing import Refusal

while True:
    function, (batch, runtime, seconds) = pickle.load(sys.stdin.buffer)
    answers = {}
    for specimen in batch:
        pickle.dump(("trying", specimen.key), sys.stdout.buffer)
        sys.stdout.flush()
        if specimen.size == 7:
            time.sleep(600)
        answers[specimen.key] = Refusal("it was tried")
    pickle.dump(("done", answers), sys.stdout.buffer)
    sys.stdout.flush()
"""
"""A process in which specimens of seven bytes do not end."""


def test_a_kernel_that_does_not_end_is_ended_and_the_others_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timing, "COMMAND", (sys.executable, "-c", WORKER))
    monkeypatch.setattr(timing, "STALLED", 1.0)
    specimens = [Specimen(key, b"", {}, 7 if key in "bd" else 1) for key in "abcde"]
    (answers,) = measured(specimens, OrtRuntime(), 300.0)
    assert {key for key, answer in answers.items() if answer == Refusal(HANGS)} == {"b", "d"}
    assert [answers[key] for key in "ace"] == [Refusal("it was tried")] * 3


class Ticking:
    """A clock that goes on only where something is loaded or runs."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    perf_counter = monotonic


class SlowSession:
    def __init__(self, clock: Ticking, seconds: float) -> None:
        self.clock, self.seconds, self.runs = clock, seconds, 0

    def run(self, feeds: object) -> None:
        self.clock.now += self.seconds
        self.runs += 1

    def close(self) -> list[Run]:
        return [Run(1e6 * self.seconds, 0.0, 0.0, 1)] * self.runs


class SlowRuntime(OrtRuntime):
    """Each run takes as many seconds as the model says."""

    def profiled(self, model: bytes | str, prefix: Path) -> Any:
        return SlowSession(clock, float(model))


clock = Ticking()


@pytest.mark.parametrize(("each", "timed"), [(0.25, 1), (0.0625, 3), (0.001, 48), (5.0, 1)])
def test_a_batch_ends_with_its_seconds_or_with_its_first_specimen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, each: float, timed: int
) -> None:
    """48 convolutions of a quarter of a second took 120 seconds, where two were asked for."""
    monkeypatch.setattr(timing, "time", clock)
    begun = clock.now
    batch = [Specimen(str(k), str(each).encode(), {}, 1) for k in range(BATCH)]
    answers = time_batch(batch, SlowRuntime(), 2.0, tmp_path)
    assert len(answers) == timed
    assert all(isinstance(answer, Measurement) and answer.runs >= LEAST for answer in answers.values())
    assert clock.now - begun <= max(2.0, (WARM + LEAST) * each) + WARM * each


def test_what_a_batch_had_no_time_for_is_tried_in_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def first(self: object, batch: list[Specimen], seconds: float) -> dict[str, Answer]:
        asked.append(len(batch))
        return {batch[0].key: Refusal("tried")}

    monkeypatch.setattr(timing._Workers, "time", first)
    told: list[float] = []
    found = list(measured([relu(n) for n in range(1, 4)], OrtRuntime(), 30.0, told.append))
    assert (asked, len(found)) == ([3, 2, 1], 3)
    assert told == [1 / 3, 2 / 3, 1.0]


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

"""Prices that are the same on every run: kernels are run and counted, but not timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from egraph_opt.cost_models import measured as measured_runtime
from egraph_opt.measurement.runtimes.onnxruntime import OrtRuntime
from egraph_opt.measurement.timing import Answer, Measurement, Specimen, measured

KERNEL = 10.0
"""Microseconds that each kernel takes, and each conversion to or from a layout."""


def steady(answer: Answer) -> Answer:
    if not isinstance(answer, Measurement):
        return answer
    entering, leaving = (KERNEL if took > 0 else 0.0 for took in (answer.entering, answer.leaving))
    return Measurement(KERNEL * answer.kernels, entering, leaving, answer.kernels, 0.0, answer.runs)


@pytest.fixture
def steady_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runtime decides what it fuses and converts; a loaded machine does not decide what that takes."""

    def counted(
        specimens: Sequence[Specimen],
        setting: OrtRuntime,
        seconds: float,
        progress: Callable[[float], None] = lambda done: None,
    ) -> Iterator[dict[str, Answer]]:
        for answers in measured(specimens, setting, seconds, progress):
            yield {key: steady(answer) for key, answer in answers.items()}

    monkeypatch.setattr(measured_runtime, "measured", counted)

"""One batch of specimens, timed: each is tried and warmed, then they run in turns, in bursts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from egraph_opt.graph.runtime import RuntimeSetting
from egraph_opt.measurement.profile import ProfiledSession, Run

BURST = 4
"""Runs in a row: in a model, too, operands were written just before."""

WARM = 2
"""Runs that are not counted."""

LEAST, MOST = 8, 40
"""Runs that are."""

SECONDS_EACH = 0.01
"""Small kernels run again until they have had this much."""


@dataclass(frozen=True)
class Specimen:
    """A model of one node, or of those that a pseudo-operator stands for.

    Attributes:
        key: under which its time is kept.
        model: serialized.
        feeds: an array per graph input.
        size: bytes of inputs and constants.
    """

    key: str
    model: bytes
    feeds: Mapping[str, npt.NDArray[Any]]
    size: int


@dataclass(frozen=True)
class Measurement:
    """What a node takes.

    Attributes:
        micros: microseconds of its kernels: the mean of the faster half.
        entering: microseconds of conversions of operands to the runtime's own layout; 0 where there are none.
        leaving: microseconds of the result's conversion from it; 0 where it is not in that layout.
        kernels: how many kernels ran, conversions aside.
        spread: how much slower the median run was, as a share.
        runs: how many there were.
    """

    micros: float
    entering: float
    leaving: float
    kernels: int
    spread: float
    runs: int


@dataclass(frozen=True)
class Refusal:
    """The runtime would not run a node alone, for this reason."""

    reason: str


Answer = Measurement | Refusal


def summary(runs: Sequence[Run]) -> Measurement:
    """What several runs say.

    Raises:
        ValueError: there were none.
    """
    if not runs:
        raise ValueError("nothing was run")
    ordered = sorted(runs, key=lambda run: run.kernels)
    fast = ordered[: math.ceil(len(ordered) / 2)]
    micros, entering, leaving = (
        math.fsum(part) / len(fast)
        for part in zip(*((run.kernels, run.entering, run.leaving) for run in fast), strict=True)
    )
    spread = (ordered[len(ordered) // 2].kernels - micros) / micros if micros > 0 else 0.0
    return Measurement(micros, entering, leaving, fast[0].count, max(spread, 0.0), len(runs))


def time_batch(
    batch: Sequence[Specimen],
    setting: RuntimeSetting,
    seconds: float,
    folder: Path,
    trying: Callable[[str], None] = lambda key: None,
) -> dict[str, Answer]:
    """Time specimens side by side.

    Args:
        seconds: after these a turn that is not needed is left out.
        folder: for the profiler's files.
        trying: called with the key of each specimen before it runs first: a kernel may end the process.
    """
    deadline = time.monotonic() + seconds
    answers: dict[str, Answer] = {}
    sessions: dict[str, tuple[Specimen, ProfiledSession]] = {}
    wanted: dict[str, int] = {}
    for number, specimen in enumerate(batch):
        trying(specimen.key)
        try:
            session = ProfiledSession(specimen.model, setting, folder / str(number))
        except Exception as error:  # the runtime raises what it likes
            answers[specimen.key] = Refusal(_first_line(error))
            continue
        try:
            begun = time.perf_counter()
            for _ in range(WARM):
                session.run(specimen.feeds)
            each = (time.perf_counter() - begun) / WARM
        except Exception as error:
            session.close()
            answers[specimen.key] = Refusal(_first_line(error))
            continue
        sessions[specimen.key] = specimen, session
        wanted[specimen.key] = max(LEAST, min(MOST, math.ceil(SECONDS_EACH / max(each, 1e-6))))
    # Threads of one session wait actively for a while, in the way of the next one.
    burst = BURST if setting.threads == 1 else MOST
    for turn in range(0, max(wanted.values(), default=0), burst):
        if turn >= LEAST and time.monotonic() > deadline:
            break
        for key, (specimen, session) in sessions.items():
            for _ in range(min(burst, wanted[key] - turn)):
                session.run(specimen.feeds)
    for key, (_, session) in sessions.items():
        runs = session.close()[WARM:]
        answers[key] = summary(runs) if runs else Refusal("the profiler has seen no run")
    return answers


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__

"""Many specimens timed side by side: warm, interleaved, until they agree or the time is over."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from egraph_opt.graph.runtime import RuntimeSetting
from egraph_opt.measurement.profile import ProfiledSession, Run
from egraph_opt.measurement.specimen import Specimen

BATCH = 48
"""Specimens that are timed in turns: what disturbs the machine for a while disturbs all of them."""

BURST = 4
"""Runs in a row: in a model, too, operands were written just before."""

BATCH_BYTES = 1 << 29

WARM = 2
"""Runs that are not counted."""

LEAST, MOST = 8, 40
"""Runs that are."""

SECONDS_EACH = 0.01
"""Small kernels run again until they have had this much."""

STEADY = 0.1
"""A spread above this is measured once more."""


@dataclass(frozen=True)
class Measurement:
    """What a node takes.

    Attributes:
        micros: microseconds of its kernels, conversions of layout aside: the mean of the faster half.
        layout: microseconds of conversions of layout before and behind it.
        kernels: how many kernels ran.
        spread: how much slower the median run was, as a share.
        runs: how many there were.
    """

    micros: float
    layout: float
    kernels: int
    spread: float
    runs: int


@dataclass(frozen=True)
class Refusal:
    """The runtime would not run a node alone, for this reason."""

    reason: str


def summary(runs: Sequence[Run]) -> Measurement:
    """What several runs say.

    Raises:
        ValueError: there were none.
    """
    if not runs:
        raise ValueError("nothing was run")
    ordered = sorted(runs, key=lambda run: run.kernels - run.layout)
    fast = ordered[: math.ceil(len(ordered) / 2)]
    micros = math.fsum(run.kernels - run.layout for run in fast) / len(fast)
    layout = math.fsum(run.layout for run in fast) / len(fast)
    middle = ordered[len(ordered) // 2]
    spread = (middle.kernels - middle.layout - micros) / micros if micros > 0 else 0.0
    return Measurement(micros, layout, fast[0].count, max(spread, 0.0), len(runs))


def measured(
    specimens: Sequence[Specimen],
    setting: RuntimeSetting,
    seconds: float,
    progress: Callable[[float], None] = lambda done: None,
) -> Iterator[dict[str, Measurement | Refusal]]:
    """Time specimens; those that the time is not enough for are left out.

    Yields:
        Answers by key, of each batch when it is finished, so that what was measured is not lost when a later
        one is interrupted.
    """
    deadline = time.monotonic() + seconds
    waiting = list(specimens)
    done, again = 0, False
    shaky: list[Specimen] = []
    while waiting and time.monotonic() < deadline:
        batch = _batch(waiting)
        del waiting[: len(batch)]
        with tempfile.TemporaryDirectory(prefix="egraph-opt-") as folder:
            answers = _time_batch(batch, setting, deadline, Path(folder))
        yield answers
        for specimen in batch:
            answer = answers.get(specimen.key)
            if isinstance(answer, Measurement) and answer.spread > STEADY:
                shaky.append(specimen)
        done += len(batch)
        progress(min(1.0, done / len(specimens)))
        if not waiting and not again:
            waiting, again, shaky = shaky, True, []


def _batch(waiting: Sequence[Specimen]) -> list[Specimen]:
    taken, size = [], 0
    for specimen in waiting[:BATCH]:
        size += specimen.size
        if taken and size > BATCH_BYTES:
            break
        taken.append(specimen)
    return taken


def _time_batch(
    batch: Sequence[Specimen], setting: RuntimeSetting, deadline: float, folder: Path
) -> dict[str, Measurement | Refusal]:
    answers: dict[str, Measurement | Refusal] = {}
    sessions: dict[str, tuple[Specimen, ProfiledSession]] = {}
    wanted: dict[str, int] = {}
    for number, specimen in enumerate(batch):
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
    for turn in range(0, max(wanted.values(), default=0), BURST):
        if turn >= LEAST and time.monotonic() > deadline:
            break
        for key, (specimen, session) in sessions.items():
            for _ in range(min(BURST, wanted[key] - turn)):
                session.run(specimen.feeds)
    for key, (_, session) in sessions.items():
        runs = session.close()[WARM:]
        answers[key] = summary(runs) if runs else Refusal("the profiler has seen no run")
    return answers


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__

"""Many specimens timed, batch by batch, in a process of their own, until they agree or the time is over."""

from __future__ import annotations

import contextlib
import math
import pickle
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from egraph_opt.graph.timed_runtime import Run, Runtime, TimedSession, complaint_of
from egraph_opt.measurement.worker import COMMAND, Say

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
    """A model of one node, or of those that a pseudo-operator is made of.

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
    runtime: Runtime,
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
    sessions: dict[str, tuple[Specimen, TimedSession]] = {}
    wanted: dict[str, int] = {}
    for number, specimen in enumerate(batch):
        trying(specimen.key)
        try:
            session = runtime.profiled(specimen.model, folder / str(number))
        except Exception as error:  # the runtime raises what it likes
            answers[specimen.key] = Refusal(complaint_of(error))
            continue
        try:
            begun = time.perf_counter()
            for _ in range(WARM):
                session.run(specimen.feeds)
            each = (time.perf_counter() - begun) / WARM
        except Exception as error:
            session.close()
            answers[specimen.key] = Refusal(complaint_of(error))
            continue
        sessions[specimen.key] = specimen, session
        wanted[specimen.key] = max(LEAST, min(MOST, math.ceil(SECONDS_EACH / max(each, 1e-6))))
    # Threads of one session wait actively for a while, in the way of the next one.
    burst = BURST if runtime.threads == 1 else MOST
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


BATCH = 48
"""Specimens that are timed in turns: what disturbs the machine for a while disturbs all of them."""

BATCH_BYTES = 1 << 29

STEADY = 0.1
"""A spread above this is measured once more."""

CRASHED = "the runtime crashes on it"


def measured(
    specimens: Sequence[Specimen],
    runtime: Runtime,
    seconds: float,
    progress: Callable[[float], None] = lambda done: None,
) -> Generator[dict[str, Answer], None, None]:
    """Time specimens; those that the time is not enough for are left out.

    Yields:
        Answers by key, of each batch when it is finished, so that what was measured is not lost when a later
        one is interrupted.
    """
    deadline = time.monotonic() + seconds
    waiting = list(specimens)
    done, again = 0, False
    shaky: list[Specimen] = []
    before: dict[str, Answer] = {}
    with _Workers(runtime) as workers:
        while waiting and (left := deadline - time.monotonic()) > 0:
            batch = _batch(waiting)
            del waiting[: len(batch)]
            answers = {key: steadier(before.get(key), a) for key, a in workers.time(batch, left).items()}
            yield answers
            for specimen in batch:
                answer = answers.get(specimen.key)
                if isinstance(answer, Measurement) and answer.spread > STEADY:
                    shaky.append(specimen)
                    before[specimen.key] = answer
            done += len(batch)
            progress(min(1.0, done / len(specimens)))
            if not waiting and not again:
                waiting, again, shaky = shaky, True, []


def steadier(before: Answer | None, now: Answer) -> Answer:
    """What holds of two measurements of a node: other programs only ever add to a time."""
    both = [answer for answer in (before, now) if isinstance(answer, Measurement)]
    return min(both, key=lambda answer: answer.micros) if both else now


def serve(batch: Sequence[Specimen], runtime: Runtime, seconds: float, say: Say) -> None:
    """In the other process: ("trying", key) before a specimen runs first, then ("done", answers)."""
    with tempfile.TemporaryDirectory(prefix="egraph-opt-") as folder:
        say(("done", time_batch(batch, runtime, seconds, Path(folder), lambda key: say(("trying", key)))))


def _batch(waiting: Sequence[Specimen]) -> list[Specimen]:
    taken: list[Specimen] = []
    size = 0
    for specimen in waiting[:BATCH]:
        size += specimen.size
        if taken and size > BATCH_BYTES:
            break
        taken.append(specimen)
    return taken


class _Workers:
    """The process that times, and the next one where a kernel has ended it."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *exception: object) -> None:
        self._end()

    def time(self, batch: Sequence[Specimen], seconds: float) -> dict[str, Answer]:
        """The answers of a batch; a specimen that ends the process is refused, and the others run again."""
        crashed: dict[str, Answer] = {}
        while True:
            left = [specimen for specimen in batch if specimen.key not in crashed]
            if not left:
                return crashed
            answers, last = self._ask(left, seconds)
            if answers is not None:
                return {**crashed, **answers}
            self._end()
            crashed[last or left[0].key] = Refusal(CRASHED)

    def _ask(self, batch: Sequence[Specimen], seconds: float) -> tuple[dict[str, Answer] | None, str]:
        """The answers, or None and the specimen that was tried last."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        last = ""
        try:
            pickle.dump((serve, (list(batch), self.runtime, seconds)), process.stdin)
            process.stdin.flush()
            while True:
                kind, content = pickle.load(process.stdout)
                if kind == "done":
                    return content, last
                last = content
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            return None, last

    def _running(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            self.process = subprocess.Popen(
                COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        return self.process

    def _end(self) -> None:
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self.process = None

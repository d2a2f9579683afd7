"""Many specimens timed, batch by batch, in a process of their own, until they agree or the time is over."""

from __future__ import annotations

import contextlib
import math
import pickle
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from egraph_opt.graph.timed_runtime import Run, Runtime, TimedSession, complaint_of
from egraph_opt.measurement.worker import COMMAND, Say, end_with_who_asks

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

Trying = Callable[[str], None]


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


@dataclass(frozen=True)
class _WarmSpecimen:
    """A specimen that runs.

    Attributes:
        each: seconds of a run.
    """

    specimen: Specimen
    session: TimedSession
    each: float

    @property
    def wanted(self) -> int:
        """How many runs count, if there is time."""
        return max(LEAST, min(MOST, math.ceil(SECONDS_EACH / max(self.each, 1e-6))))


def _load(specimen: Specimen, runtime: Runtime, prefix: Path, trying: Trying) -> _WarmSpecimen | Refusal:
    """Load and warm up; or what the runtime says against it."""
    trying(specimen.key)
    try:
        session = runtime.profiled(specimen.model, prefix)
    except Exception as error:  # the runtime raises what it likes
        return Refusal(complaint_of(error))
    trying(specimen.key)
    try:
        begun = time.perf_counter()
        for _ in range(WARM):
            session.run(specimen.feeds)
        return _WarmSpecimen(specimen, session, (time.perf_counter() - begun) / WARM)
    except Exception as error:
        session.close()
        return Refusal(complaint_of(error))


def time_batch(
    batch: Sequence[Specimen],
    runtime: Runtime,
    seconds: float,
    folder: Path,
    trying: Trying = lambda key: None,
) -> dict[str, Answer]:
    """Time specimens side by side.

    Args:
        seconds: specimens that are not timed within them are left out, but for the first; after them a turn
            that is not needed is left out.
        folder: for the profiler's files.
        trying: called with the key of a specimen before it is loaded and before it runs: a kernel may end the
            process, or not end itself.
    """
    deadline = time.monotonic() + seconds
    answers: dict[str, Answer] = {}
    loaded: list[_WarmSpecimen] = []
    needed = 0.0
    for number, specimen in enumerate(batch):
        if (answers or loaded) and time.monotonic() + needed > deadline:
            break
        found = _load(specimen, runtime, folder / str(number), trying)
        if isinstance(found, Refusal):
            answers[specimen.key] = found
            continue
        needed += LEAST * found.each
        if loaded and time.monotonic() + needed > deadline:
            found.session.close()
            break
        loaded.append(found)
    # Threads of one session wait actively for a while, in the way of the next one.
    burst = BURST if runtime.threads == 1 else MOST
    for turn in range(0, max((one.wanted for one in loaded), default=0), burst):
        if turn >= LEAST and time.monotonic() > deadline:
            break
        for one in loaded:
            for run in range(min(burst, one.wanted - turn)):
                if run == 0 or one.wanted == LEAST:  # it is slow, and not disturbed by that
                    trying(one.specimen.key)
                one.session.run(one.specimen.feeds)
    for one in loaded:
        runs = one.session.close()[WARM:]
        answers[one.specimen.key] = summary(runs) if runs else Refusal("the profiler has seen no run")
    return answers


BATCH = 48
"""Specimens that are timed in turns: what disturbs the machine for a while disturbs all of them."""

BATCH_BYTES = 1 << 29

STEADY = 0.1
"""A spread above this is measured once more."""

CRASHED = "the runtime crashes on it"
HANGS = "the runtime does not end with it"

STALLED = 30.0
"""Seconds in which a specimen has to be loaded, or to run: what takes longer is ended."""

STARTING = 120.0
"""Seconds in which the process has to begin."""


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
            late = [specimen for specimen in batch if specimen.key not in answers]
            waiting[:0] = late
            for specimen in batch:
                answer = answers.get(specimen.key)
                if isinstance(answer, Measurement) and answer.spread > STEADY:
                    shaky.append(specimen)
                    before[specimen.key] = answer
            done += len(batch) - len(late)
            progress(min(1.0, done / len(specimens)))
            if not waiting and not again:
                waiting, again, shaky = shaky, True, []


def steadier(before: Answer | None, now: Answer) -> Answer:
    """What holds of two measurements of a node: other programs only ever add to a time."""
    both = [answer for answer in (before, now) if isinstance(answer, Measurement)]
    return min(both, key=lambda answer: answer.micros) if both else now


def serve(batch: Sequence[Specimen], runtime: Runtime, seconds: float, say: Say) -> None:
    """In the other process: ("trying", key) before a specimen is loaded or runs, then ("done", answers)."""
    end_with_who_asks()
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
    """The process that times, and the next one where a kernel has ended it.

    Attributes:
        late: it was ended, as it took too long.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.process: subprocess.Popen[bytes] | None = None
        self.late = False

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *exception: object) -> None:
        self._end()

    def time(self, batch: Sequence[Specimen], seconds: float) -> dict[str, Answer]:
        """The answers of a batch, as far as there is time.

        A specimen that ends the process, or does not end itself, is refused, and the others run again.
        """
        deadline = time.monotonic() + seconds
        refused: dict[str, Answer] = {}
        while True:
            left = [specimen for specimen in batch if specimen.key not in refused]
            now = time.monotonic()
            if not left or (refused and now > deadline):
                return refused
            answers, last = self._ask(left, deadline - now)
            if answers is not None:
                return {**refused, **answers}
            refused[last or left[0].key] = Refusal(HANGS if self.late else CRASHED)
            self._end()

    def _ask(self, batch: Sequence[Specimen], seconds: float) -> tuple[dict[str, Answer] | None, str]:
        """The answers, or None and the specimen that was tried last."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        last = ""
        try:
            with self._ended_after(STARTING):
                pickle.dump((serve, (list(batch), self.runtime, seconds)), process.stdin)
                process.stdin.flush()
            while True:
                with self._ended_after(STALLED if last else STARTING):
                    kind, content = pickle.load(process.stdout)
                if kind == "done":
                    return content, last
                last = content
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            return None, last

    @contextlib.contextmanager
    def _ended_after(self, seconds: float) -> Iterator[None]:
        """End the process where the block takes longer."""

        def end() -> None:
            self.late = True
            if self.process is not None:
                self.process.kill()

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _running(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            self.late = False
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

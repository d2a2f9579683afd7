"""Many specimens timed, batch by batch, in a process of their own, until they agree or the time is over."""

from __future__ import annotations

import contextlib
import pickle
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

from egraph_opt.graph.runtime import RuntimeSetting
from egraph_opt.measurement.batch import Answer, Measurement, Refusal, Specimen, time_batch
from egraph_opt.measurement.worker import COMMAND, Say

BATCH = 48
"""Specimens that are timed in turns: what disturbs the machine for a while disturbs all of them."""

BATCH_BYTES = 1 << 29

STEADY = 0.1
"""A spread above this is measured once more."""

CRASHED = "onnxruntime crashes on it"


def measured(
    specimens: Sequence[Specimen],
    setting: RuntimeSetting,
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
    with _Workers(setting) as workers:
        while waiting and (left := deadline - time.monotonic()) > 0:
            batch = _batch(waiting)
            del waiting[: len(batch)]
            answers = workers.time(batch, left)
            yield answers
            for specimen in batch:
                answer = answers.get(specimen.key)
                if isinstance(answer, Measurement) and answer.spread > STEADY:
                    shaky.append(specimen)
            done += len(batch)
            progress(min(1.0, done / len(specimens)))
            if not waiting and not again:
                waiting, again, shaky = shaky, True, []


def serve(batch: Sequence[Specimen], setting: RuntimeSetting, seconds: float, say: Say) -> None:
    """In the other process: ("trying", key) before a specimen runs first, then ("done", answers)."""
    with tempfile.TemporaryDirectory(prefix="egraph-opt-") as folder:
        say(("done", time_batch(batch, setting, seconds, Path(folder), lambda key: say(("trying", key)))))


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

    def __init__(self, setting: RuntimeSetting) -> None:
        self.setting = setting
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
            pickle.dump((serve, (list(batch), self.setting, seconds)), process.stdin)
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

"""Processes that examine cases: one that crashes or does not end is replaced, and that is a finding."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import onnx

from .classes import Finding
from .examining import Case, Examined, case_of, examine
from .settings import Setting

Stored = tuple[bytes, Setting, int, bool]
Task = Sequence[int] | Stored
"""A seed, or a case with its model in bytes."""


def case_of_task(task: Task) -> Case | None:
    if isinstance(task[0], bytes):
        data, setting, seed, metamorphic = task
        return Case(onnx.load_from_string(data), setting, seed, metamorphic)  # type: ignore[arg-type]
    return case_of(task)  # type: ignore[arg-type]


def examine_task(task: Task, *, as_it_runs: bool = True) -> Examined:
    """What becomes of a seed or case; what is raised by the fuzzer itself is told as such."""
    try:
        case = case_of_task(task)
        if case is None:
            refused = Examined()
            refused.cases["refused"] += 1
            return refused
        return examine(case, as_it_runs=as_it_runs)
    except Exception as error:  # a fault of the fuzzer, which must not end it
        text = "".join(traceback.format_exception(error)[-3:])
        return Examined(findings=[Finding("fuzzer", f"{task!r:.60}: {text}")])


def _work(pipe: Connection) -> None:
    while True:
        try:
            task, as_it_runs = pipe.recv()
        except EOFError:
            return
        pipe.send(examine_task(task, as_it_runs=as_it_runs))


class Worker:
    """A process that examines one case after the other, and that may crash or be ended."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.task: Task | None = None
        self.deadline = 0.0
        self._start()

    def _start(self) -> None:
        # The process imports this module by its name, which depends on who imported it here.
        root = str(Path(__file__).parents[__name__.count(".")])
        if root not in sys.path:
            sys.path.append(root)
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_work, args=(other,), daemon=True)
        self.process.start()
        other.close()
        self.fresh = True

    def give(self, task: Task, *, as_it_runs: bool = True) -> None:
        """Begin with a case."""
        self.task, self.as_it_runs = task, as_it_runs
        starting = 15.0 if self.fresh else 0.0
        self.deadline = time.monotonic() + self.patience + starting
        self.fresh = False
        self.pipe.send((task, as_it_runs))

    def late(self) -> bool:
        return self.task is not None and time.monotonic() > self.deadline

    def take(self) -> Examined | None:
        """What became of the case; a process that died or is late is replaced.

        None where it died and tries again, without the runtime's own optimisations: these may have ended it.
        """
        if self.pipe.poll():
            with contextlib.suppress(EOFError, ConnectionError):
                found: Examined = self.pipe.recv()
                self.task = None
                found.cases["no second opinion"] += not self.as_it_runs
                return found
        self.process.join(0.2)
        ended = self.process.exitcode
        self.end()
        self._start()
        task, self.task = self.task, None
        if ended is not None and self.as_it_runs and task is not None:
            self.give(task, as_it_runs=False)
            return None
        kind, text = ("hang", f"takes longer than {self.patience:g} s")
        if ended is not None:
            kind, text = "died", f"the process ended with {ended}"
        return Examined(findings=[Finding(kind, text)])

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def examine_all(tasks: Iterator[Task], count: int, patience: float) -> Iterator[tuple[Task, Examined]]:
    """What becomes of cases, in the order in which they end; `count` processes work on them."""
    os.environ.setdefault("RAYON_NUM_THREADS", "1")
    workers = [Worker(patience) for _ in range(count)]
    try:
        busy = [worker for worker in workers if _give(worker, tasks)]
        while busy:
            pipes: list[Any] = [worker.pipe for worker in busy]
            ready = wait(pipes, timeout=1.0)
            for worker in list(busy):
                if worker.pipe not in ready and not worker.late():
                    continue
                task = worker.task
                assert task is not None
                found = worker.take()
                if found is None:
                    continue
                yield task, found
                if not _give(worker, tasks):
                    busy.remove(worker)
    finally:
        for worker in workers:
            worker.end()


def _give(worker: Worker, tasks: Iterator[Task]) -> bool:
    task = next(tasks, None)
    if task is None:
        return False
    worker.give(task)
    return True

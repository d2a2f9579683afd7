"""Who makes the runs, in this process or others on this machine, and what each does with a batch.

A worker has the e-graph of its batch, from a file where somebody saturated it.  Whatever becomes of a worker,
its batches are answered by another: a batch changes nothing but the folder of e-graphs, so that it may be
answered any number of times.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
from abc import ABC, abstractmethod
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from egraph_opt.cost.registry import cost_model
from egraph_opt.errors import EgraphOptError, ModelReadError, RunsError
from egraph_opt.graph.isolation import isolated
from egraph_opt.lab.sweep.planning import Batch, Group, Task
from egraph_opt.lab.sweep.repricer import Repricer
from egraph_opt.laws.loading import load_laws
from egraph_opt.pipeline.saturated import Saturated
from egraph_opt.pipeline.stages import saturate

KEPT = 2
"""E-graphs that a worker keeps: batches come e-graph by e-graph."""


@dataclass(frozen=True)
class RunRow:
    """The answer to a run.

    Attributes:
        number: of the run.
        stop: what ended saturation.
        error: why there is no answer.
    """

    number: int
    price: float = math.nan
    bound: float = math.nan
    gap: float = math.nan
    nodes: int = 0
    graph: str = ""
    seconds: float = 0.0
    stop: str = ""
    error: str = ""


@dataclass(frozen=True)
class Done:
    """The rows of a batch."""

    batch: int
    rows: tuple[RunRow, ...]


def run_batch(batch: Batch, folder: Path) -> Done:
    """Answer the runs of a batch; one that fails has an error in its row.

    Args:
        folder: of e-graphs, which workers share.
    """
    try:
        repricer = _repricer(batch.group, folder)
    except EgraphOptError as error:
        return Done(batch.number, tuple(RunRow(task.number, error=_told(error)) for task in batch.tasks))
    return Done(batch.number, tuple(_answer(repricer, task) for task in batch.tasks))


def _answer(repricer: Repricer, task: Task) -> RunRow:
    try:
        model = cost_model(task.priced.name, task.priced.values)
        answer = repricer.ask(model, task.extractor)
    except Exception as error:  # a cost model may be anybody's
        return RunRow(task.number, error=_told(error))
    return RunRow(
        number=task.number,
        price=float(answer.price),
        bound=float(answer.bound),
        gap=float(answer.gap),
        nodes=answer.graph.nodes,
        graph=answer.graph.key,
        seconds=answer.seconds,
        stop=repricer.stop,
    )


def _told(error: Exception) -> str:
    """An error on one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, EgraphOptError) else f"{type(error).__name__}: {text}"


@lru_cache(maxsize=KEPT)
def _repricer(group: Group, folder: Path) -> Repricer:
    """The e-graph of a group; saturated here, and kept in the folder, unless somebody did so before."""
    kept = folder / f"{group.key}.npz"
    if kept.exists():
        try:
            return Repricer(Saturated.load(kept))
        except ModelReadError:  # cut off, or of another release
            kept.unlink(missing_ok=True)
    target = cost_model(group.target.name, group.target.values)
    for file in group.laws:
        load_laws(file)
    saturated = saturate(group.model, rewrites=group.rewrites, limits=group.limits, target=target)
    if saturated.region is not None:
        folder.mkdir(parents=True, exist_ok=True)
        saturated.save(kept)
    return Repricer(saturated)


DEATHS = 3
"""How often in a row workers may die without an answer, before somebody has to look at it."""

TOO_MANY_DEATHS = (
    f"workers died {DEATHS} times without an answer (out of memory?): try fewer with --jobs; the runs until"
    " here are kept"
)


class Workers(ABC):
    """They take batches and hand back rows, in any order."""

    @abstractmethod
    def submit(self, batch: Batch) -> None:
        """Hand a batch to them."""

    @abstractmethod
    def wait(self) -> list[Done]:
        """Wait until some batches are done.

        Raises:
            RunsError: workers die again and again.
        """

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let them go; what they have not begun is dropped."""


class InThisProcess(Workers):
    """One batch after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.waiting: deque[Batch] = deque()

    def submit(self, batch: Batch) -> None:
        self.waiting.append(batch)

    def wait(self) -> list[Done]:
        return [run_batch(self.waiting.popleft(), self.folder)]

    def __exit__(self, *raised: object) -> None:
        self.waiting.clear()


class Processes(Workers):
    """Processes on this machine; where one dies, all that were not done are handed to new ones."""

    def __init__(self, jobs: int, folder: Path) -> None:
        self.jobs, self.folder, self.deaths = jobs, folder, 0
        self.pending: dict[Future[Done], Batch] = {}
        self.executor = self._started()

    def _started(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")  # threads of libraries do not survive a fork
        return ProcessPoolExecutor(self.jobs, context, initializer=_begin)

    def submit(self, batch: Batch) -> None:
        try:
            future = self.executor.submit(_interruptible, batch, self.folder)
        except BrokenProcessPool:
            future = Future()
            future.set_exception(BrokenProcessPool())
        self.pending[future] = batch

    def wait(self) -> list[Done]:
        finished, _ = wait(self.pending, return_when=FIRST_COMPLETED)
        done = []
        died = False
        for future in finished:
            if isinstance(future.exception(), BrokenProcessPool):
                died = True
            else:
                done.append(future.result())
                del self.pending[future]
        self.deaths = 0 if done else self.deaths + died
        if died:
            self._start_again()
        return done

    def _start_again(self) -> None:
        self.executor.shutdown(wait=True, cancel_futures=True)
        if self.deaths >= DEATHS:
            raise RunsError(TOO_MANY_DEATHS)
        self.executor = self._started()
        batches = [batch for future, batch in self.pending.items() if not _answered(future)]
        answered = {future: batch for future, batch in self.pending.items() if _answered(future)}
        self.pending = answered
        for batch in batches:
            self.submit(batch)

    def __exit__(self, *raised: object) -> None:
        self.executor.shutdown(wait=True, cancel_futures=True)


def _answered(future: Future[Done]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _begin() -> None:
    """A worker begins: Ctrl-C is for the batch that it has, and it does not outlive who started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _interruptible(batch: Batch, folder: Path) -> Done:
    """Answer a batch; Ctrl-C ends it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with isolated():
            return run_batch(batch, folder)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def jobs_here() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1

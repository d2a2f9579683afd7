"""A process of its own for onnxruntime, so that a kernel that crashes ends that and not the user's.

One process is forked where `isolated` begins and lives as long as the block.  It runs nothing itself: it
forks again for every task, in some milliseconds, so that a crash costs nothing but the task.  Tasks and
answers go through a pipe.  What a task does with the runtime is counted (`step`): after a crash the number of
the last step is known, and the task can be given again without it.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, NoReturn

AVAILABLE = sys.platform == "linux"
"""Elsewhere a process is not forked safely once libraries are loaded, and tasks are done in this one."""


class CrashError(Exception):
    """The process of a task ended without an answer.

    Attributes:
        how: what ended it, for messages.
        step: the number of the step that it was at; 0 before the first.
    """

    def __init__(self, how: str, step: int) -> None:
        super().__init__(f"onnxruntime crashes ({how})")
        self.how, self.step = how, step


class CrashedBeforeError(Exception):
    """A step that ended a process before, and is not taken again; the message says what happened there."""


@dataclass
class Steps:
    """Of the task of a process.

    Attributes:
        send: tells the number of a step to who waits.
        skipped: by number steps that are not taken, and why.
        shown: the step of which is answered what it would do, instead of all the rest.
    """

    send: Callable[[int], None]
    skipped: Mapping[int, str]
    shown: int = -1
    number: int = 0


class _ShownError(BaseException):
    """What a step would do."""


_steps: Steps | None = None


def step(content: Callable[[], Any]) -> None:
    """Say that the runtime is about to load or to run something, which `content` answers.

    Raises:
        CrashedBeforeError: that has ended a process before.
    """
    if _steps is None:
        return
    _steps.number += 1
    if _steps.number in _steps.skipped:
        raise CrashedBeforeError(_steps.skipped[_steps.number])
    if _steps.number == _steps.shown:
        raise _ShownError(content())
    _steps.send(_steps.number)


@dataclass(frozen=True)
class RuntimeTask:
    """What is done in another process: a function that can be imported there.

    Attributes:
        asks: it takes a function last, by which it asks this process.
        skipped, shown: as in `Steps`.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    asks: bool = False
    skipped: Mapping[int, str] | None = None
    shown: int = -1


class Worker:
    """The process that forks one for each task; it ends with the block, and when this process does."""

    def __enter__(self) -> Worker:
        self._connection, other = Pipe()
        self._process = os.fork()
        if self._process == 0:
            self._connection.close()
            _serve(other)
        other.close()
        return self

    def __exit__(self, *raised: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)  # before it was a group of its own
        os.waitpid(self._process, 0)
        self._connection.close()

    def do(self, task: RuntimeTask, answer: Callable[[Any], Any] | None = None) -> Any:
        """What a task answers.

        Args:
            answer: answers what it asks.

        Raises:
            CrashError: its process ended.
            Exception: whatever it raises.
        """
        self._connection.send(task)
        kind, found, at = "", None, 0
        while True:
            told, content = self._connection.recv()
            if told == "ended":
                break
            if told == "step":
                at = content
            elif told == "ask":
                assert answer is not None
                self._connection.send(answer(content))
            else:
                kind, found = told, content
        if kind == "raised":
            assert isinstance(found, BaseException)
            raise found
        if not kind:
            raise CrashError(_how(content), at)
        return found


def _how(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit code {os.waitstatus_to_exitcode(status)}"


def _serve(connection: Connection) -> NoReturn:
    """Fork a process for each task that comes, until the pipe is closed."""
    os.setsid()  # Ctrl-C is for the user's process, which ends this one
    gc.freeze()  # collecting would copy the pages that are shared
    import resource  # not on every system

    faulthandler.disable()  # a crash is reported by the other process, and leaves no file
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        while True:
            task = connection.recv()
            child = os.fork()
            if child == 0:
                _work(connection, task)
            connection.send(("ended", os.waitpid(child, 0)[1]))
    except BaseException:  # whatever it is, the other process has gone or goes on without
        os._exit(0)


def _work(connection: Connection, task: RuntimeTask) -> NoReturn:
    global _steps
    _steps = Steps(lambda number: connection.send(("step", number)), task.skipped or {}, task.shown)
    _current.set(None)

    def ask(content: Any) -> Any:
        connection.send(("ask", content))
        return connection.recv()

    try:
        found = "done", task.function(*task.arguments, *((ask,) if task.asks else ()))
    except _ShownError as shown:
        found = "done", shown.args[0]
    except BaseException as error:
        found = "raised", error
    try:
        connection.send(found)
    except Exception:  # an error that cannot be sent
        connection.send(("raised", RuntimeError(str(found[1]))))
    os._exit(0)


_current: ContextVar[Worker | None] = ContextVar("worker", default=None)


def current_worker() -> Worker | None:
    """The process for tasks, where there is one."""
    return _current.get()


@contextmanager
def isolated(wanted: bool = True) -> Iterator[None]:
    """While it lasts, onnxruntime runs in a process of its own for this thread, where the system has that."""
    if not wanted or not AVAILABLE or _current.get() is not None:
        yield
        return
    with Worker() as worker:
        token = _current.set(worker)
        try:
            yield
        finally:
            _current.reset(token)


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """Do something with onnxruntime in its process, or here where it has none.

    Raises:
        CrashError: the process ended.
    """
    worker = _current.get()
    return function(*arguments) if worker is None else worker.do(RuntimeTask(function, arguments))

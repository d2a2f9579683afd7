"""A process of its own for onnxruntime, so that a kernel that crashes ends that and not the user's.

One process is forked for the first task in `isolated` and lives as long as the block.  It runs nothing
itself: it forks again for every task, in some milliseconds, so that a crash costs nothing but the task.
Tasks and answers go through a pipe.  What a task does with the runtime is counted (`step`): after a crash the
number of the last step is known, and the task can be given again without it.

A task that does not end within its seconds is ended, as no kernel can be interrupted; and all these processes
end with the one that they work for, however that ends.
"""

from __future__ import annotations

import faulthandler
import gc
import logging
import math
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_log = logging.getLogger(__name__)

AVAILABLE = sys.platform == "linux"
"""Elsewhere a process is not forked safely once libraries are loaded, and tasks are done in this one."""


GRACE = 1.0
"""Seconds by which a step may be late before its process is ended: what can be interrupted ends by itself."""


class CrashError(Exception):
    """The process of a task ended without an answer.

    Attributes:
        how: what ended it, for messages.
        step: the number of the step that it was at; 0 before the first.
        late: it was ended, since it took too long.
    """

    def __init__(self, how: str, step: int, *, late: bool = False) -> None:
        super().__init__(f"onnxruntime {'does not end' if late else 'crashes'} ({how})")
        self.how, self.step, self.late = how, step, late


class CrashedBeforeError(Exception):
    """A step that ended a process before, and is not taken again; the message says what happened there."""


@dataclass
class Steps:
    """Of the task of a process.

    Attributes:
        send: tells the number of a step to who waits, and how many seconds it may take.
        skipped: by number steps that are not taken, and why.
        shown: the step of which is answered what it would do, instead of all the rest.
    """

    send: Callable[[int, float], None]
    skipped: Mapping[int, str]
    shown: int = -1
    number: int = 0


class _ShownError(BaseException):
    """What a step would do."""


_steps: Steps | None = None


def step(content: Callable[[], Any], seconds: float = math.inf) -> None:
    """Say that the runtime is about to load or to run something, which `content` answers.

    Args:
        seconds: that it may take; until the next step.

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
    _steps.send(_steps.number, seconds)


@dataclass(frozen=True)
class RuntimeTask:
    """What is done in another process: a function that can be imported there.

    Attributes:
        asks: it takes a function last, by which it asks this process.
        skipped, shown: as in `Steps`.
        seconds: that it may take before its first step, or without any.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    seconds: float = math.inf
    asks: bool = False
    skipped: Mapping[int, str] | None = None
    shown: int = -1


class Worker:
    """The process for tasks; it ends with the block, and when this process does.

    Args:
        lasting: it does all tasks itself, instead of forking one for each, and what they keep is there for
            the next one; a crash ends it, and the next task gets a new one.
    """

    def __init__(self, *, lasting: bool = False) -> None:
        self._lasting = lasting
        self._process = 0
        self._connection: Connection | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *raised: object) -> None:
        self._end()

    def _begin(self) -> Connection:
        """The pipe to the process, which is forked where there is none; raises OSError."""
        from multiprocessing import Pipe  # not where nothing is done with a runtime

        if self._connection is None:
            connection, other = Pipe()
            self._process = os.fork()
            if self._process == 0:
                connection.close()
                _serve(other, self._lasting)
            other.close()
            self._connection = connection
        return self._connection

    def _end(self) -> str:
        """End the process and what it has forked: how it ended, if it had before."""
        if self._connection is None:
            return ""
        with suppress(ProcessLookupError):
            os.killpg(self._process, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)  # before it was a group of its own
        self._connection.close()
        self._connection = None
        try:
            return _how(os.waitpid(self._process, 0)[1])
        except ChildProcessError:  # the program lets nobody wait
            return "its process ended"

    def do(self, task: RuntimeTask, answer: Callable[[Any], Any] | None = None) -> Any:
        """What a task answers.

        Args:
            answer: answers what it asks.

        Raises:
            CrashError: its process ended, or was ended.
            Exception: whatever it raises.
        """
        try:
            connection = self._begin()
        except OSError as error:  # no process is to be had
            _log.warning("onnxruntime runs in this process: %s", error)
            return task.function(*task.arguments, *((answer,) if task.asks else ()))
        waiting = _Waiting(task.seconds)
        try:
            with _ending(self._process) as ended:
                kind, found = waiting.answer(connection, ended, task, answer)
        except (EOFError, ConnectionError):
            raise CrashError(self._end(), waiting.step) from None
        except BaseException:  # it has not answered, and the next task is not to get its answer
            self._end()
            raise
        if kind == "raised":
            assert isinstance(found, BaseException)
            raise found
        return found


class _Waiting:
    """For the answer of a task.

    Attributes:
        step: the number of the last one; 0 before the first.
        seconds: that it may take.
    """

    def __init__(self, seconds: float) -> None:
        self._begin(0, seconds)

    def _begin(self, step: int, seconds: float) -> None:
        self.step, self.seconds = step, seconds
        self._end = time.monotonic() + seconds + GRACE

    def answer(
        self,
        connection: Connection,
        ended: Sequence[int],
        task: RuntimeTask,
        answer: Callable[[Any], Any] | None,
    ) -> tuple[str, Any]:
        """Whether the task is done or raised, and what.

        Args:
            ended: can be read from when the process at the other end has ended, of which it may have forked
                others.

        Raises:
            CrashError: its process ended without, or takes longer than it may.
            EOFError, ConnectionError: all of its processes ended.
        """
        from multiprocessing.connection import wait

        kind, found = "", None
        connection.send(task)
        while True:
            left = self._end - time.monotonic()
            ready = wait([connection, *ended], max(left, 0.0) if left < math.inf else None)
            if not ready:
                raise CrashError(f"it was stopped after {self.seconds:.3g} s", self.step, late=True)
            if connection not in ready:
                raise EOFError
            told, content = connection.recv()
            if told == "ended":
                break
            if told == "step":
                self._begin(*content)
            elif told == "ask":
                assert answer is not None
                connection.send(answer(content))
            else:
                kind, found = told, content
        if not kind:
            raise CrashError(_how(content), self.step)
        return kind, found


@contextmanager
def _ending(process: int) -> Iterator[list[int]]:
    """What can be read from when a process has ended; nothing where the system has no such thing."""
    try:
        opened = [os.pidfd_open(process)]
    except (AttributeError, OSError):  # an old kernel
        opened = []
    try:
        yield opened
    finally:
        for handle in opened:
            os.close(handle)


def _how(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit code {os.waitstatus_to_exitcode(status)}"


def _serve(connection: Connection, lasting: bool) -> NoReturn:
    """Do each task that comes, or fork a process for it, until the pipe is closed."""
    os.setsid()  # Ctrl-C is for the user's process, which ends this one
    gc.freeze()  # collecting would copy the pages that are shared
    import resource  # not on every system

    faulthandler.disable()  # a crash is reported by the other process, and leaves no file
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _current.set(None)
    if lasting:
        threading.Thread(target=_wait, args=(connection,), daemon=True).start()
    try:
        while True:
            task = connection.recv()
            child = 0 if lasting else os.fork()
            if child == 0:
                _work(connection, task)
                if not lasting:
                    os._exit(0)
            else:
                _wait(connection, child)
            connection.send(("ended", os.waitpid(child, 0)[1] if child else 0))
    except BaseException:  # whatever it is, the other process has gone or goes on without
        os._exit(0)


def _wait(connection: Connection, child: int = 0) -> None:
    """Wait until a child ends, or the other end of the pipe is closed: then all of these processes end."""
    poller = select.poll()
    poller.register(connection.fileno(), 0)  # what comes is for others; that it is closed is always told
    with _ending(child) as ended:
        if child and not ended:  # who waits for the child finds out later
            return
        for handle in ended:
            poller.register(handle, select.POLLIN)
        if connection.fileno() in dict(poller.poll()):
            os.killpg(0, signal.SIGKILL)


def _work(connection: Connection, task: RuntimeTask) -> None:
    """Do a task here."""
    global _steps
    _steps = Steps(lambda *told: connection.send(("step", told)), task.skipped or {}, task.shown)

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


@dataclass(frozen=True)
class _Processes:
    """What an `isolated` block has: a worker for whatever may crash, and one for what is small and many."""

    forking: Worker
    lasting: Worker


_current: ContextVar[_Processes | None] = ContextVar("workers", default=None)


def current_worker() -> Worker | None:
    """The process for tasks, where there is one."""
    workers = _current.get()
    return None if workers is None else workers.forking


@contextmanager
def isolated(wanted: bool = True) -> Iterator[None]:
    """While it lasts, onnxruntime runs in a process of its own for this thread, where the system has that."""
    if not wanted or not AVAILABLE or _current.get() is not None:
        yield
        return
    with Worker() as forking, Worker(lasting=True) as lasting:
        token = _current.set(_Processes(forking, lasting))
        try:
            yield
        finally:
            _current.reset(token)


def apart(function: Callable[..., Any], *arguments: Any, seconds: float = math.inf) -> Any:
    """Do something with onnxruntime in its process, or here where it has none.

    Args:
        seconds: that it may take there.

    Raises:
        CrashError: the process ended.
    """
    worker = current_worker()
    return function(*arguments) if worker is None else worker.do(RuntimeTask(function, arguments, seconds))


def often_apart(function: Callable[..., Any], *arguments: Any, seconds: float) -> Any:
    """As `apart`, of something small that is done often, in a process that keeps what it has made."""
    workers = _current.get()
    if workers is None:
        return function(*arguments)
    return workers.lasting.do(RuntimeTask(function, arguments, seconds))

"""Tasks in a process of their own: whatever becomes of the process, the next task is answered."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from egraph_opt.graph import isolation
from egraph_opt.graph.isolation import (
    AVAILABLE,
    CrashError,
    RuntimeTask,
    apart,
    current_worker,
    isolated,
    often_apart,
)

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="processes are not forked here")


def test_a_task_that_ends_its_process_says_how() -> None:
    with isolated():
        with pytest.raises(CrashError, match="SIGABRT"):
            apart(os.abort)
        with pytest.raises(CrashError, match="exit code 7"):
            apart(os._exit, 7)
        assert apart(os.getpid) != os.getpid()
    assert apart(os.getpid) == os.getpid()


def test_the_process_ends_with_the_block() -> None:
    with isolated():
        first = apart(os.getppid)
        with isolated():
            assert apart(os.getppid) == first
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_no_process_is_forked_where_there_is_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    forks: list[int] = []
    monkeypatch.setattr(os, "fork", lambda: forks.append(1))
    with isolated():
        assert current_worker() is not None
    assert not forks


@pytest.mark.parametrize("when", ["before a task", "within a task"])
def test_a_killed_process_costs_one_task(when: str) -> None:
    """As the kernel does where memory runs out."""
    with isolated():
        forking = apart(os.getppid)
        if when == "before a task":
            os.kill(forking, signal.SIGKILL)
            os.waitid(os.P_PID, forking, os.WEXITED | os.WNOWAIT)
        with pytest.raises(CrashError, match="SIGKILL"):
            apart(os.getpid if when == "before a task" else _kill_the_parent)
        assert apart(os.getppid) not in (forking, os.getpid())


def _kill_the_parent() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()


def test_a_task_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "GRACE", 0.0)
    with isolated():
        for run in (apart, often_apart):
            with pytest.raises(CrashError, match="does not end") as raised:
                run(signal.pause, seconds=0.1)
            assert raised.value.late
            assert run(os.getpid, seconds=60) != os.getpid()


def test_a_step_has_seconds_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "GRACE", 0.0)
    with isolated(), pytest.raises(CrashError) as raised:
        apart(_two_steps)
    assert (raised.value.step, raised.value.late) == (2, True)


def _two_steps() -> None:
    isolation.step(lambda: None)
    isolation.step(lambda: None, 0.1)
    signal.pause()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_answer_is_never_that_of_another_task(error: type[BaseException]) -> None:
    def interrupted(content: Any) -> Any:
        raise error

    with isolated():
        worker = current_worker()
        assert worker is not None
        with pytest.raises(error):
            worker.do(RuntimeTask(_asking, ("first",), asks=True), interrupted)
        assert worker.do(RuntimeTask(_asking, ("second",), asks=True), str.upper) == "SECOND"


def _asking(text: str, ask: Callable[[Any], Any]) -> Any:
    return ask(text)


def test_a_lasting_process_keeps_what_it_has_and_a_crash_ends_it() -> None:
    with isolated():
        first = often_apart(os.getpid, seconds=60)
        assert often_apart(os.getpid, seconds=60) == first != os.getpid()
        with pytest.raises(ZeroDivisionError):
            often_apart(divmod, 1, 0, seconds=60)
        assert often_apart(os.getpid, seconds=60) == first
        with pytest.raises(CrashError, match="SIGABRT"):
            often_apart(os.abort, seconds=60)
        assert often_apart(os.getpid, seconds=60) not in (first, os.getpid())


def test_where_no_process_is_to_be_had_tasks_are_done_here(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with isolated():
        monkeypatch.setattr(os, "fork", refused)
        assert apart(os.getpid) == os.getpid()
    assert "onnxruntime runs in this process" in caplog.text


PROGRAM = """
import os, signal, sys
from egraph_opt.graph.isolation import apart, isolated, often_apart
signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
def busy():
    print(os.getppid(), os.getpid(), flush=True)
    while True:
        pass
with isolated():
    {run}
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the end of a process cannot be waited for")
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("run", ["apart(busy)", "often_apart(busy, seconds=600)"])
def test_a_task_that_does_not_end_ends_with_the_program(
    ending: signal.Signals, run: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", PROGRAM.format(run=run)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as program:
        assert program.stdout is not None
        processes = {int(number) for number in program.stdout.readline().split()} - {program.pid}
        program.send_signal(ending)
        program.wait(60)
        assert processes
        for process in processes:
            _until(partial(_has_ended, process))


def _until(done: Callable[[], bool]) -> None:
    for _ in range(3000):
        if done():
            return
        time.sleep(0.01)
    raise AssertionError("it goes on")


def _has_ended(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in "ZX"

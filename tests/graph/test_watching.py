"""One thread that watches all others."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import pytest

from egraph_opt.graph.watching import ended_after, looking


def _noticing(event: threading.Event) -> Callable[[], bool]:
    def look() -> bool:
        event.set()
        return True

    return look


def _until(met: threading.Event) -> None:
    assert met.wait(20)


def test_what_is_watched_is_looked_at_until_there_is_enough() -> None:
    seen: list[threading.Thread] = []
    enough = threading.Event()

    def look() -> bool:
        seen.append(threading.current_thread())
        if len(seen) == 3:
            enough.set()
        return len(seen) == 3

    with looking(look, 0.001):
        _until(enough)
        time.sleep(0.02)
    assert len(seen) == 3
    assert threading.current_thread() not in seen


def test_nothing_is_looked_at_after_its_context() -> None:
    seen: list[float] = []
    first = threading.Event()

    def look() -> bool:
        first.set()
        time.sleep(0.01)
        seen.append(time.monotonic())
        return False

    with looking(look, 0.001):
        _until(first)
    count = len(seen)
    time.sleep(0.05)
    assert len(seen) == count > 0


def test_one_that_fails_does_not_keep_others_from_being_watched(caplog: pytest.LogCaptureFixture) -> None:
    looked = threading.Event()

    def look() -> bool:
        looked.set()
        return False

    with looking(lambda: bool(1 / 0), 0.001):
        while not caplog.records:
            time.sleep(0.001)
        with looking(look, 0.001):
            _until(looked)


def test_a_sooner_look_does_not_wait_for_a_later_one() -> None:
    looked = threading.Event()
    with looking(lambda: False, 1000.0), looking(_noticing(looked), 0.001):
        _until(looked)


def test_many_short_contexts_share_a_thread() -> None:
    with looking(lambda: False, 1000.0):
        before = set(threading.enumerate())
        for _ in range(1000):
            with looking(lambda: False, 1000.0):
                assert set(threading.enumerate()) <= before


def test_an_endless_loop_is_ended() -> None:
    class Late(Exception):
        pass

    def endless() -> None:
        while True:
            pass

    with ended_after(0.05, Late), pytest.raises(Late):
        endless()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_that_was_forked_has_a_thread_of_its_own() -> None:
    with looking(lambda: False, 1000.0):
        child = os.fork()
        if child == 0:
            looked = threading.Event()
            with looking(_noticing(looked), 0.001):
                os._exit(0 if looked.wait(20) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

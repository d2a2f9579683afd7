"""One thread that looks at something now and then while others work."""

from __future__ import annotations

import ctypes
import logging
import math
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_log = logging.getLogger(__name__)

LINGERS = 1.0
"""Seconds for which the thread waits for more to look at: to make one takes longer than most runs."""


@dataclass(eq=False)
class _Look:
    """What is looked at, and when.

    Attributes:
        busy: held while it is looked at, and by who ends it.
    """

    look: Callable[[], bool]
    every: float
    due: float
    busy: threading.Lock = field(default_factory=threading.Lock)


class _Watcher:
    """The thread, which begins with the first to look for and ends where there was none for a while.

    Threads that are watched may get an exception at any time, so they take no lock that all have in common.
    """

    def __init__(self) -> None:
        self._looks: dict[int, _Look] = {}
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._due = math.inf  # when the thread looks next; infinite while that is being found
        self._alive = False

    def add(self, one: _Look) -> None:
        self._looks[id(one)] = one
        if not self._alive:
            self._alive = True
            threading.Thread(target=self._watch, name="egraph-opt watcher", daemon=True).start()
        elif one.due < self._due:
            self._wake.put(None)

    def remove(self, one: _Look) -> None:
        """It is not being looked at when this is left, and will not be."""
        self._looks.pop(id(one), None)
        with one.busy:
            pass

    def _watch(self) -> None:
        idle = False
        while True:
            self._due = math.inf
            for one in list(self._looks.values()):
                if one.due <= time.monotonic():
                    self._look(one)
            due = min((one.due for one in list(self._looks.values())), default=None)
            if due is None and idle:
                break
            idle = due is None
            self._due = time.monotonic() + LINGERS if due is None else due
            with suppress(queue.Empty):
                self._wake.get(timeout=max(self._due - time.monotonic(), 0.0))
                idle = False
        self._alive = False
        for one in list(self._looks.values())[:1]:  # it came while this thread ended
            self.add(one)

    def _look(self, one: _Look) -> None:
        if not one.busy.acquire(blocking=False):
            return
        try:
            if id(one) in self._looks and one.look():
                self._looks.pop(id(one), None)
        except Exception:  # a defect of one: it is logged, and all others are still watched
            self._looks.pop(id(one), None)
            _log.exception("what was to be watched is watched no more")
        finally:
            one.busy.release()
        one.due = time.monotonic() + one.every


_watcher = _Watcher()


def _forget() -> None:
    """A process that was forked has none of the threads of its parent."""
    global _watcher
    _watcher = _Watcher()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextmanager
def looking(look: Callable[[], bool], every: float) -> Iterator[None]:
    """Within this context another thread looks every so many seconds, until it has seen enough."""
    one = _Look(look, every, time.monotonic() + every)
    watcher = _watcher
    try:
        watcher.add(one)
        yield
    finally:
        watcher.remove(one)


@contextmanager
def ended_after(seconds: float, error: type[Exception]) -> Iterator[None]:
    """Within this context, which is to be left in so many seconds, this thread gets an exception after them.

    A call into compiled code that does not return to Python cannot be ended.
    """
    thread, end = threading.get_ident(), time.monotonic() + seconds

    def look() -> bool:
        late = time.monotonic() > end
        if late:
            raise_in(thread, error)
        return late

    with looking(look, seconds / 20):
        yield


def raise_in(thread: int, error: type[Exception]) -> None:
    """Raise an exception in another thread, as soon as that runs Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))

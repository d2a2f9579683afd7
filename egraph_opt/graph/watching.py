"""A thread that looks at something now and then while another one works."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def looking(look: Callable[[], bool], every: float, name: str) -> Iterator[None]:
    """Within this context a thread of this name looks every so many seconds, until it has seen enough."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(every) and not look():
            pass

    watcher = threading.Thread(target=watch, name=name, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


@contextmanager
def ended_after(seconds: float, error: type[Exception], name: str) -> Iterator[None]:
    """Within this context, which is to be left in so many seconds, this thread gets an exception after them.

    A call into compiled code that does not return to Python cannot be ended.
    """
    thread, end = threading.get_ident(), time.monotonic() + seconds

    def look() -> bool:
        late = time.monotonic() > end
        if late:
            raise_in(thread, error)
        return late

    with looking(look, seconds / 20, name):
        yield


def raise_in(thread: int, error: type[Exception]) -> None:
    """Raise an exception in another thread, as soon as that runs Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))

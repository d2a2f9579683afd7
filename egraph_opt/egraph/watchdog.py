"""Host functions that do not come back: a watcher raises in the one that runs egglog."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from egraph_opt.graph.watching import looking
from egraph_opt.operators.host import HostTimeout, calls

LONGEST_CALL = 10.0
"""Seconds after which a call of a host function is ended; the slowest of ours takes milliseconds."""


@contextmanager
def watched(seconds: float = LONGEST_CALL) -> Iterator[None]:
    """Within this context a host function that runs for longer is ended by `HostTimeout`, which it records.

    A call into compiled code that does not return to Python cannot be ended.
    """
    watched_thread, running = threading.get_ident(), calls.running

    def look() -> bool:
        if running.function is not None and time.monotonic() - running.since > seconds:
            _raise_in(watched_thread)
        return False

    with looking(look, seconds / 4, "egraph-opt watchdog"):
        yield


def _raise_in(thread: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(HostTimeout))

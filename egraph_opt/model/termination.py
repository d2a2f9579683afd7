"""SIGTERM while files are written: what is unfinished is removed before the process ends."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _TerminatedError(BaseException):
    """The process is asked to end."""


@contextmanager
def ending_cleanly(clean: Callable[[], None]) -> Iterator[None]:
    """While it lasts, SIGTERM ends the block, then calls `clean`, and ends the process after it.

    A program that handles the signal itself goes on doing so, and so does what runs in another thread.
    """
    default = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not default or threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one would interrupt the cleaning
        raise _TerminatedError

    terminated = False
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    except _TerminatedError:
        terminated = True
        clean()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if terminated:
        os.kill(os.getpid(), signal.SIGTERM)

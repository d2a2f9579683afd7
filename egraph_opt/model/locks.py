"""Files that belong to a process while it lives, told from those that a killed one has left.

The operating system releases a lock when its holder ends, however it ends.  At SIGTERM what is unfinished is
removed before the process ends.
"""

from __future__ import annotations

import os
import secrets
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where a file that somebody has open cannot be removed
    fcntl = None  # type: ignore[assignment]


def locked(handle: int) -> bool:
    """Take the lock of an open file; False if another process has it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def free_name(folder: Path, prefix: str, suffix: str) -> Path:
    """The path of a file that does not exist."""
    while True:
        path = folder / f"{prefix}{secrets.token_hex(4)}{suffix}"
        if not path.exists():
            return path


def new_locked_file(path: Path) -> BinaryIO:
    """A new file of ours, locked while it is open; raises FileExistsError or another OSError."""
    while True:
        file = path.open("x+b")
        # Another process may have taken it for a leftover between the two steps.
        if locked(file.fileno()) and path.exists():
            return file
        file.close()


def left_over(files: Iterable[Path]) -> list[Path]:
    """Of files that `new_locked_file` made those whose process has ended; what cannot be told is not."""
    return [path for path in files if _is_left(path)]


def _is_left(path: Path) -> bool:
    if fcntl is None:
        return True
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


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

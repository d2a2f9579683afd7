"""Files that belong to a process while it lives, told from those that a killed one has left.

The operating system releases a lock when its holder ends, however it ends.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where a file that somebody has open cannot be removed
    fcntl = None  # type: ignore[assignment]


def _is_locked_now(handle: int) -> bool:
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


def new_locked_file(folder: Path, prefix: str, suffix: str) -> tuple[int, Path]:
    """A new file of ours: its handle, which holds the lock, and its path; raises OSError."""
    while True:
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=suffix, dir=folder)
        # Another process may have taken it for a leftover between the two steps.
        if _is_locked_now(handle) and os.path.exists(name):
            return handle, Path(name)
        os.close(handle)


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

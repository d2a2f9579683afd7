"""Silence of libraries that write to the standard output themselves, where answers of ours are read."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Iterator

STDOUT = 1

_lock = threading.Lock()
_depth = 0
_kept = -1


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Whatever is written to the file descriptor of stdout meanwhile, by C code as well, is dropped.

    HiGHS 1.16 prints its name there before any option can forbid it.  Threads may be in here together; the
    descriptor comes back with the last of them.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _depth, _kept
    with _lock:
        _depth += 1
        if _depth > 1:
            return
        _flush()
        try:
            _kept = os.dup(STDOUT)
        except OSError:  # there is no stdout
            _kept = -1
            return
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, STDOUT)
        os.close(sink)


def _leave() -> None:
    global _depth, _kept
    with _lock:
        _depth -= 1
        if _depth or _kept < 0:
            return
        _flush_c()
        os.dup2(_kept, STDOUT)
        os.close(_kept)
        _kept = -1


def _flush() -> None:
    """What was written before is not lost."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    _flush_c()


def _flush_c() -> None:
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)

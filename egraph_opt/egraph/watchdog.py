"""Host functions that do not come back: a watcher raises in the one that runs egglog."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from egraph_opt.graph.watching import looking, raise_in
from egraph_opt.operators.host import HostTimeout, calls

LONGEST_CALL = 10.0
"""Seconds after which a call of a host function is ended; the slowest of ours takes milliseconds."""


@contextmanager
def watched(seconds: float = LONGEST_CALL) -> Iterator[None]:
    """Within this context a host function that runs for longer is ended by `HostTimeout`, which it records.

    Where one such context is in another, the outer one watches.  A call into compiled code that does not
    return to Python cannot be ended.
    """
    watched_thread, running = threading.get_ident(), calls.running

    def look() -> bool:
        if running.function is not None and time.monotonic() - running.since > seconds:
            raise_in(watched_thread, HostTimeout)
        return False

    if running.watched:
        yield
        return
    running.watched = True
    try:
        with looking(look, seconds / 4):
            yield
    finally:
        running.watched = False


def _unwatched() -> None:
    """After a fork: the thread that watched is the parent's."""
    calls.running.watched = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unwatched)

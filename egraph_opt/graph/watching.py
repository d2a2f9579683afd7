"""A thread that looks at something now and then while another one works."""

from __future__ import annotations

import threading
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

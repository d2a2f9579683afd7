"""Python's collector of cycles runs rarely while a model is optimised.

An optimisation makes hundreds of thousands of objects that stay until it ends; each time a part of them has
come the collector looks at all, and at those of ONNX's modules: a tenth of the time of a warm optimisation.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

RARELY = (50_000, 50, 1000)
"""How many objects come, and how often the younger ones are looked at, before a generation is; see `gc`."""

_lock = threading.Lock()
_users = 0
_before = gc.get_threshold()


@contextmanager
def collected_rarely() -> Iterator[None]:
    """Within this context, in whatever threads, the collector runs rarely; where it is off it stays so."""
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _users, _before
    with _lock:
        if not _users:
            _before = gc.get_threshold()
            if _before[0]:
                gc.set_threshold(*RARELY)
        _users += 1


def _leave() -> None:
    global _users
    with _lock:
        _users -= 1
        if not _users and gc.get_threshold() == RARELY:  # nobody else has set it since
            gc.set_threshold(*_before)


def _begin_child() -> None:
    """After a fork: the threads that optimised are the parent's."""
    global _lock, _users
    _lock, users, _users = threading.Lock(), _users, 0
    if users and gc.get_threshold() == RARELY:
        gc.set_threshold(*_before)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)

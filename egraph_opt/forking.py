"""Locks that are free in a process that is forked, whatever other threads of the parent were doing."""

from __future__ import annotations

import os
from threading import Lock


def lock_across_forks() -> Lock:
    """A lock for a module to keep: a fork waits until no other thread holds it."""
    lock = Lock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock

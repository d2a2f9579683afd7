"""Locks that are free in a process that is forked, whatever other threads of the parent were doing."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextlib import nullcontext
from threading import Lock
from typing import Any, TypeVar

Result = TypeVar("Result")


def lock_across_forks() -> Lock:
    """A lock for a module to keep: a fork waits until no other thread holds it."""
    lock = Lock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


class cached_property(functools.cached_property[Result]):  # noqa: N801 - named as what it replaces
    """functools' own without a lock, as it is from Python 3.12 on.

    Before, one lock serves all objects of a class: a process that is forked while another thread holds it
    waits forever, and so do two threads of which each needs what the other one computes.  Without it, two
    threads that ask at once both compute the same.
    """

    def __init__(self, func: Callable[[Any], Result]) -> None:
        super().__init__(func)
        self.lock = nullcontext()

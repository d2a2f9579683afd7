"""E-graphs in a process that was forked from one that had some: egglog cannot drop them there.

egglog drops e-graphs on a thread of its own, which a fork does not take along: the child would wait for ever.
So nothing is dropped there, neither what came from the parent nor what the child makes.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any
from weakref import WeakSet

_owners: WeakSet[Any] = WeakSet()
"""Whoever holds an e-graph, in any thread."""

_started = False
_child = False
_held: list[Any] = []


def never_drops() -> bool:
    """Whether this process is such a child."""
    return _child


def register(owner: Any) -> None:
    """Tell that `owner` holds an e-graph."""
    global _started
    _started = True
    _owners.add(owner)


def hold(graph: object) -> None:
    """In such a child, hold an e-graph until the process ends, and while it does."""
    if _child:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(graph))


def _hold_all() -> None:
    _held.extend(_owners.copy())


def _begin_child() -> None:
    global _child
    _child = _started
    for owner in _held:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_all, after_in_parent=_held.clear, after_in_child=_begin_child)

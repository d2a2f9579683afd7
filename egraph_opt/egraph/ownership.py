"""E-graphs of egglog are used, and dropped, in the thread that made them; what a fork inherits is kept.

egglog panics where another thread uses an e-graph, and where another one drops it, it cannot: it says so on
the error stream, and never frees it.  So a thread keeps its e-graphs itself, until it ends, and whoever
works with one has a name for it (`OwnedGraph`), which may be dropped anywhere.

egglog drops e-graphs on a thread of its own, which a fork does not take along: the child would wait for ever.
So nothing is dropped there, neither what came from the parent nor what the child makes.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from collections import deque
from itertools import count
from typing import Any
from weakref import WeakSet, ref

from egraph_opt.errors import EngineError
from egraph_opt.imports import bindings


class _Graphs:
    """The e-graphs of a thread, by number.

    Attributes:
        forgotten: numbers that other threads have dropped.
    """

    def __init__(self) -> None:
        self.made: dict[int, Any] = {}
        self.forgotten: deque[int] = deque()
        _all.add(self)

    def new(self) -> int:
        """Make one, and drop those that nobody works with any more."""
        while self.forgotten:
            self.made.pop(self.forgotten.popleft(), None)
        number = next(_numbers)
        self.made[number] = graph = bindings.EGraph()
        if _child:
            _hold(graph)
        return number


class _ThreadGraphs(threading.local):
    """Is gone when its thread is, which then drops its e-graphs."""

    def __init__(self) -> None:
        self.graphs = _Graphs()


_numbers = count()
_all: WeakSet[_Graphs] = WeakSet()
_of_thread = _ThreadGraphs()
_child = False
_held: list[_Graphs] = []


class OwnedGraph:
    """A new e-graph of this thread."""

    def __init__(self) -> None:
        graphs = _of_thread.graphs
        self._graphs, self._number = ref(graphs), graphs.new()

    def check(self) -> None:
        """Raise EngineError where this is another thread."""
        if self._graphs() is not _of_thread.graphs:
            raise EngineError(
                "an e-graph serves only the thread that made it: saturate in the thread that goes on with it,"
                " or hand on what `saturate` returns, which every thread can extract from"
            )

    @property
    def graph(self) -> Any:
        """What egglog has; for the thread that made it."""
        return _of_thread.graphs.made[self._number]

    def __del__(self, here: _ThreadGraphs = _of_thread) -> None:  # variables may be gone at the end
        graphs = self._graphs() if hasattr(self, "_graphs") else None
        if graphs is not None:
            graphs.forgotten.append(self._number)
            if graphs is here.graphs:
                graphs.made.pop(self._number, None)


def never_drops() -> bool:
    """Whether this process is a child that was forked from one with e-graphs."""
    return _child


def _hold(graph: object) -> None:
    """Keep an e-graph until the process ends, and while it does."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(graph))


def _hold_all() -> None:
    _held.extend(_all.copy())


def _begin_child() -> None:
    global _child
    graphs = [graph for held in _held for graph in held.made.values()]
    _child = _child or bool(graphs)
    for graph in graphs:
        _hold(graph)
    _held.clear()


def _end() -> None:
    """Python ends in one thread, which drops what there is of all others that still run."""
    for graphs in _all.copy():
        if graphs is not _of_thread.graphs:
            for graph in list(graphs.made.values()):
                _hold(graph)


atexit.register(_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_all, after_in_parent=_held.clear, after_in_child=_begin_child)

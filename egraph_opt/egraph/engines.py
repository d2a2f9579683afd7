"""The engines that a thread keeps from one graph to the next.

An e-graph of egglog serves no thread but the one that made it, and no process that was forked.
"""

from __future__ import annotations

import os
import threading

from egraph_opt.egraph.commands import program_of
from egraph_opt.egraph.engine import Engine
from egraph_opt.egraph.objects import MOST, begin_anew, objects_of_thread
from egraph_opt.egraph.relevance import Head
from egraph_opt.laws.law import Law

MOST_ENGINES = 8

ROOM = 1.25
"""How many times as many rules as a graph needs an engine may have: each is copied for every graph."""


class _Kept(threading.local):
    """Engines, the one that was used last at the end."""

    def __init__(self) -> None:
        self.engines: list[Engine] = []


_kept = _Kept()


def engine_for(laws: tuple[Law, ...], guards: bool = True, heads: frozenset[Head] = frozenset()) -> Engine:
    """This thread's engine of some laws for a graph that begins with `heads`; building one takes a while.

    Which one it is makes no difference but in time: the smallest that has the rules that such a graph is
    known to need, or where none is known, the one with the most rules.
    """
    if len(objects_of_thread()) > MOST:
        forget_engines()
    program = program_of(laws, guards=guards)
    needed = program.needed.get(heads)
    there = [engine for engine in _kept.engines if engine.program is program]
    there.sort(key=lambda engine: len(engine.rules), reverse=needed is None)
    if needed is not None:
        there = [e for e in there if e.rules >= needed and len(e.rules) <= ROOM * len(needed)]
    if there:
        engine = there[0]
        _kept.engines.remove(engine)
    else:
        full = len(_kept.engines) >= MOST_ENGINES
        engine = Engine(laws, guards=guards, tables=_kept.engines.pop(0).give_up() if full else None)
    _kept.engines.append(engine)
    return engine


def forget_engines() -> None:
    """Begin anew in this thread, without engines, objects and answers of host functions."""
    _kept.engines.clear()
    begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_engines)

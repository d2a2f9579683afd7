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

COPIED = 0.1
"""What copying a rule takes, which is done for every graph, against writing it into an engine."""

MADE = 30
"""What making an engine takes, in rules that are written."""


class _Kept(threading.local):
    """Engines, the one that was used last at the end."""

    def __init__(self) -> None:
        self.engines: list[Engine] = []


_kept = _Kept()


def engine_for(
    laws: tuple[Law, ...],
    guards: bool = True,
    heads: frozenset[Head] = frozenset(),
    *,
    recorded: bool = False,
) -> Engine:
    """This thread's engine of some laws for a graph that begins with `heads`; building one takes a while.

    Which one it is makes no difference but in time.  A graph that is known has the one with the fewest rules
    to write and to copy, and an engine of its own only where one would have paid off: it may be the last of
    its kind.  For one that is not known it is the one with the most rules: of 700 that a network of another
    kind left, another one took 400, and to copy the others takes less than to write a tenth of these.
    """
    if len(objects_of_thread()) > MOST:
        forget_engines()
    program = program_of(laws, guards=guards, recorded=recorded)
    there = [engine for engine in _kept.engines if engine.program is program]
    needed = program.needed.get(heads)
    if needed is None:
        engine = max(there, key=lambda engine: len(engine.rules), default=None)
    else:
        engine = min(there, key=lambda engine: _beyond(engine, needed), default=None)
    if engine is not None and (needed is None or not _pays(engine, heads, needed)):
        _kept.engines.remove(engine)
    else:
        del _kept.engines[: max(0, len(_kept.engines) + 1 - MOST_ENGINES)]
        engine = Engine(laws, guards=guards, recorded=recorded)
    _kept.engines.append(engine)
    return engine


def _beyond(engine: Engine, needed: frozenset[str]) -> float:
    """What a graph takes with an engine beyond what it would with its own, in rules that are written."""
    return len(needed - engine.rules) + COPIED * len(engine.rules - needed)


def _pays(engine: Engine, heads: frozenset[Head], needed: frozenset[str]) -> bool:
    """Whether such graphs have taken more beyond what they need than an engine of their own would."""
    program = engine.program
    spent = program.spent.get(heads, 0.0) + _beyond(engine, needed)
    pays = spent > MADE + len(needed)
    program.spent[heads] = 0.0 if pays else spent
    return pays


def forget_engines() -> None:
    """Begin anew in this thread, without engines, objects and answers of host functions."""
    _kept.engines.clear()
    begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_engines)

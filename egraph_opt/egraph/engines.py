"""The engines that a thread keeps from one graph to the next.

An e-graph of egglog serves no thread but the one that made it, and no process that was forked.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict

from egraph_opt.egraph.engine import Engine
from egraph_opt.egraph.objects import MOST, begin_anew, objects_of_thread
from egraph_opt.laws.law import Law

MOST_ENGINES = 8


class _Kept(threading.local):
    def __init__(self) -> None:
        self.engines: OrderedDict[tuple[tuple[Law, ...], bool], Engine] = OrderedDict()


_kept = _Kept()


def engine_for(laws: tuple[Law, ...], guards: bool = True) -> Engine:
    """This thread's engine of these laws; building one costs a third of a second, so they are kept."""
    if len(objects_of_thread()) > MOST:
        forget_engines()
    engines, key = _kept.engines, (laws, guards)
    if key not in engines:
        engines[key] = Engine(laws, guards=guards)
    engines.move_to_end(key)
    while len(engines) > MOST_ENGINES:
        engines.popitem(last=False)
    return engines[key]


def forget_engines() -> None:
    """Begin anew in this thread, without engines, objects and answers of host functions."""
    _kept.engines.clear()
    begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_engines)

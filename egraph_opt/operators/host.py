"""Python functions called from inside egglog.

An exception there would kill the run and name no rule, so a host function answers a default instead and
logs.  Functions are pickled by reference: they live in importable modules.

egglog tells objects apart by their pickled bytes, and those depend on which strings within an object are the
same object.  So that equal answers are equal to egglog, too, everything that goes in is made `canonical`: the
first object of its kind stands for all.  (Otherwise the analysis runs for ever on two spellings of a type.)
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from egraph_opt.facts.fact import CLASH, Fact
from egraph_opt.facts.fact import meet as meet_facts

_log = logging.getLogger(__name__)

_first: dict[str, Any] = {}


def canonical(value: Any) -> Any:
    """The first object that was written like this one (0.0 and -0.0 differ, and so do 1 and True)."""
    return _first.setdefault(repr(value), value)


def forget_canonical(more_than: int = 1 << 19) -> None:
    """Start anew once many objects are kept; only between two graphs, since egglog has seen the old ones."""
    if len(_first) > more_than:
        _first.clear()


P = ParamSpec("P")
T = TypeVar("T")


def hosted(default: Any = None) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function safe to call from egglog: where it raises, log the error and answer `default`."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return canonical(function(*args, **kwargs))  # type: ignore[no-any-return]
            except Exception:  # egglog turns any exception into a panic that names no rule
                _log.exception("%s%r failed in an e-graph", function.__qualname__, args)
                return default  # type: ignore[no-any-return]

        return call

    return decorate


@hosted(default=CLASH)
def meet(a: Fact, b: Fact) -> Fact:
    """`facts.fact.meet`, the merge of facts."""
    return meet_facts(a, b)

"""Python functions called from inside egglog.

An exception there would kill the run and name no rule, so a host function answers a default instead and
logs.  Functions are pickled by reference: they live in importable modules.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


def hosted(default: Any = None) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function safe to call from egglog: where it raises, log the error and answer `default`."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return function(*args, **kwargs)
            except Exception:  # egglog turns any exception into a panic that names no rule
                _log.exception("%s%r failed in an e-graph", function.__qualname__, args)
                return default  # type: ignore[no-any-return]

        return call

    return decorate

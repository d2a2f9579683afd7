"""Python functions called from inside egglog: the arithmetic of attributes and facts in laws.

Called on values, a host function computes; called on pattern variables it stands for its answer::

    @hosted()
    def then(p: Permutation, q: Permutation) -> Permutation: ...

    yield rewrite(transpose(transpose(x, p), q), transpose(x, then(p, q)), because=...)

A law applies only where all the host functions that it calls answer something (not None), and where those
that it names as conditions answer True.  A tensor handed to a host function is handed as its `Fact`, a list
of tensors as a tuple of theirs.

An exception there would kill the run and name no rule, so a host function answers a default instead, and the
exception is kept in `calls`, for the laws that call the function to be left out.  An answer depends on
nothing but the arguments: it is computed once, by how the arguments are written (see `egraph.objects`).
"""

from __future__ import annotations

import functools
import inspect
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from egraph_opt.errors import LawError
from egraph_opt.facts.fact import CLASH, Fact
from egraph_opt.facts.fact import meet as meet_facts
from egraph_opt.operators.expressions import Attribute, Expression, Sort, String, coerced, sort_of, stands_for

_log = logging.getLogger(__name__)


class HostTimeout(Exception):
    """A host function does not come back."""


@dataclass
class RunningCall:
    """The host function that a thread is calling, and since when."""

    function: HostFunction | None = None
    since: float = 0.0


class HostCalls(threading.local):
    """What happens in host functions while a thread grows an e-graph; laws whose functions fail are left out.

    Attributes:
        failures: by function the first exception.
        running: what is being called.
    """

    def __init__(self) -> None:
        self.failures: dict[HostFunction, str] = {}
        self.running = RunningCall()


calls = HostCalls()


class HostFunction:
    """A function that egglog calls; see the module's text.

    Attributes:
        name: of the function.
        function: what computes.
        default: what is answered where that raises.
        is_condition: whether it answers True or False.
        merges: it merges two values of a table, which is not left undone where a run is cut short.
    """

    def __init__(self, function: Callable[..., Any], default: Any = None) -> None:
        answers = function.__annotations__.get("return")
        self.function, self.name = function, function.__qualname__
        self.is_condition = answers in (bool, "bool")
        self.default = False if self.is_condition and default is None else default
        self.merges = False
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if any(isinstance(argument, Expression) for argument in arguments):
            return self._answer(arguments)
        running = calls.running
        running.function, running.since = self, time.monotonic()
        try:
            answer = self.function(*arguments)
            return bool(answer) if self.is_condition else answer
        except Exception as error:  # egglog turns any exception into a panic that names no rule
            _log.debug("%s%r failed in an e-graph", self.name, arguments, exc_info=True)
            calls.failures.setdefault(self, f"{type(error).__name__}: {error}")
            return self.default
        finally:
            running.function = None

    def _answer(self, arguments: tuple[Any, ...]) -> Expression:
        sorts = self._sorts
        least, most = self._counts
        if not least <= len(arguments) <= most:
            raise LawError(f"{self.name} takes ({', '.join(sorts)}), and not {len(arguments)} arguments")
        names = (*sorts, *[""] * len(arguments))
        given = tuple(
            _handed(argument, sorts.get(name, _ANY), f"{self.name}, {name}")
            for argument, name in zip(arguments, names, strict=False)
        )
        answer = String if self.result.kind == "string" else Attribute
        return answer(self, given, self.result)

    @functools.cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.function, include_extras=True)

    @functools.cached_property
    def _sorts(self) -> dict[str, Sort]:
        """By parameter that takes one argument."""
        parameters = inspect.signature(self.function).parameters.values()
        return {
            p.name: sort_of(self._hints.get(p.name, Any))
            for p in parameters
            if p.kind is not inspect.Parameter.VAR_POSITIONAL
        }

    @functools.cached_property
    def _counts(self) -> tuple[int, float]:
        """How many arguments it takes, at least and at most."""
        parameters = inspect.signature(self.function).parameters.values()
        variadic = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
        least = sum(p.default is p.empty and p.kind is not p.VAR_POSITIONAL for p in parameters)
        return least, float("inf") if variadic else len(parameters)

    @functools.cached_property
    def may_answer_nothing(self) -> bool:
        """Whether its annotation says that None is an answer, or says nothing."""
        hint = self._hints.get("return", Any)
        return hint is Any or type(None) in get_args(hint)

    @functools.cached_property
    def result(self) -> Sort:
        return sort_of(self._hints.get("return", Any))


_ANY = Sort("object")

_HANDED_AS = {"tensor": ("", "Fact")}
"""Names of sorts that something other than an attribute is handed to the host as."""


def _handed(argument: Any, sort: Sort, where: str) -> Expression:
    """An argument of a host function; the host takes tensors, strings and numbers of egglog as well."""
    if isinstance(argument, Expression) and argument.sort.kind != "object":
        if sort.name not in _HANDED_AS.get(argument.sort.kind, ("",)):
            raise LawError(f"{where}: `{argument!r}` is no {sort.name}")
        return argument
    return coerced(argument, sort, where)


def hosted(default: Any = None) -> Callable[[Callable[..., Any]], HostFunction]:
    """Declare a host function: where it raises, it answers `default`, and laws that call it are left out.

    A function that is annotated to return `bool` is a condition, which does not hold where it raises.
    """

    if inspect.isfunction(default):
        raise LawError("write `@hosted()`, with parentheses")

    def decorate(function: Callable[..., Any]) -> HostFunction:
        return HostFunction(function, default)

    return decorate


@functools.cache
def host_function(function: Callable[..., Any]) -> HostFunction:
    """A function as a host function."""
    return function if isinstance(function, HostFunction) else HostFunction(function)


@hosted()
def element(values: tuple[Any, ...], index: int) -> Any:
    """One of several values that a host function answers."""
    return values[index]


stands_for("element", element)


@hosted(default=CLASH)
def meet(a: Fact, b: Fact) -> Fact:
    """`facts.fact.meet`, the merge of facts."""
    return meet_facts(a, b)

"""Python functions called from inside egglog: the arithmetic of attributes and facts in laws.

Called on values, a host function computes; called on pattern variables it stands for its answer::

    @hosted()
    def then(p: Permutation, q: Permutation) -> Permutation: ...

    yield rewrite(transpose(transpose(x, p), q), transpose(x, then(p, q)), because=...)

A law applies only where all the host functions that it calls answer something (not None), and where those
that it names as conditions answer True.  A tensor handed to a host function is handed as its `Fact`, a list
of tensors as a tuple of theirs.

An exception there would kill the run and name no rule, so a host function answers a default instead, and the
exception is kept in `calls`: laws that call the function are left out there, or altogether.  An answer
depends on nothing but the arguments: it is computed once, by how they are written (see `egraph.objects`).
"""

from __future__ import annotations

import functools
import inspect
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from typing import Any, get_args, get_type_hints

import numpy as np

from egraph_opt.errors import LawError
from egraph_opt.facts.fact import CLASH, Fact
from egraph_opt.facts.fact import meet as meet_facts
from egraph_opt.forking import cached_property
from egraph_opt.operators.expressions import (
    Attribute,
    Expression,
    Sort,
    String,
    alternatives,
    coerced,
    sort_of,
    stands_for,
)
from egraph_opt.operators.values import plain_value

_log = logging.getLogger(__name__)


class HostTimeout(Exception):
    """A host function does not come back."""

    def __init__(self) -> None:
        super().__init__("it does not come back")


@dataclass
class RunningCall:
    """The host function that a thread is calling, and since when; and whether somebody watches that."""

    function: HostFunction | None = None
    since: float = 0.0
    watched: bool = False


class HostCalls(threading.local):
    """What happens in host functions while a thread grows an e-graph; laws whose functions fail are left out.

    Attributes:
        failures: by function the first exception.
        ended: functions that did not come back.
        running: what is being called.
    """

    def __init__(self) -> None:
        self.failures: dict[HostFunction, str] = {}
        self.ended: set[HostFunction] = set()
        self.running = RunningCall()

    def forget(self) -> None:
        """Forget what went wrong."""
        self.failures.clear()
        self.ended.clear()


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
        try:
            return self.computed(*arguments)
        except (Exception, SystemExit) as error:  # egglog turns one into a panic that names no rule
            _log.debug("%s%r failed in an e-graph", self.name, arguments, exc_info=True)
            calls.failures.setdefault(self, one_line(error))
            if isinstance(error, HostTimeout):
                calls.ended.add(self)
            return self.default

    @property
    def answers_no(self) -> bool:
        """Whether a law does nothing where it raises."""
        return not self.merges and self.default in (None, False)

    def computed(self, *arguments: Any) -> Any:
        """What it answers on values.

        Raises:
            TypeError: it answers something else than its annotation says.
            Exception: whatever it raises.
        """
        running = calls.running
        before = running.function, running.since
        running.function, running.since = self, time.monotonic()
        try:
            return self._checked(self.function(*arguments))
        finally:
            running.function, running.since = before

    def _checked(self, answer: Any) -> Any:
        """An answer, if it is of the type that is promised."""
        if self.is_condition:
            if not isinstance(answer, (bool, np.bool_, type(None))):
                raise TypeError(f"it answers {answer!r}, and not True or False")
            return bool(answer)
        if answer is None:
            return None
        if self.result.kind == "string":
            fits = isinstance(answer, str)
        else:
            try:
                answer = plain_value(answer, self.result.name, "its answer")
            except LawError as error:
                raise TypeError(str(error)) from None
            fits = self._dataclass is None or isinstance(answer, self._dataclass)
        if not fits:
            raise TypeError(f"its answer: {answer!r} is no {self.result}")
        return answer

    @cached_property
    def _dataclass(self) -> type | None:
        """The class of what it answers, where that is a dataclass, or nothing."""
        kinds = [part for part in alternatives(self._hints.get("return", Any)) if part is not type(None)]
        only = kinds[0] if len(kinds) == 1 else None
        return only if isinstance(only, type) and is_dataclass(only) else None

    @property
    def place(self) -> str:
        """The file and line where it is defined."""
        code = self.function.__code__
        return f"{code.co_filename}:{code.co_firstlineno}"

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

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.function, include_extras=True)

    @cached_property
    def _parameters(self) -> tuple[inspect.Parameter, ...]:
        return tuple(inspect.signature(self.function).parameters.values())

    @cached_property
    def _sorts(self) -> dict[str, Sort]:
        """By parameter that takes one argument."""
        return {
            p.name: sort_of(self._hints.get(p.name, Any))
            for p in self._parameters
            if p.kind is not inspect.Parameter.VAR_POSITIONAL
        }

    @cached_property
    def _counts(self) -> tuple[int, float]:
        """How many arguments it takes, at least and at most."""
        parameters = self._parameters
        variadic = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
        least = sum(p.default is p.empty and p.kind is not p.VAR_POSITIONAL for p in parameters)
        return least, float("inf") if variadic else len(parameters)

    @cached_property
    def may_answer_nothing(self) -> bool:
        """Whether its annotation says that None is an answer, or says nothing."""
        hint = self._hints.get("return", Any)
        return hint is Any or type(None) in get_args(hint)

    @cached_property
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


def one_line(error: BaseException) -> str:
    """What was raised."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


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

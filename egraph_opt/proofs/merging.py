"""Functions that host functions call: all ways through one of them to one answer are one case.

A helper that answers yes or no is asked along all its ways by itself, and what it answers is one truth value,
which forks once, or never where it goes into a question of several.  So a host function has as many ways as
it has questions of its own, and not as many as all that it calls have together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from inspect import isgeneratorfunction
from typing import Any

import z3

from egraph_opt.proofs.facts import LazyFact
from egraph_opt.proofs.numbers import SYMBOLS, Truth, Whole, formula_of, number_of, truth_of
from egraph_opt.proofs.paths import NotHereError
from egraph_opt.proofs.remembered import (
    MOST_WAYS,
    Unkeyed,
    formulas_in,
    found_once,
    key_of,
    known_of,
    own_names,
    renamed,
)
from egraph_opt.proofs.trail import NO_TIME, Open

PLAIN = (type(None), bool, int, float, str, range)

RAISED = (ZeroDivisionError, IndexError, KeyError, ValueError, TypeError, OverflowError)
"""What a function may raise on some of its ways."""


@dataclass
class Answered:
    """An answer, and the conditions of the ways to it."""

    answer: Any
    ways: list[z3.BoolRef]


@dataclass(frozen=True)
class Raised:
    """The answer of a way on which a function raises."""

    error: Exception


class Looking:
    """The path whose host function is looked at along all its ways, if there is one.

    Attributes:
        path: that one.
        entered: whether the function itself was called, so that further ones are its helpers.
        apart: functions that answer what cannot be found apart from the rest.
    """

    def __init__(self) -> None:
        self.path: Any = None
        self.entered = False
        self.apart: set[Any] = set()

    def ways_through(self, path: Any, run: Callable[[], Any]) -> list[tuple[Any, z3.BoolRef]]:
        """What a function answers along each of its ways; helpers are merged meanwhile."""

        def entering() -> Any:
            self.entered = False
            return run()

        before = self.path, self.entered
        self.path = path
        try:
            found: list[tuple[Any, z3.BoolRef]] = path.ways_through(entering)
            return found
        finally:
            self.path, self.entered = before


looking = Looking()


@functools.cache
def merged(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose ways are merged where it is called by another that is being looked at."""

    @functools.wraps(function)
    def asked(*given: Any, **named: Any) -> Any:
        path = looking.path
        if path is None or path.inner is None:
            return function(*given, **named)
        if not looking.entered:
            looking.entered = True
            return function(*given, **named)
        if not any(map(hangs_on_path, (*given, *named.values()))):
            return function(*given, **named)
        inner = path.innermost
        found = inner.once(function.__qualname__, lambda: _found(path, inner, function, given, named))
        if found is None:
            looking.apart.add(function)
            return function(*given, **named)
        return chosen(path, inner, found)

    return asked


def chosen(path: Any, inner: Any, found: AllAnswers) -> Any:
    """One of the answers, on a way of its own; those that are truth values are one."""
    if found.are_truths:
        return truth_of(found.truth, path)
    few = found.joined
    each = few[inner.one_of(len(few), lambda k: z3.Or(few[k].ways))]
    if isinstance(each.answer, Raised):
        raise each.answer.error.with_traceback(None)
    return each.answer


class AllAnswers(list[Answered]):
    """All answers of a function."""

    @functools.cached_property
    def are_truths(self) -> bool:
        return all(type(each.answer) in (bool, Truth) for each in self)

    @functools.cached_property
    def truth(self) -> z3.BoolRef:
        """Where the answer is true."""
        return z3.simplify(z3.Or([holds for each in self for holds in _holding(each)]))

    @functools.cached_property
    def joined(self) -> list[Answered]:
        """The answers, of which those are one that differ in numbers only: each is a choice then."""
        found: list[Answered] = []
        for each in self:
            for k, other in enumerate(found):
                answer = joined_by(z3.Or(each.ways), each.answer, other.answer)
                if answer is not NO_CHOICE:
                    found[k] = Answered(answer, [*other.ways, *each.ways])
                    break
            else:
                found.append(each)
        return found


NO_CHOICE = object()
"""What is no choice of two answers."""


def joined_by(way: z3.BoolRef, a: Any, b: Any) -> Any:
    """a where a condition holds, and else b, if both are numbers or tuples of them, as one."""
    if is_same(a, b):
        return a
    if type(a) is tuple and type(b) is tuple and len(a) == len(b):
        parts = tuple(joined_by(way, x, y) for x, y in zip(a, b, strict=True))
        return NO_CHOICE if any(part is NO_CHOICE for part in parts) else parts
    if {type(a), type(b)} not in ({Whole}, {Whole, int}):  # numbers that are known may be places
        return NO_CHOICE
    path = a.path if type(a) is Whole else b.path
    return number_of(z3.If(way, formula_of(a), formula_of(b)), path)


def _holding(each: Answered) -> list[z3.BoolRef]:
    """Where an answer is true."""
    if type(each.answer) is Truth:
        return [z3.And(way, each.answer.formula) for way in each.ways]
    return each.ways if each.answer else []


def _found(path: Any, inner: Any, function: Any, given: Any, named: Any) -> AllAnswers | None:
    """All answers along a path, by what is kept of them where that is possible."""
    if function in looking.apart:
        return None
    asked = given, tuple(sorted(named.items()))
    try:
        key = function, key_of(asked)
    except Unkeyed:
        return _all_answers(inner, function, given, named)
    kept = found_once(path, key, lambda: _of_any_names(path, inner, function, asked), asked)
    if kept is None:
        return _all_answers(inner, function, given, named)
    if len(kept) == 1 or kept.are_truths:
        return kept
    return AllAnswers(each for each in kept if inner.may(z3.Or(each.ways)))


def _of_any_names(path: Any, inner: Any, function: Any, asked: Any) -> AllAnswers | None:
    """All answers of a function of data, by what it answers to numbers with names of their own."""
    names = own_names(asked)
    other = renamed(asked, names)
    kept = found_once(path, (function, key_of(other)), lambda: _anywhere(inner, function, other), other)
    if kept is None or not names:
        return kept
    back = [(own, name) for name, own in names]
    return AllAnswers(
        Answered(renamed(each.answer, back), [z3.substitute(way, *back) for way in each.ways])
        for each in kept
    )


def _anywhere(inner: Any, function: Any, asked: Any) -> AllAnswers | None:
    """All answers of a function of data, whatever a path knows; None where those are not found."""
    given, named = asked
    try:
        return _all_answers(inner, function, given, dict(named), known_of(formulas_in(asked)))
    except Open as error:
        if str(error) == NO_TIME:
            raise
        return None
    except (NotHereError, Exception):  # on a way that there may not be on a path
        return None


def _all_answers(
    inner: Any, function: Any, given: Any, named: Any, known: Sequence[z3.BoolRef] | None = None
) -> AllAnswers | None:
    """All answers; None where one is not data."""

    def run() -> Any:
        try:
            return function(*given, **named)
        except RAISED as error:
            return Raised(error)

    found = AllAnswers()
    for answer, way in inner.ways_through(run, known, None if known is None else MOST_WAYS):
        if not isinstance(answer, Raised) and not is_data(answer):
            return None
        note(found, answer, way)
    return found


def note(found: list[Answered], answer: Any, way: z3.BoolRef) -> None:
    """Write down a way to an answer."""
    same = next((each for each in found if is_same(each.answer, answer)), None)
    if same is None:
        found.append(Answered(answer, [way]))
    else:
        same.ways.append(way)


def hangs_on_path(value: Any) -> bool:
    """Whether something in a value is known along a path only."""
    if type(value) in (tuple, list):
        return any(map(hangs_on_path, value))
    if type(value) in SYMBOLS or isinstance(value, LazyFact):
        return True
    if is_dataclass(value) and not isinstance(value, type):
        return any(hangs_on_path(getattr(value, field.name)) for field in fields(value))
    return False


def is_data(value: Any) -> bool:
    """Whether a value keeps nothing that hangs on the way on which it was made, or is looked at."""
    if type(value) is frozenset or isinstance(value, tuple):
        return all(map(is_data, value))
    if is_dataclass(value) and not isinstance(value, (type, LazyFact)):
        return all(is_data(getattr(value, field.name)) for field in fields(value))
    return type(value) in (*PLAIN, *SYMBOLS)


def is_handed(value: Any) -> bool:
    """Whether a value is data, a fact or several."""
    if type(value) is tuple:
        return all(map(is_handed, value))
    return isinstance(value, LazyFact) or is_data(value)


def is_same(a: Any, b: Any) -> bool:
    """Whether two answers are written alike."""
    if type(a) is not type(b):
        return False
    if type(a) in SYMBOLS:
        return bool(z3.eq(a.formula, b.formula))
    if isinstance(a, Raised):
        return type(a.error) is type(b.error)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(is_same, a, b))
    if is_dataclass(a):
        return all(is_same(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    if type(a) is float:
        return repr(a) == repr(b)  # 0.0 is not -0.0
    return bool(a == b)


def is_helper(value: Any) -> bool:
    """Whether a function may be looked at by itself: a generator's steps are its caller's."""
    return (
        hasattr(value, "__code__")
        and not isgeneratorfunction(value)
        and not any(kind in str(value.__annotations__.get("return", "")) for kind in ("Iterator", "Iterable"))
    )

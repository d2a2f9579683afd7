"""Python's own functions on symbolic numbers, for the host functions that call them.

`all` and `any` ask one question instead of one for each element; `max` and `min` are choices, no forks; a
`range` and its `len` may be formulas; a set is a list without repetitions where numbers have no hash.  Of
what is known they answer what Python does, which tests compare.  Memories of functions are passed by where an
argument is not known: what was answered along another path is no answer here.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import z3

from egraph_opt.laws.law import Law
from egraph_opt.operators.host import HostFunction
from egraph_opt.proofs.contracts import CONTRACTS
from egraph_opt.proofs.merging import hangs_on_path, is_helper, merged
from egraph_opt.proofs.numbers import (
    SYMBOLS,
    Fraction,
    Truth,
    TypeNumber,
    UnhashableError,
    Whole,
    formula_of,
    number_of,
)  # fmt: skip
from egraph_opt.proofs.rounding import as_float, cut_off
from egraph_opt.proofs.trail import Open

PACKAGES = ("facts", "inference", "laws", "operators", "rewrites")
"""Where host functions and what they call are written."""

ROOMS = tuple(f"egraph_opt.{package}" for package in PACKAGES)

MOST_ELEMENTS = 64
"""Of a range that is walked along."""


def is_symbolic(value: Any) -> bool:
    return type(value) in SYMBOLS


def _truth(item: Any) -> Truth | None:
    """The truth value of an item that is not known."""
    if type(item) is Truth:
        return item
    return Truth(item.formula != 0, item.path) if type(item) in SYMBOLS else None


def _joined(items: Iterable[Any], whole: bool) -> Any:
    """Whether all are true, for `whole`, or else whether one is."""
    asked: list[Truth] = []

    def found() -> Any:
        if not asked:
            return whole
        formulas = [truth.formula for truth in asked]
        return Truth(z3.And(formulas) if whole else z3.Or(formulas), asked[0].path)

    try:
        for item in items:
            truth = _truth(item)
            if truth is not None:
                asked.append(truth)
            elif bool(item) is not whole:
                return not whole
    except Exception:
        if asked and bool(found()) is not whole:
            return not whole  # Python would not have come to what fails
        raise
    return found()


def all_of(items: Iterable[Any]) -> Any:
    return _joined(items, True)


def any_of(items: Iterable[Any]) -> Any:
    return _joined(items, False)


def _extreme(plain: Callable[..., Any], takes: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def found(*given: Any, **options: Any) -> Any:
        items = list(given[0]) if len(given) == 1 else list(given)
        if options or not any(map(is_symbolic, items)) or not all(formula_of(v) is not None for v in items):
            return plain(items, **options)
        if len({formula_of(item).is_int() for item in items}) > 1:  # type: ignore[union-attr]
            return plain(items)  # what is taken has its own type
        best = items[0]
        for item in items[1:]:
            path = best.path if is_symbolic(best) else getattr(item, "path", None)
            if path is None:
                best = plain(best, item)
                continue
            a, b = formula_of(best), formula_of(item)
            best = number_of(z3.If(takes(b, a), b, a), path)
        return best

    return found


max_of = _extreme(max, lambda new, best: new > best)
min_of = _extreme(min, lambda new, best: new < best)


def length_of(value: Any) -> Any:
    return value.length if isinstance(value, SymbolicRange) else len(value)


class SymbolicRange:
    """`range` with bounds that may be symbolic; without `__len__`, which has to be a plain number."""

    def __init__(self, *bounds: Any) -> None:
        self.start, self.stop, self.step = {1: (0, *bounds, 1), 2: (*bounds, 1)}.get(len(bounds), bounds)
        if self.step == 0:
            raise ValueError("range() arg 3 must not be zero")

    @property
    def length(self) -> Any:
        up = self.step > 0
        room = self.stop - self.start if up else self.start - self.stop
        width = self.step if up else -self.step
        if room <= 0:
            return 0
        return room if width == 1 else (room + width - 1) // width

    def __bool__(self) -> bool:
        return bool(self.length > 0)

    def __iter__(self) -> Iterator[Any]:
        place, past = self.start, 0
        while place < self.stop if self.step > 0 else place > self.stop:
            if past == MOST_ELEMENTS:
                raise Open("a host function walks along a range of unknown length")
            yield place
            place, past = place + self.step, past + 1

    def __reversed__(self) -> Iterator[Any]:
        return iter(list(self)[::-1])

    def __contains__(self, value: Any) -> bool:
        if formula_of(value) is None:
            return False
        low, high = (self.start, self.stop) if self.step > 0 else (self.stop + 1, self.start + 1)
        return bool(low <= value) and bool(value < high) and bool((value - self.start) % self.step == 0)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return SymbolicRange(*self._cut(at))
        place = at + self.length if at < 0 else at
        if place < 0 or place >= self.length:
            raise IndexError("range object index out of range")
        return self.start + place * self.step

    def _cut(self, cut: slice) -> tuple[Any, Any, Any]:
        first, last, step = indices(cut, self.length)
        return self.start + first * self.step, self.start + last * self.step, self.step * step

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, (SymbolicRange, builtins.range)):
            return False
        many = length_of(other)
        if self.length != many:
            return False
        if many == 0:
            return True
        if self.start != other.start:
            return False
        return True if many == 1 else self.step == other.step

    def __hash__(self) -> int:
        raise UnhashableError("a host function needs a hash of a range")

    def __repr__(self) -> str:
        return f"range({self.start!r}, {self.stop!r}, {self.step!r})"


def indices(cut: slice, length: Any) -> tuple[Any, Any, Any]:
    """`cut.indices(length)`."""
    step = 1 if cut.step is None else cut.step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    up = step > 0
    low, high = (0, length) if up else (-1, length - 1)

    def clamped(bound: Any) -> Any:
        if bound < 0:
            bound = bound + length
            return bound if bound >= low else low
        return bound if bound <= high else high

    first = (low if up else high) if cut.start is None else clamped(cut.start)
    last = (high if up else low) if cut.stop is None else clamped(cut.stop)
    return first, last, step


class Distinct:
    """A frozenset of what has no hash, as its elements are not known: in the order in which they came."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.items: list[Any] = []
        for item in items:
            if not any(item == other for other in self.items):
                self.items.append(item)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __contains__(self, item: object) -> bool:
        return any(bool(item == other) for other in self.items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Distinct, builtins.set, builtins.frozenset)):
            return False
        return len(self) == len(other) and all(item in self for item in other)

    def __hash__(self) -> int:
        raise UnhashableError("a host function needs a hash of a set")


class TypeSet(frozenset[int]):
    """A set of element types that is asked one question of a type that is not known."""

    def __contains__(self, item: object) -> bool:
        if type(item) is TypeNumber:
            return bool(item.is_in(frozenset(self)))
        return super().__contains__(item)


class TypeTable(dict[int, Any]):
    """A table by element types that is asked one question of a type that is not known."""

    def __contains__(self, item: object) -> bool:
        if type(item) is TypeNumber:
            return bool(item.is_in(self.keys()))
        return super().__contains__(item)


MOST_TYPES = 32
"""Element types of ONNX have lower numbers."""


def distinct(items: Iterable[Any] = ()) -> Any:
    kept = list(items)
    try:
        return builtins.frozenset(kept)
    except UnhashableError:
        return Distinct(kept)


def whole(value: Any = 0, *base: Any) -> Any:
    """`int`, which cuts off what is behind the point."""
    if type(value) is Fraction:
        return number_of(cut_off(value.formula), value.path)
    if type(value) is Truth:
        return number_of(z3.If(value.formula, z3.IntVal(1), z3.IntVal(0)), value.path)
    return value if type(value) is Whole else builtins.int(value, *base)


def real(value: Any = 0.0) -> Any:
    if type(value) is Whole:
        return Fraction(as_float(value.formula), value.path)
    return value if type(value) is Fraction else builtins.float(value)


def _as_type(function: Callable[..., Any], plain: Any, *others: type) -> type:
    """A function that is asked for as a type as well: as in `isinstance(x, range)`."""

    class Meta(type):
        def __call__(cls, *given: Any, **options: Any) -> Any:
            return function(*given, **options)

        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, (plain, *others))

        def __subclasscheck__(cls, other: type) -> bool:
            return issubclass(other, (plain, *others))

        def __getitem__(cls, item: Any) -> Any:
            return plain[item]

        def __getattr__(cls, name: str) -> Any:
            return getattr(plain, name)

    return Meta(plain.__name__, (), {})


SHADOWS: dict[str, Any] = {
    "all": all_of,
    "any": any_of,
    "float": _as_type(real, float),
    "frozenset": _as_type(distinct, frozenset, Distinct),
    "int": _as_type(whole, int),
    "len": length_of,
    "max": max_of,
    "min": min_of,
    "range": _as_type(SymbolicRange, range, SymbolicRange),
}
"""By name what host functions find instead of Python's own."""


@functools.cache
def _forgetting(function: Any) -> Callable[..., Any]:
    """A function that remembers answers of what is known only."""

    @functools.wraps(function.__wrapped__)
    def asked(*given: Any) -> Any:
        if any(map(hangs_on_path, given)):
            return function.__wrapped__(*given)
        try:
            hash(given)
        except UnhashableError:
            return function.__wrapped__(*given)
        return function(*given)

    return asked


@contextmanager
def symbolic_python(law: Law) -> Iterator[None]:
    """While this lasts, host functions find functions for symbolic numbers instead of Python's own."""
    own = law.function.__globals__
    modules = [m for name, m in sorted(sys.modules.items()) if name.startswith(ROOMS)]
    scopes = [vars(module) for module in modules]
    if not any(scope is own for scope in scopes):
        scopes.append(own)
    added = [(scope, name) for scope in scopes for name in SHADOWS if name not in scope]
    changed = [
        (scope, key, value, made)
        for scope in scopes
        for key, value in list(scope.items())
        if (made := _symbolic(value)) is not value
    ]
    hosts = {id(f): f for scope in scopes for f in scope.values() if isinstance(f, HostFunction)}
    own_functions = [(f, f.function) for f in hosts.values() if is_helper(f.function)]
    for scope, name in added:
        scope[name] = SHADOWS[name]
    for scope, key, _, made in changed:
        scope[key] = made
    for f, function in own_functions:
        f.function = merged(function)
    try:
        yield
    finally:
        for scope, name in added:
            del scope[name]
        for scope, key, value, _ in changed:
            scope[key] = value
        for f, function in own_functions:
            f.function = function


def _symbolic(value: Any) -> Any:
    """What host functions find in the stead of a function or a constant of their modules."""
    if id(value) in CONTRACTS:
        return CONTRACTS[id(value)]
    if type(value) is builtins.frozenset and value and all(type(v) is builtins.int for v in value):
        return TypeSet(value)
    if type(value) is dict and value and all(type(k) is builtins.int and 0 < k < MOST_TYPES for k in value):
        return TypeTable({key: _symbolic(each) for key, each in value.items()})
    if hasattr(value, "cache_info") and hasattr(value, "__wrapped__"):
        return _forgetting(value)
    if type(value) is FunctionType and value.__module__.startswith(ROOMS) and is_helper(value):
        return merged(value)
    return value

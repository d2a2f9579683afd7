"""Parameters of cost models: declared once with unit, range and source; every value given is checked here.

    class Launches(CostModel):
        launch_us = parameter(5.0, "us per kernel", most=100.0, source="a guess")

declares one in Python, `parameter_files` has the form of a whole table of them.  Values come from files, from
options (`--set`) and from calls; what is wrong with one is said with the place where it was given.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, cast

from egraph_opt.cost.domains import Domain, ListOf, Names, Numbers, OneOf, Path, RefusedError, TableOf
from egraph_opt.errors import ParameterError, UnknownParameterError

T = TypeVar("T")

CONFIDENCES = {
    "D": "documented by whoever makes the device",
    "M": "measured by somebody who is cited",
    "I": "inferred by arithmetic or from code",
    "U": "unknown: a guess that wants calibration",
}
"""How far a value can be trusted."""

MOST_ENTRIES = 4
"""Of more entries of a table than these only the number is listed."""


LONGEST = 80
"""Of a value that is refused so many characters are shown."""


@dataclass(frozen=True)
class Parameter:
    """A number, name, list or table that prices depend on.

    Attributes:
        name: what it is called; that of the attribute where it is declared in a class.
        value: the default, or what it is given; None where every variant has one of its own.
        confidence: one of `CONFIDENCES`.
        source: where the value comes from.
    """

    name: str
    value: Any
    unit: str
    domain: Domain
    confidence: str = "U"
    source: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        object.__setattr__(self, "name", name)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """The default; a cost model that was given a value has that as an attribute."""
        return self if instance is None else self.value


def parameter(
    default: T,
    unit: str,
    *,
    least: float = 0.0,
    most: float = math.inf,
    choices: Iterable[str] = (),
    confidence: str = "U",
    source: str = "",
) -> T:
    """Declare a parameter as an attribute of a `CostModel`, whose value in an object it is.

    Args:
        default: a number (an int: whole numbers only), a name, a list of names, or a table of one of these.
        least, most: bounds of numbers, both included.
        choices: what names there are.

    Raises:
        ParameterError: the default is none of these, or out of bounds.
    """
    if confidence not in CONFIDENCES:
        raise ParameterError(f"confidence {confidence!r} is not one of {', '.join(CONFIDENCES)}")
    domain = domain_of(default, (least, most), Names("names", tuple(choices)))
    try:
        value = domain.taken(default)
    except RefusedError as error:
        raise ParameterError(f"the default {default!r}: {error}") from None
    return cast(T, Parameter("", value, unit, domain, confidence, source))


def domain_of(
    default: object, bounds: tuple[float, float], choices: Names, keys: Names | None = None
) -> Domain:
    """What values may take the place of a default; `keys` of a table are its own unless others are named.

    Raises:
        ParameterError: it is no kind of value that a parameter has.
    """
    if isinstance(default, numbers.Real) and not isinstance(default, bool):
        return Numbers(*bounds, whole=isinstance(default, numbers.Integral))
    if isinstance(default, str):
        return OneOf(choices)
    if isinstance(default, (list, tuple, set, frozenset)):
        return ListOf(choices)
    if isinstance(default, Mapping) and default:
        entries = domain_of(next(iter(default.values())), bounds, choices)
        return TableOf(keys or Names("entries of the table", tuple(default)), entries)
    raise ParameterError(f"{default!r} is no number, name, list of names or table")


class Origin(Protocol):
    """Where a value was given."""

    def at(self, path: Path) -> str:
        """The place of a part of it, for an error; "" where there is nothing to say."""

    def __str__(self) -> str:
        """What is listed as the source of the value."""


@dataclass(frozen=True)
class Option:
    """A value of `--set`, or one of a call (where `text` is "")."""

    text: str = ""

    def at(self, path: Path) -> str:
        return f"--set {self.text}" if self.text else ""

    def __str__(self) -> str:
        return f"--set {self.text}" if self.text else "given in Python"


@dataclass(frozen=True)
class Override:
    """A value that a parameter is given.

    Attributes:
        name: of the parameter, or `table.entry`.
        base: where within its origin the value stands.
    """

    name: str
    value: object
    origin: Origin = Option()
    base: Path = ()
    confidence: str = "U"
    source: str = ""


def overrides_of(values: Mapping[str, object]) -> tuple[Override, ...]:
    """Values by name, as a call gives them."""
    return tuple(Override(str(name), value) for name, value in values.items())


def resolved(
    declared: Mapping[str, Parameter], overrides: Iterable[Override], model: str
) -> dict[str, Parameter]:
    """The parameters that `overrides` change, as they are afterwards; a later one goes on from an earlier.

    Args:
        model: the name of the cost model, for errors.

    Raises:
        UnknownParameterError: there is no such parameter, or entry of a table; suggests the nearest.
        ParameterError: a value of another type, out of range, not finite, no known name.
    """
    found: dict[str, Parameter] = {}
    for override in overrides:
        name, _, entry = override.name.partition(".")
        if name not in declared:
            raise UnknownParameterError(override.name, declared, override.origin.at(override.base), model)
        found[name] = _given(found.get(name, declared[name]), override, entry, model)
    return found


def _given(before: Parameter, override: Override, entry: str, model: str) -> Parameter:
    """A parameter with the value of an override."""
    value: object = {entry: override.value} if entry else override.value
    if entry and not isinstance(before.domain, TableOf):
        known = (before.name,)
        raise UnknownParameterError(override.name, known, override.origin.at(override.base), model)
    try:
        after = before.domain.taken(value, before.value)
    except RefusedError as error:
        raise _refused(before, override, error, error.path[1:] if entry else error.path, model) from None
    source = override.source or str(override.origin)
    if isinstance(value, Mapping) and isinstance(before.domain, TableOf) and len(value) < len(after):
        names = ", ".join(value) if len(value) <= MOST_ENTRIES else f"{len(value)} entries"
        return replace(before, value=after, source=f"{names}: {source}; others: {before.source}")
    return replace(before, value=after, confidence=override.confidence, source=source)


def _refused(
    declared: Parameter, override: Override, error: RefusedError, below: Path, model: str
) -> ParameterError:
    """The error that says where a value was given, and what is wrong with it."""
    where = override.origin.at((*override.base, *below))
    name = ".".join(map(str, (declared.name, *error.path)))
    if error.known is not None:
        prefix = name.removesuffix(str(error.path[-1]))
        return UnknownParameterError(name, [prefix + key for key in error.known], where, model)
    part = error.part if error.path else override.value
    at = f"{where}: " if where else ""
    return ParameterError(f"{at}{name} = {_short(part)}: {error}")


def _short(value: object) -> str:
    """A value as text, its beginning where it is long."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        return "an integer too long to show"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."

"""What values a parameter of a cost model may have: numbers in a range, names, tables, rules.

A domain takes a value as TOML or Python has it, and hands it back in one form: numbers as int or float, lists
as tuples, tables whole.  What it does not take it refuses with the path to the part that is wrong.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

from egraph_opt.errors import hint_of

Path = tuple[str | int, ...]
"""Where in a value something stands: names of entries, indices of lists."""

MOST_NAMES = 12
"""Longer lists of names are not printed."""


class RefusedError(Exception):
    """A value, or a part of it, is not in a domain.

    Attributes:
        path: to the part.
        part: it, where it is not the whole.
        known: the entries that a table has, where it lacks the one that the path names.
    """

    def __init__(self, problem: str, known: tuple[str, ...] | None = None) -> None:
        super().__init__(problem)
        self.path: Path = ()
        self.part: object = None
        self.known = known

    def within(self, key: str | int, part: object) -> RefusedError:
        """The same as seen from the whole that has the part as an entry."""
        self.part = self.part if self.path else part
        self.path = (key, *self.path)
        return self


class Domain(ABC):
    """The values that a parameter may have; `str` tells them."""

    @abstractmethod
    def taken(self, value: object, before: Any = None) -> Any:
        """The value in one form.

        Args:
            before: the value that it replaces: the entries that a table does not mention stay.

        Raises:
            RefusedError: it is not in the domain.
        """

    @property
    def numbers(self) -> Numbers | None:
        """The numbers among its values, by themselves or in a table; None where there are none."""
        return None


@dataclass(frozen=True)
class Numbers(Domain):
    """Numbers from `least` to `most`, both of them included; `whole` ones only, or any."""

    least: float = -math.inf
    most: float = math.inf
    whole: bool = False

    def taken(self, value: object, before: Any = None) -> float:
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            raise RefusedError(f"must be {'a whole' if self.whole else 'a'} number")
        try:
            number = int(value) if isinstance(value, Integral) and self.whole else float(value)
            finite = math.isfinite(number)
        except OverflowError:  # an integer of hundreds of digits
            finite = False
        if not finite:
            raise RefusedError("must be finite")
        if not self.least <= number <= self.most:
            raise RefusedError(f"must be {self.bounds}")
        return number

    @property
    def numbers(self) -> Numbers:
        return self

    @property
    def bounds(self) -> str:
        """The range in words."""
        if self.most == math.inf:
            return "any" if self.least == -math.inf else f"{self.least:g} or more"
        return f"at most {self.most:g}" if self.least == -math.inf else f"{self.least:g} to {self.most:g}"

    def __str__(self) -> str:
        return f"{self.bounds}, whole" if self.whole else self.bounds


@dataclass(frozen=True)
class Names:
    """Names that there are, and what they are called together."""

    called: str
    known: tuple[str, ...]

    def check(self, name: object, *, entry: bool = False) -> str:
        """The name; `entry`: it is that of a table's entry.

        Raises:
            RefusedError: it is none.
        """
        if not isinstance(name, str):
            raise RefusedError(f"must be one of {self}")
        if name not in self.known:
            hint = hint_of(name, self.known)
            raise RefusedError(f"is not one of {self}{hint}", known=self.known if entry else None)
        return name

    def __str__(self) -> str:
        return ", ".join(self.known) if 0 < len(self.known) <= MOST_NAMES else self.called


@dataclass(frozen=True)
class OneOf(Domain):
    """One of some names."""

    names: Names

    def taken(self, value: object, before: Any = None) -> str:
        return self.names.check(value)

    def __str__(self) -> str:
        return str(self.names)


@dataclass(frozen=True)
class ListOf(Domain):
    """Lists of names, in order and with repetition."""

    names: Names

    def taken(self, value: object, before: Any = None) -> tuple[str, ...]:
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Collection):
            raise RefusedError("must be a list of names")
        parts = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
        return tuple(_part(k, self.names.check, part) for k, part in enumerate(parts))

    def __str__(self) -> str:
        return f"list of {self.names}"


@dataclass(frozen=True)
class TableOf(Domain):
    """Tables: a value by name."""

    keys: Names
    entries: Domain

    def taken(self, value: object, before: Any = None) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise RefusedError("must be a table")
        found = dict(before or {})
        for key, part in value.items():
            _part(key, self.keys.check, key, entry=True)
            found[key] = _part(key, self.entries.taken, part, found.get(key))
        return found

    @property
    def numbers(self) -> Numbers | None:
        return self.entries.numbers

    def __str__(self) -> str:
        return f"each {self.entries}"


@dataclass(frozen=True)
class RecordsOf(Domain):
    """Lists of rules: tables that have certain fields, and may say how far they can be trusted, and why."""

    fields: Mapping[str, Domain]
    told: tuple[str, ...] = field(default=("confidence", "source"))

    def taken(self, value: object, before: Any = None) -> tuple[Mapping[str, Any], ...]:
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Collection):
            raise RefusedError("must be a list of tables")
        return tuple(_part(k, self._rule, rule) for k, rule in enumerate(value))

    def _rule(self, rule: object) -> Mapping[str, Any]:
        if not isinstance(rule, Mapping):
            raise RefusedError("must be a table")
        keys = Names("fields of a rule", (*self.fields, *self.told))
        for key in rule:
            _part(key, keys.check, key, entry=True)
        for key in self.fields:
            if key not in rule:
                raise RefusedError(f"lacks `{key}`")
        found = {key: _part(key, domain.taken, rule[key]) for key, domain in self.fields.items()}
        return found | {key: str(rule[key]) for key in self.told if key in rule}

    def __str__(self) -> str:
        return f"rules with {', '.join(self.fields)}"


def _part(key: str | int, take: Any, *value: object, **options: object) -> Any:
    """A part of a value, as `take` has it; what it refuses is reported with the path to the part."""
    try:
        return take(*value, **options)
    except RefusedError as error:
        raise error.within(key, value[0]) from None

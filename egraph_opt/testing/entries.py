"""Statements about several operators, modes or types at once, checked for each of them.

What a law may be about is often a table in a host function: `f in ("Ceil", "Floor")`.  Of a few random draws
most entries of it are in none, so every value that an attribute of a few values may have is tried.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.laws.law import Example, Law
from egraph_opt.operators.declaration import operator_named, operators
from egraph_opt.operators.expressions import Expression, Function, Variable, constant
from egraph_opt.operators.host import HostFunction
from egraph_opt.testing.comparison import Tally
from egraph_opt.testing.drawn_examples import drawn
from egraph_opt.testing.harness import check_drawn
from egraph_opt.testing.matching import matches, meets, scope_of
from egraph_opt.testing.scope import Rejected, Scope, parts, sides
from egraph_opt.testing.sides import Side, sides_of

MOST_ENTRIES = 64
"""Entries of a table that are checked, each on one example; of more, so many are taken at random."""

ENTRY_TRIES = 200
"""Draws of an example of one entry."""

TYPES = tuple(getattr(TensorProto, name) for name in ("FLOAT", "DOUBLE", "FLOAT16", "INT64", "INT32", "BOOL"))

FEW: dict[str, tuple[Any, ...]] = {
    "keepdims": (0, 1),
    "last": (0, 1),
    "to": TYPES,
    "mode": ("constant", "edge", "reflect"),
}
"""The values of attributes that have a few, by parameter."""

Entry = Mapping[Expression, Any]
"""By variable its value."""


@dataclass(frozen=True)
class Entries:
    """What was checked of the values that some variables of a statement may have.

    Attributes:
        rule: of the law.
        checked: those of which an example was drawn.
        missed: those of which none was.
        left_out: how many were not tried.
    """

    rule: str
    checked: tuple[Entry, ...]
    missed: tuple[Entry, ...]
    left_out: int
    tally: Tally

    @property
    def count(self) -> int:
        return len(self.checked) + len(self.missed) + self.left_out

    @property
    def about(self) -> str:
        """What they are values of: values of `f`, pairs of `f` and `g`, .."""
        names = [f"`{name!r}`" for name in (*self.checked, *self.missed)[0]]
        kind = {1: "values", 2: "pairs"}.get(len(names), "combinations")
        return f"{kind} of {' and '.join(names)}"


def told_entry(entry: Entry) -> str:
    """An entry as it is shown: f = 'Ceil', g = 'Sign'."""
    return ", ".join(f"{name!r} = {value!r}" for name, value in entry.items())


def check_entries(law: Law, side: Side, most: int = MOST_ENTRIES, tries: int = ENTRY_TRIES) -> Entries | None:
    """Draw and check an example for every entry; None where a statement has no variable of a few values.

    Args:
        most: entries that are checked.
        tries: draws of an example.

    Raises:
        AssertionError: the statement did not fire on one, or its sides differ.
    """
    found = list(entries_of(side))
    if len(found) < 2:
        return None
    rng = np.random.default_rng([zlib.crc32(law.key.encode()), zlib.crc32(side.rule.encode())])
    chosen = [found[k] for k in sorted(rng.permutation(len(found))[:most].tolist())]
    tally, checked, missed = Tally(), list[Entry](), list[Entry]()
    for entry in chosen:
        made = _check(law, with_values(side, entry), rng, tries)
        (missed if made is None else checked).append(entry)
        tally.add(made or Tally())
    return Entries(side.rule, tuple(checked), tuple(missed), len(found) - len(chosen), tally)


def tables_of(
    law: Law, written: Iterable[Example], most: int = MOST_ENTRIES, tries: int = ENTRY_TRIES
) -> tuple[Entries, ...]:
    """What was checked of every statement of a law that has variables of a few values.

    Args:
        written: examples of the law's author, which are examples of entries as well.
        most, tries: see `check_entries`.
    """
    fires = [example for example in written if example.fires]
    found = ((side, check_entries(law, side, most, tries)) for side in sides_of(law))
    return tuple(_credited(entries, side, fires) for side, entries in found if entries is not None)


def _credited(entries: Entries, side: Side, examples: list[Example]) -> Entries:
    shown = tuple(entry for entry in entries.missed if shows(side, entry, examples))
    missed = tuple(entry for entry in entries.missed if entry not in shown)
    return replace(entries, checked=(*entries.checked, *shown), missed=missed)


def _check(law: Law, side: Side, rng: np.random.Generator, tries: int) -> Tally | None:
    for example in drawn(side, rng, tries):
        checked = check_drawn(law, side.rule, example, strict=not side.asks_tables)
        if checked is not None and side.rule in checked.rules:
            return checked.tally
    return None


def shows(side: Side, entry: Entry, examples: list[Example]) -> bool:
    """Whether an entry is what a statement matches in one of the examples given."""
    one = with_values(side, entry)
    return any(meets(one, scope) for example in examples for scope in matches(one, scope_of(example)))


def entries_of(side: Side) -> Iterator[Entry]:
    """The values that variables of few values may have together, as far as they alone decide it."""
    values = _values(side)
    own = [c for c in side.conditions if _variables(c) and _variables(c) <= set(values)]
    for given in product(*values.values()) if values else ():
        entry = dict(zip(values, given, strict=True))
        scope = Scope(environment={name: constant(value, name.sort) for name, value in entry.items()})
        if all(_holds(scope, condition) for condition in own):
            yield entry


def _holds(scope: Scope, condition: Any) -> bool:
    try:
        return scope.holds(condition)
    except Rejected:
        return False


def _values(side: Side) -> dict[Expression, tuple[Any, ...]]:
    """By variable of few values those values: every name of an operator, others where the host is asked."""
    asked = {v for condition in side.conditions for v in _variables(condition)}
    asked |= {v for top in side.written for part in parts(top) if _is_call(part) for v in _variables(part)}
    found: dict[Expression, tuple[Any, ...]] = {}
    for part in (part for top in (*side.tops, *side.named.values()) for part in parts(top)):
        if not isinstance(part.head, Function) or part.head.name not in operators():
            continue
        declared = operator_named(part.head.name)
        for argument, name, kind in zip(part.arguments, declared.names, declared.kinds, strict=True):
            values = declared.op_types if kind == "string" else FEW.get(name, ())
            if isinstance(argument.head, Variable) and values and (kind == "string" or argument in asked):
                before = found.get(argument, values)
                found[argument] = tuple(value for value in values if value in before)
    return found


def _is_call(part: Expression) -> bool:
    return isinstance(part.head, HostFunction)


def _variables(condition: Any) -> set[Expression]:
    return {p for side in sides(condition) for p in parts(side) if isinstance(p.head, Variable)}


def with_values(side: Side, entry: Entry) -> Side:
    """A statement with values in the place of variables."""
    given = {name: constant(value, name.sort) for name, value in entry.items()}
    changed = ("statement", "tops", "named", "conditions", "written")
    return replace(side, **{name: _substituted(getattr(side, name), given) for name in changed})


def _substituted(value: Any, given: Mapping[Expression, Any]) -> Any:
    if isinstance(value, Expression):
        if value in given or not value.arguments:
            return given.get(value, value)
        arguments = tuple(_substituted(argument, given) for argument in value.arguments)
        return type(value)(value.head, arguments, value.sort)
    if isinstance(value, tuple):
        return tuple(_substituted(item, given) for item in value)
    if isinstance(value, Mapping):
        return {_substituted(name, given): _substituted(item, given) for name, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _substituted(getattr(value, f.name), given) for f in fields(value)})
    return value

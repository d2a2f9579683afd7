"""The values that variables of a few values may have together: operators by name, flags, modes.

What a law may be about is often a table in a host function: `f in ("Ceil", "Floor")`.  Of all values few
meet such a condition, so those that do are listed first, and terms are made of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import product
from math import prod
from typing import Any

from egraph_opt.check.scope import Rejected, Scope
from egraph_opt.check.sides import Side
from egraph_opt.check.tables import FEW_VALUES
from egraph_opt.laws.bindings import expressions_in
from egraph_opt.operators.declaration import operator_named, operators
from egraph_opt.operators.expressions import Expression, Function, Variable, constant, parts
from egraph_opt.operators.host import HostFunction

MOST = 20_000
"""Combinations of values that are looked at."""

Entry = Mapping[Expression, Any]
"""By variable its value."""


def narrowed(side: Side) -> list[Side]:
    """A statement once for all values of such variables that its conditions allow; itself where it has
    none."""
    values = _values(side)
    own = [c for c in side.conditions if _variables(c) and _variables(c) <= set(values)]
    if not own or prod(map(len, values.values())) > MOST:
        return [side]
    asked = {name: values[name] for name in values if any(name in _variables(c) for c in own)}
    return [_with_values(side, entry) for entry in _entries(asked, own)] or [side]


def _entries(values: Mapping[Expression, tuple[Any, ...]], conditions: list[Any]) -> Iterator[Entry]:
    for given in product(*values.values()):
        entry = dict(zip(values, given, strict=True))
        scope = Scope(environment={name: constant(value, name.sort) for name, value in entry.items()})
        if all(_holds(scope, condition) for condition in conditions):
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
            values = declared.op_types if kind == "string" else FEW_VALUES.get(name, ())
            if isinstance(argument.head, Variable) and values and (kind == "string" or argument in asked):
                before = found.get(argument, values)
                found[argument] = tuple(value for value in values if value in before)
    return found


def _is_call(part: Expression) -> bool:
    return isinstance(part.head, HostFunction)


def _variables(condition: Any) -> set[Expression]:
    return {p for side in expressions_in(condition) for p in parts(side) if isinstance(p.head, Variable)}


def _with_values(side: Side, entry: Entry) -> Side:
    """A statement with values instead of variables."""
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

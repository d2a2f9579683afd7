"""Tables of a statement: what marks terms, what the law's own rules fill, and functions that rules define.

Tables without values mark terms, so that work is done where it is wanted: lists of concatenations, say, whose
tails are walked along.  What is so of all terms is so of those that are marked.  Rules such as
`f(nil) = nil, f(cons(x, xs)) = cons(g(x), f(xs))` define a function of lists, which is computed where it is
written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from egraph_opt.check.resolution import Filler, Fillers, asks, without_places
from egraph_opt.check.sides import Side, side_of
from egraph_opt.laws.bindings import expressions_in, variables_of
from egraph_opt.laws.law import Law, auxiliaries, statements
from egraph_opt.laws.statements import Assignment, Equality, Equals, Guard, Rule, Union, unguarded
from egraph_opt.operators.declaration import operators
from egraph_opt.operators.expressions import Expression, Function, Variable, parts
from egraph_opt.operators.terms import cons, nil

Definitions = Mapping[Function, tuple[tuple[Expression, Expression], ...]]
"""By function what its entries are: on the left a pattern."""


def definitions_of(law: Law) -> Definitions:
    """The functions that rules of a law and of what it uses define: where f(..) is written, it is this."""
    found: dict[Function, list[tuple[Expression, Expression]]] = {}
    for used in (*auxiliaries([law]), law):
        for statement in statements(used):  # type: ignore[arg-type]
            if not isinstance(statement, Rule) or len(statement.conditions) != 1:
                continue
            (condition,) = statement.conditions
            for action in statement.actions if isinstance(condition, Equals) else ():
                defines = isinstance(action, Union) and action.left == condition.left
                if defines and _is_table(condition.right):
                    found.setdefault(condition.right.head, []).append((condition.right, action.right))
    return {table: tuple(defined) for table, defined in found.items()}


def matched(patterns: Iterable[Expression], values: Iterable[Any]) -> dict[Expression, Any] | None:
    """What the variables in patterns of lists stand for; None where values are of others."""
    found: dict[Expression, Any] = {}
    pending = list(zip(patterns, values, strict=True))
    while pending:
        pattern, value = pending.pop()
        if isinstance(pattern.head, Variable):
            found[pattern] = value
        elif pattern.head is cons and isinstance(value, tuple) and value:
            pending += zip(pattern.arguments, (value[0], value[1:]), strict=True)
        elif pattern.head is not nil or value != ():
            return None
    return found


def says_too_little(law: Law) -> str:
    """What a shorthand of a law leaves out of the operator that it is short for; nothing where all say it.

    Operators that differ in that are one term then, which no statement of the law would show.
    """
    for used in auxiliaries([law]):
        for statement in statements(used):
            if not isinstance(statement, Equality):
                continue
            for short, term in ((statement.left, statement.right), (statement.right, statement.left)):
                if isinstance(short.head, Function) and short.head.shorthand:
                    missing = sorted(map(repr, variables_of(term) - variables_of(short)))
                    if missing:
                        return f"{short.head.name} says nothing of {', '.join(missing)}"
    return ""


def with_own_rules(side: Side, law: Law) -> Side:
    """The statement with the law's own rules among those that fill tables."""
    own: dict[Function, list[Filler]] = {}
    for statement in statements(law):
        for action in statement.actions if isinstance(statement, Rule) else ():
            entry, value = (action.entry, action.value) if isinstance(action, Assignment) else (action, None)
            if isinstance(entry, Expression) and _is_table(entry):
                conditions = without_places(unguarded(statement.conditions))
                own.setdefault(entry.head, []).append(Filler(entry, value, conditions))
    if not own:
        return side
    tables = {table: (*side.tables.get(table, ()), *own.get(table, ())) for table in {*side.tables, *own}}
    made = {
        table: tuple(_with_asked(filler, tables) for filler in fillers) for table, fillers in tables.items()
    }
    return side_of(side.statement, side.rule, made)


def _with_asked(filler: Filler, tables: Fillers) -> Filler:
    every = [part for c in filler.conditions for side in expressions_in(c) for part in parts(side)]
    return Filler(filler.entry, filler.value, filler.conditions, tuple(p for p in every if p.head in tables))


def _is_table(entry: Expression) -> bool:
    head = entry.head
    known = isinstance(head, Function) and not head.shorthand
    return known and head.name not in (*operators(), "nil", "cons")


def repeated(side: Side) -> frozenset[Filler]:
    """The rules that fill a table by other entries of it, as walks along lists do."""
    asked = {table: {e.head for f in fillers for e in f.asked} for table, fillers in side.tables.items()}
    own = (e for c in unguarded(side.statement.conditions) for e in expressions_in(c))
    first = {part.head for each in (*side.tops, *own) for part in parts(each)}
    return frozenset(
        filler
        for table in _reached(first & asked.keys(), asked)
        for filler in side.tables[table]
        if table in _reached({e.head for e in filler.asked}, asked)
    )


def _reached(first: Iterable[Any], asked: Mapping[Any, Collection[Any]]) -> set[Any]:
    """The tables that some tables ask, whatever is between them, and those themselves."""
    pending, found = list(first), set[Any]()
    while pending:
        table = pending.pop()
        if table not in found:
            found.add(table)
            pending += asked.get(table, ())
    return found


def without_demands(side: Side) -> Side | None:
    """The statement without marks that bind nothing; None where it asks none."""
    marks = {table for table, fillers in side.tables.items() if all(f.value is None for f in fillers)}
    tables: Fillers = {
        table: tuple(_without(filler, marks, side.tables) for filler in fillers)
        for table, fillers in side.tables.items()
    }
    own = _kept(side.statement.conditions, (), marks)
    if tables == side.tables and own == side.statement.conditions:
        return None
    return side_of(replace(side.statement, conditions=own), side.rule, tables)


def _without(filler: Filler, marks: set[Any], tables: Fillers) -> Filler:
    kept = _kept(filler.conditions, (filler.entry,), marks)
    if kept == filler.conditions:
        return filler
    dropped = [c for c in filler.conditions if c not in kept]
    asked = tuple(entry for entry in filler.asked if not any(entry in parts(c) for c in dropped))
    assert all(asks(entry, tables) for entry in asked)
    return Filler(filler.entry, filler.value, kept, asked)


def _kept(conditions: Sequence[Any], bound: Sequence[Expression], marks: set[Any]) -> tuple[Any, ...]:
    """Conditions without marks whose variables others name as well."""
    plain = [c for c in conditions if not (isinstance(c, Expression) and c.head in marks)]
    named = {
        v for c in plain if not isinstance(c, Guard) for each in expressions_in(c) for v in variables_of(each)
    }
    named |= {v for entry in bound for v in variables_of(entry)}
    return tuple(
        c
        for c in conditions
        if not (isinstance(c, Expression) and c.head in marks and variables_of(c) <= named)
    )

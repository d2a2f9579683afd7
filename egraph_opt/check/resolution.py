"""Statements that ask tables, joined with the rules that fill those.

A statement that asks for an entry of a table says nothing of how that entry came to be.  What has to be there
for it is what the rule asks that fills the entry: its conditions take the place of the entry, as resolution
does it in logic, until no table is asked.  Several rules may fill a table, so a statement has many joins;
`joins` says which one it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from egraph_opt.check.scope import Rejected
from egraph_opt.check.shorthands import spelled
from egraph_opt.laws.bindings import expressions_in
from egraph_opt.laws.law import Law, auxiliaries, statements
from egraph_opt.laws.statements import Absent, Assignment, Differs, Equals, Guard, Rule, Union, unguarded
from egraph_opt.operators.declaration import operators
from egraph_opt.operators.expressions import Constant, Expression, Function, Variable, parts, variable
from egraph_opt.operators.host import HostFunction
from egraph_opt.operators.terms import node

MOST_STEPS = 12
"""Entries of tables that are resolved for one example; recursive rules end by then, or there is none."""

FEW_STEPS = 5
"""So many are resolved by any rule, those that follow by one that asks no table where there is one."""


@dataclass(frozen=True, eq=False)
class Filler:
    """A rule of an auxiliary that fills an entry of a table with a value (none, of a relation).

    Attributes:
        asked: the entries of tables in its conditions.
    """

    entry: Expression
    value: Expression | None
    conditions: tuple[Any, ...]
    asked: tuple[Expression, ...] = ()


Fillers = Mapping[Function, tuple[Filler, ...]]


def fillers_of(entry: Law) -> Fillers:
    """The rules that fill the tables which a law asks, by table."""
    found: dict[Function, list[Filler]] = {}
    for auxiliary in auxiliaries([entry]):
        rules = [rule for rule in statements(auxiliary) if isinstance(rule, Rule)]
        for statement in (meaning for rule in rules for meaning in spelled(rule, entry)):
            for action in statement.actions:
                filler = _filler(action, without_places(unguarded(statement.conditions)))
                if _is_table(filler.entry):
                    found.setdefault(filler.entry.head, []).append(filler)
    return {
        table: tuple(replace(rule, asked=asked_in(rule.conditions, found)) for rule in rules)
        for table, rules in found.items()
    }


def without_places(conditions: tuple[Any, ...]) -> tuple[Any, ...]:
    """Conditions but those that a term is one of the graph as it was written: all are that are drawn."""
    return tuple(c for c in conditions if not isinstance(c, Equals) or c.right.head is not node)


def _filler(action: Any, conditions: tuple[Any, ...]) -> Filler:
    if isinstance(action, Assignment):
        return Filler(action.entry, action.value, conditions)
    if isinstance(action, Union):
        left, right = action.left, action.right
        return Filler(*((left, right) if _is_table(left) else (right, left)), conditions)
    return Filler(action, None, conditions)


def _is_table(expression: Expression) -> bool:
    head = expression.head
    return (
        isinstance(head, Function) and head.name not in (*operators(), "nil", "cons") and not head.shorthand
    )


def asks(condition: Any, tables: Fillers) -> bool:
    """Whether a condition asks for an entry of a table."""
    return bool(asked_in((condition,), tables))


def asked_in(conditions: Iterable[Any], tables: Collection[Function]) -> tuple[Expression, ...]:
    """The entries of tables in some conditions."""
    every = (part for condition in conditions for side in expressions_in(condition) for part in parts(side))
    return tuple(part for part in every if part.head in tables)


@dataclass
class Join:
    """A join in the making.

    Attributes:
        bindings: what variables stand for.
        added: conditions of the rules that fill the tables.
        pending: entries of tables that are to be filled, in this order.
        steps: how many were filled.
        used: the rules that filled them.
    """

    tables: Fillers
    bindings: dict[Expression, Expression] = field(default_factory=dict)
    added: list[Any] = field(default_factory=list)
    pending: tuple[Expression, ...] = ()
    steps: int = 0
    used: tuple[Filler, ...] = ()

    def next_entry(self) -> Expression | None:
        """The first entry that is to be filled, as far as it is bound; None where all are."""
        while self.pending:
            first, *rest = self.pending
            entry = self.bound(first)
            if entry.head in self.tables:
                return entry
            self.pending = tuple(rest)
        return None

    def rules(self, entry: Expression) -> tuple[Filler, ...]:
        """The rules that may fill an entry.

        Raises:
            Rejected: too many entries were filled.
        """
        rules = self.tables[entry.head]
        if self.steps >= FEW_STEPS:
            rules = tuple(rule for rule in rules if not rule.asked) or rules
        if self.steps >= MOST_STEPS:
            raise Rejected("a table that is filled step by step")
        return rules

    def filled(self, entry: Expression, filler: Filler) -> Join | None:
        """The join in which a rule fills the first entry; None where it fills no such one."""
        steps = self.steps + 1
        made = replace(
            self,
            bindings=dict(self.bindings),
            added=list(self.added),
            pending=self.pending[1:],
            steps=steps,
            used=(*self.used, filler),
        )
        try:
            made.pending += made.take(entry, _apart(filler, steps))
        except Rejected:
            return None
        return made

    def take(self, entry: Expression, filler: Filler) -> tuple[Expression, ...]:
        for asked, given in zip(entry.arguments, filler.entry.arguments, strict=True):
            self.unify(asked, given)
        if filler.value is not None:
            self._bind(self.bound(entry), self.bound(filler.value))
        self.added.extend(filler.conditions)
        return filler.asked

    def unify(self, a: Expression, b: Expression) -> None:
        """Bind variables so that both are one.

        Raises:
            Rejected: they cannot be.
        """
        a, b = self.bound(a), self.bound(b)
        if a == b:
            return
        if "" not in (a.sort.name, b.sort.name) and a.sort != b.sort:
            raise Rejected("two sorts")
        if isinstance(b.head, Variable) and not (isinstance(a.head, Variable) and b.sort.name):
            a, b = b, a
        if isinstance(a.head, Variable):
            self._bind(a, b)
        elif isinstance(a.head, HostFunction) or isinstance(b.head, HostFunction):
            answers = [
                e for e in (a, b) if isinstance(e.head, HostFunction)
            ]  # two that are none are not equal
            self.added.extend((*answers, Equals(a, b)))
        elif a.head == b.head and not isinstance(a.head, Constant):
            for one, other in zip(a.arguments, b.arguments, strict=True):
                self.unify(one, other)
        else:
            raise Rejected("two terms that are not one")

    def _bind(self, expression: Expression, value: Expression) -> None:
        if any(part == expression for part in parts(value)):
            raise Rejected("a term within itself")
        self.bindings[expression] = value

    def bound(self, expression: Expression) -> Expression:
        """An expression with everything that is bound instead of variables and entries of tables."""
        if expression in self.bindings:
            return self.bound(self.bindings[expression])
        if not expression.arguments:
            return expression
        made = _with_arguments(expression, map(self.bound, expression.arguments))
        return self.bound(self.bindings[made]) if made in self.bindings else made

    def settle(self) -> None:
        """Give the values of entries by the keys that they have now that more is bound."""
        for entry, value in list(self.bindings.items()):
            if entry.head in self.tables:
                settled = _with_arguments(entry, map(self.bound, entry.arguments))
                if settled != entry:
                    self._bind(settled, self.bound(value))

    def condition(self, condition: Any) -> Any:
        return _mapped(condition, self.bound)


@lru_cache(maxsize=1024)
def _apart(filler: Filler, number: int) -> Filler:
    """A rule with variables of its own."""

    def renamed(expression: Expression) -> Expression:
        if isinstance(expression.head, Variable):
            return variable(f"{expression.head.name}'{number}", expression.sort)  # type: ignore[no-any-return]
        return _with_arguments(expression, map(renamed, expression.arguments))

    value = None if filler.value is None else renamed(filler.value)
    conditions = tuple(_mapped(condition, renamed) for condition in filler.conditions)
    return Filler(renamed(filler.entry), value, conditions, tuple(map(renamed, filler.asked)))


def _with_arguments(expression: Expression, arguments: Iterable[Expression]) -> Expression:
    """An expression on other arguments; the same one where they are those that it has."""
    given = tuple(arguments)
    if all(a is b for a, b in zip(given, expression.arguments, strict=True)):
        return expression
    return type(expression)(expression.head, given, expression.sort)


def _mapped(condition: Any, change: Any) -> Any:
    """A condition, each expression of which is changed."""
    if isinstance(condition, Guard):
        return replace(condition, condition=_mapped(condition.condition, change))
    if isinstance(condition, (Equals, Differs, Union)):
        return replace(condition, left=change(condition.left), right=change(condition.right))
    if isinstance(condition, Assignment):
        return Assignment(change(condition.entry), change(condition.value))
    return Absent(change(condition.answer)) if isinstance(condition, Absent) else change(condition)

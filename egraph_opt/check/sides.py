"""A statement of a law as it is matched, from one of its sides; what concrete terms have to meet for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from egraph_opt.check.joins import Joins
from egraph_opt.check.resolution import Filler, Fillers, Join, asks, fillers_of, without_places
from egraph_opt.check.scope import NoAnswer, Rejected, Scope, conditions_of, hangs_on, patterns_of, written_by
from egraph_opt.check.shorthands import spelled
from egraph_opt.forking import cached_property
from egraph_opt.laws.law import Law, statements
from egraph_opt.laws.statements import Equality, Equals, Guard, Rule, without_guards
from egraph_opt.operators.expressions import Expression, parts
from egraph_opt.operators.host import HostFunction


@dataclass(frozen=True)
class Side:
    """A statement of a law as it is matched: its number, and whether that is from its right.

    Attributes:
        tables: the rules that fill the tables which it asks.
        tops: the terms that have to be there.
        named: those that variables are names of.
        conditions: see `conditions_of`.
    """

    statement: Equality | Rule
    rule: str
    tables: Fillers
    tops: tuple[Expression, ...]
    named: Mapping[Expression, Expression]
    conditions: tuple[Any, ...]
    written: tuple[Expression, ...]

    @cached_property
    def asks_tables(self) -> bool:
        """Whether it matches where a table says so."""
        own = without_guards(self.statement.conditions)
        return any(asks(c, self.tables) for c in (*self.tops, *own))

    @cached_property
    def _joins(self) -> Joins:
        return Joins(self.statement, self.tables)

    @cached_property
    def _joined(self) -> dict[int, Side]:
        """Sides by the identity of their joins, which `_joins` keeps."""
        return {}

    def joined(self, rng: np.random.Generator, met: Collection[Filler] = ()) -> tuple[Side, Join]:
        """The statement with what rules that fill its tables ask instead of their entries.

        Args:
            met: rules by which terms were made, see `Joins.drawn`.

        Raises:
            Rejected: some choices of rules do not go together.
        """
        return self._side_of(*self._joins.drawn(rng, met))

    def joined_by(self, choose: Callable[[int], int], most: int) -> tuple[Side, Join]:
        """`joined`, with rules that a function chooses by their number; at most so many entries are filled.

        Raises:
            Rejected: they do not go together, or it takes more.
        """
        return self._side_of(*self._joins.chosen(choose, most))

    def _side_of(self, statement: Equality | Rule, join: Join) -> tuple[Side, Join]:
        if id(join) not in self._joined:
            self._joined[id(join)] = side_of(statement, self.rule, self.tables)
        return self._joined[id(join)], join


@lru_cache(maxsize=8)
def sides_of(entry: Law) -> tuple[Side, ...]:
    """Every statement of a law, from each side that it is matched from, for all that its shorthands mean."""
    tables, found = fillers_of(entry), []
    numbered = [(k, s) for k, statement in enumerate(statements(entry)) for s in spelled(statement, entry)]
    for k, statement in numbered:
        found.append(side_of(statement, str(k), tables))
        if isinstance(statement, Equality) and statement.both:
            found.append(side_of(statement, f"{k}<", tables))
    return tuple(found)


def side_of(statement: Equality | Rule, rule: str, tables: Fillers) -> Side:
    """A statement matched from the side that a rule of a law is named after."""
    reverse = rule.endswith("<")
    statement = replace(statement, conditions=without_places(statement.conditions))
    tops, named = patterns_of(statement, reverse=reverse)
    written = tuple(written_by(statement, reverse=reverse))
    conditions = tuple(conditions_of(statement))
    return Side(statement, rule, tables, tuple(tops), named, conditions, written)


def ask(side: Side, scope: Scope, failed: Any = None) -> None:
    """Ask all conditions of a statement; the one given has to fail.

    Raises:
        Rejected: another one fails, or that one does not.
    """
    asked = dict.fromkeys((*side.statement.conditions, *side.conditions))
    for condition in sorted(asked, key=lambda c: not isinstance(c, Equals)):
        if isinstance(condition, Guard) or (isinstance(condition, Equals) and condition.left in side.named):
            continue
        if failed is not None and hangs_on(condition, failed):
            continue
        try:
            holds = scope.holds(condition)
        except NoAnswer:
            holds = False
        if holds == (failed is not None and condition == failed):
            raise Rejected("a condition")
    for written in side.written if failed is None else ():
        for part in parts(written):
            if isinstance(part.head, HostFunction):
                scope.answer(part)

"""Which rules fill the tables that a statement asks.

Choices of them are drawn often, and there are few, so what comes of each is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np

from egraph_opt.check.resolution import Filler, Fillers, Join, asked_in
from egraph_opt.check.scope import TERMS, Rejected
from egraph_opt.laws.statements import Equality, Equals, Guard, Rule
from egraph_opt.operators.expressions import Constant, Expression, Variable

CHOICES = 8
"""Choices of rules that are tried for one example."""


class Joins:
    """The joins of a statement with rules that fill its tables, each choice of rules made once only."""

    def __init__(self, statement: Equality | Rule, tables: Fillers) -> None:
        tops = (statement.left, statement.right) if isinstance(statement, Equality) else ()
        self.own = [c for c in statement.conditions if not isinstance(c, Guard)]
        self.first = _Choice(Join(tables, pending=asked_in((*tops, *self.own), tables)))
        self.statement = statement

    def drawn(self, rng: np.random.Generator, met: Collection[Filler]) -> tuple[Equality | Rule, Join]:
        """The statement with the conditions of rules that fill its tables instead of entries.

        The same objects for the same choices.

        Args:
            met: rules by which terms were made.  Every other time there is another one among them, and else
                as few as may be: of many rules at once few terms suit all.

        Raises:
            Rejected: none of some choices of rules go together.
        """
        for _ in range(CHOICES):
            others = met if rng.integers(2) else None
            try:
                choice = self.first
                while choice.entry is not None:
                    choice = choice.drawn(rng, others)
                return choice.whole(self.statement, self.own)
            except Rejected:
                continue
        raise Rejected("rules that do not go together")

    def chosen(self, choose: Callable[[int], int], most: int) -> tuple[Equality | Rule, Join]:
        """`drawn`, with rules that a function chooses by their number; at most so many entries are filled.

        Raises:
            Rejected: they do not go together, or it takes more.
        """
        choice = self.first
        while choice.entry is not None:
            if choice.join.steps >= most:
                raise Rejected("a table that is filled step by step")
            choice = choice.filled_by(choose(len(choice.join.rules(choice.entry))))
        return choice.whole(self.statement, self.own)


class _Choice:
    """A join as far as some rules fill its tables, and by number of the next rule what becomes of it."""

    def __init__(self, join: Join) -> None:
        self.entry = join.next_entry()
        self.join = join
        self.next: dict[int, _Choice | None] = {}
        self.made: tuple[Equality | Rule, Join] | Rejected | None = None

    def drawn(self, rng: np.random.Generator, met: Collection[Filler] | None) -> _Choice:
        """The choice after this one, by rules in any order.

        Args:
            met: those by which terms were made: others come first, and behind one of these what asks nothing.
        """
        assert self.entry is not None
        rules = self.join.rules(self.entry)
        order: list[int] = rng.permutation(len(rules)).tolist()
        if met is not None and all(rule in met for rule in self.join.used):
            order.sort(key=lambda k: rules[k] in met)
        elif met is not None:
            order.sort(key=lambda k: bool(rules[k].asked))
        for k in order:
            try:
                return self.filled_by(k)
            except Rejected:
                continue
        raise Rejected("no rule fills such an entry")

    def filled_by(self, k: int) -> _Choice:
        """The choice after this one, whose entry is filled by the rule of a number.

        Raises:
            Rejected: it fills no such entry.
        """
        if k not in self.next:
            assert self.entry is not None
            filled = self.join.filled(self.entry, self.join.rules(self.entry)[k])
            self.next[k] = None if filled is None else _Choice(filled)
        found = self.next[k]
        if found is None:
            raise Rejected("no rule fills such an entry")
        return found

    def whole(self, statement: Equality | Rule, own: list[Any]) -> tuple[Equality | Rule, Join]:
        if self.made is None:
            try:
                self.made = _whole(statement, own, self.join)
            except Rejected as error:
                self.made = error
        if isinstance(self.made, Rejected):
            raise self.made
        return self.made


def _whole(statement: Equality | Rule, own: list[Any], join: Join) -> tuple[Equality | Rule, Join]:
    join.settle()
    _unify_names(join, [c for c in (*own, *join.added) if isinstance(c, Equals)])
    join.settle()
    every = [join.condition(c) for c in (*statement.conditions, *join.added)]
    conditions = tuple(c for c in dict.fromkeys(every) if not _is_settled(c, join.tables))
    if isinstance(statement, Equality):
        left, right = join.bound(statement.left), join.bound(statement.right)
        return replace(statement, left=left, right=right, conditions=conditions), join
    actions = tuple(join.condition(action) for action in statement.actions)
    return replace(statement, conditions=conditions, actions=actions), join


def _unify_names(join: Join, equations: list[Equals]) -> None:
    """What has two names in a join, or two spellings, is one term."""
    spelled: dict[Expression, Expression] = {}
    for equation in equations:
        left, right = join.bound(equation.left), join.bound(equation.right)
        if isinstance(right.head, Variable) or _are_both_known(left, right):
            join.unify(left, right)
        elif left in spelled and left.sort.kind in TERMS:
            join.unify(spelled[left], right)
        else:
            spelled[left] = right


def _are_both_known(left: Expression, right: Expression) -> bool:
    """Whether neither side of an equation is a name of the other, nor what a host function answers."""
    if left.sort.kind in TERMS:
        return not isinstance(left.head, Variable)
    return isinstance(left.head, Constant) and isinstance(right.head, Constant)


def _is_settled(condition: Any, tables: Fillers) -> bool:
    """An entry of a relation, or an equation of a term with itself."""
    if isinstance(condition, Equals):
        return condition.left == condition.right
    return isinstance(condition, Expression) and condition.head in tables

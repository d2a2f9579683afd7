"""Both sides of a statement along one path: what is matched, its conditions, and what it writes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from egraph_opt.check.scope import TERMS
from egraph_opt.laws.statements import Absent, Differs, Equality, Equals, Guard, Union
from egraph_opt.operators.expressions import LESS, Expression, Variable, parts
from egraph_opt.operators.host import HostFunction
from egraph_opt.proofs.hosts import is_nothing, is_question, is_there
from egraph_opt.proofs.instance import Instance
from egraph_opt.proofs.names import Name
from egraph_opt.proofs.paths import Dead
from egraph_opt.proofs.terms import TermValues, Unbound
from egraph_opt.proofs.trail import Open


class Sides:
    """A statement on a path.

    Args:
        terms: what its terms stand for.
        new: a rank that some operand has to have.

    Attributes:
        pending, left: of the pattern and its conditions what is to be looked at, and what nothing binds yet.
        unbound: host functions of what is written that nothing binds before it is.
    """

    def __init__(self, terms: TermValues, *, new: int = 0) -> None:
        self.terms, self.new = terms, new
        self.statement, self.named = terms.side.statement, terms.side.named
        self.pending: list[Any] | None = None
        self.left: list[Any] = []
        self.unbound: set[Expression] = set()
        self._moved = self._has_asked = False

    @property
    def scene(self) -> Instance:
        return self.terms.scene

    def match(self, kept: Collection[Any] | None = None) -> None:
        """Take the pattern to be there and the conditions to hold.

        Args:
            kept: of the host functions that answer yes or no those that are asked; None for all.  What holds
                without the others, holds.

        Raises:
            Dead: they cannot.
        """
        if self.pending is None:
            self.pending = self._asked_of_pattern(kept)
        while self.pending or self.left:
            if not self.pending:
                if not self._moved:
                    raise Open(f"nothing binds what {self.left[0]!r} is of")
                self.pending, self.left, self._moved = self.left, [], False
            item = self.pending[0]
            try:
                self._take(item)
                self._moved = True
            except Unbound:
                self.left.append(item)
            del self.pending[0]
            self.terms.reached()

    def _asked_of_pattern(self, kept: Collection[Any] | None) -> list[Any]:
        """What has to be there, and then what has to hold."""
        conditions = dict.fromkeys((*self.statement.conditions, *self.terms.side.conditions))
        named = self.named
        asked = [
            c
            for c in conditions
            if not isinstance(c, Guard)
            and getattr(c, "left", None) not in named
            and not (kept is not None and is_question(c) and c not in kept)
        ]
        terms = [*self.terms.side.tops, *(e for e in named if e not in self.terms.side.tops)]
        return [*terms, *sorted(asked, key=lambda c: not isinstance(c, Equals))]

    def _take(self, item: Any) -> None:
        if isinstance(item, Expression) and item.sort.kind in TERMS:
            self.terms.value(item)
        elif self.scene.highest < self.new or not self._holds(item):
            raise Dead

    def goals(self) -> list[tuple[Any, Any]]:
        """The pairs of values that the statement says are one; what fills a table says nothing of values.

        Raises:
            Dead: a host function has no answer for what would be written.
            Unproved: what is written is not defined.
        """
        statement = self.statement
        if isinstance(statement, Equality):
            pairs = [(statement.left, statement.right)]
        else:
            pairs = [(a.left, a.right) for a in statement.actions if isinstance(a, Union)]
        if not self._has_asked:
            self._answers(pairs)
            self._has_asked = self.terms.writes = self.scene.showing = True
            self.terms.reached()
        try:
            return [(self.terms.value(left), self.terms.value(right)) for left, right in pairs]
        except Unbound as error:
            raise Open(f"nothing binds {error}, which is written") from error

    def go_back(self, environment: dict[Expression, Any]) -> None:
        """Forget what was written since the environment was this one."""
        self.terms.environment = environment
        self.unbound.clear()
        self._has_asked = self.terms.writes = self.scene.showing = False

    def _answers(self, pairs: list[tuple[Expression, Expression]]) -> None:
        """Ask the host functions of what is written before anything has to be shown of it."""
        for pair in pairs:
            inside_first = reversed([*parts(pair[0]), *parts(pair[1])])
            for part in inside_first:
                if isinstance(part.head, HostFunction) and part not in self.unbound:
                    try:
                        self.terms.value(part)
                    except Unbound:
                        self.unbound.add(part)  # of what is written inside

    def _asked(self, expression: Expression) -> Any:
        """A value that may be nothing."""
        if isinstance(expression.head, HostFunction) and expression not in self.terms.environment:
            self.terms.environment[expression] = self.terms.answer(expression)
        return self.terms.read(self.terms.value(expression))

    def _string(self, expression: Expression) -> Any:
        made = self.terms.argument(expression)
        return made.spelled() if isinstance(made, Name) else made

    def _holds(self, condition: Any) -> bool:
        if isinstance(condition, Absent):
            return not self.terms.answer(condition.answer, is_nothing)
        if isinstance(condition, Equals):
            return self._equal(condition)
        if isinstance(condition, Differs):
            if condition.left.sort.kind in TERMS:
                return True
            return not self._alike(condition.left, condition.right)
        if condition.head is LESS:
            left, right = map(self.terms.value, condition.arguments)
            return bool(left < right)
        if isinstance(condition.head, HostFunction):
            wanted = bool if condition.head.is_condition else is_there
            answer = self.terms.answer(condition, wanted)
            if not condition.head.is_condition:
                self.terms.environment[condition] = answer
            return True
        self.terms.value(condition)
        return True

    def _equal(self, condition: Equals) -> bool:
        left, right = condition.left, condition.right
        if isinstance(left.head, Variable) and left not in self.terms.environment:
            found = self.terms.value(right) if left.sort.kind in TERMS else self._asked(right)
            self.terms.environment[left] = found
            return True
        return self._alike(left, right)

    def _alike(self, left: Expression, right: Expression) -> bool:
        if left.sort.kind in TERMS:
            if self.terms.value(left) is self.terms.value(right):
                return True
            raise Open("two terms that are one class")
        a, b = (self._string(e) if e.sort.kind == "string" else self._asked(e) for e in (left, right))
        return bool(a == b)

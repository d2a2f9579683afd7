"""What a law makes of concrete terms: its statements matched as they are written, without an e-graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Law, statements
from egraph_opt.laws.statements import Absent, Differs, Equality, Equals, Union, unguarded
from egraph_opt.operators import binary
from egraph_opt.operators.declaration import operators
from egraph_opt.operators.expressions import LESS, Constant, Expression, Variable
from egraph_opt.operators.host import HostFunction
from egraph_opt.operators.terms import cons, nil, opset
from egraph_opt.operators.typing import infer_operator
from egraph_opt.rewrites.conditions.operands import beside, factor

Bound = dict[Expression, Any]
"""By variable a term, or the value of an attribute."""

MISSING = object()
"""What a host function answers that does not apply."""


@dataclass
class Terms:
    """The facts of concrete terms."""

    g: Operands
    opset: int
    known: dict[Expression, Any] = field(default_factory=dict)

    def fact(self, term: Expression) -> Any:
        """The fact of a tensor; a tuple of facts of a list or a bundle."""
        if term not in self.known:
            self.known[term] = self._fact(term)
        return self.known[term]

    def _fact(self, term: Expression) -> Any:
        head, arguments = term.head.name, term.arguments
        if head == "leaf":
            return self.g.facts[arguments[0].head.value]
        if term.head is nil:
            return ()
        if term.head is cons:
            return (self.fact(arguments[0]), *self.fact(arguments[1]))
        if head == "output":
            return self.fact(arguments[0])[arguments[1].head.value]
        return infer_operator(head, self.opset, attributes_of(term), self.operands(term))

    def operands(self, term: Expression) -> tuple[Fact, ...]:
        return tuple(self.fact(part) for part in operands_of(term))


def attributes_of(term: Expression) -> tuple[Any, ...]:
    places = operators()[term.head.name].attribute_positions
    return tuple(term.arguments[k].head.value for k in places)


def operands_of(term: Expression) -> Iterator[Expression]:
    """The operands of a term, those of lists one by one."""
    for k in operators()[term.head.name].operand_positions:
        part = term.arguments[k]
        if part.sort.kind != "tensors":
            yield part
        while part.sort.kind == "tensors" and part.head is cons:
            yield part.arguments[0]
            part = part.arguments[1]


def parts_of(term: Expression) -> Iterator[Expression]:
    yield term
    for part in term.arguments:
        yield from parts_of(part)


# --- shorthands -------------------------------------------------------------------------------------------

SHORT: dict[Any, tuple[Any, Any]] = {
    beside: (lambda op, x, c: binary(op, x, c), lambda op, x, c: binary(op, c, x)),
    factor: (lambda x, y: x @ y, lambda x, y: y @ x),
}
"""What a shorthand is of, by side."""


def spellings(statement: Any) -> Iterator[Any]:
    """An equality with its shorthands written out, for all sides; other statements as they are."""
    if not isinstance(statement, Equality):
        yield statement
        return
    parts = [part for side in (statement.left, statement.right) for part in parts_of(side)]
    sides = list(dict.fromkeys(p.arguments[-1] for p in parts if p.head in SHORT))
    for numbers in product((0, 1), repeat=len(sides)):
        known = dict(zip(sides, numbers, strict=True))
        left, right = (written_out(side, known) for side in (statement.left, statement.right))
        yield replace(statement, left=left, right=right)


def written_out(term: Expression, sides: dict[Expression, int]) -> Expression:
    arguments = [written_out(part, sides) for part in term.arguments]
    if term.head in SHORT:
        return SHORT[term.head][sides[term.arguments[-1]]](*arguments[:-1])
    return type(term)(term.head, tuple(arguments), term.sort)


# --- matching ---------------------------------------------------------------------------------------------


@dataclass
class Matching:
    """The matches of a law's statements in terms."""

    terms: Terms
    there: tuple[Expression, ...]

    def sides(self, law: Law) -> Iterator[tuple[Expression, Expression]]:
        """Each pair of terms of which the law says that they are one."""
        for statement in (spelled for stated in statements(law) for spelled in spellings(stated)):
            if isinstance(statement, Equality):
                pairs = [(statement.left, statement.right)]
                pairs += [(statement.right, statement.left)] if statement.both else []
                for left, right in pairs:
                    for part in self.there:
                        for bound in self.match(left, part, {}):
                            yield from self._written(part, right, statement.conditions, bound)
            else:
                for bound in self.fulfilled(unguarded(statement.conditions), {}):
                    for action in statement.actions:
                        if isinstance(action, Union):
                            one, other = self.value(action.left, bound), self.value(action.right, bound)
                            if MISSING not in (one, other):
                                yield one, other

    def _written(
        self, part: Expression, right: Expression, conditions: Any, bound: Bound
    ) -> Iterator[tuple[Expression, Expression]]:
        for more in self.fulfilled(unguarded(conditions), bound):
            written = self.value(right, more)
            if written is not MISSING:
                yield part, written

    def match(self, pattern: Expression, term: Any, bound: Bound) -> Iterator[Bound]:
        if isinstance(pattern.head, Variable):
            value = term if pattern.sort.kind in ("tensor", "tensors", "bundle") else term.head.value
            if pattern not in bound:
                yield {**bound, pattern: value}
            elif repr(bound[pattern]) == repr(value):
                yield bound
        elif isinstance(pattern.head, Constant):
            if pattern.head == term.head:
                yield bound
        elif pattern.head is term.head:
            yield from self._all(list(zip(pattern.arguments, term.arguments, strict=True)), bound)

    def _all(self, pairs: list[tuple[Expression, Expression]], bound: Bound) -> Iterator[Bound]:
        if not pairs:
            yield bound
            return
        for more in self.match(*pairs[0], bound):
            yield from self._all(pairs[1:], more)

    def fulfilled(self, conditions: tuple[Any, ...], bound: Bound) -> Iterator[Bound]:
        if not conditions:
            yield bound
            return
        for more in self._holds(conditions[0], bound):
            yield from self.fulfilled(conditions[1:], more)

    def _holds(self, condition: Any, bound: Bound) -> Iterator[Bound]:
        if isinstance(condition, Equals):
            yield from self._equal(condition.left, condition.right, bound)
        elif isinstance(condition, Differs):
            if repr(self.value(condition.left, bound)) != repr(self.value(condition.right, bound)):
                yield bound
        elif isinstance(condition, Absent):
            if self.value(condition.answer, bound) in (False, MISSING):
                yield bound
        elif isinstance(condition.head, HostFunction) or condition.head is LESS:
            if self.value(condition, bound) not in (False, MISSING):
                yield bound
        else:  # a term that has to be there
            for part in self.there:
                yield from self.match(condition, part, bound)

    def _equal(self, left: Expression, right: Expression, bound: Bound) -> Iterator[Bound]:
        if isinstance(right.head, Variable) and not isinstance(left.head, Variable):
            left, right = right, left
        if not isinstance(left.head, Variable) or left in bound:
            known, pattern = self.value(left, bound), right
            if isinstance(known, Expression):
                yield from self.match(pattern, known, bound)
            elif repr(known) == repr(self.value(right, bound)):
                yield bound
        elif isinstance(right.head, (HostFunction, Constant)) or right.head is opset:
            answer = self.value(right, bound)
            if answer is not MISSING:
                yield {**bound, left: answer}
        else:
            for part in self.there:
                for more in self.match(right, part, bound):
                    yield {**more, left: part}

    def value(self, part: Expression, bound: Bound) -> Any:
        """A term, or the value of an attribute; MISSING where a host function does not apply."""
        head = part.head
        if isinstance(head, Variable):
            return bound[part]
        if isinstance(head, Constant):
            return head.value
        if head is opset:
            return self.terms.opset
        given = [self.value(a, bound) for a in part.arguments]
        if MISSING in [g for g in given if not isinstance(g, np.ndarray)]:
            return MISSING
        if isinstance(head, HostFunction):
            terms = zip(part.arguments, given, strict=True)
            if any(a.arguments and isinstance(g, Expression) and g not in self.there for a, g in terms):
                return MISSING  # the engine knows nothing of a term that is not there
            answer = head.function(*(self.terms.fact(g) if isinstance(g, Expression) else g for g in given))
            return MISSING if answer is None else answer
        if head is LESS:
            return given[0] < given[1]
        return head(*given)

"""Recorded matches found again among terms: rows say the classes in the end, and which terms are theirs.

A row has the classes that variables had when all was done, which may be many terms; what was equal when the
law matched are some of these.  All that match are taken.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any

from egraph_opt.certificates.instances import GIVEN, LawTables, StatedRule
from egraph_opt.certificates.knowledge import Knowledge
from egraph_opt.certifying.steps import WatchedKnowledge
from egraph_opt.egraph.recording import Record
from egraph_opt.laws.statements import Equals, Guard
from egraph_opt.operators.expressions import OPERANDS, Constant, Expression, Function, Variable

MOST = 32
"""Of the ways in which a row matches so many are taken at a time."""

FEW = 2
"""Terms of one function on one classes' operands, of more than which only those that differ are kept."""

Bound = dict[str, int]
"""Terms by variable."""


class Places:
    """The classes of terms in a recorded e-graph, by number, and terms by the classes of their operands."""

    def __init__(self, knowledge: WatchedKnowledge, record: Record) -> None:
        self._knowledge = knowledge
        self._recorded: dict[Any, int] = {}
        for term in record.terms:
            places = knowledge.places(term.function)
            self._recorded[_key(term.function, places, term.arguments)] = term.owner
        self.owner: dict[int, int] = {}
        self.members: defaultdict[int, list[int]] = defaultdict(list)
        self._by_operands: defaultdict[Any, list[int]] = defaultdict(list)
        self._waiting: defaultdict[int, list[int]] = defaultdict(list)
        self._compact: dict[Any, tuple[int, int]] = {}
        self._seen = self._merged = 0

    def give(self, term: int, owner: int) -> None:
        """Say the class of a term."""
        pending = [(term, owner)]
        while pending:
            term, owner = pending.pop()
            if term in self.owner:
                continue
            self.owner[term] = owner
            self.members[owner].append(term)
            equal = self._knowledge.members[self._knowledge.root(term)]
            pending += [(other, owner) for other in equal if other not in self.owner]
            for user in self._waiting.pop(term, ()):
                found = self._place(user)
                if found is not None:
                    pending.append((user, found))

    def go_on(self) -> list[int]:
        """Place the terms that are new, and those that are equal to others now; the new ones."""
        merged, self._merged = self._knowledge.merged[self._merged :], len(self._knowledge.merged)
        for root in dict.fromkeys(map(self._knowledge.root, merged)):
            members = self._knowledge.members[root]
            owner = next((self.owner[k] for k in members if k in self.owner), None)
            for member in members if owner is not None else ():
                self.give(member, owner)  # type: ignore[arg-type]
        first, self._seen = self._seen, len(self._knowledge)
        for term in range(first, self._seen):
            found = self._place(term)
            if found is not None:
                self.give(term, found)
        return list(range(first, self._seen))

    def _place(self, term: int) -> int | None:
        """The class of a term whose operands have theirs."""
        operands = self._knowledge.operands[term]
        missing = next((k for k in operands if k not in self.owner), None)
        if missing is not None:
            self._waiting[missing].append(term)
            return None
        function = self._knowledge.functions[term]
        owners = tuple(self.owner[k] for k in operands)
        self._by_operands[function, owners].append(term)
        if term in self.owner:
            return self.owner[term]
        attributes = tuple(map(repr, self._knowledge.attributes(term)))
        return self._recorded.get((function, attributes, owners))

    def recorded(self, function: str, attributes: tuple[str, ...], owners: tuple[int, ...]) -> int | None:
        """The class of a term as it was recorded."""
        return self._recorded.get((function, attributes, owners))

    def found(self, function: str, owners: tuple[int, ...]) -> Sequence[int]:
        """The terms of a function on operands of some classes."""
        terms = self._by_operands.get((function, owners), [])
        if len(terms) > FEW and self._compact.get((function, owners)) != (
            len(terms),
            len(self._knowledge.merged),
        ):
            kept = {self._knowledge.signature(term): term for term in reversed(terms)}
            terms[:] = sorted(kept.values())
            self._compact[function, owners] = (len(terms), len(self._knowledge.merged))
        return terms


def _key(function: str, places: tuple[bool, ...], arguments: tuple[Any, ...]) -> Any:
    attributes = tuple(repr(item) for item, operand in zip(arguments, places, strict=True) if not operand)
    return function, attributes, tuple(k for k, operand in zip(arguments, places, strict=True) if operand)


@cache
def patterns_of(rule: StatedRule) -> tuple[tuple[str, Expression], ...]:
    """The terms that a rule asks for, each with the variable that it is called, or ""."""
    found: list[tuple[str, Expression]] = []
    for condition in rule.conditions:
        if isinstance(condition, Guard):
            continue
        if isinstance(condition, Equals):
            sides = condition.left, condition.right
            for name, term in (sides, sides[::-1]):
                if _is_pattern(term):
                    found.append((name.head.name if isinstance(name.head, Variable) else "", term))
        elif isinstance(condition, Expression) and _is_pattern(condition):
            found.append(("", condition))
    return tuple(found)


def _is_pattern(term: Expression) -> bool:
    return (
        isinstance(term.head, Function) and bool(term.head.operand_positions) and term.head.name not in GIVEN
    )


class RowMatches:
    """The ways in which a row of a rule is found among terms."""

    def __init__(self, knowledge: Knowledge, tables: LawTables, places: Places, row: dict[str, Any]) -> None:
        self._knowledge, self._tables, self._places, self._row = knowledge, tables, places, row
        self._owners: dict[Expression, int | None] = {}

    def all(self, rule: StatedRule, operands: Sequence[str]) -> Iterator[Bound]:
        """Terms for all variables that are operands."""
        for bound in islice(self._patterns(patterns_of(rule), {}), MOST):
            yield from islice(self._rest([k for k in operands if k not in bound], bound), MOST)

    def owners(self, rule: StatedRule) -> set[int]:
        """The classes of the terms within the patterns of a rule."""
        found: set[int] = set()
        for _, pattern in patterns_of(rule):
            pending = [pattern]
            while pending:
                part = pending.pop()
                owner = self._owner(part) if part.sort.kind in OPERANDS else None
                if owner is not None:
                    found.add(owner)
                pending += part.arguments
        return found

    def _rest(self, names: Sequence[str], bound: Bound) -> Iterator[Bound]:
        if not names:
            yield bound
            return
        roots: set[int] = set()
        for term in self._places.members.get(self._row[names[0]], ()):
            root = self._knowledge.root(term)
            if root not in roots:
                roots.add(root)
                yield from self._rest(names[1:], {**bound, names[0]: term})

    def _patterns(self, patterns: Sequence[tuple[str, Expression]], bound: Bound) -> Iterator[Bound]:
        if not patterns:
            yield bound
            return
        name, pattern = patterns[0]
        seen: set[Any] = set()
        for term in self._candidates(pattern):
            for more in self._unified(pattern, term, bound):
                for named in self._named(name, pattern, term, more):
                    roots = tuple(sorted((k, self._knowledge.root(v)) for k, v in named.items()))
                    if roots not in seen:
                        seen.add(roots)
                        yield from self._patterns(patterns[1:], named)

    def _named(self, name: str, pattern: Expression, term: int, bound: Bound) -> Iterator[Bound]:
        """Where a variable is what a pattern is, or what a table has."""
        if not name or pattern.sort.kind not in OPERANDS:
            yield bound
            return
        if pattern.head.merge is None:
            yield from self._variable(name, term, bound)
            return
        for _, entry in self._tables.of(self._knowledge, term):
            yield from self._variable(name, entry.value, bound)

    def _variable(self, name: str, term: int, bound: Bound) -> Iterator[Bound]:
        if name in bound:
            if self._knowledge.same(bound[name], term):
                yield bound
        elif self._places.owner.get(term) == self._row.get(name):
            yield {**bound, name: term}

    def _candidates(self, pattern: Expression) -> Sequence[int]:
        owners = tuple(self._owner(pattern.arguments[k]) for k in pattern.head.operand_positions)
        if None in owners:
            return ()
        found = self._places.found(pattern.head.name, owners)  # type: ignore[arg-type]
        return [term for term in found if self._attributes_fit(pattern, term)]

    def _attributes_fit(self, pattern: Expression, term: int) -> bool:
        places = pattern.head.operand_positions
        given = self._knowledge.arguments[term]
        for k, argument in enumerate(pattern.arguments):
            if k not in places:
                known, value = self._attribute(argument)
                if known and repr(value) != repr(given[k]):
                    return False
        return True

    def _attribute(self, argument: Expression) -> tuple[bool, Any]:
        if isinstance(argument.head, Constant):
            return True, argument.head.value
        if isinstance(argument.head, Variable) and argument.head.name in self._row:
            return True, self._row[argument.head.name]
        return False, None

    def _owner(self, pattern: Expression) -> int | None:
        """The class of a term in the record."""
        if isinstance(pattern.head, Variable):
            return self._row.get(pattern.head.name)
        if pattern not in self._owners:
            self._owners[pattern] = self._recorded(pattern)
        return self._owners[pattern]

    def _recorded(self, pattern: Expression) -> int | None:
        places = pattern.head.operand_positions
        owners = tuple(self._owner(pattern.arguments[k]) for k in places)
        attributes = [self._attribute(a) for k, a in enumerate(pattern.arguments) if k not in places]
        if None in owners or not all(known for known, _ in attributes):
            return None
        texts = tuple(repr(value) for _, value in attributes)
        return self._places.recorded(pattern.head.name, texts, owners)  # type: ignore[arg-type]

    def _unified(self, pattern: Expression, term: int, bound: Bound) -> Iterator[Bound]:
        pending = [(pattern.arguments[k], k) for k in pattern.head.operand_positions]
        yield from self._operands(pending, term, bound)

    def _operands(
        self, pending: Sequence[tuple[Expression, int]], term: int, bound: Bound
    ) -> Iterator[Bound]:
        if not pending:
            yield bound
            return
        (argument, place), rest = pending[0], pending[1:]
        operand = self._knowledge.arguments[term][place]
        if isinstance(argument.head, Variable):
            for more in self._variable(argument.head.name, operand, bound):
                yield from self._operands(rest, term, more)
            return
        if not argument.head.operand_positions:  # `nil` and `none`
            if any(self._knowledge.same(operand, k) for k in self._candidates(argument)):
                yield from self._operands(rest, term, bound)
            return
        for inner in self._candidates(argument):
            if self._knowledge.same(inner, operand):
                for more in self._unified(argument, inner, bound):
                    yield from self._operands(rest, term, more)

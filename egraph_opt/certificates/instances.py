"""Instances of laws: a statement whose variables are terms, its conditions asked, what it says made so.

Conditions of growth are not asked: a statement is as true without them.  That two terms differ is not asked
either, which an e-graph knows only "as far as is known"; that two attributes do is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from egraph_opt.certificates.closure import TRUE
from egraph_opt.certificates.errors import CertificateError
from egraph_opt.certificates.knowledge import Knowledge, Known
from egraph_opt.laws.bindings import columns_of, expressions_in
from egraph_opt.laws.law import Auxiliary, Law, auxiliaries
from egraph_opt.laws.sides import rules_of
from egraph_opt.laws.statements import Absent, Assignment, Differs, Equals, Guard, Union
from egraph_opt.operators.expressions import LESS, OPERANDS, PLUS, Constant, Expression, Function, Variable
from egraph_opt.operators.host import HostFunction
from egraph_opt.operators.terms import FACTS_OF

GIVEN = ("node", "bundle_node", "list_node")
"""Tables of the engine's own numbers of terms, which say nothing that has to be true."""


@dataclass(frozen=True)
class StatedRule:
    """A statement, read in one direction.

    Attributes:
        source: the law, or what fills tables of laws.
    """

    name: str
    source: Law | Auxiliary
    conditions: tuple[Any, ...]
    actions: tuple[Any, ...]


@dataclass
class Premises:
    """What a step rests on.

    Attributes:
        equal: pairs of terms.
        terms: that have to be there.
        known: facts, each with the term that it was asked of.
        rows: the steps that wrote what was asked of tables.
    """

    equal: list[tuple[int, int]] = field(default_factory=list)
    terms: list[int] = field(default_factory=list)
    known: list[tuple[int, Known]] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Entry:
    """A value of a table, and the steps that it comes of."""

    value: Any
    steps: tuple[int, ...]


class LawTables:
    """What laws have written into tables: every value that a key has had."""

    def __init__(self) -> None:
        self.entries: dict[int, list[Entry]] = {}

    def of(self, knowledge: Knowledge, key: int) -> Iterator[tuple[int, Entry]]:
        """The values of a key, latest first, each with the term under which it was written."""
        for member in knowledge.members[knowledge.root(key)]:
            for entry in reversed(self.entries.get(member, ())):
                yield member, entry

    def write(self, knowledge: Knowledge, entry: Expression, key: int, value: Any, step: int) -> bool:
        """Note a value, or what a merge makes of it and of what is there; whether that is news."""
        merge = entry.head.merge
        steps: tuple[int, ...] = (step,)
        there = list(self.of(knowledge, key))
        if callable(merge) and there:
            computed = merge.computed if isinstance(merge, HostFunction) else merge
            value, steps = computed(there[0][1].value, value), (*there[0][1].steps, step)
        for _, old in there:
            if entry.sort.kind in OPERANDS:
                one = knowledge.same(old.value, value)
            else:
                one = repr(old.value) == repr(value)
            if one:
                return False
        self.entries.setdefault(key, []).append(Entry(value, steps))
        return True


class Refused(CertificateError):
    """A condition does not hold, or a term is not there."""


@dataclass
class LawInstance:
    """One statement on the terms of a graph.

    Args:
        values: by variable a term or an attribute.
        limits: what the target publishes.
    """

    knowledge: Knowledge
    tables: LawTables
    values: dict[str, Any]
    limits: Mapping[str, int]
    premises: Premises = field(default_factory=Premises)
    _answers: dict[Expression, Any] = field(default_factory=dict)

    def check_sorts(self, rule: StatedRule) -> None:
        """See that terms are what variables are of, and attributes no terms.

        Raises:
            CertificateError: one is not.
        """
        kinds = dict(columns_of(rule.conditions, rule.actions))
        for name, value in self.values.items():
            kind = kinds.get(name)
            if kind is None:
                raise CertificateError(f"the statement has no variable {name}")
            if kind in OPERANDS and self.knowledge.kind(value) != kind:
                raise CertificateError(f"{name} is no {kind}")

    def ask(self, rule: StatedRule) -> None:
        """Ask all conditions, which binds what they define.

        Raises:
            Refused: one does not hold.
        """
        for condition in rule.conditions:
            self._ask(condition)
        for action in rule.actions:  # before anything is written: what it takes has to be there
            for expression in expressions_in(action):
                self._answer_inside(expression)

    def _answer_inside(self, expression: Expression) -> None:
        """Ask the host functions of what is to be written."""
        if isinstance(expression.head, HostFunction):
            self._value(expression)
        elif isinstance(expression.head, Function):
            for argument in expression.arguments:
                self._answer_inside(argument)

    def conclude(self, rule: StatedRule, step: int) -> bool:
        """Do what the rule says; whether that is news."""
        news = [self._do(action, step) for action in rule.actions]
        return any(news)

    # --- conditions -----------------------------------------------------------------------------------------

    def _ask(self, condition: Any) -> None:
        if isinstance(condition, Guard):
            return
        if isinstance(condition, Equals):
            self._equals(condition.left, condition.right)
        elif isinstance(condition, Differs):
            if condition.left.sort.kind not in OPERANDS:
                a, b = self._value(condition.left), self._value(condition.right)
                if repr(a) == repr(b):
                    raise Refused(f"{condition.left!r} and {condition.right!r} are both {a!r}")
        elif isinstance(condition, Absent):
            if self._answer(condition.answer) not in (None, False):
                raise Refused(f"{condition.answer!r} is not absent")
        elif isinstance(condition.head, HostFunction):
            answer = self._answer(condition)
            if answer is None or (condition.head.is_condition and answer is not True):
                raise Refused(f"{condition!r} does not hold")
        elif condition.sort.kind == "unit":
            self._holds(condition)
        else:
            self._value(condition)

    def _holds(self, condition: Expression) -> None:
        if condition.head is LESS:
            a, b = map(self._value, condition.arguments)
            if not a < b:
                raise Refused(f"{condition!r}: {a} < {b} does not hold")
            return
        entry = self._there(condition)
        true = self.knowledge.add(TRUE, ())
        if not self.knowledge.same(entry, true):
            raise Refused(f"{condition!r} is not shown")
        self.premises.equal.append((entry, true))

    def _equals(self, left: Expression, right: Expression) -> None:
        for name, value in ((left, right), (right, left)):
            if isinstance(value.head, Function) and value.head.name in GIVEN:
                return
            if isinstance(value.head, Function) and value.head.merge is not None:
                self._looked_up(name, value)
                return
            if isinstance(name.head, Variable) and name.head.name not in self.values:
                self.values[name.head.name] = self._value(value)
                return
        a, b = self._compared(left), self._compared(right)
        if left.sort.kind not in OPERANDS:
            if repr(a) != repr(b):
                raise Refused(f"{left!r} is {a!r}, and {right!r} is {b!r}")
            return
        if not self.knowledge.same(a, b):
            raise Refused(f"{left!r} and {right!r} are not known to be equal")
        self.premises.equal.append((a, b))

    def _compared(self, side: Expression) -> Any:
        """A side of an equation, where an answer may be nothing."""
        return self._answer(side) if isinstance(side.head, HostFunction) else self._value(side)

    def _looked_up(self, name: Expression, entry: Expression) -> None:
        """An entry of a table that has, or has had, the value asked for."""
        if entry.head.name in ("opset", "limit") or entry.head.name in _FACT_TABLES:
            found = self._value(entry)
            if isinstance(name.head, Variable) and name.head.name not in self.values:
                self.values[name.head.name] = found
            elif repr(self._value(name)) != repr(found):
                raise Refused(f"{entry!r} is {found!r}")
            return
        key = self._there(entry)
        bound = not (isinstance(name.head, Variable) and name.head.name not in self.values)
        wanted: Any = self._value(name) if bound else None
        for member, found in self.tables.of(self.knowledge, key):
            if not bound:
                self.values[name.head.name] = wanted = found.value
            elif entry.sort.kind in OPERANDS:
                if not self.knowledge.same(found.value, wanted):
                    continue
                self.premises.equal.append((found.value, wanted))
            elif repr(found.value) != repr(wanted):
                continue
            self.premises.equal.append((member, key))
            self.premises.rows += found.steps
            return
        raise Refused(f"{entry!r} is not known to be {wanted!r}")

    # --- values ---------------------------------------------------------------------------------------------

    def _value(self, expression: Expression) -> Any:
        """A term that is there, or an attribute."""
        head = expression.head
        if isinstance(head, Variable):
            if head.name not in self.values:
                raise Refused(f"nothing says what {head.name} is")
            return self.values[head.name]
        if isinstance(head, Constant):
            return head.value
        if isinstance(head, HostFunction):
            answer = self._answer(expression)
            if answer is None:
                raise Refused(f"{expression!r} answers nothing")
            return answer
        if head is PLUS:
            a, b = map(self._value, expression.arguments)
            return a + b
        if head.name == "opset":
            return self.knowledge.opset
        if head.name == "limit":
            name = self._value(expression.arguments[0])
            if name not in self.limits:
                raise Refused(f"the target publishes no limit {name}")
            return self.limits[name]
        if head.name in _FACT_TABLES:
            return self._fact(expression.arguments[0])
        if head.merge is not None:
            key = self._there(expression)
            found = next(iter(self.tables.of(self.knowledge, key)), None)
            if found is None:
                raise Refused(f"{expression!r} has no value")
            self.premises.equal.append((found[0], key))
            self.premises.rows += found[1].steps
            return found[1].value
        return self._there(expression)

    def _there(self, expression: Expression) -> int:
        """A term that is there already, up to what is equal."""
        given = tuple(map(self._value, expression.arguments))
        found = self.knowledge.find(expression.head.name, given)
        if found is None:
            raise Refused(f"{expression!r} is not there")
        self._premise_of(expression.head, found, given)
        return found

    def _premise_of(self, head: Function, found: int, given: tuple[Any, ...]) -> None:
        """Note that a term was taken for one on other operands."""
        operands = (given[k] for k in head.operand_positions)
        self.premises.terms.append(found)
        self.premises.equal += zip(self.knowledge.operands[found], operands, strict=True)

    def _answer(self, expression: Expression) -> Any:
        if expression not in self._answers:
            given = tuple(map(self._handed, expression.arguments))
            try:
                self._answers[expression] = expression.head.computed(*given)
            except Exception as error:
                raise Refused(f"{expression.head.name} fails: {error}") from error
        return self._answers[expression]

    def _handed(self, argument: Expression) -> Any:
        """An argument as a host function gets it."""
        return self._fact(argument) if argument.sort.kind in OPERANDS else self._value(argument)

    def _fact(self, argument: Expression) -> Any:
        term = self._value(argument)
        if argument.sort.kind == "tensors":
            read: list[tuple[int, int]] = []
            try:
                items = self.knowledge.elements(term, read)
            except CertificateError as error:
                raise Refused(str(error)) from error
            self.premises.equal += read
            return tuple(self._fact_of(item) for item in items)
        return self._fact_of(term)

    def _fact_of(self, term: int) -> Any:
        known = self.knowledge.of(term)
        if known is None:
            raise Refused(f"nothing is known of {self.knowledge.text(term)}")
        self.premises.known.append((term, known))
        return known.fact

    # --- actions --------------------------------------------------------------------------------------------

    def _do(self, action: Any, step: int) -> bool:
        if isinstance(action, Union):
            return self.knowledge.unite(self._written(action.left), self._written(action.right), step)
        if isinstance(action, Assignment):
            key, value = self._entry(action.entry), self._written(action.value)
            return self.tables.write(self.knowledge, action.entry, key, value, step)
        return self.knowledge.unite(self._entry(action), self.knowledge.add(TRUE, ()), step)

    def _entry(self, expression: Expression) -> int:
        """A term, or one that is there of equal operands."""
        given = tuple(map(self._written, expression.arguments))
        found = self.knowledge.find(expression.head.name, given)
        if found is None:
            return self.knowledge.add(expression.head.name, given)
        self._premise_of(expression.head, found, given)
        return found

    def _written(self, expression: Expression) -> Any:
        """A term, which is made where it is not there."""
        head = expression.head
        if not isinstance(head, Function) or head in (PLUS, LESS):
            return self._value(expression)
        if head.name in ("opset", "limit") or head.merge is not None:
            return self._value(expression)
        return self._entry(expression)


_FACT_TABLES = frozenset(function.name for function in FACTS_OF.values())


@cache
def _rules_of(source: Law | Auxiliary) -> dict[str, StatedRule]:
    name = source.key if isinstance(source, Law) else source.name
    return {rule: StatedRule(rule, source, *parts) for rule, parts in rules_of(source, name).items()}


class StatedRules:
    """The statements of some laws and of what fills their tables, by name."""

    def __init__(self, laws: tuple[Law, ...]) -> None:
        self._sources: dict[str, Law | Auxiliary] = {law.key: law for law in laws}
        self._sources |= {entry.name: entry for entry in auxiliaries(laws)}

    def source(self, name: str) -> Law | Auxiliary:
        """The law of a name.

        Raises:
            CertificateError: there is none.
        """
        found = self._sources.get(name)
        if found is None:
            raise CertificateError(f"there is no law {name}")
        return found

    def rule(self, name: str) -> StatedRule:
        """A statement, `<law>#<k>`, or with `<` behind it read from right to left.

        Raises:
            CertificateError: there is none.
        """
        found = _rules_of(self.source(name.split("#")[0])).get(name)
        if found is None:
            raise CertificateError(f"there is no statement {name}")
        return found

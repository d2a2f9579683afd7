"""How far a rule of a law gets in a saturated e-graph, and what it sees where it gets no further.

The conditions of a rule are taken apart into steps: a term is computed by an operator, an attribute is a
number, a host function answers something.  Every number of first steps is a query of its own, which writes
down what it has bound.  So it is egglog that judges what matches; a place at which a query finds something
and the next one does not is where that one step fails.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from egraph_opt.egraph.engine import Engine
from egraph_opt.egraph.vocabulary import EGGLOG_SORTS, NONE, constant_text, host_text, object_text
from egraph_opt.laws.bindings import expressions_in
from egraph_opt.laws.law import Law, statements
from egraph_opt.laws.sides import statement_rules
from egraph_opt.laws.statements import Absent, Differs, Equals, Guard
from egraph_opt.operators.declaration import operators
from egraph_opt.operators.expressions import (
    Constant,
    Expression,
    Function,
    Sort,
    Variable,
    declared_functions,
    parts,
    variable,
)
from egraph_opt.operators.host import HostFunction
from egraph_opt.operators.terms import FACTS_OF

Kind = Literal["computed", "entry", "equal", "differs", "known", "holds"]

_WRAPPED = {"string": "py-from-string", "int": "py-from-int"}


@dataclass(frozen=True)
class RuleStep:
    """One thing that a rule asks.

    Attributes:
        kind: a term is "computed" by an operator, there is an "entry" of a table, two are "equal" or one
            "differs" from the other, what a host function asks is "known", an answer "holds".
        text: as egglog has it.
        subject: what is asked about.
        wanted: the term, or the value, that it has to be.
        arguments: of a host function or an entry, by the name of the parameter.
        purpose: "growth" or "kernel" of a condition that soundness does not ask for, else "".
    """

    kind: Kind
    text: str
    subject: Expression
    wanted: Any
    arguments: tuple[tuple[str, Expression], ...] = ()
    purpose: str = ""


@dataclass(frozen=True)
class RuleSteps:
    """A rule of a law as steps.

    Attributes:
        name: `<law's key>#<k>`, with `<` behind it from right to left.
        bound: after each step, the variables that have a value.
    """

    name: str
    steps: tuple[RuleStep, ...]
    bound: tuple[tuple[Expression, ...], ...]


Row = Mapping[str, Any]
"""What a query has bound: by variable the value, as the engine has it."""


@dataclass(frozen=True)
class Answers:
    """By number of first steps of a rule what they find together."""

    rule: RuleSteps
    rows: tuple[tuple[Row, ...], ...]


def steps_of(law: Law) -> list[RuleSteps]:
    """The rules of a law as steps."""
    return [
        _StepWriter().rule(name, conditions, actions)
        for k, statement in enumerate(statements(law))
        for name, conditions, actions in statement_rules(statement, f"{law.key}#{k}")
    ]


def ask(engine: Engine, rules: Sequence[RuleSteps]) -> list[Answers]:
    """Ask an engine that holds a saturated graph; nothing is left of it there."""
    commands: list[str] = []
    tables: dict[tuple[int, int], str] = {}
    for number, rule in enumerate(rules):
        for count in range(1, len(rule.steps) + 1):
            name = tables[number, count] = f"question_{number}_{count}"
            bound = rule.bound[count - 1]
            sorts = " ".join(EGGLOG_SORTS[entry.sort.kind] for entry in bound)
            conditions = " ".join(step.text for step in rule.steps[:count])
            row = " ".join(map(_text, bound))
            commands.append(f"(relation {name} ({sorts}))")
            commands.append(f'(rule ({conditions}) (({name} {row})) :ruleset questions :name "{name}")')
    found = engine.ask("questions", commands, tables.values())
    return [
        Answers(
            rule,
            tuple(
                tuple(
                    {
                        str(entry.head): value
                        for entry, value in zip(rule.bound[count - 1], row.inputs, strict=True)
                    }
                    for row in found.get(tables[number, count], ())
                )
                for count in range(1, len(rule.steps) + 1)
            ),
        )
        for number, rule in enumerate(rules)
    ]


def _text(expression: Expression) -> str:
    if isinstance(expression.head, Constant):
        return constant_text(expression.head.value, expression.sort)
    return f"_{expression.head.name}"


@dataclass
class _StepWriter:
    """Takes the conditions of one rule apart."""

    steps: list[RuleStep] = field(default_factory=list)
    variables: dict[Expression, None] = field(default_factory=dict)
    names: dict[Expression, Expression] = field(default_factory=dict)
    purpose: str = ""
    asked: dict[Expression, None] = field(default_factory=dict)
    delayed: list[tuple[str, Expression, Expression, str]] = field(default_factory=list)

    def rule(self, name: str, conditions: Sequence[Any], actions: Sequence[Any]) -> RuleSteps:
        """What is matched goes first, whatever the order: host functions are asked about what is bound.

        What host functions answer for what is written has to be there, too.
        """
        plain = [(c.condition, c.purpose) if isinstance(c, Guard) else (c, "") for c in conditions]
        for condition, self.purpose in sorted(plain, key=lambda entry: not _is_matched(entry[0])):
            if not _is_matched(condition):
                self._ask_delayed()
            self._condition(condition)
        self._ask_delayed()
        self.purpose = ""
        for action in actions:
            for expression in expressions_in(action):
                for part in parts(expression):
                    if isinstance(part.head, HostFunction) and part not in self.asked:
                        self._operand(part)
        bound: list[tuple[Expression, ...]] = []
        for count in range(1, len(self.steps) + 1):
            texts = " ".join(step.text for step in self.steps[:count])
            words = set(texts.replace("(", " ").replace(")", " ").split())
            bound.append(tuple(entry for entry in self.variables if _text(entry) in words))
        return RuleSteps(name, tuple(self.steps), tuple(bound))

    def _ask_delayed(self) -> None:
        """What attributes of matched terms have to be, where host functions answer that."""
        while self.delayed:
            name, made, argument, purpose = self.delayed.pop(0)
            kept, self.purpose = self.purpose, purpose
            self._same(made, self._operand(argument), name)
            self.purpose = kept

    def _fresh(self, sort: Sort) -> Expression:
        made: Expression = variable(f"q{len(self.variables)}__", sort)
        self.variables[made] = None
        return made

    def _add(
        self,
        kind: Kind,
        text: str,
        subject: Expression,
        wanted: Any,
        arguments: Sequence[tuple[str, Expression]] = (),
    ) -> None:
        self.steps.append(RuleStep(kind, text, subject, wanted, tuple(arguments), self.purpose))

    def _same(self, one: Expression, other: Expression, name: str = "") -> None:
        self._add("equal", f"(= {_text(one)} {_converted(other, one.sort)})", one, other, [(name, one)])

    # --- conditions -------------------------------------------------------------------------------------

    def _condition(self, condition: Any) -> None:
        if isinstance(condition, Equals):
            self._equals(condition.left, condition.right)
        elif isinstance(condition, Differs):
            one, other = self._operand(condition.left), self._operand(condition.right)
            self._add("differs", f"(!= {_text(one)} {_text(other)})", one, other)
        elif isinstance(condition, Absent):
            answer = self._answer(condition.answer)
            wanted = object_text(False) if condition.answer.head.is_condition else NONE
            self._add("holds", f"(= {_text(answer)} {wanted})", answer, condition)
        elif isinstance(condition.head, HostFunction):
            answer = self._answer(condition)
            told = f"(= {_text(answer)} {object_text(True)})"
            if not condition.head.is_condition:
                told = f"(!= {_text(answer)} {NONE})"
            self._add("holds", told, answer, condition)
        elif condition.sort.kind == "unit":
            self._entry(condition)
        else:
            self._terms(deque([(self._fresh(condition.sort), condition)]))

    def _equals(self, left: Expression, right: Expression) -> None:
        if isinstance(right.head, Variable) and not isinstance(left.head, Variable):
            left, right = right, left
        if not _is_term(right):
            left, right = right, left
        if _is_term(right):
            whole = self._operand(left)
            if right not in self.names:
                self.names[right] = whole
            self._terms(deque([(whole, right)]))
            return
        raw = [self._answer(side) if isinstance(side.head, HostFunction) else None for side in (left, right)]
        one = raw[0] if raw[0] is not None else self._operand(left)
        if isinstance(right.head, Variable) and right not in self.variables:
            self.variables[right] = None
        other = raw[1] if raw[1] is not None else self._operand(right)
        if isinstance(one.head, Constant):
            one, other = other, one
        self._same(one, other)

    def _operand(self, expression: Expression) -> Expression:
        """A variable or a constant that is what an expression is."""
        if isinstance(expression.head, Variable):
            self.variables.setdefault(expression)
            return expression
        if isinstance(expression.head, Constant):
            return expression
        if expression in self.names and not isinstance(expression.head, HostFunction):
            return self.names[expression]
        if isinstance(expression.head, HostFunction):
            answer = self._answer(expression)
            if expression not in self.asked:
                self.asked[expression] = None
                self._add("holds", f"(!= {_text(answer)} {NONE})", answer, expression)
            return answer
        made = self.names[expression] = self._fresh(expression.sort)
        if _is_term(expression):
            self._terms(deque([(made, expression)]))
        else:  # egglog's own arithmetic
            inside = " ".join(_text(self._operand(argument)) for argument in expression.arguments)
            self._add("known", f"(= {_text(made)} ({expression.head.name} {inside}))", made, expression)
        return made

    def _answer(self, call: Expression) -> Expression:
        """The variable that holds what a host function answers, which may be nothing."""
        if call in self.names:
            return self.names[call]
        handed = [self._operand(argument) for argument in call.arguments]
        made = self.names[call] = self._fresh(Sort("object", call.sort.name))
        inside = " ".join((host_text(call.head), *map(_handed, handed)))
        names = list(call.head.function.__code__.co_varnames) + ["" for _ in handed]
        arguments = list(zip(names, handed, strict=False))
        self._add("known", f"(= {_text(made)} (py-call {inside}))", made, call, arguments)
        return made

    # --- terms ------------------------------------------------------------------------------------------

    def _entry(self, entry: Expression) -> None:
        """An entry of a relation, or a comparison of numbers."""
        if _is_term(entry):
            self._terms(deque([(None, entry)]))
            return
        inside = [self._operand(argument) for argument in entry.arguments]
        text = f"({entry.head.name} {' '.join(map(_text, inside))})"
        self._add("entry", text, inside[0], entry, [("", item) for item in inside])

    def _terms(self, pending: deque[tuple[Expression | None, Expression]]) -> None:
        """Terms and those within them, the outer ones first, with what is asked of their arguments."""
        while pending:
            whole, term = pending.popleft()
            later: list[tuple[str, Expression, Expression]] = []
            given: list[tuple[str, Expression]] = []
            for (name, sort), argument in zip(term.head.parameters, term.arguments, strict=True):
                held = self._held(term, argument)
                if held is not None:
                    given.append((name, held))
                    continue
                made = self._fresh(sort)
                given.append((name, made))
                if _is_term(argument) and argument not in self.names:
                    self.names[argument] = made
                    pending.append((made, argument))
                else:
                    later.append((name, made, argument))
            inside = " ".join((term.head.name, *(_text(entry) for _, entry in given)))
            if whole is None:
                self._add("entry", f"({inside})", given[0][1] if given else term, term, given)
            else:
                self._add("computed", f"(= {_text(whole)} ({inside}))", whole, term, given)
            for name, made, argument in later:
                if isinstance(argument.head, (Variable, Constant)) or argument in self.names:
                    self._same(made, self._operand(argument), name)
                else:
                    self.delayed.append((name, made, argument, self.purpose))

    def _held(self, term: Expression, argument: Expression) -> Expression | None:
        """An argument that stands in the term as it is: a new variable, or the key of a table."""
        if isinstance(argument.head, Variable) and argument not in self.variables:
            self.variables[argument] = None
            return argument
        is_operator = term.head.name in operators()
        if not is_operator and isinstance(argument.head, (Variable, Constant)):
            return argument
        return None


def _is_matched(condition: Any) -> bool:
    """Whether a condition is about what is there, and not about what a host function answers."""
    if isinstance(condition, Equals):
        return any(_is_term(side) for side in (condition.left, condition.right)) and not any(
            isinstance(side.head, HostFunction) for side in (condition.left, condition.right)
        )
    return isinstance(condition, Expression) and _is_term(condition)


def _is_term(expression: Expression) -> bool:
    """Whether it is an operator, or an entry of a table."""
    return isinstance(expression.head, Function) and expression.head.name in declared_functions


def _converted(expression: Expression, sort: Sort) -> str:
    """A value as a sort has it: what a host function answers is an object."""
    text = _text(expression)
    if expression.sort.kind == "object" and not isinstance(expression.head, Constant):
        return f"(py-to-string {text})" if sort.kind == "string" else text
    return text


def _handed(argument: Expression) -> str:
    """An argument as a host function gets it."""
    kind = argument.sort.kind
    if isinstance(argument.head, Constant):
        return object_text(argument.head.value)
    if kind in FACTS_OF:
        return f"({FACTS_OF[kind].name} {_text(argument)})"
    return f"({_WRAPPED[kind]} {_text(argument)})" if kind in _WRAPPED else _text(argument)

"""Laws as egglog's text: rules.

Each statement becomes a rule (two, if it is matched from both sides).  What host functions answer is bound
to a variable of its own, once however often it is written, with the condition that there is an answer; a term
whose fact is asked for is named once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from egraph_opt.egraph.admission import admitted
from egraph_opt.egraph.companions import Companions, companions, matched, terms_of_lists
from egraph_opt.egraph.vocabulary import NONE, constant_text, host_text, object_text, quoted
from egraph_opt.errors import LawError
from egraph_opt.forking import cached_property
from egraph_opt.laws.sides import WHOLE
from egraph_opt.laws.statements import Absent, Assignment, Differs, Equals, Union
from egraph_opt.operators.declaration import operators
from egraph_opt.operators.expressions import Constant, Expression, Function, Variable, functions
from egraph_opt.operators.host import HostFunction
from egraph_opt.operators.terms import FACTS_OF

_WRAPPED = {"string": "py-from-string", "int": "py-from-int"}


@dataclass
class _Rule:
    """The text of one rule in the making.

    Attributes:
        companions: by operand the term that its fact comes along with.
        lists: the terms with operands of a list that is written to its end.
        facts: their names, by term and operand.
    """

    companions: Companions = field(default_factory=dict)
    lists: frozenset[Expression] = frozenset()
    facts: dict[tuple[Expression, int], str] = field(default_factory=dict)
    conditions: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    answers: dict[Expression, str] = field(default_factory=dict)
    terms: dict[Expression, str] = field(default_factory=dict)
    written: dict[Expression, str] = field(default_factory=dict)
    stamps_shorthands: bool = True

    def pattern(self, expression: Expression, *, top: bool = False) -> str:
        """An expression in a condition; `top` where the expression is what a name stands for."""
        if isinstance(expression.head, Variable):
            return _name(expression)
        if isinstance(expression.head, Constant):
            return constant_text(expression.head.value, expression.sort)
        if not top and expression in self.terms:
            return self.terms[expression]
        if isinstance(expression.head, HostFunction):
            answer = self.answer(expression)
            return f"(py-to-string {answer})" if expression.sort.kind == "string" else answer
        if expression in self._with_facts:
            return self.matched_with_facts(expression)
        inside = " ".join(self.pattern(argument) for argument in expression.arguments)
        return f"({expression.head.name} {inside})" if inside else f"({expression.head.name})"

    @cached_property
    def _with_facts(self) -> frozenset[Expression]:
        """The terms that are matched in a relation that has their facts."""
        return self.lists.union(term for term, _ in self.companions.values())

    def matched_with_facts(self, term: Expression) -> str:
        """The name of a term that is matched along with the facts of its operands."""
        name = self.terms.setdefault(term, f"t{len(self.terms)}")
        where = matched(term)
        assert where is not None
        places = [(term, k) for k in range(len(where.operands))]
        if places[0] not in self.facts:
            for place in places:
                self.facts[place] = f"f{len(self.facts)}"
            columns = [*(self.pattern(argument) for argument in where.arguments), name]
            columns += [self.facts[place] for place in places]
            self.conditions.append(f"({where.relation.name} {' '.join(columns)})")
        return name

    def named(self, expression: Expression) -> str:
        """A name for a term that is there."""
        if isinstance(expression.head, Variable):
            return _name(expression)
        if expression in self._with_facts:
            return self.matched_with_facts(expression)
        if expression not in self.terms:
            text = self.pattern(expression, top=True)
            self.terms[expression] = f"t{len(self.terms)}"
            self.conditions.append(f"(= {self.terms[expression]} {text})")
        return self.terms[expression]

    def call(self, answer: Expression) -> str:
        """The call of a host function."""
        arguments = [self.handed(argument) for argument in answer.arguments]
        return " ".join(("(py-call", host_text(answer.head), *arguments)) + ")"

    def handed(self, argument: Expression) -> str:
        """An argument as a host function gets it."""
        kind = argument.sort.kind
        if argument in self.companions:
            self.matched_with_facts(self.companions[argument][0])
            return self.facts[self.companions[argument]]
        if kind in FACTS_OF:
            return f"({FACTS_OF[kind].name} {self.named(argument)})"
        if isinstance(argument.head, Constant):
            return object_text(argument.head.value)
        if isinstance(argument.head, HostFunction):
            return self.answer(argument)
        text = self.pattern(argument)
        return f"({_WRAPPED[kind]} {text})" if kind in _WRAPPED else text

    def answer(self, expression: Expression) -> str:
        """The variable that holds what a host function answers, which has to be something."""
        if expression not in self.answers:
            call = self.call(expression)
            if expression in self.answers:  # a term whose facts it is handed is matched with this answer
                return self.answers[expression]
            name = f"h{len(self.answers)}"
            self.answers[expression] = name
            self.conditions += [f"(= {name} {call})", f"(!= {name} {NONE})"]
        return self.answers[expression]

    def name(self, condition: Equals) -> None:
        """What an equation of a variable and a term calls the term, for what else is said of it."""
        left, right = condition.left, condition.right
        if isinstance(left.head, Variable) and right.sort.kind in FACTS_OF and right.arguments:
            self.terms.setdefault(right, _name(left))

    def condition(self, condition: Any) -> None:
        if isinstance(condition, Equals):
            self._equals(condition)
        elif isinstance(condition, Differs):
            self.conditions.append(f"(!= {self.pattern(condition.left)} {self.pattern(condition.right)})")
        elif isinstance(condition, Absent):
            self._holds(condition.answer, False)
        elif isinstance(condition, Expression) and isinstance(condition.head, HostFunction):
            self._holds(condition, True)
        elif isinstance(condition, Expression):
            text, name = self.pattern(condition), f"c{len(self.conditions)}"
            if condition.sort.kind == "unit":
                self.conditions.append(text)
                return
            self.conditions.append(f"(= {name} {text})")
            if condition.head.merge is None:
                self.terms.setdefault(condition, name)
        else:
            raise LawError(f"{condition!r} is no condition")

    def _equals(self, condition: Equals) -> None:
        texts = [self._compared(side) for side in (condition.left, condition.right)]
        if texts[0] == texts[1] and condition.right in self._with_facts:  # the name of what is matched by now
            return
        self.conditions.append(f"(= {' '.join(texts)})")

    def _compared(self, expression: Expression) -> str:
        """A side of an equation: an answer there may be None, and a term is not written as its own name."""
        if isinstance(expression.head, HostFunction) and expression not in self.answers:
            return self.call(expression)
        return self.pattern(expression, top=True)

    def _holds(self, answer: Expression, wanted: bool) -> None:
        if answer.head.is_condition:
            self.conditions.append(f"(= {self.call(answer)} {object_text(wanted)})")
        elif wanted:
            self.answer(answer)
        else:
            self.conditions.append(f"(= {self.call(answer)} {NONE})")

    def write(self, expression: Expression, identity: int | str) -> str:
        """An expression in an action: its operators are stamped with the law that writes them."""
        if isinstance(expression.head, (Variable, Constant, HostFunction)):
            return self.pattern(expression)
        if expression in self.written:
            return self.written[expression]
        if expression in self.terms:
            return self.terms[expression]
        arguments = " ".join(self.write(argument, identity) for argument in expression.arguments)
        if expression.sort.kind == "unit" or expression.head.merge is not None:
            return f"({expression.head.name} {arguments})"
        name = f"w{len(self.written)}"
        self.written[expression] = name
        self.actions.append(f"(let {name} ({expression.head.name} {arguments}))")
        stamped = expression.head.name in operators() and arguments  # what is absent is nobody's work
        if stamped or (self.stamps_shorthands and expression.head.shorthand):
            self.actions.append(f"(set (made_by_{expression.head.name} {arguments}) {identity})")
        return name

    def action(self, action: Any, identity: int | str) -> None:
        if isinstance(action, Union):
            left = self.write(action.left, identity)
            self.actions.append(f"(union {left} {self.write(action.right, identity)})")
        elif isinstance(action, Assignment):
            entry = self.write(action.entry, identity)
            self.actions.append(f"(set {entry} {self.write(action.value, identity)})")
        elif isinstance(action, Expression) and action.sort.kind == "unit":
            self.actions.append(self.write(action, identity))
        else:
            raise LawError(f"{action!r} is no action")

    def ask_for_admission(self) -> None:
        """Make it the last condition that so much may be written, and that all answers were true ones."""
        if self.written or self.answers or any("(py-call" in text for text in self.conditions):
            asked = f"(py-call {host_text(admitted)} {object_text(len(self.written))})"
            self.conditions.append(f"(= {asked} {object_text(True)})")

    def text(self, ruleset: str, name: str) -> str:
        conditions, actions = "\n       ".join(self.conditions), "\n       ".join(self.actions)
        return f"(rule ({conditions})\n      ({actions})\n      :ruleset {ruleset} :name {quoted(name)})"


def _name(expression: Expression) -> str:
    """A variable's name, apart from all that egglog or this module names."""
    return f"_{expression.head.name}"


def rule_text(
    conditions: Iterable[Any],
    actions: Iterable[Any],
    *,
    ruleset: str,
    name: str,
    identity: int | str = 0,
    of_law: bool = True,
    noted: str = "",
) -> str:
    """One rule.

    Args:
        identity: of the law, for the stamps of what it writes.
        of_law: it is of a law, and not of an auxiliary.
        noted: the action that notes a match, where matches are recorded.
    """
    kept = tuple(conditions)
    stamp = None if of_law else _stamp(kept)
    kept = kept if stamp is None else (*kept, stamp)
    actions = tuple(actions)
    facts, lists = companions(kept, actions), terms_of_lists(kept)
    made = _Rule(facts, lists, stamps_shorthands=of_law or stamp is not None)
    for condition in kept:
        if isinstance(condition, Equals):
            made.name(condition)
    for condition in kept:  # in the order in which they are written: host functions may rely on it
        made.condition(condition)
    for action in actions:
        made.action(action, identity if stamp is None else _name(stamp.left))
    if noted:
        made.actions.append(noted)
    if of_law:
        made.ask_for_admission()
    return made.text(ruleset, name)


def _is_shorthand(expression: Expression) -> bool:
    return isinstance(expression.head, Function) and expression.head.shorthand


def _stamp(conditions: tuple[Any, ...]) -> Equals | None:
    """The condition that names the law which wrote a shorthand, where a rule writes what that stands for."""
    for condition in conditions[:1]:
        if isinstance(condition, Equals) and condition.left.head is WHOLE and _is_shorthand(condition.right):
            made_by = functions()[f"made_by_{condition.right.head.name}"]
            law = Expression(Variable("law__"), (), made_by.result)
            return Equals(law, made_by(*condition.right.arguments))
    return None

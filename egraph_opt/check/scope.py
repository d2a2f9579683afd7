"""What a statement's conditions say of concrete terms: the host's answers, computed without egglog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from egraph_opt.errors import LawError
from egraph_opt.facts.fact import ABSENT
from egraph_opt.laws.bindings import expressions_in
from egraph_opt.laws.law import Example
from egraph_opt.laws.statements import Absent, Assignment, Differs, Equality, Equals, Guard, Rule, Union
from egraph_opt.operators.constants import none
from egraph_opt.operators.declaration import operator_named, operators
from egraph_opt.operators.expressions import PLUS, Constant, Expression, Function, Variable, constant, parts
from egraph_opt.operators.host import HostFunction, HostTimeout, one_line
from egraph_opt.operators.terms import bundle_facts, fact, facts, nil, opset

OPSET = 17
TERMS = ("tensor", "tensors", "bundle")


class Rejected(Exception):
    """Terms of which a statement says nothing: no pattern matches, or a condition cannot be asked here."""


class NoAnswer(Rejected):
    """A host function answers nothing."""


@dataclass
class HostTally:
    """Calls of host functions on what was drawn.

    Attributes:
        calls: how many, by function.
        raised: what they raised, by function.
    """

    calls: Counter[str] = field(default_factory=Counter)
    raised: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, name: str, error: BaseException | None) -> None:
        self.calls[name] += 1
        if error is not None:
            self.raised.setdefault(name, Counter())[one_line(error)] += 1

    def add_all(self, other: HostTally) -> None:
        self.calls.update(other.calls)
        for name, errors in other.raised.items():
            self.raised.setdefault(name, Counter()).update(errors)

    def told(self) -> tuple[str, ...]:
        """Per function that raised a line with what it raised most."""
        return tuple(
            f"{found.total()} of {self.calls[name]} calls of {name} raised {found.most_common(1)[0][0]}"
            for name, found in sorted(self.raised.items())
        )


_tally: ContextVar[HostTally | None] = ContextVar("tally", default=None)


@contextmanager
def host_tally() -> Iterator[HostTally]:
    """Count the calls of host functions, and those that raise."""
    made = HostTally()
    token = _tally.set(made)
    try:
        yield made
    finally:
        _tally.reset(token)


@dataclass
class Scope:
    """The variables of a statement, bound.

    Attributes:
        environment: per pattern variable the concrete expression that it stands for, and per call of a host
            function what that answers.
        known: per concrete expression its fact (a tuple of facts for lists and bundles).
    """

    limits: dict[str, int] = field(default_factory=dict)
    environment: dict[Expression, Any] = field(default_factory=dict)
    known: dict[Expression, Any] = field(default_factory=dict)
    opset: int = OPSET

    def limit(self, name: str) -> int:
        if name not in self.limits:
            raise Rejected(f"no limit {name} is published")
        return self.limits[name]

    def value(self, expression: Expression) -> Any:
        """What the host gets for an argument."""
        if isinstance(expression.head, Constant):
            return expression.head.value
        if isinstance(expression.head, HostFunction):
            return self.answer(expression).head.value
        if expression.head in (fact, facts, bundle_facts):
            return self.fact_of(expression.arguments[0])
        if expression.head is opset:
            return self.opset
        if expression.head is PLUS:
            return sum(self.value(argument) for argument in expression.arguments)
        if expression.sort.kind in TERMS:
            return self.fact_of(expression)
        if isinstance(expression.head, Function) and expression.head.name == "limit":
            return self.limit(expression.arguments[0].head.value)
        if expression in self.environment:
            return self.environment[expression].head.value
        raise Rejected(f"{expression!r} is not bound")

    def concrete(self, pattern: Expression) -> Any:
        """A pattern with everything that is bound instead of its variables."""
        if pattern in self.environment:
            return self.environment[pattern]
        if isinstance(pattern.head, Constant):
            return pattern
        if isinstance(pattern.head, HostFunction):
            return self.answer(pattern)
        if isinstance(pattern.head, Variable):
            raise Rejected(f"{pattern!r} is not bound")
        return pattern.head(*(self.concrete(argument) for argument in pattern.arguments))

    def fact_of(self, expression: Expression) -> Any:
        made = self.concrete(expression)
        if made == none():
            return ABSENT
        if made.sort.kind == "tensors" and made not in self.known and made.arguments:
            first, rest = made.arguments  # of a list that only a condition names
            return (self.fact_of(first), *self.fact_of(rest))
        if made == nil():
            return ()
        if made not in self.known:
            raise Rejected(f"nothing is known of {expression!r}")
        return self.known[made]

    def answer(self, expression: Expression) -> Any:
        """What a host function answers, which has to be something."""
        if expression not in self.environment:
            value = self.computed(expression)
            if value is None:
                raise NoAnswer(repr(expression))
            self.environment[expression] = constant(value, expression.sort)
        return self.environment[expression]

    def computed(self, expression: Expression) -> Any:
        """What a host function answers, which may be nothing; what it raises is counted, see `host_tally`."""
        arguments = [self.value(argument) for argument in expression.arguments]
        answer, failure = expression.head.default, None
        try:
            answer = expression.head.computed(*arguments)
        except HostTimeout as error:
            raise LawError(f"{expression.head.place}: {expression.head.name}: {error}") from error
        except (Exception, SystemExit) as error:  # what is drawn may be what no graph has
            failure = error
        if (tally := _tally.get()) is not None:
            tally.add(expression.head.name, failure)
        return answer

    def holds(self, condition: Any) -> bool:
        """Whether a condition holds; an equation binds the variable on its left."""
        if isinstance(condition, Absent):
            return not self.computed(condition.answer)
        if isinstance(condition, Equals):
            return self._equal(condition)
        if isinstance(condition, Differs):
            return not self._same(condition.left, condition.right)
        if isinstance(condition.head, HostFunction):
            value = self.computed(condition)
            return bool(value) if condition.head.is_condition else value is not None
        if condition.sort.kind == "int":
            self.value(condition)
            return True
        if condition.sort.kind in TERMS:
            return self.concrete(condition) in self.known
        raise Rejected(f"{condition!r} asks a table")

    def _equal(self, condition: Equals) -> bool:
        left, right = condition.left, condition.right
        if isinstance(left.head, Variable) and left not in self.environment:
            if left.sort.kind in TERMS:
                self.environment[left] = self.concrete(right)
            else:
                self.environment[left] = constant(self._raw(right), left.sort)
            return True
        return self._same(left, right)

    def _same(self, left: Expression, right: Expression) -> bool:
        if left.sort.kind in TERMS:
            return bool(self.concrete(left) == self.concrete(right))
        return repr(self._raw(left)) == repr(self._raw(right))

    def _raw(self, expression: Expression) -> Any:
        """A value that may be None."""
        if isinstance(expression.head, HostFunction) and expression not in self.environment:
            return self.computed(expression)
        return self.value(expression)


def patterns_of(
    statement: Equality | Rule, *, reverse: bool = False
) -> tuple[list[Expression], dict[Expression, Expression]]:
    """The terms that have to be there for a statement to match, and those that variables are names of."""
    tops = [] if isinstance(statement, Rule) else [statement.right if reverse else statement.left]
    named: dict[Expression, Expression] = {}
    for condition in statement.conditions:
        if isinstance(condition, Expression) and condition.sort.kind in TERMS:
            tops.append(condition)
        elif isinstance(condition, Equals) and condition.right.sort.kind in TERMS:
            if not isinstance(condition.left.head, Variable):
                tops += [condition.left, condition.right]
            elif condition.left not in named:
                named[condition.left] = condition.right
    return tops, named


def joined_axis(pattern: Expression, environment: Mapping[Expression, Any]) -> int | None:
    """The axis of a Concat in the making, -1 where it is not known yet; None of other operators."""
    if pattern.head.name != "concat":
        return None
    axis = environment.get(pattern.arguments[1], pattern.arguments[1])
    return int(axis.head.value) if isinstance(axis.head, Constant) else -1


def written_by(statement: Equality | Rule, *, reverse: bool = False) -> list[Expression]:
    """The terms that a statement writes."""
    if isinstance(statement, Equality):
        return [statement.left if reverse else statement.right]
    found: list[Expression] = []
    for action in statement.actions:
        if isinstance(action, Union):
            found += [action.left, action.right]
        else:
            found += [action.entry, action.value] if isinstance(action, Assignment) else [action]
    return found


def roots_of(example: Example) -> tuple[Expression, ...]:
    """The terms of an example, which may have several."""
    return example.term if isinstance(example.term, tuple) else (example.term,)


def nodes_of(example: Example) -> list[Expression]:
    """The operators of an example's terms with all that they take, each once."""
    found = dict.fromkeys(part for term in roots_of(example) for part in parts(term))
    return [part for part in found if isinstance(part.head, Function) and part.head.name in operators()]


def operators_in(terms: Iterable[Expression]) -> set[str]:
    """The names of the operators that terms are made of."""
    found = (part.head for term in terms for part in parts(term))
    return {head.name for head in found if isinstance(head, Function)}


def place_of_leaf(term: Expression) -> int:
    """The number of the leaf that a term is; -1 where it is something computed."""
    is_leaf = isinstance(term.head, Function) and term.head.name == "leaf"
    return int(term.arguments[0].head.value) if is_leaf else -1


def attributes_in(part: Expression) -> tuple[int, ...]:
    """The places of an operator's attributes; the number of a leaf or of an output is none."""
    if not isinstance(part.head, Function) or part.head.name not in operators():
        return ()
    numbered = part.head.name in ("leaf", "output", "none")
    return () if numbered else operator_named(part.head.name).attribute_positions


def named_by(example: Example, sort: str) -> list[Expression]:
    """The attributes of a sort, such as "Axis", that operators of an example's terms have; each once."""
    given = dict.fromkeys(argument for node in nodes_of(example) for argument in node.arguments)
    return sorted((argument for argument in given if argument.sort.name == sort), key=repr)


def conditions_of(statement: Equality | Rule) -> list[Any]:
    """What soundness asks for: conditions that bind nothing, and calls that may answer nothing.

    A call of a host function stands for the condition that it answers something.
    """
    bound = {c.left: c.right for c in statement.conditions if isinstance(c, Equals)}
    found: list[Any] = []
    for condition in statement.conditions:
        if isinstance(condition, (Guard, Equals)):
            continue
        given = bound.get(condition.left) if isinstance(condition, Differs) else None
        if given is None or not _is_none(condition.right) or _may_answer_nothing(given):
            found.append(condition)
    return list(dict.fromkeys((*found, *_calls(statement, found))))


def _calls(statement: Equality | Rule, found: list[Any]) -> Iterator[Expression]:
    """The calls that may answer nothing, but for those that stand in an equation of their own."""
    apart = {c for condition in found for c in expressions_in(condition)}
    apart |= {side for c in statement.conditions if isinstance(c, Equals) for side in expressions_in(c)}
    tops = patterns_of(statement)[0] + written_by(statement)
    for condition in statement.conditions:
        if not isinstance(condition, Guard):
            tops.extend(expressions_in(condition))
    for top in tops:
        for part in parts(top):
            if part not in apart and _may_answer_nothing(part):
                yield part


def _is_none(expression: Expression) -> bool:
    return isinstance(expression.head, Constant) and expression.head.value is None


def _may_answer_nothing(expression: Expression) -> bool:
    head = expression.head
    return isinstance(head, HostFunction) and not head.is_condition and head.may_answer_nothing


def hangs_on(condition: Any, failed: Any) -> bool:
    """Whether a condition cannot be asked where another one fails: it needs what that one found."""
    if condition is failed or (isinstance(failed, Differs) and not _is_none(failed.right)):
        return False
    needed = expressions_in(failed)[0]
    if isinstance(condition, Equals) and condition.left == needed:
        return False
    return any(part == needed for side in expressions_in(condition) for part in parts(side))

"""Both sides of a statement along one path: what is matched, its conditions, and what it writes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from types import MappingProxyType
from typing import Any

import z3

from egraph_opt.check.scope import TERMS
from egraph_opt.check.sides import Side
from egraph_opt.laws.statements import Absent, Differs, Equality, Equals, Guard, Union
from egraph_opt.operators.declaration import Earlier, Operator, Scalar, operator_named, operators
from egraph_opt.operators.expressions import (
    LESS,
    OPERANDS,
    PLUS,
    Constant,
    Expression,
    Function,
    Variable,
    parts,
)
from egraph_opt.operators.host import HostFunction
from egraph_opt.operators.terms import bundle_facts, cons, fact, facts, nil, opset
from egraph_opt.proofs.hosts import computed_by, is_nothing, is_question, is_there, named_on_way, with_types
from egraph_opt.proofs.instance import Instance
from egraph_opt.proofs.merging import is_handed
from egraph_opt.proofs.names import Name, Settings, TypeName
from egraph_opt.proofs.numbers import number_of
from egraph_opt.proofs.operands import KEEP_RANK, fitting_ranks, may_be_left_out
from egraph_opt.proofs.paths import Dead, Unproved
from egraph_opt.proofs.tables import Definitions, matched
from egraph_opt.proofs.trail import Open
from egraph_opt.proofs.ways import answer_of
from egraph_opt.semantics import operators as _  # noqa: F401 - declares meanings
from egraph_opt.semantics.values import NoMeaningError, Value, choosers, meanings

LIST_LENGTHS = (1, 2, 3)
"""How many operands a list that a pattern leaves open has."""

OPSETS = (7, 30)


class Unbound(Exception):
    """A variable that nothing binds yet."""


class Sides:
    """A statement on a path.

    Args:
        new: a rank that some operand has to have.
        definitions: functions of lists that are written.
        writes: values are of what is written, and not of what is matched.

    Attributes:
        environment: what variables and terms stand for.
    """

    def __init__(
        self,
        side: Side,
        scene: Instance,
        ranks: Sequence[int],
        *,
        new: int = 0,
        definitions: Definitions = MappingProxyType({}),
        writes: bool = False,
    ) -> None:
        self.side, self.scene, self.ranks, self.new = side, scene, ranks, new
        self.definitions = definitions
        self.environment: dict[Expression, Any] = {}
        self.limits: dict[str, Any] = {}
        self._writes, self._in_list = writes, False

    def match(self, kept: Collection[Any] | None = None) -> None:
        """Take the pattern to be there and the conditions to hold.

        Args:
            kept: of the host functions that answer yes or no those that are asked; None for all.  What holds
                without the others, holds.

        Raises:
            Dead: they cannot.
        """
        conditions = dict.fromkeys((*self.side.statement.conditions, *self.side.conditions))
        named = self.side.named
        pending: list[Any] = [*self.side.tops, *(e for e in named if e not in self.side.tops)]
        pending += sorted(
            (
                c
                for c in conditions
                if not isinstance(c, Guard)
                and getattr(c, "left", None) not in named
                and not (kept is not None and is_question(c) and c not in kept)
            ),
            key=lambda c: not isinstance(c, Equals),
        )
        while pending:
            left, done = [], False
            for item in pending:
                try:
                    self._take(item)
                    done = True
                except Unbound:
                    left.append(item)
            if not done:
                raise Open(f"nothing binds what {left[0]!r} is of")
            pending = left

    def _take(self, item: Any) -> None:
        if isinstance(item, Expression) and item.sort.kind in TERMS:
            self.value(item)
        elif self.scene.highest < self.new or not self._holds(item):
            raise Dead

    def goals(self) -> list[tuple[Any, Any]]:
        """The pairs of values that the statement says are one; what fills a table says nothing of values.

        Raises:
            Dead: a host function has no answer for what would be written.
            Unproved: what is written is not defined.
        """
        statement = self.side.statement
        if isinstance(statement, Equality):
            pairs = [(statement.left, statement.right)]
        else:
            pairs = [(a.left, a.right) for a in statement.actions if isinstance(a, Union)]
        self._answers(pairs)
        self._writes = self.scene.showing = True
        try:
            return [(self.value(left), self.value(right)) for left, right in pairs]
        except Unbound as error:
            raise Open(f"nothing binds {error}, which is written") from error

    def go_back(self, environment: dict[Expression, Any]) -> None:
        """Forget what was written since the environment was this one."""
        self.environment = environment
        self._writes = self.scene.showing = False

    def _answers(self, pairs: list[tuple[Expression, Expression]]) -> None:
        """Ask the host functions of what is written before anything has to be shown of it."""
        for pair in pairs:
            inside_first = reversed([*parts(pair[0]), *parts(pair[1])])
            for part in inside_first:
                if isinstance(part.head, HostFunction):
                    try:
                        self.value(part)
                    except Unbound:
                        continue  # of what is written inside

    # --- values -------------------------------------------------------------------------------------------

    def value(self, expression: Expression, *, absent: bool = False, ranks: Sequence[int] = ()) -> Any:
        """What an expression stands for: a `Value`, None for no tensor, a tuple of them, or an attribute."""
        if expression in self.environment:
            return self.environment[expression]
        made = self._made(expression, absent, ranks or self.ranks)
        self.environment[expression] = made
        return made

    def _made(self, expression: Expression, absent: bool, ranks: Sequence[int]) -> Any:
        head = expression.head
        if isinstance(head, Constant):
            return head.value
        if expression in self.side.named:
            return self.value(self.side.named[expression], absent=absent, ranks=ranks)
        if isinstance(head, Variable):
            return self._variable(expression, absent, ranks)
        if isinstance(head, HostFunction):
            return self._answer(expression, is_there)
        if head in (nil, cons):
            return self._list(expression, ranks)
        if head in (fact, facts, bundle_facts):
            return self._handed(expression.arguments[0])
        if head is PLUS:
            return sum(self.value(argument) for argument in expression.arguments)
        if head is opset:
            return self._number("opset", *OPSETS)
        if isinstance(head, Function) and head.name == "limit":
            return self._number(expression.arguments[0].head.value, 1, None)
        if isinstance(head, Function) and head.name in operators():
            return self._operator(expression, ranks)
        if getattr(head, "name", "") == "append":
            return tuple(each for argument in expression.arguments for each in self.value(argument))
        if head in self.definitions:
            return self._defined(expression)
        raise Open(f"an entry of the table {getattr(head, 'name', head)}")

    def _defined(self, expression: Expression) -> Any:
        """What a function is that rules define, of values."""
        given = [self.value(argument) for argument in expression.arguments]
        for entry, value in self.definitions[expression.head]:
            bound = matched(entry.arguments, given)
            if bound is not None:
                scene, more = self.scene, self.definitions
                inner = Sides(self.side, scene, self.ranks, definitions=more, writes=self._writes)
                inner.environment |= bound
                return inner.value(value)
        raise Open(f"an entry of the table {expression.head.name}")

    def _number(self, name: str, least: int, most: int | None) -> Any:
        if name not in self.limits:
            formula = self.scene.whole(name)
            self.scene.path.assume(formula >= least)
            if most is not None:
                self.scene.path.assume(formula <= most)
            self.limits[name] = number_of(formula, self.scene.path)
        return self.limits[name]

    def _variable(self, variable: Expression, absent: bool, ranks: Sequence[int]) -> Any:
        kind = variable.sort.kind
        if kind not in OPERANDS or self._writes or kind == "bundle":
            raise Unbound(repr(variable))
        if kind == "tensors":
            rank = ranks[self.scene.choose(len(ranks))]
            lengths = (0, *LIST_LENGTHS) if self._in_list else LIST_LENGTHS
            count = lengths[self.scene.choose(len(lengths))]
            self.scene.notes.add(f"lists have {LIST_LENGTHS[0]} to {LIST_LENGTHS[-1]} operands")
            return tuple(self.scene.leaf(f"{variable!r}{k}", rank) for k in range(count))
        if absent and self.scene.choose(2):
            return None
        return self.scene.leaf(repr(variable), ranks[self.scene.choose(len(ranks))])

    def _list(self, expression: Expression, ranks: Sequence[int]) -> tuple[Any, ...]:
        found: list[Any] = []
        while expression.head is cons:
            first, expression = expression.arguments
            found.append(self.value(first, ranks=ranks))
            ranks = (found[0].rank,) if found[0] is not None else ranks
        if expression.head is nil:
            return tuple(found)
        before, self._in_list = self._in_list, bool(found)
        try:
            return (*found, *self.value(expression, ranks=ranks))
        finally:
            self._in_list = before

    def _operator(self, expression: Expression, ranks: Sequence[int]) -> Any:
        declared = operator_named(expression.head.name)
        self.scene.operators.add(declared.name)
        if declared.name == "none":
            return None
        if declared.name not in meanings and declared.expand is None:
            raise Open(f"{declared.name} has no meaning yet")
        given: dict[str, Any] = {}
        known: list[Any] = []
        wanted = ranks if declared.name in KEEP_RANK else self.ranks
        for k in declared.operand_positions:
            fitting = fitting_ranks(declared.name, len(known), known, wanted)
            missing = may_be_left_out(declared, k, len(known))
            made = self.value(expression.arguments[k], absent=missing, ranks=fitting)
            if made is None and not missing:
                if self._writes:
                    raise Unproved(f"that there is a {declared.names[k]} for {declared.name}")
                raise Dead
            given[declared.names[k]] = made
            known.append(made)
        for k in sorted(declared.attribute_positions, key=lambda k: declared.kinds[k] != "string"):
            given[declared.names[k]] = self._attribute(declared, k, expression.arguments[k], given)
        try:
            if declared.name not in meanings:
                return self._expanded(declared, given)
            return meanings[declared.name](self.scene, *(given[name] for name in declared.names))
        except NoMeaningError as error:
            raise Open(f"{error} has no meaning yet") from error

    def _expanded(self, declared: Operator, given: dict[str, Any]) -> Value:
        """What the steps of an operator make that stands for others."""
        assert declared.expand is not None
        steps = declared.expand(tuple(given[declared.names[k]] for k in declared.attribute_positions))
        if steps is None:
            raise Open(f"{declared.name} has no steps with these attributes")
        operands: list[Any] = []
        for k in declared.operand_positions:
            made = given[declared.names[k]]
            operands += made if isinstance(made, tuple) else (made,)
        found: list[Value] = []
        for step in steps:
            inner = operator_named(step.operator)
            self.scene.operators.add(inner.name)
            values = [self._operand(each, operands, found) for each in step.operands]
            listed = [tuple(values)] if "tensors" in inner.kinds else values
            attributes, rest = iter(step.attributes), iter(listed)
            arguments = [next(rest) if kind in OPERANDS else next(attributes) for kind in inner.kinds]
            found.append(meanings[step.operator](self.scene, *arguments))
        return found[-1] if found else operands[0]

    def _operand(self, each: Any, operands: list[Any], found: list[Value]) -> Any:
        if isinstance(each, Earlier):
            return found[each.step]
        if isinstance(each, Scalar):
            value = self.scene.real_formula(each.value)
            return Value(operands[0].dtype, (), lambda i: value, lambda: value)
        return operands[each]

    def _attribute(self, declared: Operator, k: int, argument: Expression, given: dict[str, Any]) -> Any:
        unbound = isinstance(argument.head, Variable) and argument not in self.environment
        if unbound and not self._writes:
            if argument in self.side.named:
                return self.value(argument)
            name = declared.names[k]
            chooser = choosers.get((declared.name, name)) or choosers.get(("", name))
            if chooser is None:
                raise Open(f"{declared.names[k]} of {declared.name} cannot be left open yet")
            self.environment[argument] = chooser(self.scene, given)
        return self.value(argument)

    # --- host functions -----------------------------------------------------------------------------------

    def _handed(self, expression: Expression) -> Any:
        """What host functions get of a tensor, or of several."""
        made = self.value(expression)
        return tuple(map(self.scene.facts.of, made)) if isinstance(made, tuple) else self.scene.facts.of(made)

    def _argument(self, expression: Expression) -> Any:
        if expression.sort.kind in OPERANDS and expression.head not in (fact, facts, bundle_facts):
            return self._handed(expression)
        made = self.value(expression)
        if isinstance(made, Name):
            return made if made.chosen is None else made.chosen
        return made.settled() if isinstance(made, (Settings, TypeName)) else self._read(made)

    def _string(self, expression: Expression) -> Any:
        made = self._argument(expression)
        return made.spelled() if isinstance(made, Name) else made

    def _read(self, made: Any) -> Any:
        """Dims of an attribute as Python code gets them."""
        if isinstance(made, tuple):
            return tuple(map(self._read, made))
        return self.scene.dim_of(made) if isinstance(made, z3.ArithRef) else made

    def _answer(self, expression: Expression, wanted: Callable[[Any], bool] = lambda answer: True) -> Any:
        """What a host function answers, of which element types are known."""
        return with_types(self._any_answer(expression, wanted))

    def _any_answer(self, expression: Expression, wanted: Callable[[Any], bool]) -> Any:
        """What a host function answers; None is no answer.

        Args:
            wanted: with other answers the law says nothing.
        """
        arguments = [self._argument(argument) for argument in expression.arguments]
        function: HostFunction = expression.head
        names = [made for made in arguments if isinstance(made, Name)]
        if all(isinstance(made, Name) or is_handed(made) for made in arguments):
            for name in names:
                name.declare()
            run = lambda: computed_by(function, [named_on_way(made) for made in arguments])  # noqa: E731
            return answer_of(self.scene, function.name, run, wanted)
        answer = computed_by(function, [m.spelled() if isinstance(m, Name) else m for m in arguments])
        if not wanted(answer):
            raise Dead
        return answer

    def _asked(self, expression: Expression) -> Any:
        """A value that may be nothing."""
        if isinstance(expression.head, HostFunction) and expression not in self.environment:
            self.environment[expression] = self._answer(expression)
        return self._read(self.value(expression))

    def _holds(self, condition: Any) -> bool:
        if isinstance(condition, Absent):
            return not self._answer(condition.answer, is_nothing)
        if isinstance(condition, Equals):
            return self._equal(condition)
        if isinstance(condition, Differs):
            if condition.left.sort.kind in TERMS:
                return True
            return not self._alike(condition.left, condition.right)
        if condition.head is LESS:
            left, right = map(self.value, condition.arguments)
            return bool(left < right)
        if isinstance(condition.head, HostFunction):
            wanted = bool if condition.head.is_condition else is_there
            answer = self._answer(condition, wanted)
            if not condition.head.is_condition:
                self.environment[condition] = answer
            return True
        self.value(condition)
        return True

    def _equal(self, condition: Equals) -> bool:
        left, right = condition.left, condition.right
        if isinstance(left.head, Variable) and left not in self.environment:
            found = self.value(right) if left.sort.kind in TERMS else self._asked(right)
            self.environment[left] = found
            return True
        return self._alike(left, right)

    def _alike(self, left: Expression, right: Expression) -> bool:
        if left.sort.kind in TERMS:
            if self.value(left) is self.value(right):
                return True
            raise Open("two terms that are one class")
        a, b = (self._string(e) if e.sort.kind == "string" else self._asked(e) for e in (left, right))
        return bool(a == b)

"""What the terms of a statement are along a path: tensors, lists, attributes, answers of host functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

import z3

from egraph_opt.check.sides import Side
from egraph_opt.operators.declaration import Operator, operator_named, operators
from egraph_opt.operators.expressions import OPERANDS, PLUS, Constant, Expression, Function, Variable
from egraph_opt.operators.host import HostFunction
from egraph_opt.operators.terms import bundle_facts, cons, fact, facts, nil, opset
from egraph_opt.proofs.hosts import computed_by, is_there, named_on_way, with_types
from egraph_opt.proofs.instance import Instance
from egraph_opt.proofs.merging import is_handed
from egraph_opt.proofs.names import Name, Settings, TypeName
from egraph_opt.proofs.numbers import number_of
from egraph_opt.proofs.operands import KEEP_RANK, fitting_ranks, may_be_left_out
from egraph_opt.proofs.paths import Dead, Unproved
from egraph_opt.proofs.resuming import Resuming
from egraph_opt.proofs.steps import expanded
from egraph_opt.proofs.tables import Definitions, matched
from egraph_opt.proofs.trail import Open
from egraph_opt.proofs.ways import answer_of
from egraph_opt.semantics import operators as _  # noqa: F401 - declares meanings
from egraph_opt.semantics.values import NoMeaningError, choosers, meanings

LIST_LENGTHS = (1, 2, 3)
"""How many operands a list that a pattern leaves open has."""

OPSETS = (7, 30)


class Unbound(Exception):
    """A variable that nothing binds yet."""


class TermValues:
    """The terms of a statement.

    Args:
        ranks: of tensors that the statement leaves open.
        definitions: functions of lists that are written.
        writes: values are of what is written, and not of what is matched.

    Attributes:
        environment: what variables and terms stand for.
        resuming: the points at which the path can be taken up again, where it can.
    """

    def __init__(
        self,
        side: Side,
        scene: Instance,
        ranks: Sequence[int],
        *,
        definitions: Definitions = MappingProxyType({}),
        writes: bool = False,
    ) -> None:
        self.side, self.scene, self.ranks = side, scene, ranks
        self.definitions = definitions
        self.environment: dict[Expression, Any] = {}
        self.limits: dict[str, Any] = {}
        self.writes, self._in_list = writes, False
        self.resuming: Resuming | None = None

    def reached(self) -> None:
        """All that was asked is remembered."""
        if self.resuming is not None:
            self.resuming.reached(self.scene.remembering)

    def _is_clean(self) -> bool:
        return self.resuming is not None and self.resuming.is_clean()

    def leave_lists(self) -> None:
        """Begin again with what is no operand in a list."""
        self._in_list = False

    def value(self, expression: Expression, *, absent: bool = False, ranks: Sequence[int] = ()) -> Any:
        """What an expression stands for: a `Value`, None for no tensor, a tuple of them, or an attribute."""
        if expression in self.environment:
            return self.environment[expression]
        clean = self._is_clean()
        made = self._made(expression, absent, ranks or self.ranks)
        self.environment[expression] = made
        if clean:
            self.reached()
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
            return self.answer(expression, is_there)
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
                inner = TermValues(self.side, scene, self.ranks, definitions=more, writes=self.writes)
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
        if kind not in OPERANDS or self.writes or kind == "bundle":
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
                if self.writes:
                    raise Unproved(f"that there is a {declared.names[k]} for {declared.name}")
                raise Dead
            given[declared.names[k]] = made
            known.append(made)
        for k in sorted(declared.attribute_positions, key=lambda k: declared.kinds[k] != "string"):
            given[declared.names[k]] = self._attribute(declared, k, expression.arguments[k], given)
        try:
            if declared.name not in meanings:
                return expanded(self.scene, declared, given)
            return meanings[declared.name](self.scene, *(given[name] for name in declared.names))
        except NoMeaningError as error:
            raise Open(f"{error} has no meaning yet") from error

    def _attribute(self, declared: Operator, k: int, argument: Expression, given: dict[str, Any]) -> Any:
        unbound = isinstance(argument.head, Variable) and argument not in self.environment
        if unbound and not self.writes:
            if argument in self.side.named:
                return self.value(argument)
            name = declared.names[k]
            chooser = choosers.get((declared.name, name)) or choosers.get(("", name))
            if chooser is None:
                raise Open(f"{declared.names[k]} of {declared.name} cannot be left open yet")
            clean = self._is_clean()
            self.environment[argument] = chooser(self.scene, given)
            if clean:
                self.reached()
        return self.value(argument)

    # --- host functions -----------------------------------------------------------------------------------

    def _handed(self, expression: Expression) -> Any:
        """What host functions get of a tensor, or of several."""
        made = self.value(expression)
        return tuple(map(self.scene.facts.of, made)) if isinstance(made, tuple) else self.scene.facts.of(made)

    def argument(self, expression: Expression) -> Any:
        if expression.sort.kind in OPERANDS and expression.head not in (fact, facts, bundle_facts):
            return self._handed(expression)
        made = self.value(expression)
        if isinstance(made, Name):
            return made if made.chosen is None else made.chosen
        return made.settled() if isinstance(made, (Settings, TypeName)) else self.read(made)

    def read(self, made: Any) -> Any:
        """Dims of an attribute as Python code gets them."""
        if isinstance(made, tuple):
            return tuple(map(self.read, made))
        return self.scene.dim_of(made) if isinstance(made, z3.ArithRef) else made

    def answer(self, expression: Expression, wanted: Callable[[Any], bool] = lambda answer: True) -> Any:
        """What a host function answers, of which element types are known."""
        return with_types(self._any_answer(expression, wanted))

    def _any_answer(self, expression: Expression, wanted: Callable[[Any], bool]) -> Any:
        """What a host function answers; None is no answer.

        Args:
            wanted: with other answers the law says nothing.
        """
        arguments = [self.argument(argument) for argument in expression.arguments]
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

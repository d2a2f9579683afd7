"""Examples drawn from the statements of a law: random terms that match the pattern and meet the conditions.

A pattern is built from its leaves: the first operand of an operator gets any shape, the others shapes that go
with it (`draws`), and attributes follow from the operands' ranks and dims.  What comes out is kept where its
types check and every condition holds, or all but one of them: then it is a near-miss.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx import TensorProto

from egraph_opt.facts.fact import ABSENT, CLASH, Dim, Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Law, statements
from egraph_opt.laws.statements import Absent, Differs, Equality, Equals, Guard
from egraph_opt.operators.declaration import operator_named
from egraph_opt.operators.expressions import Constant, Expression, Variable, constant
from egraph_opt.operators.host import HostFunction
from egraph_opt.operators.terms import LIMITS, fact, facts, opset
from egraph_opt.operators.typing import infer_operator
from egraph_opt.testing.draws import attribute_of, operand_shapes, settings_of

OPSET = 17
_FLOATS = (TensorProto.FLOAT,) * 6 + (TensorProto.DOUBLE, TensorProto.FLOAT16)
_TYPES = (*_FLOATS * 2, TensorProto.INT64, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL)


class Rejected(Exception):
    """A draw that matches no pattern or meets no condition."""


@dataclass
class Draw:
    """A term in the making.

    Attributes:
        environment: per pattern variable the concrete expression that it stands for.
        known: per concrete expression its fact (a tuple of facts for lists and bundles).
    """

    rng: np.random.Generator
    operands: Operands
    limits: dict[str, int] = field(default_factory=dict)
    environment: dict[Expression, Any] = field(default_factory=dict)
    known: dict[Expression, Any] = field(default_factory=dict)
    dtype: int = TensorProto.FLOAT
    constants: float = 0.3

    def leaf(self, shape: Sequence[Dim], dtype: int, *, first: bool) -> Any:
        """An input or a constant."""
        static = all(isinstance(d, int) for d in shape)
        share = self.constants / 4 if first else self.constants
        if static and self.rng.random() < share:
            made = self.operands.constant(self._elements(tuple(shape), dtype), dtype)  # type: ignore[arg-type]
        else:
            made = self.operands.input(shape, dtype)
        self.known[made] = self.operands.facts[-1]
        return made

    def _elements(self, shape: tuple[int, ...], dtype: int) -> np.ndarray[Any, Any]:
        numpy_type = ir.DataType(dtype).numpy()
        floating = np.issubdtype(numpy_type, np.floating)
        if self.rng.random() < 0.35:
            value = self.rng.choice([0, 1, 2, -1, 0.5, 3] if floating else [0, 1, 2, 3])
            return np.full(shape, value).astype(numpy_type)
        if floating:
            return self.rng.uniform(0.5, 2, shape).astype(numpy_type)
        return self.rng.integers(0, 4, shape).astype(numpy_type)

    # --- terms ------------------------------------------------------------------------------------------

    def term(self, pattern: Expression, wish: Sequence[Dim] | None, *, first: bool = False) -> Any:
        """A concrete term that a pattern of a tensor, list or bundle matches."""
        if pattern in self.environment:
            return self.environment[pattern]
        if isinstance(pattern.head, Variable):
            made = self._variable(pattern, wish, first=first)
            self.environment[pattern] = made
            return made
        if pattern.head.name in ("nil", "cons"):
            return self._list(pattern, wish)
        return self._operator(pattern, wish)

    def _variable(self, pattern: Expression, wish: Sequence[Dim] | None, *, first: bool) -> Any:
        if pattern.sort.kind == "tensor":
            return self.leaf(self.shape() if wish is None else wish, self.dtype, first=first)
        if pattern.sort.kind == "tensors":
            return self.list_of(int(self.rng.integers(1, 4)), wish)
        raise Rejected("a bundle")

    def list_of(self, count: int, wish: Sequence[Dim] | None) -> Any:
        from egraph_opt.operators.terms import listed

        shape = self.shape() if wish is None else wish
        items = [self.leaf(shape, self.dtype, first=not k) for k in range(count)]
        made = listed(*items)
        self.known[made] = tuple(self.known[item] for item in items)
        return made

    def _list(self, pattern: Expression, wish: Sequence[Dim] | None) -> Any:
        if pattern.head.name == "nil":
            self.known[pattern] = ()
            return pattern
        first = self.term(pattern.arguments[0], wish)
        shape = self.known[first].shape if wish is None else wish
        rest = self.term(pattern.arguments[1], shape)
        made = pattern.head(first, rest)
        self.known[made] = (self.known[first], *self.known[rest])
        return made

    def _operator(self, pattern: Expression, wish: Sequence[Dim] | None) -> Any:
        declared = operator_named(pattern.head.name)
        given: list[Any] = [None] * len(pattern.arguments)
        operands: list[Fact] = []
        strings = [k for k, kind in enumerate(declared.kinds) if kind == "string"]
        for k in strings:
            given[k] = self.string(pattern.arguments[k], declared.name)
        name = given[strings[0]].head.value if strings else ""
        for k in declared.operand_positions:
            argument = pattern.arguments[k]
            shapes = operand_shapes(self.rng, declared.name, name, operands, wish)
            made = self.term(argument, shapes, first=not operands)
            given[k] = made
            found = self.known.get(made)
            operands.extend(found if isinstance(found, tuple) else (found,))  # type: ignore[arg-type]
        for k, kind in enumerate(declared.kinds):
            if kind in ("object", "int") and given[k] is None:
                given[k] = self.attribute(
                    pattern.arguments[k], declared.name, declared.names[k], name, operands
                )
        made = pattern.head(*given)
        if made not in self.known:
            attributes = tuple(given[k].head.value for k in declared.attribute_positions)
            self.known[made] = _inferred(declared.name, attributes, tuple(operands), self, given)
        return made

    def string(self, pattern: Expression, operator: str) -> Any:
        if isinstance(pattern.head, Constant):
            return pattern
        if pattern not in self.environment:
            names = settings_of(operator)
            self.environment[pattern] = constant(str(self.rng.choice(names)), pattern.sort)
        return self.environment[pattern]

    def attribute(
        self, pattern: Expression, operator: str, parameter: str, name: str, operands: list[Fact]
    ) -> Any:
        if isinstance(pattern.head, Constant):
            return pattern
        if isinstance(pattern.head, HostFunction):
            return self.answer(pattern)
        if pattern not in self.environment:
            value = attribute_of(self.rng, operator, parameter, name, operands)
            self.environment[pattern] = constant(value, pattern.sort)
        return self.environment[pattern]

    def shape(self) -> tuple[Dim, ...]:
        """Any shape: up to five axes, some of them symbolic, of length one or empty."""
        rank = int(self.rng.choice([0, 1, 2, 2, 3, 3, 3, 4, 4, 4, 5]))
        dims: list[Dim] = [int(d) for d in self.rng.choice([1, 2, 2, 3, 3, 4, 4, 6, 8], rank)]
        for k, symbol in enumerate(("N", "M", "L")):
            if rank > k and self.rng.random() < (0.4, 0.05, 0.2)[k]:
                dims[0 if k == 0 else int(self.rng.integers(rank))] = symbol
        if rank and self.rng.random() < 0.05:
            dims[int(self.rng.integers(rank))] = 0
        return tuple(dims)

    # --- conditions -------------------------------------------------------------------------------------

    def value(self, expression: Expression) -> Any:
        """What the host gets for an argument."""
        if isinstance(expression.head, Constant):
            return expression.head.value
        if isinstance(expression.head, HostFunction):
            return self.answer(expression).head.value
        if expression.head in (fact, facts):
            return self.fact_of(expression.arguments[0])
        if expression.head is opset:
            return OPSET
        if expression.sort.kind in ("tensor", "tensors", "bundle"):
            return self.fact_of(expression)
        if expression.head.__class__.__name__ == "Function" and expression.head.name == "limit":
            return self.limit(expression.arguments[0].head.value)
        if expression in self.environment:
            return self.environment[expression].head.value
        raise Rejected(f"{expression!r} is not bound")

    def limit(self, name: str) -> int:
        if name not in self.limits:
            self.limits[name] = int(self.rng.integers(1, 6))
        return self.limits[name]

    def fact_of(self, expression: Expression) -> Any:
        made = self.environment.get(expression)
        if made is None:
            made = self.term(expression, None) if not isinstance(expression.head, Variable) else None
        if made is None or made not in self.known:
            raise Rejected(f"nothing is known of {expression!r}")
        return self.known[made]

    def answer(self, expression: Expression) -> Any:
        if expression not in self.environment:
            value = expression.head(*(self.value(a) for a in expression.arguments))
            if value is None:
                raise Rejected(f"{expression!r} answers nothing")
            self.environment[expression] = constant(value, expression.sort)
        return self.environment[expression]

    def holds(self, condition: Any) -> bool:
        """Whether a condition holds; binds the variable of an equation."""
        if isinstance(condition, Guard):
            return self.holds(condition.condition)
        if isinstance(condition, Absent):
            return not condition.answer.head(*(self.value(a) for a in condition.answer.arguments))
        if isinstance(condition, (Equals, Differs)):
            return self._compare(condition)
        if isinstance(condition.head, HostFunction):
            value = condition.head(*(self.value(a) for a in condition.arguments))
            return bool(value) if condition.head.is_condition else value is not None
        if condition.sort.kind == "int":
            self.value(condition)
            return True
        raise Rejected(f"{condition!r} asks a table")

    def _compare(self, condition: Equals | Differs) -> bool:
        left, right = condition.left, condition.right
        if isinstance(condition, Differs):
            if left.sort.kind == "object":
                return repr(self._raw(left)) != repr(self._raw(right))
            return bool(self.environment.get(left, left) != self.environment.get(right, right))
        if isinstance(left.head, Variable) and left not in self.environment:
            if left.sort.kind in ("object", "int", "string"):
                self.environment[left] = constant(self._raw(right), left.sort)
            else:
                self.environment[left] = self.term(right, None)
            return True
        if left.sort.kind in ("object", "int", "string"):
            return repr(self._raw(left)) == repr(self._raw(right))
        return bool(self.term(left, None) == self.term(right, None))

    def _raw(self, expression: Expression) -> Any:
        """A value that may be None."""
        if isinstance(expression.head, HostFunction) and expression not in self.environment:
            return expression.head(*(self.value(a) for a in expression.arguments))
        return self.value(expression)


def _inferred(
    name: str, attributes: tuple[Any, ...], operands: tuple[Fact, ...], draw: Draw, given: Any
) -> Any:
    if name == "output":
        bundle = draw.known[given[0]]
        if attributes[0] >= len(bundle):
            raise Rejected("no such output")
        return bundle[attributes[0]]
    if name == "leaf":
        raise Rejected("a leaf")
    found = infer_operator(name, OPSET, attributes, operands)
    checked = found if isinstance(found, tuple) else (found,)
    if any((f.dtype <= 0 and f != ABSENT) or f.dtype == CLASH.dtype for f in checked):
        raise Rejected(f"{name} is ill-typed")
    return found


@dataclass(frozen=True)
class Drawn:
    """A drawn example of a statement.

    Attributes:
        failed: the number of the condition that does not hold; None where all do.
    """

    term: Any
    operands: Operands
    limits: Mapping[str, int]
    failed: int | None


def drawn(
    entry: Law,
    number: int,
    rng: np.random.Generator,
    tries: int,
    *,
    fail: int | None = None,
    reverse: bool = False,
) -> Iterator[Drawn]:
    """Examples of one statement of a law, which must be an equality.

    Args:
        number: of the statement.
        fail: the number of the condition (see `soundness`) that must not hold, while all others do.
        reverse: match the right side.
    """
    for _ in range(tries):
        try:
            yield _attempt(entry, number, rng, fail, reverse)
        except (Rejected, LookupError, ValueError, TypeError):  # what was drawn does not go together
            continue


def conditions_of(statement: Equality) -> list[Any]:
    """The conditions of a statement that bind nothing and that soundness asks for."""
    return [c for c in statement.conditions if not isinstance(c, (Guard, Equals))]


def _attempt(entry: Law, number: int, rng: np.random.Generator, fail: int | None, reverse: bool) -> Drawn:
    statement = statements(entry)[number]
    assert isinstance(statement, Equality)
    matched, written = (statement.right, statement.left) if reverse else (statement.left, statement.right)
    draw = Draw(rng, Operands(rng), constants=float(rng.choice([0.1, 0.5, 0.9])))
    draw.dtype = int(rng.choice(_TYPES))
    term = draw.term(matched, None)
    draw.environment[matched] = term
    sound = conditions_of(statement)
    for condition in statement.conditions:
        expected = fail is None or condition not in sound or sound.index(condition) != fail
        if draw.holds(condition) != expected:
            raise Rejected("a condition")
    for answer in answers_in(written):
        draw.answer(answer)
    if not [v for v in draw.operands.values if v.const_value is None]:
        raise Rejected("it depends on constants only")
    unknown = set(draw.limits) - set(LIMITS)
    assert not unknown, f"no such limit: {unknown}"
    return Drawn(term, draw.operands, draw.limits, fail)


def answers_in(expression: Expression) -> Iterator[Expression]:
    """The calls of host functions in an expression."""
    if isinstance(expression.head, HostFunction):
        yield expression
    else:
        for argument in expression.arguments:
            yield from answers_in(argument)

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
from egraph_opt.laws.law import Example, Law, statements
from egraph_opt.laws.statements import Equality, Equals, Guard, Rule
from egraph_opt.operators.declaration import operator_named, operators
from egraph_opt.operators.expressions import Constant, Expression, Variable, constant
from egraph_opt.operators.host import HostFunction
from egraph_opt.operators.terms import listed
from egraph_opt.operators.typing import infer_operator
from egraph_opt.testing.draws import attribute_of, operand_dtype, operand_shapes, settings_of
from egraph_opt.testing.scope import (
    OPSET,
    NoAnswer,
    Rejected,
    Scope,
    conditions_of,
    hangs_on,
    parts,
    patterns_of,
    written_by,
)
from egraph_opt.testing.shorthands import spelled

MOST_AXES = 7
_FLOATS = (TensorProto.FLOAT,) * 6 + (TensorProto.DOUBLE, TensorProto.FLOAT16)
_TYPES = (*_FLOATS * 2, TensorProto.INT64, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL)


@dataclass(kw_only=True)
class Draw(Scope):
    """A term in the making.

    Attributes:
        named: the patterns that variables are names of.
        dtype: of operands that may have any.
        constants: the share of operands that are constants.
    """

    rng: np.random.Generator
    operands: Operands
    named: Mapping[Expression, Expression] = field(default_factory=dict)
    dtype: int = TensorProto.FLOAT
    constants: float = 0.3

    def leaf(self, shape: Sequence[Dim], dtype: int, *, first: bool) -> Any:
        """An input or a constant."""
        if len(shape) > MOST_AXES:
            raise Rejected("so many axes")
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
        if pattern in self.named:
            return self.term(self.named[pattern], wish, first=first)
        if pattern.sort.kind == "tensor":
            return self.leaf(self.shape() if wish is None else wish, self.dtype, first=first)
        if pattern.sort.kind == "tensors":
            return self.list_of(int(self.rng.integers(1, 4)), wish)
        raise Rejected("a bundle")

    def list_of(self, count: int, wish: Sequence[Dim] | None) -> Any:
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
        if pattern.head.name not in operators():
            raise Rejected("an entry of a table")
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
            self.dtype, before = operand_dtype(declared.name, len(operands), self.dtype), self.dtype
            made = self.term(argument, shapes, first=not operands)
            self.dtype = before
            given[k] = made
            found = self.known.get(made)
            operands.extend(found if isinstance(found, tuple) else (found,))
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
        if isinstance(pattern.head, HostFunction):
            return self.answer(pattern)
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
            try:
                value = attribute_of(self.rng, operator, parameter, name, operands)
            except LookupError as error:
                raise Rejected(str(error)) from error
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

    def limit(self, name: str) -> int:
        """Limits are as the draw pleases."""
        return self.limits.setdefault(name, int(self.rng.integers(1, 6)))


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
    try:
        found = infer_operator(name, OPSET, attributes, operands)
    except Exception as error:  # operands that do not suit an operator make inference fail in many ways
        raise Rejected(f"{name} of operands that do not suit it") from error
    checked = found if isinstance(found, tuple) else (found,)
    if any((f.dtype <= 0 and f != ABSENT) or f.dtype == CLASH.dtype for f in checked):
        raise Rejected(f"{name} is ill-typed")
    return found


@dataclass(frozen=True)
class Side:
    """A statement of a law as it is matched: its number, and whether that is from its right.

    Attributes:
        tops: the terms that have to be there.
        named: those that variables are names of.
        conditions: see `conditions_of`.
        divides: whether integers may be divided.
    """

    statement: Equality | Rule
    rule: str
    tops: tuple[Expression, ...]
    named: Mapping[Expression, Expression]
    conditions: tuple[Any, ...]
    written: tuple[Expression, ...]
    divides: bool


def sides_of(entry: Law) -> list[Side]:
    """Every statement of a law, from each side that it is matched from, for all that its shorthands mean."""
    found = []
    numbered = [(k, s) for k, statement in enumerate(statements(entry)) for s in spelled(statement, entry)]
    for k, statement in numbered:
        conditions = tuple(conditions_of(statement))
        for reverse in (False, True)[: 1 + (isinstance(statement, Equality) and statement.both)]:
            tops, named = patterns_of(statement, reverse=reverse)
            written = tuple(written_by(statement, reverse=reverse))
            whole = {part for top in (*tops, *named.values(), *written) for part in parts(top)}
            divides = any(part.sort.kind == "string" and _may_divide(part) for part in whole)
            rule = f"{k}<" if reverse else str(k)
            found.append(Side(statement, rule, tuple(tops), named, conditions, written, divides))
    return found


def _may_divide(name: Expression) -> bool:
    return not isinstance(name.head, Constant) or name.head.value in ("Div", "Mod")


def drawn(side: Side, rng: np.random.Generator, tries: int, *, fail: int | None = None) -> Iterator[Example]:
    """Examples of one statement of a law.

    Args:
        fail: the number of the condition (of `Side.conditions`) that must not hold, while all others do.
    """
    for _ in range(tries):
        try:
            yield _attempt(side, rng, fail)
        except Rejected:
            continue


def _attempt(side: Side, rng: np.random.Generator, fail: int | None) -> Example:
    draw = Draw(
        rng=rng, operands=Operands(rng), constants=float(rng.choice([0.1, 0.5, 0.9])), named=side.named
    )
    draw.dtype = int(rng.choice(_FLOATS if side.divides else _TYPES))
    found = [draw.term(top, None) for top in side.tops]
    draw.environment.update(zip(side.tops, found, strict=True))
    found += [draw.term(name, None) for name in side.named]
    ask(side, draw, fail)
    if not any(v.const_value is None for v in draw.operands.values):
        raise Rejected("it depends on constants only")
    if any(f.shape is None or None in f.shape for known in draw.known.values() for f in _facts(known)):
        raise Rejected("a size that is not known, as where a window is larger than the image")
    if _is_emptied(draw):
        raise Rejected("nothing is left; kernels and ONNX differ on what nothing is")
    below = {part for term in found for top in term.arguments for part in parts(top)}
    roots = tuple(dict.fromkeys(term for term in found if term not in below))
    if any(root.sort.kind != "tensor" or root.head.name == "leaf" for root in roots):
        raise Rejected("a list, or an operand alone")
    term = roots[0] if len(roots) == 1 else roots
    if fail is None:
        return draw.operands.fires(term, **draw.limits)
    return draw.operands.near_miss(term, why=f"not {side.conditions[fail]!r}", **draw.limits)


def _is_emptied(draw: Draw) -> bool:
    """Whether something has no elements though all operands have some."""
    given = [known.shape or () for known in draw.operands.facts]
    made = [f.shape or () for known in draw.known.values() for f in _facts(known)]
    return not any(0 in shape for shape in given) and any(0 in shape for shape in made)


def _facts(known: Any) -> tuple[Fact, ...]:
    return known if isinstance(known, tuple) else (known,)


def ask(side: Side, scope: Scope, fail: int | None = None) -> None:
    """Ask all conditions of a statement; that with the number `fail` has to fail.

    Raises:
        Rejected: another one fails, or that one does not.
    """
    failed = None if fail is None else side.conditions[fail]
    asked = dict.fromkeys((*side.statement.conditions, *side.conditions))
    for condition in sorted(asked, key=lambda c: not isinstance(c, Equals)):
        if isinstance(condition, Guard) or (isinstance(condition, Equals) and condition.left in side.named):
            continue
        if failed is not None and hangs_on(condition, failed):
            continue
        try:
            holds = scope.holds(condition)
        except NoAnswer:
            holds = False
        if holds == (failed is not None and condition == failed):
            raise Rejected("a condition")
    for written in side.written if failed is None else ():
        for part in parts(written):
            if isinstance(part.head, HostFunction):
                scope.answer(part)

"""A random term that the pattern of a statement matches.

It is built from its leaves: the first operand of an operator gets any shape, the others shapes that go
with it (`draws`), and attributes follow from the operands' ranks and dims.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx import TensorProto

from egraph_opt.facts.fact import ABSENT, CLASH, Dim, Fact
from egraph_opt.laws.examples import SIZES
from egraph_opt.operators.constants import none
from egraph_opt.operators.declaration import operator_named, operators
from egraph_opt.operators.expressions import Constant, Expression, Variable, constant
from egraph_opt.operators.host import HostFunction
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.operators.typing import infer_operator
from egraph_opt.testing.attribute_draws import attribute_of, pick, picks
from egraph_opt.testing.draws import (
    has_fitting_bias,
    may_be_absent,
    operand_dtype,
    operand_shapes,
    settings_of,
)
from egraph_opt.testing.leaves import Leaves
from egraph_opt.testing.scope import OPSET, Rejected, Scope, parts

MOST_AXES = 7


@dataclass(kw_only=True)
class Draw(Scope):
    """A term in the making.

    Attributes:
        named: the patterns that variables are names of.
        patterns: all that is drawn.
        dtype: of operands that may have any.
        constants: the share of operands that are constants.
        first_constants: of those that others have to fit.
        repeats: the share of operands that have the shape of an earlier one.
        retries: how often an operator's operands may be drawn anew.
    """

    rng: np.random.Generator
    leaves: Leaves = field(default_factory=Leaves)
    named: Mapping[Expression, Expression] = field(default_factory=dict)
    patterns: Sequence[Expression] = ()
    dtype: int = TensorProto.FLOAT
    constants: float = 0.3
    first_constants: float = 0.1
    repeats: float = 0.0
    retries: int = 2

    def leaf(self, shape: Sequence[Dim], dtype: int, *, first: bool) -> Any:
        """An input or a constant."""
        facts = self.leaves.facts
        if self.rng.random() < self.repeats and facts:
            earlier = facts[int(self.rng.integers(len(facts)))].shape
            shape = shape if earlier is None else earlier
        if len(shape) > MOST_AXES:
            raise Rejected("so many axes")
        if not all(isinstance(d, int) or d in SIZES[0] for d in shape):
            raise Rejected("a dim that is computed")
        static = all(isinstance(d, int) for d in shape)
        share = self.first_constants if first else self.constants
        if static and self.rng.random() < share:
            made = self.leaves.constant(self._elements(tuple(shape), dtype), dtype)  # type: ignore[arg-type]
        else:
            made = self.leaves.input(tuple(shape), dtype)
        self.known[made] = facts[-1]
        return made

    def _elements(self, shape: tuple[int, ...], dtype: int) -> np.ndarray[Any, Any]:
        numpy_type = ir.DataType(dtype).numpy()
        floating = np.issubdtype(numpy_type, np.floating)
        if self.rng.random() < 0.35:
            value = pick(self.rng, *((0, 1, 0, 1, 2, -1, 0.5, 3) if floating else (0, 1, 2, 3)))
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
        if pattern.head in (nil, cons):
            return self._list(pattern, wish)
        return self._retried(pattern, wish)

    def _retried(self, pattern: Expression, wish: Sequence[Dim] | None) -> Any:
        """A term of an operator; where what was drawn for it does not suit, that is drawn anew."""
        bound, known, count = dict(self.environment), dict(self.known), len(self.leaves.facts)
        while True:
            try:
                return self._operator(pattern, wish)
            except Rejected:
                self.retries -= 1
                if self.retries < 0:
                    raise
            self.environment, self.known = dict(bound), dict(known)
            self.leaves.forget(count)

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
        """The operators among the elements first: any shape goes with those of operands, but not theirs."""
        elements, rest = self._elements_of(pattern)
        shape = wish
        for element in sorted(elements, key=lambda e: (e not in self.environment, self._is_operand(e))):
            self.environment[element] = self.term(element, shape, first=shape is None)
            shape = self.known[self.environment[element]].shape if wish is None else wish
        made = nil() if rest is None else self.term(rest, shape)
        known = () if rest is None else self.known[made]
        self.known[made] = known
        for element in reversed(elements):
            made = cons(self.environment[element], made)
            known = (self.known[self.environment[element]], *known)
            self.known[made] = known
        return made

    def _elements_of(self, pattern: Expression) -> tuple[list[Expression], Expression | None]:
        """The elements of a list, and the variable for those that follow."""
        found: list[Expression] = []
        while True:
            if pattern in self.named and pattern not in self.environment:
                pattern = self.named[pattern]
            if pattern.head != cons:
                return found, None if pattern.head == nil else pattern
            found.append(pattern.arguments[0])
            pattern = pattern.arguments[1]

    def _is_operand(self, pattern: Expression) -> bool:
        return isinstance(pattern.head, Variable) and pattern not in self.named

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
            if may_be_absent(declared.name, len(operands)):
                self._leave_out(argument)
            self.dtype, before = operand_dtype(declared.name, len(operands), self.dtype), self.dtype
            made = self.term(argument, shapes, first=not operands)
            self.dtype = before
            given[k] = made
            found = self.known.get(made)
            operands.extend(found if isinstance(found, tuple) else (found,))
        if declared.name in ("conv", "conv_transpose") and not has_fitting_bias(declared.name, operands):
            raise Rejected("a bias of other channels, which inference does not see")
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

    def _leave_out(self, argument: Expression) -> None:
        """Let an operand that need not be there be absent now and then."""
        if self._is_operand(argument) and argument not in self.environment and self.rng.random() < 0.3:
            self.environment[argument] = none()
            self.known[none()] = ABSENT

    def string(self, pattern: Expression, operator: str) -> Any:
        if isinstance(pattern.head, Constant):
            return pattern
        if isinstance(pattern.head, HostFunction):
            return self.answer(pattern)
        if pattern not in self.environment:
            names = settings_of(operator)
            self.environment[pattern] = constant(pick(self.rng, *names), pattern.sort)
        return self.environment[pattern]

    def attribute(
        self, pattern: Expression, operator: str, parameter: str, name: str, operands: list[Fact]
    ) -> Any:
        if isinstance(pattern.head, Constant):
            return pattern
        if isinstance(pattern.head, HostFunction):
            for argument in parts(pattern):
                self._anticipate(argument)
            return self.answer(pattern)
        if pattern not in self.environment:
            try:
                value = attribute_of(self.rng, operator, parameter, name, operands)
            except LookupError as error:
                raise Rejected(str(error)) from error
            self.environment[pattern] = constant(value, pattern.sort)
        return self.environment[pattern]

    def _anticipate(self, argument: Expression) -> None:
        """Draw an attribute of an operator that stands further out, of what is there of its operands."""
        if argument in self.environment or not isinstance(argument.head, Variable):
            return
        if argument.sort.kind != "object":
            return
        for part in (part for pattern in self.patterns for part in parts(pattern)):
            if argument in part.arguments and part.head.name in operators():
                declared = operator_named(part.head.name)
                operands = [self._nearest(part.arguments[k]) for k in declared.operand_positions]
                if None not in operands[:1]:
                    parameter = declared.names[part.arguments.index(argument)]
                    self.attribute(argument, declared.name, parameter, "", [f for f in operands if f])
                    return

    def _nearest(self, operand: Expression) -> Fact | None:
        """What is known of an operand, or of the first thing in it that is drawn."""
        for part in parts(operand):
            made = self.environment.get(part)
            found = None if made is None else self.known.get(made)
            if isinstance(found, Fact):
                return found
        return None

    def shape(self) -> tuple[Dim, ...]:
        """Any shape: up to five axes, some of them symbolic, of length one or empty."""
        rank = pick(self.rng, 0, 1, 2, 2, 3, 3, 3, 4, 4, 4, 5)
        dims: list[Dim] = picks(self.rng, (1, 2, 2, 3, 3, 4, 4, 6, 8), rank)
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

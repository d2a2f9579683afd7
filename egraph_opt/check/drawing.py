"""A term that the pattern of a statement matches, made of the values of `tables`.

The first operand of an operator gets any shape, others what suits it (`operands`, then `attributes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx import TensorProto

from egraph_opt.check import tables
from egraph_opt.check.blocks import slices_in
from egraph_opt.check.choices import Choices, chance, pick, with_half_of
from egraph_opt.check.elements import Hints, elements, indices
from egraph_opt.check.feeds.kinds import HALF_RANGE
from egraph_opt.check.leaves import MOST_OF_A_LEAF, Leaves, is_large, numbers_of
from egraph_opt.check.operands import COUNTS, FITTED, FLOATS_ONLY, PREDICATES, has_fitting_bias, may_be_absent
from egraph_opt.check.scope import Rejected, Scope, joined_axis
from egraph_opt.check.theme import Theme
from egraph_opt.check.typed import typed
from egraph_opt.check.written import shape_of_written
from egraph_opt.facts.dtypes import ALL_FLOATS, INTEGERS
from egraph_opt.facts.fact import ABSENT, Dim, Fact, Shape
from egraph_opt.laws.exactness import Numerics
from egraph_opt.laws.examples import SIZES
from egraph_opt.operators.constants import none
from egraph_opt.operators.declaration import operator_named, operators
from egraph_opt.operators.elementwise import unary
from egraph_opt.operators.expressions import Constant, Expression, Variable, constant, parts
from egraph_opt.operators.host import HostFunction
from egraph_opt.operators.terms import cons, listed, nil


@dataclass(kw_only=True)
class Draw(Scope):
    """A term in the making.

    Attributes:
        theme: what is drawn from.
        named: the patterns that variables are names of.
        patterns, written: all that is drawn, and what the law writes for it.
        dtype: of operands that may have any.
        constants: the share of operands that are constants.
        first_constants: of those that others have to fit.
        repeats: the share of operands that have the shape of an earlier one.
        retries: how often an operator's operands may be drawn anew.
        numbers, words: those that the law names; every other name of an operator is one of these.
        picked: the dims of the operand that the one in the making picks elements of.
        along: the axis along which operands are joined.
        counts: whether it is one of numbers of elements.
        weights: the shapes of the elements of the list in the making, where they differ by place.
        all_huge: most constants are as large as those of their type or class get.
        ranged: of most operands it is known between what they lie.
        cast_from: the type that was cast last, in this term or one that was kept.
    """

    rng: Choices
    theme: Theme
    leaves: Leaves = field(default_factory=Leaves)
    named: Mapping[Expression, Expression] = field(default_factory=dict)
    patterns: Sequence[Expression] = ()
    written: Sequence[Expression] = ()
    dtype: int = TensorProto.FLOAT
    constants: float = 0.3
    first_constants: float = 0.1
    repeats: float = 0.0
    retries: int = 2
    numbers: tuple[float, ...] = ()
    picked: tuple[int, ...] = ()
    along: int | None = None
    counts: bool = False
    weights: tuple[Shape | None, ...] = ()
    all_huge: bool = False
    ranged: bool = False
    numerics: Numerics = "bitwise"
    large_integers: tuple[int, ...] = tables.LARGE_INTEGERS
    huge_integers: tuple[int, ...] = tables.TOO_LARGE_INTEGERS
    cast_from: tuple[int, ...] = ()
    words: frozenset[str] = frozenset()

    def leaf(self, shape: Sequence[Dim], dtype: int, *, first: bool) -> Any:
        """An input or a constant."""
        if self.repeats and self.leaves.facts and chance(self.rng, self.repeats):
            earlier = self.leaves.facts[int(self.rng.integers(len(self.leaves.facts)))].shape
            shape = shape if earlier is None else earlier
        if len(shape) > self.theme.most_axes:
            raise Rejected("so many axes")
        if not all(isinstance(d, int) or d in SIZES[0] for d in shape):
            raise Rejected("a dim that is computed")
        if is_large(shape, MOST_OF_A_LEAF):
            raise Rejected("so many elements")
        share = self.first_constants if first else self.constants
        if len(numbers_of(shape)) == len(shape) and chance(self.rng, share):
            made = self.leaves.constant(self._elements(tuple(shape), dtype), dtype)  # type: ignore[arg-type]
        else:
            made = self.leaves.input(tuple(shape), dtype)
        self.known[made] = self.leaves.facts[-1]
        return made

    def _elements(self, shape: tuple[int, ...], dtype: int) -> np.ndarray[Any, Any]:
        if self.picked and dtype == TensorProto.INT64:
            return indices(self.rng, shape, self.picked)
        if self.counts and dtype == TensorProto.INT64:
            return np.asarray(self.rng.choice(tables.COUNTS, shape))
        numbers = ir.DataType(dtype).numpy()
        floating = np.issubdtype(numbers, np.floating)
        odd = tables.ODD_ELEMENTS[self.numerics] if floating else self.large_integers
        huge = tables.too_large(self.numerics, shape) if floating else self.huge_integers
        hints = Hints(self.numbers, self._leaf_dims(), odd, huge)
        kind = "huge" if self.all_huge and chance(self.rng, 0.7) else ""
        values = elements(self.rng, shape, floating, hints, kind)
        if dtype == TensorProto.FLOAT16 and self.numerics != "bitwise":
            values = np.clip(values, -HALF_RANGE, HALF_RANGE)
        with np.errstate(all="ignore"):
            return values.reshape(shape).astype(numbers)

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
        mark = self.rng.mark()
        while True:
            try:
                return self._operator(pattern, wish)
            except Rejected:
                self.retries -= 1
                if self.retries < 0:
                    raise
            self.environment, self.known = dict(bound), dict(known)
            self.leaves.forget(count)
            self.rng.back(mark)

    def _variable(self, pattern: Expression, wish: Sequence[Dim] | None, *, first: bool) -> Any:
        if pattern in self.named:
            return self.term(self.named[pattern], wish, first=first)
        if pattern.sort.kind == "tensor":
            again = any(known.shape is None for known in self.leaves.facts)
            if self.theme.is_usual and pick(self.rng, *[False] * (1 if again else 29), True):
                made = self.leaves.input(None, self.dtype)  # of any rank
                self.known[made] = self.leaves.facts[-1]
                return made
            made = self.leaf(
                self.theme.any_shape(self.rng) if wish is None else wish, self.dtype, first=first
            )
            return self._bounded(made) if self.ranged and chance(self.rng, 0.6) else made
        if pattern.sort.kind == "tensors":
            return self.list_of(self.theme.length(self.rng), wish)
        raise Rejected("a bundle")

    def _bounded(self, whole: Any) -> Any:
        """Numbers of which it is known between what they lie."""
        fact = self.known[whole]
        if fact.dtype not in INTEGERS | ALL_FLOATS:
            return whole
        function = pick(self.rng, *tables.within_bounds(fact.dtype, self.numbers))
        self.known[unary(*function, whole)] = typed("unary", function, (fact,), self, ())
        return unary(*function, whole)

    def list_of(self, count: int, wish: Sequence[Dim] | None, first: Any = None) -> Any:
        if self.weights:
            items = [self._weight(None, k) for k in range(len(self.weights))]
        else:
            shape = self.theme.any_shape(self.rng) if wish is None else wish
            items = [self.leaf(shape, self.dtype, first=True) if first is None else first]
            for k in range(1, count):
                other = None if self.theme.repeats(k) else self._varied(shape, k)
                items.append(items[0] if other is None else self.leaf(other, self.dtype, first=False))
        made = listed(*items)
        self.known[made] = tuple(self.known[item] for item in items)
        return made

    def _list(self, pattern: Expression, wish: Sequence[Dim] | None) -> Any:
        """The operators among the elements first: any shape goes with those of operands, but not theirs."""
        elements, rest = self._elements_of(pattern)
        shape = wish
        for k, element in enumerate(elements if self.weights else ()):
            self.environment[element] = self._weight(element, k)
        self.weights = self.weights[len(elements) :]
        ordered = sorted(elements, key=lambda e: (e not in self.environment, self._is_operand(e)))
        for k, element in enumerate(ordered):
            other = shape if shape is None or shape is wish else self._varied(shape, k)
            self.environment[element] = self.term(element, other, first=shape is None)
            if shape is None:
                shape = self.known[self.environment[element]].shape
        if rest is not None and elements and self._is_operand(rest) and self.theme.repeats(0):
            last = self.environment[elements[-1]]
            self.environment.setdefault(rest, self.list_of(self.theme.length(self.rng), shape, last))
        made = nil() if rest is None else self.term(rest, shape)
        known = () if rest is None else self.known[made]
        self.known[made] = known
        for element in reversed(elements):
            made = cons(self.environment[element], made)
            known = (self.known[self.environment[element]], *known)
            self.known[made] = known
        return made

    def _weight(self, pattern: Expression | None, k: int) -> Any:
        """The element of a list that has a shape of its own by its place, or is not there; None is any."""
        shapes, self.weights = self.weights, ()
        if k >= len(shapes):
            raise Rejected("so many weights")
        shape, drawn = shapes[k], pattern is not None and pattern in self.environment
        if shape is None and not drawn and (pattern is None or self._is_operand(pattern)):
            made, self.known[none()] = none(), ABSENT
        elif pattern is None:
            made = self.leaf(shape or (), self.dtype, first=False)
        else:
            made = self.term(pattern, shape)
        self.weights = shapes
        return made

    def _varied(self, shape: Sequence[Dim], number: int) -> Sequence[Dim]:
        """The shape of another element of a list: of a Concat its length along an axis may be another one."""
        if self.along is None or not shape:
            return self.theme.listed(self.rng, shape, number)
        if self.along < 0 or self.along >= len(shape):
            self.along = int(pick(self.rng, *range(len(shape))))
        dims = list(shape)
        dims[self.along] = self.theme.joined(self.rng, shape[self.along], number)
        return dims

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
        if name in PREDICATES and self.dtype == TensorProto.BOOL:
            self.dtype = pick(self.rng, *tables.TYPES)
        for k in declared.operand_positions:
            argument = pattern.arguments[k]
            self.rng.at(f"{argument!r} of {declared.name}")
            self._fix(argument, self.theme.fixed(self.rng, declared.name, len(operands), operands, name))
            shapes = self.theme.operand(self.rng, declared.name, name, operands, wish)
            if may_be_absent(declared.name, len(operands)):
                self._leave_out(argument)
            before, repeats = self.dtype, self.repeats
            self.dtype = self.theme.operand_dtype(self.rng, declared.name, name, len(operands), self.dtype)
            if declared.name in FLOATS_ONLY and before not in ALL_FLOATS:
                raise Rejected("an operator of floats")
            if declared.name == "cast":  # of the type that was cast before, or any
                self.dtype = pick(self.rng, *tables.TYPES, *self.cast_from * len(tables.TYPES))
                self.cast_from = (self.dtype,)
            self.picked = numbers_of(operands[0].shape) if declared.name == "gather" and operands else ()
            self.counts = (declared.name, len(operands)) in COUNTS
            outer, self.along = self.along, joined_axis(pattern, self.environment)
            if argument.sort.kind == "tensors":
                inside, rest = self._elements_of(argument)
                count = len(inside) if rest is None else None
                self.weights = self.theme.weights(self.rng, declared.name, operands, count)
            self.repeats *= not (operands and declared.name in FITTED)
            made = self.term(argument, shapes, first=not operands)
            joined, self.along, self.dtype, self.repeats = self.along, outer, before, repeats
            self.picked, self.counts, self.weights = (), False, ()
            given[k] = made
            found = self.known.get(made)
            operands.extend(found if isinstance(found, tuple) else (found,))
        if declared.name in FITTED and not has_fitting_bias(declared.name, operands):
            raise Rejected("a bias of other channels, which inference does not see")
        chosen = {"op": name, "wanted": self.dtype, "opset": self.opset, "dims": self._leaf_dims()}
        chosen["numbers"], chosen["slices"] = self.numbers, slices_in(self.environment.values())
        if declared.name == "concat" and joined is not None and joined >= 0:
            chosen["joined"] = joined
        for k, kind in enumerate(declared.kinds):
            if kind in ("object", "int") and given[k] is None:
                given[k] = self.attribute(
                    pattern.arguments[k], declared.name, declared.names[k], chosen, operands
                )
                chosen[declared.names[k]] = given[k].head.value
        made = pattern.head(*given)
        if made not in self.known:
            attributes = tuple(given[k].head.value for k in declared.attribute_positions)
            self.known[made] = typed(declared.name, attributes, tuple(operands), self, given)
        return made

    def _leaf_dims(self) -> list[int]:
        return sorted({d for f in self.leaves.facts for d in f.shape or () if isinstance(d, int) and d > 0})

    def _fix(self, argument: Expression, elements: Any) -> None:
        """Give an operand the elements that suit it, where it is not there yet."""
        if elements is None or argument in self.environment or not self._is_operand(argument):
            return
        if isinstance(elements, Fact):
            self.environment[argument], self.known[none()] = none(), ABSENT
            return
        dtype = ir.DataType.from_numpy(elements.dtype)
        self.environment[argument] = made = self.leaves.constant(elements, int(dtype))
        self.known[made] = self.leaves.facts[-1]

    def _leave_out(self, argument: Expression) -> None:
        """Let an operand that need not be there be absent now and then."""
        if self._is_operand(argument) and argument not in self.environment and chance(self.rng, 0.3):
            self.environment[argument] = none()
            self.known[none()] = ABSENT

    def string(self, pattern: Expression, operator: str) -> Any:
        if isinstance(pattern.head, Constant):
            return pattern
        if isinstance(pattern.head, HostFunction):
            return self.answer(pattern)
        if pattern not in self.environment:
            names = self.theme.names(operator)
            if not names:
                raise Rejected(f"no table of the names of {operator}")
            self.rng.at(f"{pattern!r}")
            chosen = pick(self.rng, *with_half_of(names, self.words))
            self.environment[pattern] = constant(chosen, pattern.sort)
        return self.environment[pattern]

    def attribute(
        self,
        pattern: Expression,
        operator: str,
        parameter: str,
        before: Mapping[str, Any],
        operands: list[Fact],
    ) -> Any:
        if isinstance(pattern.head, Constant):
            return pattern
        if isinstance(pattern.head, HostFunction):
            for argument in parts(pattern):
                self._anticipate(argument)
            return self.answer(pattern)
        if pattern not in self.environment:
            try:
                self.rng.at(f"{pattern!r} of {operator}.{parameter}")
                value = self._as_written() if (operator, parameter) == ("reshape", "dims") else None
                value = value or self.theme.attribute(self.rng, operator, parameter, before, operands)
            except LookupError as error:
                raise Rejected(str(error)) from error
            self.environment[pattern] = constant(value, pattern.sort)
        return self.environment[pattern]

    def _as_written(self) -> Shape | None:
        """Now and then the dims of what the law writes."""
        some = self.written and pick(self.rng, False, False, False, True)
        return shape_of_written(self, self.written[0], self.term) if some else None

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
                    self.attribute(argument, declared.name, parameter, {}, [f for f in operands if f])
                    return

    def _nearest(self, operand: Expression) -> Fact | None:
        """What is known of an operand, or of the first thing in it that is drawn."""
        for part in parts(operand):
            made = self.environment.get(part)
            found = None if made is None else self.known.get(made)
            if isinstance(found, Fact):
                return found
        return None

    def limit(self, name: str) -> int:
        return self.limits.setdefault(name, int(pick(self.rng, 1, 2, 3, 4, 5)))

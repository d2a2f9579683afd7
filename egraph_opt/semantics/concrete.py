"""The meaning of a term on tensors that are there: every number is one, so every element can be computed.

What operators mean is compared with what runtimes compute by way of this.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir
import z3

from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import INTEGERS
from egraph_opt.operators.declaration import operator_named
from egraph_opt.operators.expressions import OPERANDS, Expression
from egraph_opt.operators.terms import cons
from egraph_opt.semantics import operators as _  # noqa: F401 - declares meanings
from egraph_opt.semantics.resized_places import numbers_of
from egraph_opt.semantics.values import ElementType, Index, NoMeaningError, Value, meanings, of_type

Array = npt.NDArray[Any]

KNOWN: dict[str, Callable[[float], float]] = {
    "Acos": math.acos, "Acosh": math.acosh, "Asin": math.asin, "Asinh": math.asinh, "Atan": math.atan,
    "Atanh": math.atanh, "Ceil": math.ceil, "Cos": math.cos, "Cosh": math.cosh, "Erf": math.erf,
    "Exp": math.exp, "Floor": math.floor, "Log": math.log, "Reciprocal": lambda a: 1 / a,
    "Sigmoid": lambda a: 1 / (1 + math.exp(-a)), "Sin": math.sin, "Sinh": math.sinh, "Sqrt": math.sqrt,
    "Softplus": lambda a: math.log1p(math.exp(a)), "Softsign": lambda a: a / (1 + abs(a)), "Tan": math.tan,
    "Tanh": math.tanh, "Round": round,
}  # fmt: skip
"""Functions of which proofs know nothing."""

FOLDS: dict[str, Callable[[Sequence[Fraction]], Any]] = {
    "sum": sum, "ReduceProd": math.prod, "ReduceMax": max, "ReduceMin": min, "ReduceSum of integers": sum,
    "ReduceL1 of integers": lambda values: sum(map(abs, values)),
    "ReduceSumSquare of integers": lambda values: sum(v * v for v in values),
    "first greatest": lambda values: values.index(max(values)),
    "first least": lambda values: values.index(min(values)),
    "last greatest": lambda values: len(values) - 1 - values[::-1].index(max(values)),
    "last least": lambda values: len(values) - 1 - values[::-1].index(min(values)),
}  # fmt: skip


OUTSIDE = "outside"
"""What there is outside of a tensor, and what is computed of it: of a branch that is not taken."""

WITHOUT_ELEMENTS = frozenset(
    kind for kind in FOLDS if kind.startswith(("sum", "ReduceProd", "ReduceS", "ReduceL"))
)
"""Folds that say something of no elements."""


class UndefinedError(Exception):
    """An operator on operands of which ONNX says nothing."""


class Concrete:
    """Where all numbers are known; see `values.Scene`.

    Args:
        sizes: what symbols in dims stand for.
    """

    reals = compares = True
    showing = False

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.notes: set[str] = set()
        self.places: dict[Any, tuple[Any, list[z3.ArithRef]]] = {}

    def must(self, condition: z3.BoolRef | bool) -> None:
        if not self.decide(condition):
            raise UndefinedError(str(condition))

    def decide(self, condition: z3.BoolRef | bool) -> bool:
        return condition if isinstance(condition, bool) else z3.is_true(z3.simplify(condition))

    def choose(self, count: int) -> int:
        raise UndefinedError("nothing is left open")

    def same(self, a: z3.ArithRef, b: z3.ArithRef) -> bool:
        return self.decide(a == b)

    def alike(self, a: ElementType, b: ElementType) -> None:
        self.must(a() == b())

    def among(self, dtype: ElementType, types: Sequence[int]) -> None:
        """Runtimes say so."""

    def must_if_named(self, op: str, name: str, condition: z3.BoolRef) -> None:
        self.must(op != name or self.decide(condition))

    def assume_within(self, indices: Value, along: Any) -> None:
        """Runtimes say so."""

    def within(self, n: z3.ArithRef, low: z3.ArithRef, high: z3.ArithRef) -> bool:
        return self.decide(z3.And(low <= n, n < high))

    def fold(
        self, kind: str, bounds: Index, body: Callable[[Index], z3.ArithRef], where: Any = None
    ) -> z3.ArithRef:
        box = itertools.product(*(range(_number(bound)) for bound in bounds))
        places = [[z3.IntVal(k) for k in place] for place in box]
        values = [_fraction(body(p)) for p in places if where is None or self.decide(where(p))]
        kind = kind if kind in FOLDS else kind.partition(" of ")[0]
        if kind not in FOLDS:
            raise NoMeaningError(kind)
        if not values and kind not in WITHOUT_ELEMENTS:
            raise UndefinedError("the greatest of nothing")
        return z3.RealVal(str(FOLDS[kind](values)))

    def function(self, name: str, *arguments: z3.ArithRef) -> z3.ArithRef:
        given = [z3.simplify(argument) for argument in arguments]
        if not all(map(z3.is_rational_value, given)):
            return z3.Real(OUTSIDE)
        values = [_fraction(argument) for argument in given]
        several = numbers_of(name)
        if several is not None:
            return _real(several(*map(float, values)))
        known = name.removeprefix("within ").removeprefix("unary ").removesuffix(" ()")
        if known not in KNOWN:
            raise NoMeaningError(name)
        try:
            return _real(KNOWN[known](float(values[0])))
        except (ValueError, ZeroDivisionError, OverflowError) as error:
            raise UndefinedError(str(error)) from error

    def add(self, a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
        return a + b

    def retyped(self, token: Any, known: ElementType) -> None:
        """All types are known."""

    def is_whole(self, dtype: ElementType) -> bool:
        return dtype() in INTEGERS

    def is_in(self, dtype: ElementType, types: Collection[int]) -> bool:
        return dtype() in types

    is_surely_in = is_in

    def known(self, *facts: z3.BoolRef) -> None:
        """Numbers say so."""

    def negated(self, a: z3.ArithRef) -> z3.ArithRef:
        return -a

    def multiply(self, a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
        return a * b

    def without_order(self, name: str, a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
        return self.function(name, a, b)

    def formula(self, value: Any) -> z3.ArithRef:
        if isinstance(value, z3.ArithRef):
            return value
        if isinstance(value, str):
            value = symbolic.evaluate(value, self.sizes)
        return _real(value) if isinstance(value, float) else z3.IntVal(int(value))

    def real_formula(self, value: Any) -> z3.ArithRef:
        return _real(value)

    def share(self, n: z3.ArithRef, parts: z3.ArithRef, least: int = 1) -> z3.ArithRef:
        self.must(z3.And(parts >= 1, n % parts == 0, n / parts >= least))
        return z3.simplify(n / parts)

    def cut(
        self, first: z3.ArithRef, count: z3.ArithRef, by: z3.ArithRef, dim: z3.ArithRef, **asked: Any
    ) -> tuple[z3.ArithRef, z3.ArithRef]:
        return first, count

    def counted(self, n: z3.ArithRef) -> int:
        return _number(n)

    def dims_of(self, dims: Index) -> tuple[int, ...]:
        return tuple(map(_number, dims))

    def spelled(self, op: str) -> str:
        return op

    def once_named(self, op: str, function: Callable[[str], None]) -> None:
        function(op)

    name_so_far = settings_so_far = type_so_far = spelled

    def root(self, dtype: ElementType) -> int:
        return dtype()


def _real(value: float) -> z3.ArithRef:
    if not math.isfinite(value):
        raise UndefinedError("a number that is none of the reals")
    return z3.RealVal(str(Fraction(value)))


def _number(formula: z3.ArithRef) -> int:
    return z3.simplify(formula).as_long()


def _fraction(formula: z3.ArithRef) -> Fraction:
    made = z3.simplify(formula)
    return Fraction(made.numerator_as_long(), made.denominator_as_long())


def evaluate(term: Expression, leaves: Mapping[int, Array], sizes: Mapping[str, int]) -> Array:
    """What a term means on leaves by number, as float64.

    Raises:
        NoMeaningError: an operator has none.
        UndefinedError: nothing is said of such operands.
    """
    made = _value(term, leaves, Concrete(sizes))
    found = np.empty(tuple(map(_number, made.shape)), np.float64)
    for place in np.ndindex(found.shape):
        try:
            found[place] = float(_fraction(made.at([z3.IntVal(k) for k in place])))
        except OverflowError as error:
            raise UndefinedError("no number of 64 bits") from error
    return found


def _value(term: Expression, leaves: Mapping[int, Array], scene: Concrete) -> Any:
    if term.head is cons:
        first, rest = term.arguments
        return (_value(first, leaves, scene), *_value(rest, leaves, scene))
    name = getattr(term.head, "name", "")
    if name == "nil":
        return ()
    if name == "none":
        return None
    if name == "leaf":
        return _leaf(leaves[term.arguments[0].head.value])
    if name not in meanings:
        raise NoMeaningError(name)
    kinds = operator_named(name).kinds
    given = [
        _value(argument, leaves, scene) if kind in OPERANDS else argument.head.value
        for argument, kind in zip(term.arguments, kinds, strict=True)
    ]
    return meanings[name](scene, *given)


def _leaf(array: Array) -> Value:
    def at(index: Index) -> z3.ArithRef:
        place = tuple(map(_number, index))
        inside = all(0 <= k < d for k, d in zip(place, array.shape, strict=True))
        return _real(float(array[place])) if inside else z3.Real(OUTSIDE)

    dims = tuple(z3.IntVal(d) for d in array.shape)
    return Value(of_type(int(ir.DataType.from_numpy(array.dtype))), dims, at)

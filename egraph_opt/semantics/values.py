"""Tensors as functions of indices, and what the meaning of an operator may ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import z3

Index = Sequence[z3.ArithRef]

WIDE_EXP, WIDE_LOG = "within Exp", "within Log"
"""Exponentials and logarithms within an operator, which sees to it that none of them overflows: Softmax, say.
Of these is known what is so of real numbers, as of the operators Exp and Log it is not: a product of two
exponentials may be infinite where that of the sum is not."""


@dataclass(frozen=True)
class ElementType:
    """An element type, which is asked for where it matters only.

    Attributes:
        token: answers what is equal of equal types, whichever they are; the type where it is known.
        asked: answers which ``onnx.TensorProto.DataType`` it is.
    """

    token: Callable[[], Any]
    asked: Callable[[], int]

    def __call__(self) -> int:
        return self.asked()


def of_type(dtype: int) -> ElementType:
    return ElementType(lambda: dtype, lambda: dtype)


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor: its dims, and its element at an index within them.

    Attributes:
        dtype: the element type.
        splat: answers the one number that all elements are, where that is so, or None.
        listed: answers all elements, where they are known, or None; there is no such function where there may
            be an answer that is not known here.
        known: of a tensor that a pattern leaves open what is known of its elements, see `proofs.elements`.
        viewed: of a view what it is one of, which is none itself.
        repeated: what has each of its elements, and all of which are there where it has any.
        written: a law writes its elements, which are numbers of its type and no results that wrap around.
    """

    dtype: ElementType
    shape: tuple[z3.ArithRef, ...]
    at: Callable[[Index], z3.ArithRef]
    splat: Callable[[], z3.ArithRef | None] = lambda: None
    listed: Callable[[], Any] | None = None
    viewed: Value | None = None
    repeated: Value | None = None
    known: Any = None
    written: bool = False

    @property
    def origin(self) -> Value:
        """What has the same elements in the same row-major order: a view of a view is one of that."""
        return self if self.viewed is None else self.viewed

    @property
    def rank(self) -> int:
        return len(self.shape)


class Scene(Protocol):
    """Where operators get their meaning: what is assumed, or has to be shown, of their operands.

    Attributes:
        places: where elements of views stand, by the formulas that were asked of, which are kept as well.
    """

    places: dict[Any, tuple[Any, list[z3.ArithRef]]]

    def must(self, condition: z3.BoolRef | bool) -> None:
        """ONNX defines the operator on such operands only."""

    def decide(self, condition: z3.BoolRef | bool) -> bool:
        """Whether a condition holds; both cases are looked at where both are possible."""

    def choose(self, count: int) -> int:
        """One of so many cases; all are looked at."""

    def same(self, a: z3.ArithRef, b: z3.ArithRef) -> bool:
        """Whether two numbers are known to be one."""

    def alike(self, a: ElementType, b: ElementType) -> None:
        """ONNX defines the operator on operands of one type only."""

    def among(self, dtype: ElementType, types: Sequence[int]) -> None:
        """ONNX defines the operator on operands of some types only."""

    def root(self, dtype: ElementType) -> Any:
        """The type, or what all types have in common that are known to be this one."""

    def within(self, n: z3.ArithRef, low: z3.ArithRef, high: z3.ArithRef) -> bool:
        """Whether low <= n < high is known."""

    def fold(
        self, kind: str, bounds: Index, body: Callable[[Index], z3.ArithRef], order: Any = None
    ) -> z3.ArithRef:
        """The sum, greatest or least of what a body is over a box of indices."""

    def function(self, name: str, *arguments: z3.ArithRef) -> z3.ArithRef:
        """A function of numbers of which nothing is known but that it is one."""

    def add(self, a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef: ...

    def multiply(self, a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef: ...

    def formula(self, number: Any) -> z3.ArithRef:
        """The formula of an attribute that is a number."""


class NoMeaningError(Exception):
    """An operator, or an attribute of it, that has no meaning here."""


Meaning = Callable[..., Any]
Chooser = Callable[..., Any]

meanings: dict[str, Meaning] = {}
choosers: dict[tuple[str, str], Chooser] = {}


def means(operator: str, **attributes: Chooser) -> Callable[[Meaning], Meaning]:
    """Declare what an operator means: ``f(scene, *operands and attributes in the operator's order)``.

    Args:
        attributes: by parameter how it is chosen where a pattern leaves it open:
            ``f(scene, given) -> value`` with operands and attributes that are there, by parameter.
    """

    def register(meaning: Meaning) -> Meaning:
        if operator in meanings:
            raise ValueError(f"{operator} gets its meaning twice")
        meanings[operator] = meaning
        choosers.update({(operator, name): chooser for name, chooser in attributes.items()})
        return meaning

    return register


def number(value: int) -> z3.ArithRef:
    return z3.IntVal(value)


def is_number(formula: z3.ArithRef, value: int) -> bool:
    """Whether a formula is this number, as it is written."""
    return z3.is_int_value(formula) and formula.as_long() == value


def product(dims: Index) -> z3.ArithRef:
    result: z3.ArithRef = number(1)
    for dim in dims:
        result = result * dim
    return z3.simplify(result)


def broadcast_shape(scene: Scene, shapes: Sequence[Index]) -> tuple[z3.ArithRef, ...]:
    """The dims of what several operands are broadcast to; they have to fit."""
    rank = max(len(shape) for shape in shapes)
    dims: list[z3.ArithRef] = []
    for axis in range(rank):
        given = [shape[axis - rank] for shape in shapes if axis - rank >= -len(shape)]
        dim = given[0]
        for other in given[1:]:
            if not scene.same(dim, other):
                scene.must(z3.Or(dim == other, dim == 1, other == 1))
                dim = z3.simplify(z3.If(dim == 1, other, dim))
        dims.append(dim)
    return tuple(dims)


def broadcast_index(x: Value, index: Index, shape: Index) -> list[z3.ArithRef]:
    """Where the element of x stands that goes to an index of what it is broadcast to."""
    own = index[len(index) - x.rank :]
    wide = shape[len(shape) - x.rank :]
    return [
        i if z3.eq(d, w) else z3.simplify(z3.If(d == 1, number(0), i))
        for i, d, w in zip(own, x.shape, wide, strict=True)
    ]

"""The pattern language: expressions of variables, constants, operators, tables and host functions.

A law is written in it, and so are the examples of its test.  Nothing here knows egglog; `egraph.program`
writes expressions down as egglog takes them.

    x * k                        an element-wise operator of tensors, see `elementwise`
    transpose(x, p)              an operator, declared with `@operator`
    joined(x, y, axis)           a table or relation, declared with `@table`
    then(p, q)                   what a host function answers, see `host`
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, is_dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from egraph_opt.errors import LawError
from egraph_opt.forking import cached_property
from egraph_opt.operators.values import plain_value

Kind = Literal["tensor", "tensors", "bundle", "string", "int", "object", "unit"]


OPERANDS = ("tensor", "tensors", "bundle")
"""The kinds of parameters that are operands, and not attributes."""


@dataclass(frozen=True)
class Sort:
    """What a parameter or result is.

    Attributes:
        kind: of egglog's sort.
        name: of an attribute's sort, such as "Permutation"; "" where none is said.
    """

    kind: Kind
    name: str = ""

    def __str__(self) -> str:
        return self.name or _CLASSES[self.kind].__name__


class Expression:
    """A term: a head applied to arguments.  Equal where it is written alike, and constants of one sort."""

    __slots__ = ("_hash", "arguments", "head", "sort")

    def __init__(self, head: Any, arguments: tuple[Expression, ...], sort: Sort) -> None:
        self.head, self.arguments, self.sort = head, arguments, sort
        self._hash = hash((head, arguments))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Expression)
            and self._hash == other._hash
            and self.head == other.head
            and self.arguments == other.arguments
            and (self.sort is other.sort or self.sort == other.sort)
        )

    def __repr__(self) -> str:
        if isinstance(self.head, (Variable, Constant)):
            return str(self.head)
        inside = ", ".join(map(repr, self.arguments))
        return f"{self.head.name}({inside})"

    def __bool__(self) -> bool:
        raise LawError(f"`{self!r}` is part of a pattern: it has no truth value while a law is declared")


@dataclass(frozen=True)
class Variable:
    """A pattern variable."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Constant:
    """A value that a law names; `text` tells 0.0, -0.0, 0 and False apart."""

    text: str
    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


class Tensor(Expression):
    """One value: a tensor, or a sequence, optional or sparse tensor that no law looks into.

    ``x + y``, ``x - y``, ``x * y``, ``x / y``, ``x ** y``, ``-x`` and ``x @ y`` are ONNX's Add, Sub, Mul,
    Div, Pow, Neg and MatMul, with ONNX's broadcasting.
    """

    __slots__ = ()

    def __add__(self, other: Tensor) -> Tensor:
        return _binary("Add", self, other)

    def __sub__(self, other: Tensor) -> Tensor:
        return _binary("Sub", self, other)

    def __mul__(self, other: Tensor) -> Tensor:
        return _binary("Mul", self, other)

    def __truediv__(self, other: Tensor) -> Tensor:
        return _binary("Div", self, other)

    def __pow__(self, other: Tensor) -> Tensor:
        return _binary("Pow", self, other)

    def __neg__(self) -> Tensor:
        return _declared["unary"]("Neg", (), self)  # type: ignore[no-any-return]

    def __matmul__(self, other: Tensor) -> Tensor:
        return _declared["matmul"](self, other)  # type: ignore[no-any-return]

    __array_ufunc__ = None  # numpy's operators leave it to ours

    def __radd__(self, other: Any) -> Tensor:
        return _binary("Add", other, self)

    def __rsub__(self, other: Any) -> Tensor:
        return _binary("Sub", other, self)

    def __rmul__(self, other: Any) -> Tensor:
        return _binary("Mul", other, self)

    def __rtruediv__(self, other: Any) -> Tensor:
        return _binary("Div", other, self)

    def __rpow__(self, other: Any) -> Tensor:
        return _binary("Pow", other, self)


def _binary(op: str, left: Any, right: Any) -> Tensor:
    if not (isinstance(left, Tensor) and isinstance(right, Tensor)):
        raise LawError(f"{op} of {left!r} and {right!r}: write a number as a tensor, with `number_like`")
    return _declared["binary"](op, left, right)  # type: ignore[no-any-return]


class Tensors(Expression):
    """A list of operands: `nil` or `cons`."""

    __slots__ = ()


class Bundle(Expression):
    """All outputs of one multi-output operator."""

    __slots__ = ()


class String(Expression):
    """A name, such as that of an element-wise operator."""

    __slots__ = ()


class Int(Expression):
    """A number that egglog itself computes with, such as an opset or a limit."""

    __slots__ = ()

    def __add__(self, other: int) -> Int:
        return Int(PLUS, (self, coerced(other, self.sort, "+")), self.sort)

    def __lt__(self, other: Int) -> Unit:
        """The condition that this number is the smaller one."""
        return Unit(LESS, (self, coerced(other, self.sort, "<")), Sort("unit"))


class Attribute(Expression):
    """A value that only the host looks into: an attribute, a fact, or what a host function answers."""

    __slots__ = ()

    def __getitem__(self, index: int) -> Attribute:
        """The element of a tuple that a host function answers."""
        return _declared["element"](self, index)  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        raise LawError(f"`{self!r}` cannot be unpacked; take its elements by number")


class Unit(Expression):
    """An entry of a relation."""

    __slots__ = ()


_CLASSES: dict[str, type[Expression]] = {
    "tensor": Tensor,
    "tensors": Tensors,
    "bundle": Bundle,
    "string": String,
    "int": Int,
    "object": Attribute,
    "unit": Unit,
}
_KINDS: dict[Any, Kind] = {cls: kind for kind, cls in _CLASSES.items()}  # type: ignore[misc]


class attribute_sort:  # noqa: N801 - a mark in annotations
    """The mark of a named sort of attributes.

    In ``Permutation = Annotated[tuple[int, ...], attribute_sort("Permutation")]`` a value of the sort is, for
    the host and for a type checker, what stands first.
    """

    def __init__(self, name: str) -> None:
        self.name = name


def sort_of(annotation: Any) -> Sort:
    """The sort that an annotation of a parameter or result names; any other Python type is an attribute."""
    if annotation in _KINDS:
        return Sort(_KINDS[annotation])
    for part in alternatives(annotation):
        if isinstance(part, type) and is_dataclass(part):
            return Sort("object", part.__name__)
        if get_origin(part) is Annotated:
            for mark in get_args(part)[1:]:
                if isinstance(mark, attribute_sort):
                    return Sort("object", mark.name)
                if mark is String:
                    return Sort("string")
    return Sort("object")


def alternatives(annotation: Any) -> tuple[Any, ...]:
    """The parts of `A | B`."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def variable(name: str, sort: Sort) -> Any:
    """A pattern variable of a sort."""
    return _CLASSES[sort.kind](Variable(name), (), sort)


def constant(value: Any, sort: Sort) -> Any:
    """A value as an expression."""
    return _CLASSES[sort.kind](Constant(repr(value), value), (), sort)


def coerced(value: Any, sort: Sort, where: str) -> Expression:
    """A value as an argument of the sort asked for.

    Raises:
        LawError: it is of another sort.
    """
    if not isinstance(value, Expression):
        plain = {"string": str, "int": int}.get(sort.kind)
        if sort.kind == "object":
            value = plain_value(value, sort.name, where)
        elif plain is None or not isinstance(value, plain):
            raise LawError(f"{where}: {value!r} is no {_CLASSES[sort.kind].__name__}{_meant(value, sort)}")
        return constant(value, sort)  # type: ignore[no-any-return]
    if value.sort.kind != sort.kind:
        raise LawError(f"{where}: `{value!r}` is a {value.sort}, and not a {sort}")
    if sort.name and value.sort.name and sort.name != value.sort.name:
        raise LawError(f"{where}: `{value!r}` is a {value.sort.name}, and not a {sort.name}")
    return value


def _meant(value: Any, sort: Sort) -> str:
    """What is written instead of a Python value that is no operand."""
    if sort.kind == "tensor" and isinstance(value, (bool, int, float, np.generic)):
        return "; write a number as a tensor, with `number_like`"
    return "; write a list of operands with `listed`" if sort.kind == "tensors" else ""


Merge = Literal["first", "last", "max", "new"] | Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Function:
    """Something that egglog keeps a table of: an operator's constructor, a table or a relation.

    Attributes:
        name: unique.
        parameters: names and sorts.
        result: the result's sort; of kind "unit" for a relation.
        merge: of a table, what becomes of two values for one key; None for a constructor, whose result is a
            class of its own.
        shorthand: whether it stands for operators, see `shorthand`.
    """

    name: str
    parameters: tuple[tuple[str, Sort], ...]
    result: Sort
    merge: Merge | None = None
    doc: str = ""
    shorthand: bool = False

    @cached_property
    def operand_positions(self) -> tuple[int, ...]:
        return tuple(k for k, (_, sort) in enumerate(self.parameters) if sort.kind in OPERANDS)

    def __call__(self, *arguments: Any) -> Any:
        if len(arguments) != len(self.parameters):
            wanted = ", ".join(name for name, _ in self.parameters)
            raise LawError(f"{self.name} takes ({wanted}), and not {len(arguments)} arguments")
        given = tuple(
            coerced(argument, sort, f"{self.name}, {name}")
            for argument, (name, sort) in zip(arguments, self.parameters, strict=True)
        )
        return _CLASSES[self.result.kind](self, given, self.result)


_declared: dict[str, Callable[..., Any]] = {}
"""What the operators of expressions stand for."""


def stands_for(name: str, function: Callable[..., Any]) -> None:
    """Declare what `binary`, `unary`, `matmul` or `element` is: expressions are declared before those."""
    _declared[name] = function


PLUS = Function("+", (("left", Sort("int")), ("right", Sort("int"))), Sort("int"))
LESS = Function("<", (("left", Sort("int")), ("right", Sort("int"))), Sort("unit"))
"""egglog's own arithmetic."""

declared_functions: dict[str, Function] = {}


def functions() -> dict[str, Function]:
    """Everything that egglog keeps a table of, in order of declaration."""
    return dict(declared_functions)


def declare(function: Function) -> Function:
    """Register a function.

    Raises:
        LawError: the name is taken.
    """
    if function.name in declared_functions:
        raise LawError(f"{function.name} is declared twice")
    declared_functions[function.name] = function
    return function


def signature(stub: Callable[..., Any]) -> tuple[tuple[tuple[str, Sort], ...], Sort]:
    """The parameters and the result of a stub, as its annotations say."""
    hints = get_type_hints(stub, include_extras=True)
    result = hints.pop("return", Unit)
    if result is int:
        result = Int
    return tuple((name, sort_of(hint)) for name, hint in hints.items()), sort_of(result)


def parts(expression: Expression) -> Iterator[Expression]:
    """An expression and all that it is made of."""
    yield expression
    for argument in expression.arguments:
        yield from parts(argument)

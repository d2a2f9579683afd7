"""Symbolic numbers that Python code takes for numbers: they carry a formula, and fork where it is asked.

A `Whole` passes for an int and a `Fraction` for a float, whatever they stand for.  What Python computes of
their bits, and not of their value, cannot be: a hash, an index into a list, a range.  There a proof stays
open, and never goes on with a number in their stead.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection
from typing import Any, NoReturn

import z3

from egraph_opt.proofs.paths import Path
from egraph_opt.proofs.rounding import combined, compared, is_whole, ratio
from egraph_opt.proofs.trail import Open


def _no(what: str) -> NoReturn:
    raise Open(f"a host function needs {what} of a number that is not known")


class UnhashableError(Open):
    """What is not known has no hash."""


class Truth:
    """A truth value that is not known: `decide` is asked where Python asks, and not before."""

    __slots__ = ("formula", "path")

    def __init__(self, formula: z3.BoolRef, path: Path) -> None:
        self.formula, self.path = formula, path

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return bool

    def __repr__(self) -> str:
        return f"<{self.formula}>"

    def __hash__(self) -> int:
        raise UnhashableError("a host function needs a hash of a truth value that is not known")

    def __bool__(self) -> bool:
        return self.path.decide(self.formula)

    def __index__(self) -> int:
        return int(bool(self))

    def __eq__(self, other: object) -> Any:
        if type(other) is Truth:
            return Truth(self.formula == other.formula, self.path)
        return bool(self) == other

    def __and__(self, other: Any) -> Any:
        if type(other) is Truth:
            return Truth(z3.And(self.formula, other.formula), self.path)
        return bool(self) & other

    def __or__(self, other: Any) -> Any:
        if type(other) is Truth:
            return Truth(z3.Or(self.formula, other.formula), self.path)
        return bool(self) | other

    def __add__(self, other: Any) -> Any:
        return number_of(z3.If(self.formula, z3.IntVal(1), z3.IntVal(0)), self.path) + other

    __rand__, __ror__, __radd__ = __and__, __or__, __add__


def truth_of(formula: z3.BoolRef, path: Path) -> Any:
    """A condition as Python code takes it: a plain truth value where it is one."""
    formula = z3.simplify(formula)
    if z3.is_true(formula):
        return True
    return False if z3.is_false(formula) else Truth(formula, path)


class _Number:
    """A number with a formula on a path."""

    __slots__ = ("formula", "path")

    def __init__(self, formula: z3.ArithRef, path: Path) -> None:
        self.formula, self.path = formula, path

    def __repr__(self) -> str:
        return f"<{self.formula}>"

    def __hash__(self) -> int:
        raise UnhashableError("a host function needs a hash of a number that is not known")

    def __index__(self) -> int:
        known = self.path.only_value(self.formula)
        return _no("the exact size") if known is None else known

    def __int__(self) -> int:
        return self.__index__()

    def __float__(self) -> float:
        _no("the exact value")

    def __bool__(self) -> bool:
        return self.path.decide(self.formula != 0)

    def __eq__(self, other: object) -> Any:
        given = formula_of(other)
        return False if given is None else self._asked(operator.eq, given)

    def __ne__(self, other: object) -> Any:
        given = formula_of(other)
        return True if given is None else self._asked(operator.ne, given)

    def __lt__(self, other: Any) -> Any:
        return other > 0 if _is_infinite(other) else self._asked(operator.lt, _formula(other))

    def __le__(self, other: Any) -> Any:
        return other > 0 if _is_infinite(other) else self._asked(operator.le, _formula(other))

    def __gt__(self, other: Any) -> Any:
        return other < 0 if _is_infinite(other) else self._asked(operator.gt, _formula(other))

    def __ge__(self, other: Any) -> Any:
        return other < 0 if _is_infinite(other) else self._asked(operator.ge, _formula(other))

    def _asked(self, question: Callable[[Any, Any], Any], other: z3.ArithRef) -> Any:
        return truth_of(question(compared(self.formula), compared(other)), self.path)

    def __add__(self, other: Any) -> Any:
        return self._made(combined(operator.add, self.formula, _formula(other)))

    def __sub__(self, other: Any) -> Any:
        return self._made(combined(operator.sub, self.formula, _formula(other)))

    def __rsub__(self, other: Any) -> Any:
        return self._made(combined(operator.sub, _formula(other), self.formula))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (tuple, list, str)):
            _no("the exact size")
        return self._made(combined(operator.mul, self.formula, _formula(other)))

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Any) -> Any:
        return _ratio(self.formula, _formula(other), self.path)

    def __rtruediv__(self, other: Any) -> Any:
        return _ratio(_formula(other), self.formula, self.path)

    def __neg__(self) -> Any:
        return self._made(-self.formula)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self._made(z3.If(self.formula >= 0, self.formula, -self.formula))

    def __pow__(self, other: Any) -> Any:
        if not isinstance(other, int) or isinstance(other, _Number) or not 0 <= other <= 8:
            _no("a power")
        result: Any = 1
        for _ in range(other):
            result = self * result
        return result

    def _made(self, formula: z3.ArithRef) -> Any:
        return number_of(formula, self.path)


class Whole(_Number):
    """A whole number."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return int

    def __floordiv__(self, other: Any) -> Any:
        return self._made(quotient(self.formula, _formula(other), self.path))

    def __rfloordiv__(self, other: Any) -> Any:
        return self._made(quotient(_formula(other), self.formula, self.path))

    def __mod__(self, other: Any) -> Any:
        return self - other * (self // other)

    def __rmod__(self, other: Any) -> Any:
        return other - self * (other // self)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def bit_length(self) -> int:
        _no("the bits")


class TypeNumber(Whole):
    """An element type that is not known: it is compared as a number, and known where it is looked up.

    Attributes:
        root: its token; what is known of it says `path.types`, which are others each time a path is taken.
    """

    __slots__ = ("root",)

    def __init__(self, formula: z3.ArithRef, path: Path, root: Any) -> None:
        super().__init__(formula, path)
        self.root = root

    def __index__(self) -> int:
        return self.path.types.decided(self.root)

    def __hash__(self) -> int:
        return hash(self.path.types.decided(self.root))

    def __eq__(self, other: object) -> Any:
        known = self.path.kept_on_way(self.root)
        return super().__eq__(other) if known is None else known == other

    def __ne__(self, other: object) -> Any:
        known = self.path.kept_on_way(self.root)
        return super().__ne__(other) if known is None else known != other

    def is_in(self, types: Collection[int]) -> Any:
        """Whether it is one of some types: one question."""
        possible = self.path.types.possible(self.root)
        inside = [t for t in possible if t in types]
        if len(inside) in (0, len(possible)):
            return bool(inside)
        return truth_of(z3.Or([self.formula == t for t in inside]), self.path)


class Fraction(_Number):
    """A real number."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return float

    def is_integer(self) -> Any:
        return truth_of(is_whole(self.formula), self.path)


SYMBOLS: tuple[type, ...] = (Whole, Fraction, Truth, TypeNumber)
"""What stands for a number or a truth value that is not known."""


def quotient(a: z3.ArithRef, b: z3.ArithRef, path: Path) -> z3.ArithRef:
    """a // b as Python has it: rounded down.  The solver's division is that for a divisor above 0."""
    if path.decide(b == 0):
        raise ZeroDivisionError
    return a / b if path.decide(b > 0) else (-a) / (-b)


def _ratio(a: z3.ArithRef, b: z3.ArithRef, path: Path) -> Any:
    if path.decide(b == 0):
        raise ZeroDivisionError
    return number_of(ratio(a, b), path)


def formula_of(value: object) -> z3.ArithRef | None:
    """The formula of a number, or None of anything else."""
    if isinstance(value, z3.ArithRef):
        return value
    if type(value) in (Whole, Fraction, TypeNumber):
        return value.formula  # type: ignore[attr-defined]
    if type(value) is Truth:
        return z3.If(value.formula, z3.IntVal(1), z3.IntVal(0))
    if isinstance(value, (bool, int)):
        return z3.IntVal(int(value))
    if isinstance(value, float) and value == value and not _is_infinite(value):
        return z3.RealVal(repr(value)) if "e" not in repr(value) else z3.RealVal(_exact(value))
    return None


def _is_infinite(value: Any) -> bool:
    return type(value) is float and value in (math.inf, -math.inf)


def _exact(value: float) -> str:
    top, bottom = value.as_integer_ratio()
    return f"{top}/{bottom}"


def _formula(value: object) -> z3.ArithRef:
    found = formula_of(value)
    if found is None:
        raise TypeError(f"{value!r} is no number")
    return found


def number_of(formula: z3.ArithRef, path: Path) -> Any:
    """A formula as Python code takes it: a plain number where it is one."""
    formula = z3.simplify(formula)
    if z3.is_int_value(formula):
        return formula.as_long()
    if formula.is_int():
        return Whole(formula, path)
    return Fraction(formula, path)

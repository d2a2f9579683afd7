"""Symbolic numbers that Python code takes for numbers: they carry a formula, and fork where it is asked.

A `Whole` passes for an int and a `Fraction` for a float, whatever they stand for.  What Python computes of
their bits, and not of their value, cannot be: a hash, an index into a list, a range.  There a proof stays
open, and never goes on with a number in their stead.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import z3

from egraph_opt.proofs.paths import Open, Path


def _no(what: str) -> NoReturn:
    raise Open(f"a host function needs {what} of a number that is not known")


class _Number:
    """A number with a formula on a path."""

    __slots__ = ("formula", "path")

    def __init__(self, formula: z3.ArithRef, path: Path) -> None:
        self.formula, self.path = formula, path

    def __repr__(self) -> str:
        return f"<{self.formula}>"

    def __hash__(self) -> int:
        _no("a hash")

    def __index__(self) -> int:
        _no("the exact size")

    def __int__(self) -> int:
        _no("the exact size")

    def __float__(self) -> float:
        _no("the exact value")

    def __bool__(self) -> bool:
        return self.path.decide(self.formula != 0)

    def __eq__(self, other: object) -> bool:
        given = formula_of(other)
        return given is not None and self.path.decide(self.formula == given)

    def __lt__(self, other: Any) -> bool:
        return other > 0 if _is_infinite(other) else self.path.decide(self.formula < _formula(other))

    def __le__(self, other: Any) -> bool:
        return other > 0 if _is_infinite(other) else self.path.decide(self.formula <= _formula(other))

    def __gt__(self, other: Any) -> bool:
        return other < 0 if _is_infinite(other) else self.path.decide(self.formula > _formula(other))

    def __ge__(self, other: Any) -> bool:
        return other < 0 if _is_infinite(other) else self.path.decide(self.formula >= _formula(other))

    def __add__(self, other: Any) -> Any:
        return self._made(self.formula + _formula(other))

    def __sub__(self, other: Any) -> Any:
        return self._made(self.formula - _formula(other))

    def __rsub__(self, other: Any) -> Any:
        return self._made(_formula(other) - self.formula)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (tuple, list, str)):
            _no("the exact size")
        return self._made(self.formula * _formula(other))

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


class Fraction(_Number):
    """A real number."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return float

    def is_integer(self) -> bool:
        return self.path.decide(z3.IsInt(self.formula))


def quotient(a: z3.ArithRef, b: z3.ArithRef, path: Path) -> z3.ArithRef:
    """a // b as Python has it: rounded down.  The solver's division is that for a divisor above 0."""
    if path.decide(b == 0):
        raise ZeroDivisionError
    return a / b if path.decide(b > 0) else (-a) / (-b)


def _ratio(a: z3.ArithRef, b: z3.ArithRef, path: Path) -> Any:
    if path.decide(b == 0):
        raise ZeroDivisionError
    return number_of(z3.ToReal(a) / z3.ToReal(b) if a.is_int() else a / b, path)


def formula_of(value: object) -> z3.ArithRef | None:
    """The formula of a number, or None of anything else."""
    if isinstance(value, z3.ArithRef):
        return value
    if type(value) in (Whole, Fraction):
        return value.formula  # type: ignore[attr-defined]
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

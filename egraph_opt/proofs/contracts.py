"""What is taken for granted of functions that ask for the bits of a number, or for tables of a library.

    math.isfinite, math.isinf, math.isnan    of a number, which is one of the reals
    math.copysign(1.0, x)                     the sign of x; of 0 there are both
    np.float32(x), np.asarray(x, dtype)       a function of x, but x where a law is about real ones
    is_available(op, opset)                   asked of each opset that there is

Of what is known they answer what the functions do, which tests compare.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import z3

from egraph_opt.operators import availability
from egraph_opt.proofs.numbers import SYMBOLS, Fraction, TypeNumber, Whole, truth_of
from egraph_opt.proofs.remembered import has_own_names
from egraph_opt.proofs.trail import Open

_PLAIN = availability.is_available

OPSETS = range(7, 31)
"""Of a model; an opset that a statement asks for is one of them."""


def _of_numbers(plain: Callable[..., Any], of_any: bool) -> Callable[..., Any]:
    def asked(value: Any) -> Any:
        return of_any if type(value) in SYMBOLS else plain(value)

    return asked


def _rounded(value: Any) -> Any:
    """The number of single precision next to a number: of some that is the number itself."""
    if type(value) not in (Whole, Fraction):
        return np.float32(value)
    return _number_of_type(value, "float32")


def _number_of_type(value: Whole | Fraction, dtype: str) -> Fraction:
    """The number of a type next to a number; what is rounded by that is no matter of the reals, but of whole
    numbers it is."""
    if value.path.is_real and type(value) is Fraction and np.dtype(dtype).kind == "f":
        return Fraction(_real(value.formula), value.path)
    rounded = z3.Function(f"in {dtype}", z3.RealSort(), z3.RealSort())
    return Fraction(rounded(_real(value.formula)), value.path)


def _real(formula: z3.ArithRef) -> z3.ArithRef:
    return formula if formula.is_real() else z3.ToReal(formula)


def _array(value: Any, dtype: Any = None, **options: Any) -> Any:
    """An array of one number that is not known is that number, as its type has it."""
    if type(value) not in (Whole, Fraction):
        return np.asarray(value, dtype, **options)
    if dtype is None or options:
        raise Open("a host function makes an array of a number that is not known")
    return _number_of_type(value, str(np.dtype(dtype)))


def _with_sign(size: float, value: Any) -> Any:
    """A number with the sign of another, of which a 0 has one that no other number tells."""
    if type(value) not in (Whole, Fraction):
        return math.copysign(size, value)
    if has_own_names(value):
        raise Open("a host function asks for the sign of a zero")  # which has none without its name
    formula = _real(value.formula)
    below = z3.Or(formula < 0, z3.And(formula == 0, z3.Bool(f"sign of {value.formula.sexpr()}")))
    number = z3.RealVal(repr(abs(float(size))))
    return Fraction(z3.If(below, -number, number), value.path)


def _root(value: Any) -> Any:
    if type(value) in SYMBOLS:
        raise Open("a host function needs a root of a number that is not known")
    return math.sqrt(value)


def is_available(op: str, opset: Any) -> Any:
    """Whether one of the opsets that have an operator is this one."""
    if type(opset) not in (Whole, TypeNumber):
        return _PLAIN(op, opset)
    those = [opset.formula == n for n in OPSETS if _PLAIN(op, n)]
    return truth_of(z3.Or(those), opset.path)


class _Shadow:
    """A module some functions of which are others."""

    def __init__(self, module: Any, **functions: Callable[..., Any]) -> None:
        self.module = module
        vars(self).update(functions)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)


CONTRACTS: dict[int, Any] = {
    id(math): _Shadow(
        math,
        isfinite=_of_numbers(math.isfinite, True),
        isinf=_of_numbers(math.isinf, False),
        isnan=_of_numbers(math.isnan, False),
        sqrt=_root,
        copysign=_with_sign,
    ),
    id(np): _Shadow(
        np,
        isfinite=_of_numbers(np.isfinite, True),
        isinf=_of_numbers(np.isinf, False),
        isnan=_of_numbers(np.isnan, False),
        float32=_rounded,
        asarray=_array,
    ),
    id(availability.is_available): is_available,
}
"""By the identity of a module or function what host functions find in its stead."""

"""What is taken for granted of functions that ask for the bits of a number, or for tables of a library.

    math.isfinite, math.isinf, math.isnan    of a number, which is one of the reals
    np.float32(x)                             a function of x
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
    formula = value.formula if value.formula.is_real() else z3.ToReal(value.formula)
    return Fraction(z3.Function("in float32", z3.RealSort(), z3.RealSort())(formula), value.path)


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
    ),
    id(np): _Shadow(
        np,
        isfinite=_of_numbers(np.isfinite, True),
        isinf=_of_numbers(np.isinf, False),
        isnan=_of_numbers(np.isnan, False),
        float32=_rounded,
    ),
    id(availability.is_available): is_available,
}
"""By the identity of a module or function what host functions find in its stead."""

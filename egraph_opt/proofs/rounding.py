"""Floats that Python computes of whole numbers: what they hold is exact up to 2^53, and no longer.

A float that is an element or an attribute is a real number, and so is what is computed of those: rounding is
the gate's.  But a size or a bound that goes through a float comes back as another number, or is compared as
one, and no proof may take it for the one that went in.
"""

from __future__ import annotations

from collections.abc import Callable

import z3

EXACT = 2**53
"""All whole numbers up to here are floats."""

_HELD = z3.Function("in float64", z3.IntSort(), z3.IntSort())
_QUOTIENT = z3.Function("quotient in float64", z3.IntSort(), z3.IntSort(), z3.RealSort())
_ROUNDED = z3.Function("rounded to float64", z3.RealSort(), z3.RealSort())
_CUT_OFF = z3.Function("cut off", z3.RealSort(), z3.IntSort())


def _few(*numbers: z3.ArithRef) -> z3.BoolRef:
    """That numbers are within what floats hold."""
    return z3.And([z3.And(n >= -EXACT, n <= EXACT) for n in numbers])


def held(n: z3.ArithRef) -> z3.ArithRef:
    """The whole number that a float has for one."""
    n = z3.simplify(n)
    if z3.is_int_value(n):
        return z3.IntVal(int(float(n.as_long()))) if abs(n.as_long()) < 2**1000 else _HELD(n)
    return n if _is_held(n) else z3.If(_few(n), n, _HELD(n))


def _is_held(n: z3.ArithRef) -> bool:
    """Whether it is written as what a float has."""
    return z3.is_app_of(n, z3.Z3_OP_ITE) and z3.is_app(n.arg(2)) and n.arg(2).decl().eq(_HELD)


def as_float(formula: z3.ArithRef) -> z3.ArithRef:
    """The float of a number."""
    return z3.ToReal(held(formula)) if formula.is_int() else formula


def whole_in(formula: z3.ArithRef) -> z3.ArithRef | None:
    """The whole number of which a float is one, as it is written; None where it is of others."""
    if formula.is_int():
        return formula
    if z3.is_rational_value(formula):
        return z3.IntVal(formula.numerator_as_long()) if formula.denominator_as_long() == 1 else None
    if z3.is_to_real(formula):
        return formula.arg(0)
    if z3.is_mul(formula) and formula.num_args() == 2 and z3.eq(formula.arg(0), z3.RealVal(-1)):
        n = whole_in(formula.arg(1))
        return None if n is None else -n
    if z3.is_app_of(formula, z3.Z3_OP_ITE):
        a, b = (whole_in(part) for part in formula.children()[1:])
        return None if a is None or b is None else z3.If(formula.arg(0), a, b)
    return None


def combined(
    operation: Callable[[z3.ArithRef, z3.ArithRef], z3.ArithRef], a: z3.ArithRef, b: z3.ArithRef
) -> z3.ArithRef:
    """A sum, difference or product as Python has it."""
    if a.is_int() and b.is_int():
        return operation(a, b)
    left, right = whole_in(a), whole_in(b)
    if left is None or right is None:
        return operation(_real(a), _real(b))
    return z3.ToReal(held(operation(held(left), held(right))))


def ratio(a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
    """a / b, which `compared` says more of."""
    return _real(a) / _real(b)


def _real(formula: z3.ArithRef) -> z3.ArithRef:
    """What a number is next to real ones, of which rounding is not looked at."""
    n = whole_in(formula)
    if n is None:
        return formula
    n = z3.simplify(n)
    return z3.ToReal(n.arg(1) if _is_held(n) else n)


def _quotient_in(formula: z3.ArithRef) -> tuple[z3.ArithRef, z3.ArithRef] | None:
    """The whole numbers of which a number is the quotient, as it is written."""
    if z3.is_div(formula):
        a, b = (whole_in(part) for part in formula.children())
        return None if a is None or b is None else (a, b)
    if z3.is_mul(formula) and formula.num_args() == 2 and z3.is_rational_value(formula.arg(0)):
        share, n = formula.arg(0), whole_in(formula.arg(1))
        if n is not None and abs(share.numerator_as_long()) == 1:
            return n, z3.IntVal(share.numerator_as_long() * share.denominator_as_long())
    return None


def compared(formula: z3.ArithRef) -> z3.ArithRef:
    """A number as comparisons find it: a quotient of whole ones that leaves a rest is rounded."""
    if formula.is_int() or whole_in(formula) is not None or not _has_whole(formula):
        return formula
    found = _quotient_in(formula)
    if found is None:
        return _ROUNDED(formula) if _is_divided(formula) else formula
    a, b = found
    return z3.If(z3.And(_few(a, b), a % b == 0), formula, _QUOTIENT(a, b))


def is_whole(formula: z3.ArithRef) -> z3.BoolRef:
    """Whether a float is a whole number."""
    return z3.IsInt(compared(formula)) if _is_exact(formula) else z3.IsInt(_ROUNDED(formula))


def cut_off(formula: z3.ArithRef) -> z3.ArithRef:
    """The whole number that is left of a float without what is behind the point."""
    n = whole_in(formula)
    if n is not None:
        return n
    if not _is_exact(formula):
        return _CUT_OFF(formula)
    down, up = z3.ToInt(formula), -z3.ToInt(-formula)
    cut = z3.If(formula >= 0, down, up)
    found = _quotient_in(formula)  # of numbers that few, rounding comes to no other whole number
    return cut if found is None else z3.If(_few(*found), cut, _CUT_OFF(formula))


def _is_exact(formula: z3.ArithRef) -> bool:
    """Whether a number is a float itself, a whole one or a quotient of those."""
    if z3.is_app_of(formula, z3.Z3_OP_ITE):
        return all(map(_is_exact, formula.children()[1:]))
    if z3.is_app_of(formula, z3.Z3_OP_UMINUS):
        return _is_exact(formula.arg(0))
    named = z3.is_app(formula) and formula.decl().kind() == z3.Z3_OP_UNINTERPRETED
    numeral = z3.is_rational_value(formula)
    return named or numeral or whole_in(formula) is not None or _quotient_in(formula) is not None


def _has_whole(formula: z3.ArithRef) -> bool:
    """Whether whole numbers went into a real one."""
    return any(z3.is_to_real(part) for part in _parts(formula))


def _is_divided(formula: z3.ArithRef) -> bool:
    """Whether something in a number is divided, or a share of it taken."""
    return any(
        z3.is_div(part) or (z3.is_rational_value(part) and part.denominator_as_long() != 1)
        for part in _parts(formula)
    )


def _parts(formula: z3.ExprRef) -> list[z3.ExprRef]:
    """A formula and what it is made of, each part once."""
    pending, found = [formula], dict[int, z3.ExprRef]()
    while pending:
        part = pending.pop()
        if part.get_id() not in found:
            found[part.get_id()] = part
            pending.extend(part.children())
    return list(found.values())

"""What is known of functions of real numbers: an exponential of a sum is a product, and what undoes what.

Each fact is compared with numbers by tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from egraph_opt.semantics.values import WIDE_EXP, WIDE_LOG

EXP, LOG, SQRT, RECIPROCAL = (f"unary {name} ()" for name in ("Exp", "Log", "Sqrt", "Reciprocal"))

MOST_POWER = 4

Plain = Callable[[str, z3.ArithRef], z3.ArithRef]
"""A function of which nothing is known, by its name."""


def exponential(scene: Any, plain: Plain, a: z3.ArithRef) -> z3.ArithRef:
    """exp(n a - b + ..) as exp(a)^n / exp(b) ..; exp(a) and exp(-a) as they are, as a graph may have them."""
    a = z3.simplify(a, som=True)
    if not z3.is_add(a) and not _is_multiple(a):
        return _positive(scene, plain, a)
    result: z3.ArithRef = z3.RealVal(1)
    for term in a.children() if z3.is_add(a) else [a]:
        result = result * _power(scene, plain, term)
    return z3.simplify(result)


def _positive(scene: Any, plain: Plain, a: z3.ArithRef) -> z3.ArithRef:
    """exp(a), of which it is known on which side of 1 it is."""
    made = plain(EXP, a)
    scene.known(made > 0, (a == 0) == (made == 1), (a > 0) == (made > 1))
    if a.decl().name() == LOG:
        scene.known(z3.Implies(a.arg(0) > 0, made == a.arg(0)))
    return made


def _is_multiple(term: z3.ArithRef) -> bool:
    whole = z3.is_mul(term) and z3.is_rational_value(term.arg(0))
    return whole and abs(term.arg(0).as_fraction()) != 1


def _power(scene: Any, plain: Plain, term: z3.ArithRef) -> z3.ArithRef:
    if z3.is_rational_value(term) and term.as_fraction() == 0:
        return z3.RealVal(1)
    count, rest = 1, term
    if z3.is_mul(term) and z3.is_rational_value(term.arg(0)):
        factor = term.arg(0).as_fraction()
        others = term.children()[1:]
        base = others[0] if len(others) == 1 else z3.Product(others)
        if factor.denominator == 1 and 0 < abs(factor.numerator) <= MOST_POWER:
            count, rest = factor.numerator, base
        elif factor < 0:
            count, rest = -1, z3.simplify(-term)
    made = _positive(scene, plain, rest)
    one = made if count > 0 else scene.function(RECIPROCAL, made)
    result = one
    for _ in range(abs(count) - 1):
        result = result * one
    return result


def factors(a: z3.ArithRef) -> list[z3.ArithRef]:
    """The factors of a product, each power as often as it says."""
    found: list[z3.ArithRef] = []
    for part in a.children() if z3.is_mul(a) else [a]:
        if z3.is_app_of(part, z3.Z3_OP_POWER) and z3.is_rational_value(part.arg(1)):
            found += [part.arg(0)] * int(part.arg(1).as_fraction())
        else:
            found.append(part)
    return found


def is_positive(scene: Any, a: z3.ArithRef) -> bool:
    """Whether a number is above 0 as it is written: of exponentials, and sums of what is."""
    if z3.is_rational_value(a):
        return bool(a.as_fraction() > 0)
    if z3.is_add(a):
        return all(is_positive(scene, part) for part in a.children())
    if z3.is_mul(a) or z3.is_app_of(a, z3.Z3_OP_POWER):
        return all(is_positive(scene, part) for part in factors(a))
    name = a.decl().name()
    if name == RECIPROCAL:
        return is_positive(scene, a.arg(0))
    return name == EXP or name in scene.positive


def reciprocal(scene: Any, plain: Plain, a: z3.ArithRef) -> z3.ArithRef:
    """1 / (a b ..) as 1/a 1/b .., no number where one of these is 0; and 1 / (1 / a) as a above 0."""
    result: z3.ArithRef = z3.RealVal(1)
    for factor in factors(a):
        if z3.is_rational_value(factor) and factor.as_fraction() != 0:
            result = result / factor
            continue
        undone = factor.decl().name() == RECIPROCAL and is_positive(scene, factor)
        inner = factor.arg(0) if undone else plain(RECIPROCAL, factor)
        scene.known(z3.Implies(factor != 0, inner * factor == 1))
        result = result * inner
    return z3.simplify(result)


def logarithm(scene: Any, plain: Plain, a: z3.ArithRef) -> z3.ArithRef:
    """log(a b / c) as log(a) + log(b) - log(c) where these are above 0, and log(exp(a)) as a."""
    parts = factors(a)
    if not all(is_positive(scene, part) for part in parts):
        return plain(LOG, a)
    total: z3.ArithRef = z3.RealVal(0)
    for part in parts:
        name = part.decl().name()
        if name == RECIPROCAL:
            total = total - logarithm(scene, plain, part.arg(0))
        else:
            total = total + (part.arg(0) if name == EXP else plain(LOG, part))
    return z3.simplify(total)


def root(scene: Any, plain: Plain, a: z3.ArithRef) -> z3.ArithRef:
    made = plain(SQRT, a)
    scene.known(z3.Implies(a >= 0, z3.And(made >= 0, made * made == a)))
    if len(factors(a)) > 1:
        roots = [root(scene, plain, factor) for factor in factors(a)]
        known = z3.And([factor >= 0 for factor in factors(a)])
        scene.known(z3.Implies(known, made == z3.Product(roots)))
    return made


FUNCTIONS: dict[str, Callable[[Any, Plain, z3.ArithRef], z3.ArithRef]] = {
    WIDE_EXP: exponential, WIDE_LOG: logarithm, RECIPROCAL: reciprocal, SQRT: root,
}  # fmt: skip
"""Functions of which more is known, in the reals."""

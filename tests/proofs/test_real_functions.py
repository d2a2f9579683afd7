"""What proofs know of functions of real numbers is so of numbers."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import z3

from egraph_opt.proofs.real_functions import EXP, FUNCTIONS, LOG, RECIPROCAL, SQRT, is_positive
from egraph_opt.semantics.values import WIDE_EXP, WIDE_LOG

NUMBERS = {EXP: math.exp, LOG: math.log, RECIPROCAL: lambda a: 1 / a, SQRT: math.sqrt}
AS_WRITTEN = {WIDE_EXP: math.exp, WIDE_LOG: math.log, RECIPROCAL: lambda a: 1 / a, SQRT: math.sqrt}

x, y = z3.Reals("x y")
SUM = z3.Real("fold.1")  # above 0
VALUES = {"x": -0.75, "y": 1.5, "fold.1": 2.25}


def plain(name: str, a: z3.ArithRef) -> z3.ArithRef:
    return z3.Function(name, z3.RealSort(), z3.RealSort())(a)


def number(formula: z3.ExprRef) -> float:
    """The number that a formula is."""
    parts = [number(part) for part in formula.children()]
    if z3.is_rational_value(formula):
        return float(formula.as_fraction())
    if z3.is_add(formula):
        return sum(parts)
    if z3.is_mul(formula):
        return math.prod(parts)
    if z3.is_div(formula):
        return parts[0] / parts[1]
    if z3.is_app_of(formula, z3.Z3_OP_POWER):
        return float(parts[0] ** parts[1])
    name = formula.decl().name()
    return NUMBERS[name](*parts) if parts else VALUES[name]


def holds(fact: z3.BoolRef) -> bool:
    if z3.is_implies(fact):
        return not holds(fact.arg(0)) or holds(fact.arg(1))
    if z3.is_and(fact):
        return all(map(holds, fact.children()))
    if z3.is_not(fact):
        return not holds(fact.arg(0))
    if z3.is_eq(fact) and z3.is_bool(fact.arg(0)):
        return holds(fact.arg(0)) == holds(fact.arg(1))
    left, right = map(number, fact.children())
    if z3.is_eq(fact):
        return math.isclose(left, right, abs_tol=1e-9)
    if z3.is_distinct(fact):
        return left != right
    return {z3.Z3_OP_GT: left > right, z3.Z3_OP_GE: left >= right}[fact.decl().kind()]


e_x, e_y, l_y = plain(EXP, x), plain(EXP, y), plain(LOG, y)
GIVEN = [
    *((WIDE_EXP, a) for a in (x, -x, x + y, x - y, 2 * x, 3 * y - 2 * x, x / 3 - y, x * y - 1, 7 * x, l_y)),
    *(
        (WIDE_LOG, a)
        for a in (e_x, e_x * e_y, SUM / 2 * e_x, plain(RECIPROCAL, e_x) * SUM, 1 + e_y, y, y * y)
    ),
    *(
        (RECIPROCAL, a)
        for a in (x, e_x, e_x * e_y, y * e_x, plain(RECIPROCAL, e_x) * 2, 1 + e_x, SUM * x, x * y, y * y * 3)
    ),
    *((SQRT, a) for a in (y, y * y, x, SUM * y, 2 * SUM * y)),
]


@pytest.mark.parametrize(("name", "a"), GIVEN, ids=str)
def test_a_function_is_written_as_the_number_that_it_is(name: str, a: z3.ArithRef) -> None:
    facts: list[z3.BoolRef] = []
    scene = SimpleNamespace(positive={"fold.1"}, known=lambda *given: facts.extend(given))
    scene.function = lambda name, a: FUNCTIONS[name](scene, plain, a)
    a = z3.simplify(a)
    if not (name == SQRT and number(a) < 0):  # of which nothing is said
        made = FUNCTIONS[name](scene, plain, a)
        assert math.isclose(number(made), AS_WRITTEN[name](number(a)), rel_tol=1e-9)
    assert all(map(holds, facts))


def test_only_what_is_above_zero_for_all_numbers_is_positive() -> None:
    scene = SimpleNamespace(positive={"fold.1"})
    positive = (e_x, 2 * e_x * SUM, 1 + e_x, plain(RECIPROCAL, e_x), z3.RealVal(3))
    assert all(is_positive(scene, z3.simplify(a)) for a in positive)
    others = (
        x,
        -e_x,
        x * x,
        e_x - e_y,
        z3.RealVal(0),
        plain(RECIPROCAL, x),
        plain(LOG, SUM),
        z3.Real("fold.2"),
    )
    assert not any(is_positive(scene, z3.simplify(a)) for a in others)

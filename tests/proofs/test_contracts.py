"""What stands for functions of libraries answers what they do, and few numbers are each looked at."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import z3

from egraph_opt.check.sides import sides_of
from egraph_opt.laws import Tensor, hosted, rewrite
from egraph_opt.laws.selection import all_laws
from egraph_opt.operators import unary
from egraph_opt.operators.availability import is_available
from egraph_opt.proofs.contracts import CONTRACTS, OPSETS
from egraph_opt.proofs.instance import Instance
from egraph_opt.proofs.known_numbers import settle_numbers
from egraph_opt.proofs.numbers import Fraction, Whole
from egraph_opt.proofs.paths import Path, explore
from egraph_opt.proofs.prover import prove
from egraph_opt.proofs.remembered import own_names, renamed
from egraph_opt.proofs.tables import definitions_of, without_demands
from egraph_opt.proofs.trail import Open

LAWS = {law.key: law for law in all_laws()}


@pytest.mark.parametrize("module", [math, np], ids=["math", "np"])
def test_a_number_that_is_not_known_is_one_of_the_reals(module) -> None:
    path, known = Path(), CONTRACTS[id(module)]
    number = Fraction(path.fresh_real("x"), path)
    assert known.isfinite(number) and not known.isinf(number) and not known.isnan(number)
    for value in (1.5, math.inf, -math.inf, math.nan):
        for name in ("isfinite", "isinf", "isnan"):
            assert getattr(known, name)(value) == getattr(module, name)(value)
    assert known.pi == module.pi


def test_a_number_in_single_precision_is_a_function_of_it() -> None:
    path, known = Path(), CONTRACTS[id(np)]
    number = Fraction(path.fresh_real("x"), path)
    assert z3.eq(known.float32(number).formula, known.float32(number).formula)
    assert not path.follows(known.float32(number).formula == number.formula)
    assert known.float32(0.1) == np.float32(0.1) and np.dtype(np.float32) == np.dtype("f4")


def test_the_sign_of_a_number_is_its_own_and_that_of_zero_is_either() -> None:
    path, known = Path(), CONTRACTS[id(math)]
    a, b = (Fraction(path.fresh_real(name), path) for name in "ab")
    for value in (-2.5, -0.0, 0.0, 3.0):
        assert repr(known.copysign(1.0, value)) == repr(math.copysign(1.0, value))
        one = z3.simplify(z3.substitute(known.copysign(1.0, a).formula, (a.formula, z3.RealVal(value))))
        assert value == 0 or one.as_fraction() == math.copysign(1.0, value)
    path.assume(z3.And(a.formula == 0, b.formula == 0))
    first, second = (known.copysign(1.0, each).formula for each in (a, b))
    assert z3.eq(first, known.copysign(1.0, a).formula)
    assert not path.follows(first == second) and not path.follows(first != second)
    assert path.follows(z3.Or(first == 1, first == -1))


def test_a_sign_is_not_asked_of_a_number_without_its_name() -> None:
    path, known = Path(), CONTRACTS[id(math)]
    number = Fraction(path.fresh_real("x"), path)
    with pytest.raises(Open):
        known.copysign(1.0, renamed(number, own_names(number)))


def test_an_array_of_one_number_is_a_function_of_it_for_each_type() -> None:
    path, known = Path(), CONTRACTS[id(np)]
    number = Fraction(path.fresh_real("x"), path)
    single, half = (known.asarray(number, dtype).formula for dtype in (np.float32, np.float16))
    assert z3.eq(single, known.asarray(number, np.dtype("f4")).formula) and not z3.eq(single, half)
    assert z3.eq(single, known.float32(number).formula) and not path.follows(single == half)
    assert known.asarray([1, 2], np.float32).dtype == np.float32
    with pytest.raises(Open):
        known.asarray(number)


@pytest.mark.parametrize("op", ["Celu", "Gelu", "Relu", "Upsample", "NoSuchOperator"])
def test_an_operator_is_there_in_the_opsets_that_have_it(op: str) -> None:
    path = Path()
    opset = Whole(path.fresh("opset"), path)
    asked = CONTRACTS[id(is_available)](op, opset)
    for version in OPSETS:
        assert CONTRACTS[id(is_available)](op, version) == is_available(op, version)
        if not isinstance(asked, bool) or asked not in (True, False):
            held = z3.is_true(z3.simplify(z3.substitute(asked.formula, (opset.formula, z3.IntVal(version)))))
            assert held == is_available(op, version)


def test_numbers_that_can_be_few_are_each_looked_at() -> None:
    def run(path: Path) -> tuple[str, ...]:
        scene = Instance(path)
        half, factor, other = (scene.real(name).formula for name in ("half", "factor", "other"))
        path.assume(z3.And(2 * half == 1, factor * factor == 4, other > 0))
        assert settle_numbers(scene) and not settle_numbers(scene)
        return tuple(str(scene.valued(number)) for number in (half, factor, other))

    found = list(explore(run, lambda: False))
    assert sorted(each[:2] for each in found) == [("1/2", "-2"), ("1/2", "2")]
    assert all(each[2].startswith("other") for each in found)


def test_marks_of_tables_are_left_out_and_what_binds_is_kept() -> None:
    (side,) = sides_of(LAWS["concat.flatten"])
    fewer = without_demands(side)
    assert fewer is not None and fewer.tables.keys() == side.tables.keys()
    assert sum(len(f.conditions) for fs in fewer.tables.values() for f in fs) < sum(
        len(f.conditions) for fs in side.tables.values() for f in fs
    )
    assert all(without_demands(each) is None for each in sides_of(LAWS["concat.single"]))


def test_functions_of_lists_are_what_rules_say() -> None:
    defined = definitions_of(LAWS["conv1d.past_concat"])
    (entries,) = defined.values()
    assert len(entries) == 2  # of the empty list, and of a longer one
    assert not definitions_of(LAWS["concat.single"])


@hosted()
def is_no_row(x: object) -> bool:
    return getattr(x, "rank", 1) is None


def test_a_law_that_takes_an_unknown_rank_for_a_known_one_is_not_proved() -> None:
    def of_unknown(x: Tensor):
        """Exp(x) = Log(x) where the rank of x is not known"""
        yield rewrite(unary("Exp", (), x), unary("Log", (), x), is_no_row(x), because="nobody knows")

    law = replace(LAWS["elementwise.involution"], name="of_unknown", function=of_unknown)
    assert prove(law, 5.0, refute=False).status == "open"

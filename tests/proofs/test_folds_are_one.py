"""Sums and extremes that are one however they are written: of some places, from behind, in parts."""

from __future__ import annotations

from typing import Any

import z3

from egraph_opt.proofs.equality import divisors, prove_equal
from egraph_opt.proofs.instance import Instance
from egraph_opt.proofs.paths import Path
from egraph_opt.proofs.real_functions import RECIPROCAL, SQRT

NOTHING = z3.RealVal(0)
x, y = (z3.Function(name, z3.IntSort(), z3.RealSort()) for name in "xy")
c = z3.Real("c")


def scene_of(*known: str) -> tuple[Instance, list[z3.ArithRef]]:
    """A scene, and sizes that are 0 or more there."""
    scene = Instance(Path())
    sizes = [z3.Int(name) for name in known]
    for size in sizes:
        scene.path.assume(size >= 0)
    return scene, sizes


def test_a_sum_in_some_places_is_a_sum_of_sums_there() -> None:
    scene, (n,) = scene_of("n")

    def total(element: Any, least: int = 2) -> Any:
        return scene.fold("sum", [n], lambda k: z3.If(k[0] > least, element(k[0]), NOTHING))

    whole = total(lambda k: x(k) - c * y(k))
    assert prove_equal(scene, whole, total(x) - c * total(y))
    assert not prove_equal(scene, whole, total(x) - c * total(y, 3))
    assert not prove_equal(scene, whole, total(x) - total(y))


def test_a_sum_from_behind_is_the_same_sum() -> None:
    scene, (n,) = scene_of("n")
    forwards, backwards, both = (
        scene.fold("sum", [n], term)
        for term in (
            lambda k: x(k[0]) * y(n - 1 - k[0]),
            lambda k: x(n - 1 - k[0]) * y(k[0]),
            lambda k: x(k[0]) * y(k[0]),
        )
    )
    assert prove_equal(scene, forwards, backwards)
    assert not prove_equal(scene, forwards, both)


def test_where_both_divide_by_a_count_it_is_not_zero() -> None:
    scene, (n,) = scene_of("n")
    share, total = scene.function(RECIPROCAL, z3.ToReal(n)), scene.fold("sum", [n], lambda k: x(k[0]))
    assert prove_equal(scene, share * (total + c * z3.ToReal(n)), share * total + c)
    assert not prove_equal(scene, share * z3.ToReal(n), z3.RealVal(1)), "of nothing, one side is a number"
    hidden = z3.If(c > 0, share * z3.ToReal(n), c)
    assert not prove_equal(scene, hidden, z3.If(c > 0, z3.RealVal(1), share * 0 + c))


def test_a_formula_divides_only_by_what_it_asks_in_any_case() -> None:
    scene, (n, m) = scene_of("n", "m")
    by_n, by_m = (scene.function(RECIPROCAL, z3.ToReal(size)) for size in (n, m))
    root = scene.function(SQRT, by_m + c)
    assert {str(d) for d in divisors(z3.simplify(c * by_n + root))} == {"ToReal(n)", "ToReal(m)"}
    assert not divisors(z3.If(c > 0, by_n, c)), "where c is not above 0, nothing is divided"


def test_the_greatest_of_all_is_the_greatest_of_the_greatest() -> None:
    scene, (n, m) = scene_of("n", "m")
    pairs = z3.Function("z", z3.IntSort(), z3.IntSort(), z3.RealSort())
    for kind in ("ReduceMax of floats", "ReduceMin of floats"):
        rows = scene.fold(kind, [n], lambda i: scene.fold(kind, [m], lambda j: pairs(i[0], j[0]) + c))  # noqa: B023
        plain = scene.fold(kind, [n, m], lambda i: pairs(i[0], i[1]))
        assert prove_equal(scene, rows, plain + c)
        assert not prove_equal(scene, rows, plain)
    whole = scene.fold("ReduceMax", [n], lambda i: x(i[0]) + c)
    assert not prove_equal(scene, whole, scene.fold("ReduceMax", [n], lambda i: x(i[0])) + c), (
        "it may wrap around"
    )
    other = scene.fold("ReduceMin", [n], lambda i: scene.fold("ReduceMax", [m], lambda j: pairs(i[0], j[0])))
    assert not prove_equal(scene, other, scene.fold("ReduceMin", [n, m], lambda i: pairs(i[0], i[1])))

"""What a function answers of numbers is the same whatever they are called, and on every path."""

from __future__ import annotations

from typing import Any

import z3

from egraph_opt.proofs.facts import LazyFact
from egraph_opt.proofs.merging import NO_CHOICE, joined_by, looking, merged
from egraph_opt.proofs.numbers import Whole
from egraph_opt.proofs.paths import Path
from egraph_opt.proofs.remembered import Unkeyed, key_of, own_names, renamed

calls: list[Any] = []


def larger(a: Any, b: Any) -> Any:
    calls.append((a, b))
    return a if a > b else b


def asks(a: Any, b: Any, c: Any) -> Any:
    return larger(a, b) == larger(b, c)


asked = merged(larger)


def asks_merged(a: Any, b: Any, c: Any) -> Any:
    return asked(a, b) == asked(b, c)


def test_what_differs_in_names_only_is_asked_once() -> None:
    path = Path()
    numbers = [Whole(z3.Int(f"d.{k}"), path) for k in range(3)]
    calls.clear()
    ways = looking.ways_through(path, lambda: merged(asks_merged)(*numbers))
    assert len(calls) == 2  # both ways through it
    for values in ((0, 1, 2), (2, 1, 0), (1, 2, 0), (1, 1, 1), (3, 0, 3)):
        known = [(n.formula, z3.IntVal(v)) for n, v in zip(numbers, values, strict=True)]
        taken = [a for a, way in ways if z3.is_true(z3.simplify(z3.substitute(way, *known)))]
        assert len(taken) == 1
        formula = taken[0].formula if hasattr(taken[0], "formula") else z3.BoolVal(taken[0])
        assert z3.is_true(z3.simplify(z3.substitute(formula, *known))) is asks(*values)


def test_names_come_back() -> None:
    path = Path()
    data = (Whole(z3.Int("d.7") + z3.Int("n.1"), path), 3, (Whole(z3.Int("d.7"), path), "text"))
    names = own_names(data)
    other = renamed(data, names)
    assert [str(own) for _, own in names] == ["d.own.0", "own.1"]
    back = renamed(other, [(own, name) for name, own in names])
    assert key_of(back) == key_of(data) != key_of(other)


def test_a_fact_is_no_key() -> None:
    for value in (LazyFact.of(Path(), 0, ()), [1], {1: 2}):
        try:
            key_of(value)
        except Unkeyed:
            continue
        raise AssertionError(value)


def test_places_and_numbers_that_are_known_are_no_choice() -> None:
    path = Path()
    way, a, b = z3.Bool("way"), Whole(z3.Int("a"), path), Whole(z3.Int("b"), path)
    assert joined_by(way, 1, 2) is NO_CHOICE and joined_by(way, None, a) is NO_CHOICE
    assert joined_by(way, (a, 1), (b, 2)) is NO_CHOICE and joined_by(way, (a,), (a, b)) is NO_CHOICE
    (made, one) = joined_by(way, (a, 1), (b, 1))
    assert one == 1 and z3.eq(made.formula, z3.If(way, z3.Int("a"), z3.Int("b")))

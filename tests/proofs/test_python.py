"""What stands for Python's own functions answers what they do, on numbers that only the path knows."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest
import z3

from egraph_opt.proofs.numbers import Truth, Whole
from egraph_opt.proofs.paths import Path, explore
from egraph_opt.proofs.python import (
    SHADOWS,
    Distinct,
    SymbolicRange,
    all_of,
    any_of,
    distinct,
    length_of,
    max_of,
    min_of,
)


def hidden(path: Path, value: int) -> Whole:
    """A number that Python code cannot see and the path knows."""
    formula = path.fresh("x")
    path.assume(formula == value)
    return Whole(formula, path)


def read(value: Any) -> Any:
    """What a symbolic answer is."""
    if type(value) is Whole:
        return int(value)
    if type(value) is Truth:
        return bool(value)
    return list(map(read, value)) if isinstance(value, (list, tuple, SymbolicRange)) else value


def answer(function: Callable[[], Any]) -> Any:
    try:
        return read(function())
    except (IndexError, ValueError) as error:
        return type(error)


BOUNDS = [(start, stop, step) for start in (-3, 0, 2) for stop in (-4, 0, 5) for step in (-2, 1, 3)]
CUTS = list(itertools.product((None, -2, 0, 1, 7), (None, -1, 0, 2, 9), (None, -2, -1, 1, 2)))


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_a_range_is_pythons(bounds: tuple[int, int, int]) -> None:
    path, plain = Path(), range(*bounds)
    made = SymbolicRange(*(hidden(path, bound) for bound in bounds))
    assert read(made) == list(plain) and read(length_of(made)) == len(plain) and bool(made) == bool(plain)
    for k in (-2, 0, 1):
        index = hidden(path, k)
        assert answer(lambda: made[index]) == answer(lambda: plain[k])  # noqa: B023
        assert (index in made) == (k in plain)
    for first, last, by in random.Random(repr(bounds)).sample(CUTS, 8):
        cut = slice(*(None if bound is None else hidden(path, bound) for bound in (first, last, by)))
        part = plain[first:last:by]
        assert read(made[cut]) == list(part)
        assert bool(made[cut] == part) and bool(made[cut] == plain) == (part == plain)


def test_a_step_of_nothing_is_an_error_as_in_python() -> None:
    with pytest.raises(ValueError, match="zero"):
        SymbolicRange(0, 4, hidden(Path(), 0))
    with pytest.raises(ValueError, match="zero"):
        SymbolicRange(4)[:: hidden(Path(), 0)]


@pytest.mark.parametrize("values", list(itertools.product((0, 2), repeat=3)), ids=str)
def test_questions_of_several_numbers_are_pythons(values: tuple[int, ...]) -> None:
    path = Path()
    given = [hidden(path, value) for value in values]
    assert read(all_of(v == 2 for v in given)) == all(v == 2 for v in values)
    assert read(any_of(v == 2 for v in given)) == any(v == 2 for v in values)
    assert read(all_of([*given, True])) == all(values) and read(any_of([*given, False])) == any(values)
    assert read(max_of(given)) == max(values) and read(min_of(1, *given)) == min(1, *values)
    known = distinct(list(given))
    assert isinstance(known, Distinct) and len(known) == len(set(values))
    assert known == distinct(set(values)) and (0 in known) == (0 in values)


def test_what_python_does_not_come_to_does_not_count() -> None:
    path = Path()
    zero, items = hidden(path, 0), [4]
    assert read(all_of(items[k] == 4 for k in (0, zero + 1) if k == 0)) is True
    assert read(all_of((1 // v) == 1 for v in (hidden(path, 5), zero))) is False
    with pytest.raises(ZeroDivisionError):
        read(any_of((1 // v) == 1 for v in (hidden(path, 5), zero)))


def test_types_are_those_that_they_are_called_by() -> None:
    whole = hidden(Path(), 3)
    assert isinstance(whole, SHADOWS["int"]) and isinstance(range(3), SHADOWS["range"])
    assert SHADOWS["int"]("12") == 12 and SHADOWS["frozenset"]([1, 1]) == {1}
    assert read(SHADOWS["int"](whole / 2)) == 1 and read(SHADOWS["int"](-whole / 2)) == -1


def test_all_paths_are_taken_once_with_what_they_assume() -> None:
    def run(path: Path) -> tuple[Any, ...]:
        x, y = path.fresh("x"), path.fresh("y")
        path.assume(z3.And(x >= 0, x <= 2, y >= 0, y <= 1))
        part = path.choose(2)
        left = path.decide(x == 0) or path.decide(x == 1)
        low = part == 1 and path.decide(y < x)
        again = path.decide(y < x) if part else None
        assert again is None or again == low or left
        return part, left, low, path.follows(x == 2), path.only_value(x)

    found = list(explore(run, lambda: False))
    expected = {(part, x < 2, part == 1 and y < x) for part in (0, 1) for x in (0, 1, 2) for y in (0, 1)}
    assert {case[:3] for case in found} == expected
    assert all(two == (not left) for _, left, _, two, _ in found)
    assert all(only in (None, 0, 1, 2) and (left or only == 2) for _, left, _, _, only in found)

"""The ways through a host function are all of its ways, and what they have in common is one case."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import z3
from onnx import TensorProto

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.proofs.instance import Instance
from egraph_opt.proofs.merging import is_data, is_same, looking, merged
from egraph_opt.proofs.numbers import Whole
from egraph_opt.proofs.paths import NotHereError, Path, explore
from egraph_opt.proofs.python import TypeSet, _forgetting
from egraph_opt.proofs.ways import answer_of


def nested(x: Any, y: Any) -> Any:
    """Nine ways to three answers."""
    if x < 0:
        return None
    if x == y:
        return 1
    for k in (1, 2, 3):
        if x == k:
            return (k > 1) and 1
        if y == k:
            return None
    return x - y if y > x else 1


def no_loop(x: Any, y: Any) -> Any:
    return 1 if x > 0 and y > 0 and x * y > 3 else None


NUMBERS = list(itertools.product(range(-1, 5), repeat=2))


@pytest.mark.parametrize("function", [nested, no_loop])
def test_each_answer_is_that_of_python_where_its_condition_holds(function: Callable[..., Any]) -> None:
    path = Path()
    x, y = path.fresh("x"), path.fresh("y")
    ways = path.ways_through(lambda: function(Whole(x, path), Whole(y, path)))
    for values in NUMBERS:
        known = [(x, z3.IntVal(values[0])), (y, z3.IntVal(values[1]))]
        taken = [a for a, way in ways if z3.is_true(z3.simplify(z3.substitute(way, *known)))]
        assert len(taken) == 1
        (answer,) = taken
        if type(answer) is Whole:
            answer = z3.simplify(z3.substitute(answer.formula, *known)).as_long()
        assert answer == function(*values)


def test_the_path_goes_on_once_for_each_answer() -> None:
    def run(path: Path) -> Any:
        x, y = path.fresh("x"), path.fresh("y")
        path.assume(z3.And(x >= -1, x <= 4, y >= -1, y <= 4))
        scene = SimpleNamespace(path=path, types=SimpleNamespace(narrow=lambda: None))
        given = Whole(x, path), Whole(y, path)
        return answer_of(scene, "nested", lambda: nested(*given), lambda answer: answer is not None), x, y

    found = list(explore(lambda path: (*run(path), path), lambda: False))
    assert len(found) <= 4
    assert all(answer is not None for answer, *_ in found)
    assert sum(type(answer) is int for answer, *_ in found) == 1


def test_an_answer_that_is_split_again_is_each_of_its_ways() -> None:
    def run(path: Path) -> tuple[bool, ...]:
        x = path.fresh("x")
        path.assume_any([x == 1, x == 2, z3.And(x == 1, x == 3)])
        before = path.follows(x == 1)
        assert path.split() and not path.split()
        return before, path.follows(x == 1), path.follows(x == 2)

    assert list(explore(run, lambda: False)) == [(False, True, False), (False, False, True)]


def test_a_way_through_a_function_changes_nothing_of_its_path() -> None:
    path = Path()
    x = path.fresh("x")
    for change in (lambda: path.choose(2), lambda: path.assume(x > 0), lambda: path.fresh("y")):
        with pytest.raises(NotHereError):
            path.ways_through(change)
    assert path.ways_through(lambda: path.decide(x > 0))[0][0] is True
    assert not path.follows(x > 0) and path.solver.num_scopes() == 0


def paths_of(asks: Callable[[Any], Any]) -> list[tuple[Any, Any]]:
    """What a condition leaves open of the type of a tensor, along each path where it holds."""

    def run(path: Path) -> tuple[Any, Any]:
        scene = Instance(path)
        x = scene.leaf("x", 1)
        fact = scene.facts.of(x)
        answer_of(scene, "asks", lambda: asks(fact), bool)
        return scene.types.is_surely_in(x.dtype, FLOATS), x.dtype()

    return list(explore(run, lambda: False))


def test_a_type_is_a_number_until_it_has_to_be_known() -> None:
    found = paths_of(lambda fact: fact.dtype in FLOATS)
    assert all(floats for floats, _ in found)
    assert sorted(dtype for _, dtype in found) == sorted(
        (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
    )
    assert [dtype for _, dtype in paths_of(lambda fact: fact.dtype == TensorProto.BOOL)] == [TensorProto.BOOL]


def test_a_number_that_all_elements_are_is_of_the_type() -> None:
    def asks(fact: Any) -> Any:
        return fact.splat is not None and isinstance(fact.splat, float) and fact.dtype is not None

    assert {dtype for _, dtype in paths_of(asks)} == {
        TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE,
    }  # fmt: skip


def test_what_a_function_remembers_of_a_fact_is_no_answer_on_another_way() -> None:
    path = Path()
    scene = Instance(path)
    x = scene.leaf("x", 1)

    @functools.lru_cache
    def is_one(facts: Any) -> bool:
        return bool(facts[0].shape[0] == 1)

    fact = scene.facts.of(x)
    answers = [answer for answer, _ in path.ways_through(lambda: _forgetting(is_one)((fact,)))]
    assert sorted(answers) == [False, True]


def test_what_hangs_on_a_way_is_no_data() -> None:
    path = Path()
    made = Whole(path.fresh("x"), path)
    assert is_data((1, "a", (made, None))) and not is_data([1]) and not is_data(object())
    assert is_same((made, 0.0), (made, 0.0)) and not is_same(0.0, -0.0) and not is_same(1, True)


def test_helpers_of_a_function_are_one_case_for_each_of_their_answers() -> None:
    path = Path()
    numbers = [Whole(path.fresh("x"), path) for _ in range(6)]

    @merged
    def is_small(x: Any) -> bool:
        return bool(x == 1) or bool(x == 2) or bool(x == 5)

    @merged
    def asks(xs: Any) -> bool:
        return [bool(is_small(x)) for x in xs].count(True) == len(xs)

    ways = looking.ways_through(path, lambda: asks(numbers))
    assert len(ways) == 2 ** len(numbers)  # and not 4, which is the ways of one helper
    for values in itertools.product((0, 5), repeat=6):
        known = [(x.formula, z3.IntVal(v)) for x, v in zip(numbers, values, strict=True)]
        taken = [a for a, way in ways if z3.is_true(z3.simplify(z3.substitute(way, *known)))]
        assert taken == [set(values) == {5}]


def test_what_a_helper_raises_is_raised_where_it_is() -> None:
    path = Path()
    x = Whole(path.fresh("x"), path)

    @merged
    def share(n: Any) -> Any:
        return 6 // n

    @merged
    def asks(n: Any) -> Any:
        try:
            return bool(share(n) == 6)
        except ZeroDivisionError:
            return None

    found = looking.ways_through(path, lambda: asks(x))
    for value, answer in ((0, None), (1, True), (2, False)):
        known = [(x.formula, z3.IntVal(value))]
        assert [a for a, way in found if z3.is_true(z3.simplify(z3.substitute(way, *known)))] == [answer]


def test_a_type_is_asked_of_a_set_once() -> None:
    def run(path: Path) -> int:
        scene = Instance(path)
        x = scene.leaf("x", 1)
        scene.types.declare(x.dtype)
        return len(path.ways_through(lambda: scene.facts.of(x).dtype in TypeSet(FLOATS)))

    assert list(explore(run, lambda: False)) == [2]
    few = paths_of(lambda fact: fact.dtype in (TensorProto.FLOAT, TensorProto.INT64))
    assert sorted(dtype for _, dtype in few) == [TensorProto.FLOAT, TensorProto.INT64]

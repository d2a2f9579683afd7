"""What is kept between two draws of examples, or made of the last one only, changes no draw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto

from egraph_opt.check.choices import Choices, pick, picks
from egraph_opt.check.leaves import Leaves
from egraph_opt.check.scope import Rejected
from egraph_opt.check.sides import Side, sides_of
from egraph_opt.laws.selection import all_laws


def _joined(side: Side, seed: int) -> str:
    try:
        return repr(side.joined(np.random.default_rng(seed))[0].conditions)
    except Rejected as error:
        return str(error)


@pytest.mark.parametrize("key", ["concat.group", "slice.of_concat"])
def test_a_statement_joins_the_same_rules_after_others(key: str) -> None:
    (law,) = (law for law in all_laws() if law.key == key)
    side = next(side for side in sides_of(law) if side.asks_tables)
    afresh = [_joined(replace(side), seed) for seed in range(12)]
    assert len(set(afresh)) > 1
    for seeds in (range(12), reversed(range(12))):
        assert all(_joined(side, seed) == afresh[seed] for seed in seeds)


def test_operands_are_known_as_they_were_while_they_were_drawn() -> None:
    rng, leaves = np.random.default_rng(0), Leaves()
    made = [
        leaves.input(("N", 3), TensorProto.FLOAT),
        leaves.constant(np.full((2, 40), 0.5, np.float16), TensorProto.FLOAT16),
        leaves.constant(rng.integers(-4, 9, 2000), TensorProto.INT64),
        leaves.constant(np.zeros((0, 3), np.float32), TensorProto.FLOAT),
        leaves.input((), TensorProto.BOOL),
    ]
    assert len(set(made)) == 5
    operands = leaves.operands(rng)
    assert operands.facts == leaves.facts
    assert [value.const_value is None for value in operands.values] == [True, False, False, False, True]
    leaves.forget(1)
    assert leaves.has_inputs()
    leaves.forget(0)
    assert not leaves.has_inputs()


def test_every_pair_of_choices_is_made() -> None:
    choices, made = Choices(), set()
    for _ in range(80):
        choices.begin()
        choices.at("x")
        made.add((pick(choices, 1, 2, 3, 4, 5), *picks(choices, "abc", 2)))
        choices.keep()
    assert {(number, first) for number, first, _ in made} == {(n, c) for n in range(1, 6) for c in "abc"}
    assert {(first, second) for _, first, second in made} == {(a, b) for a in "abc" for b in "abc"}


def test_choices_are_the_same_every_time() -> None:
    def made() -> list[object]:
        choices, found = Choices(), list[object]()
        for _ in range(20):
            choices.begin()
            found.append(picks(choices, range(9), 3))
            choices.keep()
        return found

    assert made() == made()

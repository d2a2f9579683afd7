"""What is kept between two draws of examples, or made of the last one only, changes no draw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto

from egraph_opt.laws.selection import all_laws
from egraph_opt.testing.attribute_draws import pick, picks
from egraph_opt.testing.leaves import Leaves
from egraph_opt.testing.scope import Rejected
from egraph_opt.testing.sides import Side, sides_of


def _joined(side: Side, seed: int) -> str:
    try:
        return repr(side.joined(np.random.default_rng(seed))[0].conditions)
    except Rejected as error:
        return str(error)


@pytest.mark.parametrize("key", ["concat.group", "slice.of_concat", "slice.through_binary"])
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


def test_what_is_picked_is_what_numpy_chooses() -> None:
    choices = (1, 1, 2, 5)
    ours, numpys = (np.random.default_rng(3) for _ in range(2))
    for count in range(6):
        assert picks(ours, choices, count) == numpys.choice(choices, count).tolist()
        assert pick(ours, *choices) == numpys.choice(choices)

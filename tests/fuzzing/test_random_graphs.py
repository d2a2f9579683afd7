"""Random graphs of what laws speak of answer as before; `benchmarks/random_graphs.py` tries more."""

from __future__ import annotations

import pytest
from random_graphs import failure, random_model


@pytest.mark.parametrize("cost", ["nodes", "ascend"])
@pytest.mark.parametrize("start", [0, 12, 24])
def test_random_graphs_answer_as_before_and_cost_no_more(start: int, cost: str) -> None:
    found = {seed: failure(random_model(seed), cost) for seed in range(start, start + 6)}
    assert {seed: reason for seed, reason in found.items() if reason} == {}

"""Random graphs on integers computed in int32 wherever ranges prove it: bit by bit the same."""

import numpy as np
import pytest

from egraph_opt import optimize

from ..inference.observed import all_values
from ..inference.random_integers import Drawn
from ..knowledge_bases.test_type_cast import LACKING


@pytest.mark.parametrize("seed", range(100, 116))
def test_narrow_integers_give_the_same_bits_at_the_ends_of_their_ranges(seed: int) -> None:
    drawn = Drawn(seed)
    model = drawn.model()
    result = optimize(
        model, LACKING, rewrites=["cast", "narrowing", "shapes"], assume=drawn.assume, strict=True, seed=seed
    )
    assert result.report.verification.status == "passed"
    expected, found = all_values(model, drawn.feeds), all_values(result.model, drawn.feeds)
    for value in model.graph.output:
        np.testing.assert_array_equal(expected[value.name], found[value.name])
        assert expected[value.name].dtype == found[value.name].dtype


def test_most_random_graphs_have_something_to_narrow() -> None:
    narrowed = 0
    for seed in range(100, 108):
        drawn = Drawn(seed)
        report = optimize(
            drawn.model(), LACKING, rewrites=["cast", "narrowing"], assume=drawn.assume, verify=False
        ).report
        narrowed += any(law.ruleset == "narrowing" and law.used for law in report.rewrites)
    assert narrowed >= 5

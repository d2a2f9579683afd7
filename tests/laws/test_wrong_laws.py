"""The tests of laws reject laws that are wrong; see `wrong_laws`."""

from __future__ import annotations

import numpy as np
import pytest

from egraph_opt.errors import UnsoundLawError
from egraph_opt.laws.law import Example, Law
from egraph_opt.testing.harness import check_example, check_variant
from egraph_opt.testing.variants import variants

from . import wrong_classes, wrong_somewhere  # noqa: F401 (note their laws)
from .wrong_laws import WRONG

SHOWN_BY_A_VARIANT = frozenset(
    """only_for_a_symbol only_for_empty only_for_half only_for_integers only_for_double only_for_rank_one
    only_for_scalars""".split()
)
"""Those that are right on their example, and wrong in another type, size or rank."""

REJECTED = (AssertionError, UnsoundLawError)


def _example(law: Law) -> Example:
    assert law.examples is not None
    (example,) = law.examples(np.random.default_rng(0))
    return example


def _check_variants(law: Law, example: Example) -> None:
    for _, variant in variants(example):
        check_variant(law, variant)


@pytest.mark.parametrize("name", sorted(set(WRONG) - SHOWN_BY_A_VARIANT))
def test_a_wrong_law_is_rejected(name: str) -> None:
    with pytest.raises(REJECTED) as failure:
        check_example(WRONG[name], _example(WRONG[name]))
    assert "did not fire" not in str(failure.value)
    assert "added nothing" not in str(failure.value)


@pytest.mark.parametrize("name", sorted(SHOWN_BY_A_VARIANT))
def test_a_law_that_is_wrong_elsewhere_is_rejected_there(name: str) -> None:
    example = _example(WRONG[name])
    check_example(WRONG[name], example)
    with pytest.raises(REJECTED):
        _check_variants(WRONG[name], example)

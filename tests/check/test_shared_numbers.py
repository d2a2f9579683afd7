"""Numbers that several attributes share."""

from __future__ import annotations

import numpy as np

from egraph_opt.check.beside.shared_numbers import with_other_shared_numbers
from egraph_opt.laws import Operands, listed
from egraph_opt.operators import concat, slice_, transpose


def test_bounds_that_meet_are_changed_together_and_steps_and_axes_are_not() -> None:
    x = Operands(np.random.default_rng(0)).input(("N", 8))
    term = concat(listed(slice_(x, ((1, 0, 1, 1),)), slice_(x, ((1, 1, None, 1),))), 1)
    found = [repr(each) for each in with_other_shared_numbers(term)]
    for bound in (2, -1, -2):
        assert any(f"((1, 0, {bound}, 1),)" in each and f"((1, {bound}, None, 1),)" in each for each in found)
    assert not any("((1, 0, 1, 2),)" in each and ", 1)," in each for each in found)
    assert any("((2, 0, 1, 1),)" in each and each.endswith(", 2)") for each in found), "axes of all three"
    assert not any("((-" in each for each in found), "axes are counted from the front"


def test_a_number_that_is_there_once_is_left_to_others() -> None:
    x = Operands(np.random.default_rng(0)).input((2, 3, 4))
    assert list(with_other_shared_numbers(transpose(x, (0, 2, 1)))) == []

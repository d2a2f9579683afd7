"""Terms of themes: each theme makes some for a law that it suits, and few."""

from __future__ import annotations

import numpy as np
import pytest

from egraph_opt.check.sides import sides_of
from egraph_opt.check.theme import Theme
from egraph_opt.check.themed import themed
from egraph_opt.check.themes import THEMES
from egraph_opt.check.themes.rounded_scales import ROUNDED
from egraph_opt.check.themes.turns import TURNS, inverse

from ..wrong import wrong_laws

SUITED = {
    "Turns": "pool_between_turns",
    "ManyAxes": "transposes_by_digits",
    "BetweenGroups": "channels_of_one_group",
    "AroundPixels": "middle_of_kernel",
    "RoundedScales": "sizes_as_scales",
    "Activations": "alpha_of_no_activation",
    "Letters": "small_letters",
    "ManyParts": "part_of_equal_parts",
    "LeadingOnes": "rows_of_batches",
    "Exponents": "power_of_exp",
}
"""A law for each theme."""


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.__name__)
def test_a_theme_makes_few_terms(theme: type[Theme], monkeypatch: pytest.MonkeyPatch) -> None:
    law = wrong_laws()[SUITED[theme.__name__]].law
    monkeypatch.setattr("egraph_opt.check.themed.THEMES", (theme,))
    with np.errstate(all="ignore"):
        found = list(themed(sides_of(law), frozenset(), law.numerics))
        again = list(themed(sides_of(law), frozenset(), law.numerics))
    assert 4 <= len(found) <= theme.most
    assert [repr(each.term) for each in found] == [repr(each.term) for each in again]


def test_laws_without_the_operators_have_no_terms_of_themes() -> None:
    law = wrong_laws()["root_of_exponential"].law
    assert not list(themed(sides_of(law), frozenset(), law.numerics))


def test_a_turn_is_not_its_own_inverse() -> None:
    assert all(inverse(turn) != turn and inverse(inverse(turn)) == turn for turn in TURNS)


def test_some_scales_are_rounded_down() -> None:
    assert (11, 13) in ROUNDED
    assert (4, 8) not in ROUNDED

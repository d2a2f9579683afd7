"""Terms of a statement that have a theme: few, and only where its pattern has the operators for it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from egraph_opt.check.building import built
from egraph_opt.check.choices import Choices
from egraph_opt.check.themes import THEMES

if TYPE_CHECKING:
    from egraph_opt.check.sides import Side
    from egraph_opt.laws.law import Example

MOST = 12
"""Terms of a theme."""

TRIES, FRUITLESS = 160, 80
"""Terms that are begun for these, and after how many none is expected."""


def themed(side: Side, numbers: frozenset[float]) -> Iterator[Example]:
    """Terms that a statement matches, of each theme that suits it.

    Args:
        numbers: those that the law names.
    """
    patterns = (*side.tops, *side.named.values())
    for theme in THEMES:
        if not theme.suits(patterns):
            continue
        choices, own = Choices(), tuple(sorted(numbers))
        made = built(side, choices, TRIES, fruitless=FRUITLESS, theme=theme, numbers=own)
        for example in islice(made, MOST):
            choices.keep()
            yield example

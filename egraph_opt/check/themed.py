"""Terms of a law that have a theme: few, and only of statements whose patterns have the operators for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from egraph_opt.check.building import built
from egraph_opt.check.choices import Choices, spread
from egraph_opt.check.themes import THEMES

if TYPE_CHECKING:
    from egraph_opt.check.sides import Side
    from egraph_opt.laws.exactness import Numerics
    from egraph_opt.laws.law import Example

SIDES = 6
"""Statements that share the terms of a theme: shorthands make many of one."""

LEAST_TRIES = 24
"""Terms that are begun of a statement, however many there are."""


def themed(sides: Sequence[Side], numbers: frozenset[float], numerics: Numerics) -> Iterator[Example]:
    """Terms that statements of a law match, of each theme that suits them.

    Args:
        numbers: those that the law names.
        numerics: its class.
    """
    named = tuple(sorted(numbers))
    for theme in THEMES:
        suited = [side for side in sides if theme.suits((*side.tops, *side.named.values()))]
        for side in (chosen := spread(suited, SIDES)):
            choices, tries = Choices(), max(theme.tries // len(chosen), LEAST_TRIES)
            fruitless = max(tries // 3, LEAST_TRIES)
            own = partial(built, numbers=named, numerics=numerics)
            made = own(side, choices, tries, fruitless=fruitless, theme=theme)
            for example in islice(made, max(theme.most // len(chosen), 1)):
                choices.keep()
                yield example

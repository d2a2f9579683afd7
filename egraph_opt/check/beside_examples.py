"""What is beside the examples of a law's author: variants, neighbours, and what is near those.

The tables make few terms of some laws, and of none do they make all that a condition may have forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from egraph_opt.check.choices import spread
from egraph_opt.check.neighbours import Made, neighbours
from egraph_opt.check.variants import long_ones, variants
from egraph_opt.laws.law import Example

FEW_TERMS, ANYHOW = 96, 32
"""Variants that are tried where the tables make few terms of a law, and where they make many."""

NEAR = 3
"""Neighbours for each variant, and as many that differ from an example in two things."""

STEPS = 24
"""Variants and neighbours beside which others are looked for, and how many each."""

WIDER = ("in 16 bits", "of wider integers", "longer constants", "all sizes")
"""Variants on which other numbers show: more of what is near them is tried."""

LONG = 2
"""Examples that are tried with long axes."""


def beside(
    examples: Sequence[Example], numbers: frozenset[float], most: int, *, few: bool, long: bool
) -> Iterator[Example]:
    """What differs from examples on which a law fires in one thing or two.

    Args:
        numbers: those that the law names.
        most: variants at most.
        few: whether the tables make few terms.
        long: axes are made so long that some types of numbers do not count so far.
    """
    most = min(FEW_TERMS if few else ANYHOW, most)
    named = [each for example in examples for each in variants(example)]
    found = [variant for _, variant in named]
    near = [neighbour for example in examples for neighbour in neighbours(example, numbers)]
    yield from spread(found, most)
    yield from _made(near, most)
    of_each = min(STEPS, most)
    steps = (*spread(found, of_each), *(step() for step in spread(near, of_each)))
    further = [neighbour for step in steps for neighbour in spread(_beside(step, numbers), STEPS)]
    yield from _made(further, most)
    wide = [step for name, step in named if name.startswith(WIDER)]
    yield from _made([each for step in spread(wide, most) for each in _beside(step, numbers)], most)
    for example in examples[:LONG] if long else ():
        yield from long_ones(example)


def _made(near: Sequence[Made], most: int) -> Iterator[Example]:
    return (neighbour() for neighbour in spread(near, NEAR * most))


def _beside(example: Example, numbers: frozenset[float]) -> list[Made]:
    """The neighbours of what need not be well-typed."""
    try:
        return list(neighbours(example, numbers))
    except Exception:  # operands that do not suit an operator make inference fail in many ways
        return []

"""An example with a number so far from what it is that the law only just fires: a condition ends there.

A condition may compute a bound and name no number: how flat a function is, how much smaller one operand is
than another one, how nearly two scales are equal.  Where it is too wide, it is wrong next to that end at the
latest.  The law itself is asked where that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from egraph_opt.check.beside.changing import with_changed
from egraph_opt.check.beside.variants import arrays_of
from egraph_opt.check.scope import nodes_of
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression

NEAREST, FARTHEST = 1e-6, 1e5
"""By which shares a number is changed at least, and at most: nothing ends where a law fires at both."""

ASKED, ROUNDS = 6, 4
"""How many numbers are asked for between what fires and what does not, and how often: within a hundredth."""

MOST = 6
"""Numbers of an example that are changed."""

Change = Callable[[float], Example]
Settings = tuple[tuple[str, Any], ...]
DoFire = Callable[[Sequence[Example]], Sequence[bool]]


@dataclass
class _Search:
    """Between which shares by which a number is changed the law ceases to fire."""

    change: Change
    up: bool
    least: float = NEAREST
    most: float = FARTHEST

    def at(self, share: float) -> Example:
        return self.change(1 + share if self.up else 1 / (1 + share))

    def between(self) -> list[float]:
        return [float(s) for s in np.geomspace(self.least, self.most, ASKED + 2)[1:-1]]

    def narrow(self, fires: Sequence[bool]) -> None:
        """The law fires at some of what is between."""
        shares, end = self.between(), next((k for k, each in enumerate(fires) if not each), len(fires))
        before = [self.least, *shares]
        self.least, self.most = before[end], [*shares, self.most][end]


def where_it_ends(example: Example, do_fire: DoFire) -> list[Example]:
    """Each number of an example as far up, and down, as a law fires.

    Args:
        do_fire: on which of some examples the law does something.
    """
    changes = islice(_changes(example), MOST)
    found = [_Search(change, up) for change in changes for up in (True, False)]
    asked = do_fire([search.at(share) for search in found for share in (NEAREST, FARTHEST)])
    found = [s for s, near, far in zip(found, asked[::2], asked[1::2], strict=True) if near and not far]
    for _ in range(ROUNDS if found else 0):
        answers = iter(do_fire([search.at(share) for search in found for share in search.between()]))
        for search in found:
            search.narrow(list(islice(answers, ASKED)))
    return [search.at(search.least) for search in found]


def _changes(example: Example) -> Iterator[Change]:
    """What multiplies a bound, an epsilon or another setting of an operator, or a constant."""
    for node in nodes_of(example):
        for k, argument in enumerate(node.arguments):
            given: Any = getattr(argument.head, "value", None)
            if argument.sort.name == "Float" and given:
                yield partial(_with_value, example, node, k, lambda factor, given=given: given * factor)  # type: ignore[misc]
            elif argument.sort.name == "Settings":
                names = [name for name, value in given or () if isinstance(value, float) and value]
                others = (partial(_with_larger, given, name) for name in names)
                yield from (partial(_with_value, example, node, k, other) for other in others)
    for place, array in arrays_of(example).items():
        if array.dtype in (np.float32, np.float64) and array.any():
            yield _change_of_constant(example, place, array)


def _with_value(
    example: Example, node: Expression, position: int, value: Callable[[float], Any], factor: float
) -> Example:
    return with_changed(example, node, position, value(factor))


def _with_larger(settings: Settings, name: str, factor: float) -> Settings:
    return tuple((other, value * factor if other == name else value) for other, value in settings)


def _change_of_constant(example: Example, place: int, array: Any) -> Change:
    def change(factor: float) -> Example:
        with np.errstate(all="ignore"):
            other = (array * factor).astype(array.dtype)
        return replace(example, operands=example.operands.with_constant(place, other))

    return change

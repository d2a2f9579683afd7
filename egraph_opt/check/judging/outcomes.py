"""What comes of running a term: checks that are counted, inputs with what the term answers, what is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from egraph_opt.check.feeds.inputs import Feeds
from egraph_opt.check.feeds.kinds import Kind
from egraph_opt.check.judging.computed import Computed
from egraph_opt.check.judging.reference import Outputs


@dataclass
class Tally:
    """Checks that were made, and those that were left out, by what could not be done.

    A check is one comparison of all outputs of two models on one set of inputs, by one evaluator.
    """

    made: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        self.made.update(other.made)
        self.left_out.update(other.left_out)


@dataclass(frozen=True)
class Trial:
    """One set of inputs, and what the term as it was written answers.

    Attributes:
        computed: what goes into the answers and is computed on the way.
    """

    kind: Kind
    sizes: Mapping[str, int]
    feeds: Feeds
    expected: Outputs
    computed: Computed
    reference: Outputs | None = None

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} = {size}" for name, size in self.sizes.items())
        return f"on {self.kind} inputs" + (f" with {sizes}" if sizes else "")

    @property
    def is_empty(self) -> bool:
        """Whether an input has no elements, or what is computed on the way."""
        return self.takes_nothing or not all(array.size for array in self.expected)

    @property
    def takes_nothing(self) -> bool:
        """Whether an input has no elements."""
        return not all(array.size for array in self.feeds.values())


@dataclass(frozen=True)
class Failure:
    """What is wrong with a rewritten model.

    Attributes:
        message: in words.
        expected, found: the first output that differs, as far as there is one.
        ordinary: the numbers that went in are.
    """

    message: str
    feeds: Feeds = field(default_factory=dict)
    expected: Any = None
    found: Any = None
    ordinary: bool = False

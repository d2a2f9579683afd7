"""What to run a model on: sizes, ranges of integers and distributions that the original accepts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from egraph_opt.verification.budget import LEAST_SECONDS, BudgetError, RunBudget
from egraph_opt.verification.execution import ExecutionError, OutOfMemoryError, Value
from egraph_opt.verification.inputs import Distribution, Integers, is_integer, random_inputs
from egraph_opt.verification.interface import ValueSpec
from egraph_opt.verification.sizes import Ranges, Sizes, candidates, variations

Run = Callable[[Mapping[str, Value], Sizes], list[Value]]
"""Runs the original on inputs, in which symbolic dims have these sizes."""

FIRST_RANGES: tuple[Integers, ...] = ((0, 1), (1, 1), (0, 0), (0, 7))
"""The first runs nearly everywhere: as token types, flags, and most tables have two rows."""
WIDER_RANGES: tuple[Integers, ...] = ((0, 255), (0, 63), (0, 7), (0, 1))
RANKS = (2, 3, 4, 1, 0)
ATTEMPTS: Mapping[Distribution, int] = {"normal": 400, "uniform": 40, "ones": 40}
"""Attempts to find inputs that run at all, by the distribution of floats."""

LATE = "the limit of seconds was reached before inputs were found on which the original runs"

MOST_TOO_LARGE = 4
"""Attempts for which memory does not suffice, after which there are no more."""

SHAPE_LIKE = 8
"""A fixed number of integers up to this one may be a shape: large values would ask for huge tensors."""


def _is_index(spec: ValueSpec) -> bool:
    if spec.shape is None:
        return False
    count = 1
    for dim in spec.shape:
        count *= dim if isinstance(dim, int) else SHAPE_LIKE + 1
    return count > SHAPE_LIKE


@dataclass(frozen=True)
class Plan:
    """What the original runs on.

    Attributes:
        sizes: one or two assignments of the symbolic dims, as different as the model allows.
        integers: the range of every integer input (8-bit ones that take any value are left out).
        fallback: a range and a distribution that ran at first.
        rank: of inputs without a declared rank.
    """

    sizes: tuple[Sizes, ...]
    integers: Mapping[str, Integers]
    fallback: tuple[Mapping[str, Integers], Distribution]
    rank: int = 1


@dataclass
class PlanSearch:
    """Looks for inputs that a model accepts, in a fixed order and number of attempts."""

    specs: Sequence[ValueSpec]
    run: Run
    seed: int = 0
    assume: Ranges | None = None
    budget: RunBudget = field(default_factory=RunBudget)
    draw: Callable[..., dict[str, Value]] | None = None
    error: str = field(default="", init=False)
    too_large: list[OutOfMemoryError] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._end = max(self.budget.end, time.monotonic() + LEAST_SECONDS)

    def _is_late(self) -> bool:
        return time.monotonic() > self._end

    def plan(self) -> Plan:
        """Finds sizes first, with small integers, then wider ranges, then a second assignment of sizes.

        Raises:
            ExecutionError: nothing that was tried runs; the message is of the first attempt.  An
                OutOfMemoryError where memory does not suffice for some, or for the one choice of sizes.
            BudgetError: the one choice of sizes takes too many operations; or a run took too much, or all
                of them together.
            UnsupportedInputError: an input of a type that has no random values.
        """
        for distribution, attempts in ATTEMPTS.items():
            for sizes, rank, integers in islice(self._attempts(), attempts):
                if self._runs(sizes, integers, distribution, rank, first=True):
                    wide = self._widen(sizes, integers, distribution, rank)
                    return Plan(
                        self._sizes(sizes, wide, distribution, rank), wide, (integers, distribution), rank
                    )
        if self.too_large:
            raise self.too_large[0]
        raise ExecutionError(self.error)

    def _attempts(self) -> Iterator[tuple[Sizes, int, dict[str, Integers]]]:
        ranks = RANKS if any(spec.shape is None for spec in self.specs) else (1,)
        assumed = self.assume or {}
        names = [spec.name for spec in self.specs if is_integer(spec) and spec.name not in assumed]
        for integers in FIRST_RANGES if names else FIRST_RANGES[:1]:
            for sizes in candidates(self.specs, self.assume):
                for rank in ranks:
                    yield sizes, rank, dict.fromkeys(names, integers)

    def _runs(
        self,
        sizes: Sizes,
        integers: Mapping[str, Integers],
        distribution: Distribution,
        rank: int,
        *,
        first: bool = False,
    ) -> bool:
        """Whether it runs on such inputs; with no time left it does not, or it is an error (`first`)."""
        if self._is_late():
            if first:
                raise BudgetError(LATE)
            return False
        too_large = self.budget.too_large(self.specs, sizes, rank)
        beyond = too_large or self.budget.too_long(sizes)
        if beyond:
            if not sizes:
                raise OutOfMemoryError(beyond) if too_large else BudgetError(beyond)
            self.error = self.error or beyond
            return False
        feeds = (self.draw or partial(random_inputs, self.specs))(
            seed=self.seed,
            sizes=sizes,
            distribution=distribution,
            integers=integers,
            assume=self.assume or {},
            rank=rank,
        )
        try:
            self.run(feeds, sizes)
        except OutOfMemoryError as error:
            self.too_large.append(error)
            if len(self.too_large) >= MOST_TOO_LARGE:
                raise
            return False
        except ExecutionError as error:
            self.error = self.error or str(error)
            return False
        return True

    def _widen(
        self, sizes: Sizes, integers: Mapping[str, Integers], distribution: Distribution, rank: int
    ) -> dict[str, Integers]:
        """The widest ranges that still run: small indices would not see most of a table."""
        current = dict(integers)
        tried = {
            spec.name: WIDER_RANGES if _is_index(spec) else FIRST_RANGES[-1:]
            for spec in self.specs
            if spec.name in integers
        }
        together = {name: wider[0] for name, wider in tried.items()}
        if not tried or self._runs(sizes, together, distribution, rank):
            return together
        for name, ranges in tried.items():
            for wider in ranges:
                if wider[1] <= current[name][1]:
                    break
                if self._runs(sizes, {**current, name: wider}, distribution, rank):
                    current[name] = wider
                    break
        return current

    def _sizes(
        self, base: Sizes, integers: Mapping[str, Integers], distribution: Distribution, rank: int
    ) -> tuple[Sizes, ...]:
        if not base:
            return (base,)
        other = variations(
            self.specs, base, lambda sizes: self._runs(sizes, integers, distribution, rank), self.assume
        )
        return (base,) if other is None else (base, other)

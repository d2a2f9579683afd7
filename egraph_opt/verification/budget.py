"""How much memory and time a comparison may take: known from shapes before a run, and watched in one.

Shapes tell of everything but loops, whose number of rounds and whose growth only a run shows.  So a thread
looks at the clock and at the memory of the process while ONNX Runtime runs, and ends the run between nodes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import onnxruntime

from egraph_opt.graph.process_memory import MemoryBudget, anonymous_bytes
from egraph_opt.graph.watching import looking
from egraph_opt.verification.interface import ValueSpec
from egraph_opt.verification.sizes import Sizes, shape_of

MOST_OPERATIONS = 1e12
"""Of one run: some ten minutes of one processor."""

LEAST_SECONDS, LONGEST_SECONDS, SLOWEST = 4.0, 600.0, 2e7
"""A run may take so long at least and at most, and between these its operations at so many a second."""

SLOWER = 4.0
"""How many times as long as one before it a run may take where there is no time left."""

LEAST_BYTES = 2.0**31
"""A run may take so much whatever its shapes say."""

_TICK = 0.02
_ELEMENT = 8
"""Bytes of an element of an input, which is drawn in float64."""


class BudgetError(Exception):
    """A run takes, or would take, more than there is; the message says of what."""


@dataclass(frozen=True)
class RunNeeds:
    """What a run takes, as far as shapes tell.

    Attributes:
        bytes: of all tensors that are there at once, at most.
        operations: multiplications and the like.
        guessed_bytes, guessed_operations: the same where sizes that only a run shows are guessed: nothing is
            refused for those, and a run may take them.
    """

    bytes: float = 0.0
    operations: float = 0.0
    guessed_bytes: float = 0.0
    guessed_operations: float = 0.0


Estimate = Callable[[Sizes], RunNeeds]
"""What a model takes at some sizes of its symbolic dims."""


def _nothing(sizes: Sizes) -> RunNeeds:
    return RunNeeds()


@dataclass
class RunBudget:
    """What there is for a comparison.

    Attributes:
        estimate: of the original; the optimized model is taken to need as much.
        bytes: that runs may allocate; by default a share of what is free.
        end: when to be done, as `time.monotonic` has it: a run takes no longer than what is left, where that
            is more than `LEAST_SECONDS`.
        longest: seconds of the longest run so far.
    """

    estimate: Estimate = _nothing
    bytes: float = field(default_factory=lambda: MemoryBudget.of(None).left)
    end: float = math.inf
    longest: float = 0.0
    _known: dict[tuple[tuple[str, int], ...], RunNeeds] = field(default_factory=dict, repr=False)

    def needs(self, sizes: Sizes) -> RunNeeds:
        key = tuple(sorted(sizes.items()))
        if key not in self._known:
            self._known[key] = self.estimate(sizes)
        return self._known[key]

    def piece_by_piece(self) -> RunBudget:
        """The same where tensors need not be there at once: only a run shows what a piece takes."""
        return replace(self, estimate=lambda sizes: replace(self.needs(sizes), bytes=0.0), _known={})

    def beyond(self, specs: Sequence[ValueSpec], sizes: Sizes, rank: int = 1) -> str:
        """Why these sizes cannot be run; "" where they can."""
        return self.too_large(specs, sizes, rank) or self.too_long(sizes)

    def too_large(self, specs: Sequence[ValueSpec], sizes: Sizes, rank: int = 1) -> str:
        """Why memory does not allow to run these sizes; "" where it does."""
        given = math.fsum(_ELEMENT * _elements(shape_of(spec, sizes, rank)) for spec in specs)
        needed = given + self.needs(sizes).bytes
        if needed <= self.bytes:
            return ""
        return f"a run takes {needed:.2g} bytes, and {self.bytes:.2g} may be taken"

    def too_long(self, sizes: Sizes) -> str:
        """Why these sizes take too long; "" where they do not."""
        needed = self.needs(sizes).operations
        if needed <= MOST_OPERATIONS:
            return ""
        return f"a run takes {needed:.2g} operations, and {MOST_OPERATIONS:.2g} may be taken"

    def most_bytes(self, sizes: Sizes) -> float:
        """What a run may allocate: what is not known from shapes is taken to be no more than what is."""
        if self.estimate is _nothing:
            return self.bytes
        needs = self.needs(sizes)
        return min(LEAST_BYTES + 4 * max(needs.bytes, needs.guessed_bytes), self.bytes)

    def lacks_time(self, runs: float) -> bool:
        """Whether so many runs more would take longer than what is left, and than a run may take at least."""
        return runs * self.longest > max(self.end - time.monotonic(), LEAST_SECONDS)

    def seconds(self, sizes: Sizes) -> float:
        """How long a run may take."""
        left = max(self.end - time.monotonic(), LEAST_SECONDS, SLOWER * self.longest)
        if self.estimate is _nothing:
            return min(LONGEST_SECONDS, left)
        needs = self.needs(sizes)
        most = max(needs.operations, needs.guessed_operations)
        return min(LEAST_SECONDS + most / SLOWEST, LONGEST_SECONDS, left)


def _elements(shape: Sequence[int]) -> float:
    count = math.prod(shape)
    return float(count) if count < 2**63 else math.inf


@contextmanager
def watched(options: onnxruntime.RunOptions, seconds: float, bytes_: float) -> Iterator[None]:
    """While it lasts, a run with these options ends after so many seconds, or so many bytes more.

    Raises:
        BudgetError: one of them was reached.
    """
    reasons: list[str] = []
    started, before = time.monotonic(), anonymous_bytes()

    def look() -> bool:
        if time.monotonic() - started > seconds:
            reasons.append(
                f"a run takes longer than {seconds:.3g} s, which is more than its shapes say or there are"
            )
        elif anonymous_bytes() - before > bytes_:
            reasons.append(f"a run takes more than {bytes_:.2g} bytes, which is more than its shapes say")
        else:
            return False
        options.terminate = True
        return True

    try:
        with looking(look, _TICK):
            yield
    finally:
        if reasons:
            raise BudgetError(reasons[0])

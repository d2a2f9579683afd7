"""How long and how far to search."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from egraph_opt.extraction.programs.solver import Effort
from egraph_opt.extraction.programs.trust import Trust
from egraph_opt.extraction.strategies.isomorphism import SolvedForms


@dataclass(frozen=True)
class Budget:
    """The limits of one extraction, and what it has found so far.

    Attributes:
        iterations: the most programs for any one piece.
        deadline: of `time.monotonic`, an emergency stop; None for none.
        seed: of the random orders and the solver.
        size: how many undecided nodes the problem has.
        persistent: whether to go on until the deadline or the proof.
        stop: called before and within each program to learn whether the best so far will do; None for never.
        searched: the parts that took a search; other pieces may leave the same parts.
        trust: what became of the solver's statements about the piece.
    """

    iterations: int
    deadline: float | None
    seed: int
    size: int = 0
    persistent: bool = False
    stop: Callable[[], bool] | None = None
    searched: SolvedForms = field(default_factory=SolvedForms)
    trust: Trust = field(default_factory=Trust)

    def for_piece(self) -> Budget:
        """The same limits for another piece, with new trust in the solver."""
        return replace(self, trust=Trust())

    def for_size(self, size: int) -> Budget:
        """The same limits for a problem of so many undecided nodes."""
        return replace(self, size=size)

    def slice(self, share: float) -> Budget:
        """The same limits with a share of the time that is left."""
        if self.deadline is None or not self.persistent:
            return self
        now = time.monotonic()
        return replace(self, deadline=now + (self.deadline - now) * share)

    def late(self) -> bool:
        """Whether the time is up."""
        over = self.deadline is not None and time.monotonic() >= self.deadline
        return over or (self.stop is not None and self.stop())

    def effort(self, effort: Effort) -> Effort | None:
        """``effort`` with the seconds that are left, None if there are none."""
        effort = replace(effort, trust=self.trust)
        if self.stop is not None:
            if self.stop():
                return None
            effort = replace(effort, stop=self.stop)
        if self.deadline is None:
            return effort
        left = self.deadline - time.monotonic()
        return replace(effort, seconds=left) if left > 0 else None

"""Where the search stops."""

from __future__ import annotations

import time
from dataclasses import dataclass

from egraph_opt.errors import LimitsError

NO_TIME = "no time was given (seconds=0)"

SATURATED, CHOSEN = 0.5, 0.8
"""By which share of the seconds saturation has to end, and the choice; the rest is to rebuild and verify."""

LEAST_CHOICE = 0.1
"""The share that the choice gets also where what comes before it took longer than it should."""


@dataclass(frozen=True)
class Limits:
    """Where the search stops: counts decide, seconds are the emergency stop.

    Attributes:
        nodes: e-nodes of one graph.
        rounds: of all laws; a constant crosses one residual block a round.
        solver_iterations: integer programs solved for one piece.
        fold_bytes: how many bytes folded constants may add to the file.
        seconds: of an optimisation, all stages: half of them for reading and saturation, the last ones for
            verification.  With 0 the model is handed back as it came.

    Raises:
        LimitsError: a limit that is not positive, or seconds that are negative.
    """

    nodes: int = 200_000
    rounds: int = 100
    solver_iterations: int = 200
    fold_bytes: int = 2**20
    seconds: float = 60

    def __post_init__(self) -> None:
        for name in ("nodes", "rounds", "solver_iterations", "fold_bytes", "seconds"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise LimitsError(f"Limits({name}={value!r}): must be a positive number")
            if not (value > 0 or (name == "seconds" and value == 0)):
                least = " or 0" if name == "seconds" else ""
                raise LimitsError(f"Limits({name}={value!r}): must be a positive number{least}")

    def saturation_deadline(self, started: float) -> float:
        """When saturation has to end, as `time.monotonic` has it."""
        return started + SATURATED * self.seconds

    def choice_deadline(self, spent: float) -> float:
        """When the choice that begins now has to end, where so many seconds were spent before."""
        return time.monotonic() + max(CHOSEN * self.seconds - spent, LEAST_CHOICE * self.seconds)

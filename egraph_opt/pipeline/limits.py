"""Where the search stops."""

from __future__ import annotations

from dataclasses import dataclass

from egraph_opt.errors import LimitsError

NO_TIME = "no time was given (seconds=0)"


@dataclass(frozen=True)
class Limits:
    """Where the search stops: counts decide, seconds are the emergency stop.

    Attributes:
        nodes: e-nodes of one graph.
        rounds: of all laws; a constant crosses one residual block a round.
        solver_iterations: integer programs solved for one piece.
        fold_bytes: how many bytes folded constants may add to the file.
        seconds: of saturation, and again of extraction; with 0 the model is handed back as it came.

    Raises:
        LimitsError: a limit that is not positive, or seconds that are negative.
    """

    nodes: int = 200_000
    rounds: int = 100
    solver_iterations: int = 200
    fold_bytes: int = 2**20
    seconds: float = 600

    def __post_init__(self) -> None:
        for name in ("nodes", "rounds", "solver_iterations", "fold_bytes", "seconds"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise LimitsError(f"Limits({name}={value!r}): must be a positive number")
            if not (value > 0 or (name == "seconds" and value == 0)):
                least = " or 0" if name == "seconds" else ""
                raise LimitsError(f"Limits({name}={value!r}): must be a positive number{least}")

"""Where the search stops, and the clock by which it does: seconds by stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from egraph_opt.errors import LimitsError
from egraph_opt.graph.constants import SMALL
from egraph_opt.graph.process_memory import MemoryBudget

NO_TIME = "no time was given (seconds=0)"

TOO_SHORT = "the limit of {seconds:g} s leaves no time: reading the model took {read:.2g} s"

SATURATED, CHOSEN = 0.5, 0.8
"""By which share of the seconds saturation has to end, and the choice; the rest is to rebuild and verify."""

SATURATED_MEMORY = 0.5
"""The share of the memory in which saturation has to end; the rest is to choose and rebuild."""

SATURATED_AGAIN = 0.1
"""The share that saturating a chosen graph again gets though the first choice took all the time: a proof that
nothing is cheaper in one e-graph is worth less than another e-graph."""

LEAST_REST = 0.5
"""So many seconds are for that also where the limit is short, but no more than half of it."""

LEAST_CHOICE = 0.1
"""The share that the choice gets also where what comes before it took longer than it should."""

BUILDING, FINISHING = 1.0, 3.0
"""How many times as long as a model is read, with its types, its e-graph is built, and a result rebuilt and
compared once.  All of these grow with the model and with what else the machine does."""

OVERRUN, LEAST_OVERRUN = 0.1, 0.5
"""By which share of the seconds an optimisation may be late, or by how many seconds."""


@dataclass(frozen=True)
class Limits:
    """Where the search stops: counts decide, seconds are the emergency stop.

    Attributes:
        nodes: e-nodes of one graph; the last round of laws may write up to twice as many and 10,000 more.
        rounds: of all laws; a constant crosses one residual block a round.
        solver_iterations: integer programs solved for one piece.
        fold_bytes: how many bytes folded constants may add to the file, over all its optimisations.
        fold_quantized: quantised constants are folded too where they become wider by that (DequantizeLinear).
        seconds: of an optimisation, all stages: half of them for reading and saturation, the last ones for
            verification.  With 0, or so few that there is no time for any law, the model is handed back as it
            came.
        memory_bytes: of memory that an optimisation takes, besides weights that are read from files; by
            default three quarters of what is free.  Saturation, folding and verification end there, and a
            warning says so.

    Raises:
        LimitsError: a limit that is not positive, or seconds that are negative.
    """

    nodes: int = 200_000
    rounds: int = 100
    solver_iterations: int = 200
    fold_bytes: int = 2**20
    fold_quantized: bool = False
    seconds: float = 60
    memory_bytes: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.fold_quantized, bool):
            raise LimitsError(f"Limits(fold_quantized={self.fold_quantized!r}): must be True or False")
        for name in ("nodes", "rounds", "solver_iterations", "fold_bytes", "seconds", "memory_bytes"):
            value = getattr(self, name)
            if value is None and name == "memory_bytes":
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise LimitsError(f"Limits({name}={value!r}): must be a positive number")
            if not (value > 0 or (name == "seconds" and value == 0)):
                least = " or 0" if name == "seconds" else ""
                raise LimitsError(f"Limits({name}={value!r}): must be a positive number{least}")

    def after(self, grown: int) -> Limits:
        """The limits for a model whose constants have grown by so many bytes before.

        There is always room for small ones, such as the sizes of a tensor.
        """
        room = max(self.fold_bytes - grown, min(self.fold_bytes, SMALL))
        return replace(self, fold_bytes=room)

    def memory(self) -> MemoryBudget:
        """The memory of what begins now."""
        return MemoryBudget.of(self.memory_bytes)

    @property
    def latest(self) -> float:
        """After how many seconds an optimisation has to be over, as it cannot always be interrupted."""
        return self.seconds + max(OVERRUN * self.seconds, LEAST_OVERRUN)

    def lets_begin(self, spent: float, read: float) -> bool:
        """Whether laws can be tried on a model that took so long to read, after so many seconds in all."""
        return spent + (BUILDING + FINISHING) * read <= self.latest

    def _chosen(self, read: float) -> float:
        """After how many seconds the choice has to end, of a model that took so long to read."""
        rest = max(min(LEAST_REST, self.seconds / 2), FINISHING * read)
        return min(CHOSEN * self.seconds, self.seconds - rest)

    def saturation_deadline(self, started: float, read: float) -> float:
        """When saturation has to end, as `time.monotonic` has it."""
        return started + min(SATURATED * self.seconds, self._chosen(read))

    def started_again(self, started: float, read: float) -> float | None:
        """When saturating a chosen graph is taken to have begun; None where the choice has no more time."""
        now, whole = time.monotonic(), self._chosen(read)
        left = started + whole - now
        share = min(SATURATED_AGAIN * self.seconds, left / 2)
        return max(started, now + share - min(SATURATED * self.seconds, whole)) if left > 0 else None

    def choice_deadline(self, spent: float, read: float) -> float:
        """When the choice that begins now has to end, where so many seconds were spent before."""
        return time.monotonic() + max(self._chosen(read) - spent, LEAST_CHOICE * self.seconds)

    def run_deadline(self, spent: float) -> float:
        """When the runs that show sizes have to end, which begin now: by half of what is left."""
        return time.monotonic() + max((self.seconds - spent) / 2, LEAST_CHOICE * self.seconds)


Progress = Callable[[str, float | None], None]
"""Called with a stage's name and how much of it is done."""


READING = ("load", "lower", "fold")
"""The stages before saturation."""


def reading(seconds: Mapping[str, float]) -> float:
    """How long it took to read a model, with its types and constants."""
    return sum(seconds.get(stage, 0.0) for stage in READING)


def total(*seconds: Mapping[str, float]) -> dict[str, float]:
    """Seconds by stage, of several clocks together."""
    added: dict[str, float] = {}
    for stage, taken in chain.from_iterable(part.items() for part in seconds):
        added[stage] = added.get(stage, 0.0) + taken
    return added


class Clock:
    """Seconds by stage; entering a stage ends the one before."""

    def __init__(self, progress: Progress | None) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress
        self._stage = ""
        self._since = time.perf_counter()

    def share(self, done: float) -> None:
        """Tell how much of the present stage is done."""
        if self._progress is not None and self._stage:
            self._progress(self._stage, done)

    def __call__(self, stage: str) -> None:
        now = time.perf_counter()
        if self._stage:
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + now - self._since
        if self._progress is not None and stage and stage != self._stage:
            self._progress(stage, None)
        self._stage, self._since = stage, now

"""Seconds by stage, and what they are told to."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

Progress = Callable[[str, float | None], None]
"""Told a stage's name and how much of it is done."""


READING = ("load", "lower", "fold")
"""The stages before saturation."""


def reading(seconds: Mapping[str, float]) -> float:
    """How long it took to read a model, with its types and constants."""
    return sum(seconds.get(stage, 0.0) for stage in READING)


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

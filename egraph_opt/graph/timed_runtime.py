"""What a runtime has to do so that models are timed in it, whole or node by node."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy.typing as npt

Feeds = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Run:
    """One run of a model, in microseconds.

    Attributes:
        kernels: the sum over its kernels, but for the following.
        entering: of conversions of operands to the runtime's own layout.
        leaving: of the conversion of the result from it, behind all kernels.
        count: how many kernels ran, those conversions aside.
    """

    kernels: float
    entering: float
    leaving: float
    count: int


@dataclass(frozen=True)
class Kernel:
    """What a runtime ran of a model, and how long it took there.

    Attributes:
        operator: its own name for what it ran.
        names: of nodes or tensors of the model that it computed, as far as it says; none for conversions.
        micros: of a run.
    """

    operator: str
    names: tuple[str, ...]
    micros: float


def undisturbed(times: Sequence[float]) -> float:
    """The mean of the fastest quarter of some times: other programs only ever add to them."""
    fast = sorted(times)[: math.ceil(len(times) / 4)]
    return math.fsum(fast) / len(fast)


_PLACE = re.compile(r"(Exception from|Check '.*' failed at) \S+:\d+:?")
"""A line that says where in its own source a runtime failed."""

SAID = 400
"""Characters that are repeated of what a runtime says."""


def complaint_of(error: Exception) -> str:
    """What a runtime says of a model that it does not take, in one line and without places in its source."""
    lines = [" ".join(line.split()) for line in str(error).splitlines()]
    said = " ".join(line for line in lines if line and not _PLACE.fullmatch(line))
    return (said or " ".join(filter(None, lines)))[:SAID] or type(error).__name__


class TimedSession(Protocol):
    """A model that is timed kernel by kernel; `close` it to learn what was measured."""

    def run(self, feeds: Feeds) -> None: ...

    def close(self) -> list[Run]:
        """End it: the runs in their order."""

    def kernels(self) -> list[Kernel]:
        """End it: what ran, in its order, each with what it took where nothing disturbed it."""


class Runtime(Protocol):
    """A runtime with its options; it is handed to other processes, and a key of nothing else.

    Attributes:
        threads: within an operator.
    """

    @property
    def threads(self) -> int: ...

    @property
    def title(self) -> str:
        """What reports call it."""

    @property
    def provider(self) -> str:
        """What of it runs models, such as its device."""

    @property
    def version(self) -> str:
        """Its release and build: times of another one do not hold."""

    @property
    def options_key(self) -> str:
        """All options that times depend on, as a text."""

    def clock(self) -> Callable[[], float]:
        """The clock, in seconds, by which a run of a whole model is timed: one that other processes disturb
        little, where there is one."""

    def check(self) -> None:
        """Raises an `EgraphOptError` where it is not installed, or cannot do what its options ask for."""

    def session(self, model: bytes | str) -> Any:
        """A model, serialized or by its path, ready for `run(names, feeds)`: what it answers.

        Raises:
            Exception: what the runtime raises for a model that it cannot load.
        """

    def profiled(self, model: bytes | str, prefix: Path) -> TimedSession:
        """The same, timed kernel by kernel.

        Args:
            prefix: of files that it may write, where no other session has them.
        """

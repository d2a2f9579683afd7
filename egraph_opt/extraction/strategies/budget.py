"""How long and how far to search, and Ctrl-C as a question that a search asks.

An exception instead would throw away what it has found.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Literal

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


OnInterrupt = Literal["best", "raise"]
"""What Ctrl-C does to a search: it ends with the best found so far, or raises `KeyboardInterrupt`."""


@contextmanager
def interruptible(on_interrupt: OnInterrupt = "best") -> Iterator[Callable[[], bool] | None]:
    """Within, Ctrl-C answers the question that is handed out with yes; a second one raises at once.

    Nothing changes, and None is handed out, in other threads than the main one (signals do not reach them),
    for programs that handle SIGINT themselves, and with ``"raise"``.

    Raises:
        ValueError: `on_interrupt` is neither of the two.
        KeyboardInterrupt: at the end, where Ctrl-C was pressed and nobody asked any more.
    """
    if on_interrupt not in ("best", "raise"):
        raise ValueError(f"on_interrupt={on_interrupt!r}: must be 'best' or 'raise'")
    main = threading.current_thread() is threading.main_thread()
    handled = main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if on_interrupt == "raise" or not handled:
        yield None
        return
    pressed = answered = False

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    def is_pressed() -> bool:
        nonlocal answered
        answered = answered or pressed
        return pressed

    signal.signal(signal.SIGINT, press)
    try:
        yield is_pressed
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if pressed and not answered:
        raise KeyboardInterrupt

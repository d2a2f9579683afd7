"""Ctrl-C as a question that a search asks, in place of an exception that throws away what it has found."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Literal

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

"""A part of the gate in a process of its own, where there is a processor for it.

The process is forked, so that it has the law and all that is known of it, which need not be importable.
"""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import current_process, get_context
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from egraph_opt.errors import EgraphOptError
from egraph_opt.graph.isolation import AVAILABLE

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Told = TypeVar("Told")
Found = TypeVar("Found")


class ProcessEndedError(EgraphOptError):
    """A process ended without an answer: a kernel crashed, or the system ended it."""


def has_room() -> bool:
    """Whether this process may fork another one, which has a processor of its own."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    return AVAILABLE and processors > 1 and not current_process().daemon


class Meanwhile(Generic[Told, Found]):
    """Work that goes on in another process.

    Args:
        work: takes a function that waits until something is told, and answers that.
    """

    def __init__(self, work: Callable[[Callable[[], Told]], Found]) -> None:
        context = get_context("fork")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_do, args=(work, other, self._connection), daemon=True)
        self._process.start()
        other.close()

    def tell(self, told: Told) -> None:
        with suppress(OSError):  # it ended before: the answer says how
            self._connection.send(told)

    def answer(self) -> Found:
        """What came of the work.

        Raises:
            ProcessEndedError: nothing did.
            Exception: what the work raised.
        """
        try:
            found, error = self._connection.recv()
        except (EOFError, OSError):
            self._process.join()
            code = self._process.exitcode
            raise ProcessEndedError(f"a process ended without an answer (exit code {code})") from None
        if error is not None:
            raise error
        return found  # type: ignore[no-any-return]

    def end(self) -> None:
        """End it, whatever it is at."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self._connection.close()


@contextmanager
def meanwhile(work: Callable[[Callable[[], Told]], Found]) -> Iterator[Meanwhile[Told, Found]]:
    """Work that goes on beside a block, and ends with it."""
    begun = Meanwhile(work)
    try:
        yield begun
    finally:
        begun.end()


def _do(work: Callable[[Callable[[], Any]], Any], connection: Connection, other: Connection) -> None:
    other.close()  # so that this process learns that the other one has gone
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the other one, which ends this one
    faulthandler.disable()  # a crash is reported by the other one
    with suppress(EOFError, OSError):  # it has gone
        found: tuple[Any, Exception | None]
        try:
            found = work(connection.recv), None
        except Exception as error:
            found = None, error
        try:
            connection.send(found)
        except OSError:
            raise
        except Exception:  # an error that cannot be sent
            connection.send((None, EgraphOptError(str(found[1]))))

"""How much a run of rules may write, and until when: each match of a law asks before it writes.

egglog cannot be interrupted within a run, in which laws that feed each other match a million times as easily
as a hundred times.  The last condition of a rule is asked once a match, after all other host functions: from
the first match that is refused on, they answer at once, whatever, and no match is admitted.  What is refused
is not found again: the saturation has to end with this run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

from egraph_opt.operators.host import hosted

LEAST_SECONDS = 0.5
"""That a run has from its beginning on: also where the time was over, something is found."""


class Admission:
    """What the run of a thread may do; without limits, anything.

    Attributes:
        room: e-nodes that may be written.
        deadline: as `time.monotonic` has it.
        refused: the limit for which a match was refused, "nodes" or "seconds", or "".
        ended_by: `refused`, of the last run that had limits.
    """

    def __init__(self) -> None:
        self.room = self.deadline = inf
        self.refused = self.ended_by = ""

    @contextmanager
    def limited(self, room: float, deadline: float) -> Iterator[None]:
        """Within this context runs have these limits."""
        self.room, self.deadline = room, max(deadline, time.monotonic() + LEAST_SECONDS)
        try:
            yield
        finally:
            self.ended_by = self.refused
            self.room = self.deadline = inf
            self.refused = ""

    def admits(self, writes: int) -> bool:
        """Whether a match may write so many e-nodes."""
        self.room -= writes
        if self.room < 0 and not self.refused:
            self.refused = "nodes"
        return not self.refused

    def look_at_the_clock(self) -> None:
        if not self.refused and time.monotonic() > self.deadline:
            self.refused = "seconds"


class _AdmissionOfThread(threading.local):
    def __init__(self) -> None:
        self.admission = Admission()


_of_thread = _AdmissionOfThread()


def admission_of_thread() -> Admission:
    """What the engines of this thread may do."""
    return _of_thread.admission


@hosted()
def admitted(writes: int) -> bool:
    """The last condition; the one host function that does not answer the same each time."""
    return admission_of_thread().admits(writes)

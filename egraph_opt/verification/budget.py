"""How much memory and time a comparison may take: known from shapes before a run, and watched in one.

Shapes tell of everything but loops, whose number of rounds and whose growth only a run shows.  So a thread
looks at the clock and at the memory of the process while ONNX Runtime runs, and ends the run between nodes.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import onnxruntime

from egraph_opt.verification.interface import ValueSpec
from egraph_opt.verification.sizes import Sizes, shape_of

SHARE = 0.5
"""Of the memory that is free, for what runs of both models allocate at once."""

MOST_OPERATIONS = 1e12
"""Of one run: some ten minutes of one processor."""

LEAST_SECONDS, LONGEST_SECONDS, SLOWEST = 4.0, 600.0, 2e7
"""A run may take so long at least and at most, and between these its operations at so many a second."""

LEAST_BYTES = 2.0**31
"""A run may take so much whatever its shapes say."""

_TICK = 0.02
_ELEMENT = 8
"""Bytes of an element of an input, which is drawn in float64."""


class BudgetError(Exception):
    """A run takes, or would take, more than there is; the message says of what."""


@dataclass(frozen=True)
class RunNeeds:
    """What a run takes, as far as shapes tell.

    Attributes:
        bytes: of all tensors that are there at once, at most.
        operations: multiplications and the like.
    """

    bytes: float = 0.0
    operations: float = 0.0


Estimate = Callable[[Sizes], RunNeeds]
"""What a model takes at some sizes of its symbolic dims."""


def _nothing(sizes: Sizes) -> RunNeeds:
    return RunNeeds()


@dataclass
class RunBudget:
    """What there is for a comparison.

    Attributes:
        estimate: of the original; the optimized model is taken to need as much.
        bytes: that runs may allocate; by default a share of what is free.
    """

    estimate: Estimate = _nothing
    bytes: float = field(default_factory=lambda: SHARE * free_bytes())
    _known: dict[tuple[tuple[str, int], ...], RunNeeds] = field(default_factory=dict, repr=False)

    def needs(self, sizes: Sizes) -> RunNeeds:
        key = tuple(sorted(sizes.items()))
        if key not in self._known:
            self._known[key] = self.estimate(sizes)
        return self._known[key]

    def beyond(self, specs: Sequence[ValueSpec], sizes: Sizes, rank: int = 1) -> str:
        """Why these sizes cannot be run; "" where they can."""
        given = math.fsum(_ELEMENT * _elements(shape_of(spec, sizes, rank)) for spec in specs)
        needed = self.needs(sizes)
        if given + needed.bytes > self.bytes:
            return f"a run takes {given + needed.bytes:.2g} bytes, and {self.bytes:.2g} may be taken"
        if needed.operations > MOST_OPERATIONS:
            return f"a run takes {needed.operations:.2g} operations, and {MOST_OPERATIONS:.2g} may be taken"
        return ""

    def most_bytes(self, sizes: Sizes) -> float:
        """What a run may allocate: what is not known from shapes is taken to be no more than what is."""
        if self.estimate is _nothing:
            return self.bytes
        return min(LEAST_BYTES + 4 * self.needs(sizes).bytes, self.bytes)

    def seconds(self, sizes: Sizes) -> float:
        """How long a run may take."""
        if self.estimate is _nothing:
            return LONGEST_SECONDS
        return min(LEAST_SECONDS + self.needs(sizes).operations / SLOWEST, LONGEST_SECONDS)


def _elements(shape: Sequence[int]) -> float:
    count = math.prod(shape)
    return float(count) if count < 2**63 else math.inf


@contextmanager
def watched(options: onnxruntime.RunOptions, seconds: float, bytes_: float) -> Iterator[None]:
    """While it lasts, a run with these options ends after so many seconds, or so many bytes more.

    Raises:
        BudgetError: one of them was reached.
    """
    done = threading.Event()
    reasons: list[str] = []
    started, before = time.monotonic(), resident_bytes()

    def watch() -> None:
        while not done.wait(_TICK):
            if time.monotonic() - started > seconds:
                reasons.append(f"a run takes longer than {seconds:.3g} s, which is more than its shapes say")
            elif resident_bytes() - before > bytes_:
                reasons.append(f"a run takes more than {bytes_:.2g} bytes, which is more than its shapes say")
            else:
                continue
            options.terminate = True
            return

    thread = threading.Thread(target=watch, name="egraph_opt run", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        if reasons:
            raise BudgetError(reasons[0])


@cache
def _page() -> int:
    import resource

    return resource.getpagesize()


def resident_bytes() -> float:
    """What the process has in memory; 0 where the system does not say."""
    with suppress(OSError, ValueError, ImportError):
        return float(int(Path("/proc/self/statm").read_text().split()[1]) * _page())
    return 0.0


def free_bytes() -> float:
    """Memory that is free, within the limits of a container; infinite where the system does not say."""
    return min(_free_of_machine(), _free_of_group(Path("/sys/fs/cgroup")))


def _free_of_machine() -> float:
    with suppress(OSError, ValueError, KeyError):
        lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
        found: Mapping[str, str] = {line[0]: line[1] for line in lines if len(line) > 1}
        return 1024.0 * int(found["MemAvailable:"])
    return math.inf


def _free_of_group(folder: Path) -> float:
    with suppress(OSError, ValueError):
        most, used = ((folder / name).read_text() for name in ("memory.max", "memory.current"))
        return max(float(most) - float(used), 0.0)
    return math.inf

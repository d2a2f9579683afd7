"""The liveness of buffers: which steps write and read them, and what is in use in an order of the steps.

A buffer is what an allocator hands out; views share their operand's.  A step's result may reuse the place
of an operand that is read for the last time (in-place reuse), where the step says so: element-wise operators
do.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class RunStep:
    """A node that runs.

    Attributes:
        needs: indices of the steps that come before it, whatever the order.
        reads: the buffers that it reads, once each.
        writes: the buffers that it makes.
        reuse: of `reads` those whose place the first of `writes` may take.
        extra: bytes that it needs while it runs: the peak of its bodies.
    """

    needs: tuple[int, ...] = ()
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    reuse: tuple[int, ...] = ()
    extra: int = 0


@dataclass(frozen=True)
class Liveness:
    """Steps, in an order in which they can run.

    Attributes:
        size: of each buffer, in bytes; 0 where it is not known.
        steps: every buffer but those of `start` is written by one of them.
        start: buffers that are there before the first step.
        kept: buffers that are there after the last one.
        unknown: how many buffers are of unknown size.
    """

    size: Sequence[int]
    steps: Sequence[RunStep]
    start: tuple[int, ...] = ()
    kept: frozenset[int] = frozenset()
    unknown: int = 0

    def readers(self) -> list[int]:
        """How many steps read each buffer."""
        counts = [0] * len(self.size)
        for step in self.steps:
            for buffer in step.reads:
                counts[buffer] += 1
        return counts


@dataclass(frozen=True)
class Block:
    """A stretch of memory in use, by one buffer or by several that take each other's place.

    Attributes:
        size: in bytes.
        first, last: positions in the order between which it is in use, both included; those of `start` begin
            at 0, those that are kept end at the last position.
        buffers: in the order in which they are written; none where a step needs it besides.
        since: for each of them the position at which it takes the place of the one before.
    """

    size: int
    first: int
    last: int
    buffers: tuple[int, ...]
    since: tuple[int, ...] = ()


@dataclass(frozen=True)
class Usage:
    """What an order needs.

    Attributes:
        order: indices of steps.
        live: per position the bytes in use while the step runs: what it reads, what it writes, what waits.
        blocks: sorted by when they begin.
    """

    order: Sequence[int]
    live: Sequence[int]
    blocks: Sequence[Block]

    @property
    def peak(self) -> int:
        """The most bytes in use at once."""
        return max(self.live, default=0)

    def at_peak(self) -> list[int]:
        """The buffers in use at the first position that needs the most."""
        if not self.live:
            return []
        at = self.live.index(self.peak)
        blocks = [block for block in self.blocks if block.buffers and block.first <= at <= block.last]
        return sorted(block.buffers[bisect_right(block.since, at) - 1] for block in blocks)


def usage(liveness: Liveness, order: Sequence[int] | None = None) -> Usage:
    """Run the steps in an order (as they come, if left out).

    A buffer is freed after the step that reads it last, or writes it if none reads it.
    """
    steps, size = liveness.steps, liveness.size
    order = range(len(steps)) if order is None else order
    left = liveness.readers()
    first: dict[int, int] = dict.fromkeys(liveness.start, 0)
    taken: dict[int, list[tuple[int, int]]] = {buffer: [(buffer, 0)] for buffer in liveness.start}
    blocks: list[Block] = []
    live: list[int] = []
    now = sum(size[buffer] for buffer in liveness.start)

    def end(buffer: int, position: int) -> None:
        buffers, since = zip(*taken.pop(buffer), strict=True)
        blocks.append(Block(size[buffer], first.pop(buffer), position, buffers, since))

    for buffer in liveness.start:
        if not left[buffer] and buffer not in liveness.kept:
            now -= size[buffer]
            end(buffer, 0)
    for position, index in enumerate(order):
        step = steps[index]
        for buffer in step.reads:
            left[buffer] -= 1
        dead = [b for b in step.reads if not left[b] and b not in liveness.kept]
        reused = next((b for b in step.reuse if b in dead), None) if step.writes else None
        for written in step.writes:
            if reused is not None and written == step.writes[0]:
                first[written], taken[written] = first.pop(reused), taken.pop(reused)
                taken[written].append((written, position))
                now += size[written] - size[reused]
            else:
                first[written], taken[written] = position, [(written, position)]
                now += size[written]
        live.append(now + step.extra)
        if step.extra:
            blocks.append(Block(step.extra, position, position, ()))
        dead += [b for b in step.writes if not left[b] and b not in liveness.kept]
        for buffer in dead:
            if buffer != reused:
                now -= size[buffer]
                end(buffer, position)
    for buffer in list(first):
        end(buffer, max(len(live) - 1, 0))
    return Usage(tuple(order), live, sorted(blocks, key=lambda block: (block.first, block.buffers)))

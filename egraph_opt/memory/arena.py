"""Places in one arena for the blocks of a run: what an allocator has to ask of the system.

Two allocators, of which the better counts.  *Best fit* goes along with the run, as the arena of ONNX Runtime
does: a block goes into the smallest free stretch that holds it, and neighbouring free stretches are one.
*Greedy by size* knows the run beforehand: the largest blocks first, each into the smallest gap between those
that are in use at the same time (Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net
Inference, 2020).  Blocks are not padded.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from egraph_opt.memory.liveness import Block

PAIRS = 1_000_000
"""Pairs of blocks in use at the same time up to which greedy by size is tried."""


def arena(blocks: Sequence[Block]) -> int:
    """The size of an arena that holds the blocks, in bytes: at least the most that is in use at once."""
    blocks = [block for block in blocks if block.size]
    sizes = [_extent(blocks, best_fit(blocks))]
    neighbours = _overlaps(blocks)
    if neighbours is not None:
        sizes.append(_extent(blocks, greedy_by_size(blocks, neighbours)))
    return min(sizes)


def _extent(blocks: Sequence[Block], offsets: Sequence[int]) -> int:
    return max((offset + block.size for block, offset in zip(blocks, offsets, strict=True)), default=0)


def best_fit(blocks: Sequence[Block]) -> list[int]:
    """An offset for each block, given out as the run goes; a block is free again after its last position."""
    offsets = [0] * len(blocks)
    ends = sorted(range(len(blocks)), key=lambda k: blocks[k].last)
    by_size: list[tuple[int, int]] = []  # free stretches as (size, start)
    size_at: dict[int, int] = {}
    start_before: dict[int, int] = {}  # by end of a free stretch its start
    top, freed = 0, 0

    def take(start: int) -> int:
        size = size_at.pop(start)
        del start_before[start + size]
        by_size.pop(bisect_left(by_size, (size, start)))
        return size

    def give(start: int, size: int) -> None:
        if start in start_before:
            lower = start_before[start]
            start, size = lower, size + take(lower)
        if start + size in size_at:
            size += take(start + size)
        size_at[start], start_before[start + size] = size, start
        insort(by_size, (size, start))

    for k in sorted(range(len(blocks)), key=lambda k: blocks[k].first):
        while blocks[ends[freed]].last < blocks[k].first:
            give(offsets[ends[freed]], blocks[ends[freed]].size)
            freed += 1
        size = blocks[k].size
        fit = bisect_left(by_size, (size, -1))
        if fit < len(by_size):
            start = by_size[fit][1]
            if (rest := take(start) - size) > 0:
                give(start + size, rest)
        elif top in start_before:  # the last stretch is free: it grows
            start = start_before[top]
            take(start)
            top = start + size
        else:
            start, top = top, top + size
        offsets[k] = start
    return offsets


def _overlaps(blocks: Sequence[Block]) -> list[list[int]] | None:
    """Per block those in use at the same time; None if there are more than `PAIRS`."""
    found: list[list[int]] = [[] for _ in blocks]
    current: list[int] = []
    pairs = 0
    for k in sorted(range(len(blocks)), key=lambda k: blocks[k].first):
        current = [other for other in current if blocks[other].last >= blocks[k].first]
        pairs += len(current)
        if pairs > PAIRS:
            return None
        for other in current:
            found[k].append(other)
            found[other].append(k)
        current.append(k)
    return found


def greedy_by_size(blocks: Sequence[Block], overlaps: Sequence[Sequence[int]]) -> list[int]:
    """An offset for each block, the largest first, each in the smallest gap that holds it."""
    offsets = [-1] * len(blocks)
    for k in sorted(range(len(blocks)), key=lambda k: (-blocks[k].size, blocks[k].first)):
        placed = sorted((offsets[o], offsets[o] + blocks[o].size) for o in overlaps[k] if offsets[o] >= 0)
        best, smallest, free = -1, 0, 0
        for start, end in placed:
            gap = start - free
            if gap >= blocks[k].size and (best < 0 or gap < smallest):
                best, smallest = free, gap
            free = max(free, end)
        offsets[k] = free if best < 0 else best
    return offsets

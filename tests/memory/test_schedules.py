"""Peaks are those of a naive simulation; orders keep dependencies and are no worse than the one written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pytest

from egraph_opt.memory import Block, Liveness, RunStep, arena, best_usage, usage
from egraph_opt.memory.arena import best_fit, greedy_by_size
from egraph_opt.memory.schedule import backward, by_branches, by_rank, forward


def random_liveness(seed: int, most: int = 7) -> Liveness:
    """A random graph: steps read earlier buffers, write one or two, some in place, some are views."""
    random = np.random.default_rng(seed)
    size: list[int] = [int(random.integers(0, 20)) for _ in range(int(random.integers(0, 2)))]
    start = tuple(range(len(size)))
    maker: dict[int, int] = {}
    steps: list[RunStep] = []
    for index in range(int(random.integers(1, most + 1))):
        reads = [b for b in range(len(size)) if random.random() < 0.4]
        needs = {maker[b] for b in reads if b in maker} | {k for k in range(index) if random.random() < 0.1}
        writes, reuse = [], []
        for _ in range(int(random.choice([0, 1, 1, 1, 2]))):
            like = size[reads[0]] if reads and random.random() < 0.4 else int(random.integers(0, 20))
            maker[len(size)] = index
            writes.append(len(size))
            size.append(like)
        if writes:
            reuse = [b for b in reads if size[b] == size[writes[0]]]
        extra = int(random.integers(0, 10)) if random.random() < 0.2 else 0
        steps.append(RunStep(tuple(sorted(needs)), tuple(reads), tuple(writes), tuple(reuse), extra))
    kept = frozenset(b for b in range(len(size)) if random.random() < 0.2)
    return Liveness(size, steps, start, kept)


def naive_peak(liveness: Liveness, order: Sequence[int]) -> int:
    """The peak by its definition: at each step what was made and is still to be read, and what is made."""
    steps, size = liveness.steps, liveness.size
    most = 0
    for at, index in enumerate(order):
        step = steps[index]
        later = {b for other in order[at + 1 :] for b in steps[other].reads} | liveness.kept
        made = set(liveness.start) | {b for other in order[:at] for b in steps[other].writes}
        waiting = {b for b in made if b in later or b in step.reads}
        taken = any(b not in later for b in step.reuse) and step.writes
        needed = sum(size[b] for b in waiting | set(step.writes)) + step.extra
        most = max(most, needed - (size[step.writes[0]] if taken else 0))
    return most


def orders(liveness: Liveness) -> Iterator[list[int]]:
    """All orders that keep the dependencies."""
    pending: list[list[int]] = [[]]
    while pending:
        order = pending.pop()
        if len(order) == len(liveness.steps):
            yield order
        for index, step in enumerate(liveness.steps):
            if index not in order and set(step.needs) <= set(order):
                pending.append([*order, index])


def test_peaks_are_those_of_a_naive_simulation() -> None:
    random = np.random.default_rng(0)
    for seed in range(400):
        liveness = random_liveness(seed, 12)
        for order in (
            range(len(liveness.steps)),
            by_rank(liveness, random.permutation(12).tolist()[: len(liveness.steps)]),
        ):
            assert usage(liveness, order).peak == naive_peak(liveness, list(order)), seed


def test_every_order_keeps_the_dependencies() -> None:
    for seed in range(300):
        liveness = random_liveness(seed, 14)
        nothing: list[int | None] = [None] * len(liveness.steps)
        for order in (
            forward(liveness),
            forward(liveness, recent=True),
            backward(liveness),
            by_branches(liveness),
            by_rank(liveness, nothing),
        ):
            assert sorted(order) == list(range(len(liveness.steps)))
            place = {index: at for at, index in enumerate(order)}
            for index, step in enumerate(liveness.steps):
                assert all(place[before] < place[index] for before in step.needs)


def test_the_best_order_is_no_worse_than_the_written_one_and_mostly_optimal() -> None:
    optimal = cases = 0
    for seed in range(250):
        liveness = random_liveness(seed, 7)
        found = best_usage(liveness)
        least = min(naive_peak(liveness, order) for order in orders(liveness))
        assert least <= found.peak <= usage(liveness).peak
        assert found.peak == naive_peak(liveness, list(found.order))
        cases += 1
        optimal += found.peak == least
    assert optimal >= 0.95 * cases


def test_an_order_that_is_as_good_is_left_alone() -> None:
    steps = [RunStep(writes=(0,)), RunStep(writes=(1,)), RunStep((0, 1), (0, 1), (2,))]
    assert best_usage(Liveness([3, 3, 1], steps, kept=frozenset((2,)))).order == (0, 1, 2)


def test_branches_run_one_after_the_other() -> None:
    """Ten branches that grow to 100 bytes and shrink to 1, written breadth first: 1,000 bytes, or 110."""
    size = [100, 1] * 10 + [1]
    steps = [RunStep(writes=(2 * k,)) for k in range(10)]
    steps += [RunStep((k,), (2 * k,), (2 * k + 1,)) for k in range(10)]
    steps.append(RunStep(tuple(range(10, 20)), tuple(range(1, 20, 2)), (20,)))
    wide = Liveness(size, steps, kept=frozenset((20,)))
    assert usage(wide).peak == 1001
    assert best_usage(wide).peak == 110


def test_a_result_takes_the_place_of_an_operand_that_dies() -> None:
    chain = [RunStep(writes=(0,)), RunStep((0,), (0,), (1,), (0,)), RunStep((1,), (1,), (2,), (1,))]
    run = usage(Liveness([8, 8, 8], chain, kept=frozenset((2,))))
    assert run.peak == 8
    assert run.blocks == [Block(8, 0, 2, (0, 1, 2), (0, 1, 2))]
    assert run.at_peak() == [0]
    assert (
        usage(Liveness([8, 8, 8], chain, kept=frozenset((0, 2)))).peak == 16
    )  # an output is not overwritten


def overlapping(blocks: Sequence[Block]) -> list[tuple[int, int]]:
    return [
        (a, b)
        for a, b in combinations(range(len(blocks)), 2)
        if blocks[a].first <= blocks[b].last and blocks[b].first <= blocks[a].last
    ]


@pytest.mark.parametrize("seed", range(5))
def test_blocks_in_use_at_once_do_not_overlap_in_the_arena(seed: int) -> None:
    random = np.random.default_rng(seed)
    for _ in range(40):
        count = int(random.integers(1, 25))
        first = np.sort(random.integers(0, 12, count))
        last = first + random.integers(0, 6, count)
        sizes = random.integers(1, 30, count)
        blocks = [
            Block(int(s), int(a), int(b), (k,))
            for k, (s, a, b) in enumerate(zip(sizes, first, last, strict=True))
        ]
        pairs = overlapping(blocks)
        beside: list[list[int]] = [[] for _ in blocks]
        for a, b in pairs:
            beside[a].append(b)
            beside[b].append(a)
        extents = []
        for offsets in (best_fit(blocks), greedy_by_size(blocks, beside)):
            assert all(
                offsets[a] + blocks[a].size <= offsets[b] or offsets[b] + blocks[b].size <= offsets[a]
                for a, b in pairs
            )
            extents.append(max(o + b.size for o, b in zip(offsets, blocks, strict=True)))
        live = max(sum(b.size for b in blocks if b.first <= t <= b.last) for t in range(20))
        assert live <= arena(blocks) == min(extents)


def test_a_freed_place_is_used_again() -> None:
    blocks = [Block(10, 0, 1, (0,)), Block(4, 1, 2, (1,)), Block(6, 2, 3, (2,)), Block(4, 2, 3, (3,))]
    assert best_fit(blocks) == [0, 10, 0, 6]
    assert arena(blocks) == 14


def test_large_graphs_are_scheduled_without_walking_them_again_and_again() -> None:
    """Steps of the heaps grow like the graph: as many as edges, whatever waits."""
    count = 5_000
    size = [1] * (2 * count + 1)
    steps = [RunStep(writes=(k,)) for k in range(count)]
    steps += [RunStep((k,), (k,), (count + k,)) for k in range(count)]
    steps.append(RunStep(tuple(range(count, 2 * count)), tuple(range(count, 2 * count)), (2 * count,)))
    wide = Liveness(size, steps, kept=frozenset((2 * count,)))
    assert best_usage(wide).peak == count + 1
    assert arena(best_usage(wide).blocks) == count + 1

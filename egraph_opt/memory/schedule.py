"""Orders of steps that need little memory.

The best order is hard to find (Sethi, 1975), so several are made, each in time that hardly grows faster than
the graph, and the best is taken:

- *forward*: of the steps that are ready the one after which the least is in use;
- *backward*: the same from the outputs, which sees what a step will make others wait for;
- *by branches*: one operand after the other, first the one that needs the most beyond what it leaves (Liu,
  1987, whose order is optimal for trees).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from egraph_opt.memory.liveness import Liveness, Usage, usage

Order = list[int]


def best_usage(liveness: Liveness, ranks: Sequence[int | None] | None = None) -> Usage:
    """The usage of the best order: as written unless another needs strictly less at its peak.

    Args:
        ranks: per step a key; the order by these keys is tried, too (see `by_rank`).
    """
    best = usage(liveness)
    if best.peak <= _floor(liveness):
        return best
    makers: list[Callable[[], Sequence[int]]] = [
        *([] if ranks is None else [lambda: by_rank(liveness, ranks)]),
        lambda: forward(liveness),
        lambda: forward(liveness, recent=True),
        lambda: backward(liveness),
        lambda: by_branches(liveness),
    ]
    for make in makers:
        found = usage(liveness, make())
        if found.peak < best.peak:
            best = found
    return best


def _floor(liveness: Liveness) -> int:
    """No order needs less: what any one step reads and writes, and what is kept."""
    size = liveness.size
    most = sum(size[b] for b in liveness.kept)
    for step in liveness.steps:
        reused = max((size[b] for b in step.reuse), default=0)
        most = max(most, sum(size[b] for b in (*step.reads, *step.writes)) - reused + step.extra)
    return most


def _users(liveness: Liveness) -> list[list[int]]:
    users: list[list[int]] = [[] for _ in liveness.steps]
    for index, step in enumerate(liveness.steps):
        for before in step.needs:
            users[before].append(index)
    return users


def forward(liveness: Liveness, *, recent: bool = False) -> Order:
    """List scheduling: the ready step that adds the least (or frees the most) comes next.

    Args:
        recent: among equals take the one that became ready last, which goes on with a branch; otherwise the
            first as written.
    """
    steps, size, kept = liveness.steps, liveness.size, liveness.kept
    left = liveness.readers()
    waiting = [0] * len(size)  # the sum of the indices of the readers to come: with one left, it is that one
    for index, step in enumerate(steps):
        for buffer in step.reads:
            waiting[buffer] += index
    adds = [sum(size[b] for b in step.writes if left[b] or b in kept) for step in steps]
    for buffer, count in enumerate(left):
        if count == 1 and buffer not in kept:
            adds[waiting[buffer]] -= size[buffer]
    missing = [len(step.needs) for step in steps]
    users = _users(liveness)
    heap: list[tuple[int, int, int]] = []
    rank = list(range(len(steps)))
    clock = 0

    def push(index: int) -> None:
        heappush(heap, (adds[index], rank[index], index))

    for index, count in enumerate(missing):
        if not count:
            push(index)
    done = bytearray(len(steps))
    order: Order = []
    while heap:
        added, _, index = heappop(heap)
        if done[index] or added != adds[index]:
            continue  # what it frees has changed since: it is in the heap again
        done[index] = 1
        order.append(index)
        clock += 1
        for user in users[index]:
            missing[user] -= 1
            if not missing[user]:
                if recent:
                    rank[user] = -clock
                push(user)
        for buffer in steps[index].reads:
            left[buffer] -= 1
            waiting[buffer] -= index
            if left[buffer] == 1 and buffer not in kept:
                last = waiting[buffer]
                adds[last] -= size[buffer]
                if not missing[last]:
                    push(last)
    return order


def backward(liveness: Liveness) -> Order:
    """List scheduling from the end: of the steps whose users have run, the one that adds the least.

    Before a step is run what it writes is not there, what it reads is.
    """
    steps, size = liveness.steps, liveness.size
    users = _users(liveness)
    readers: list[list[int]] = [[] for _ in size]
    for index, step in enumerate(steps):
        for buffer in step.reads:
            readers[buffer].append(index)
    there = bytearray(len(size))
    for buffer in liveness.kept:
        there[buffer] = 1
    adds = [sum(size[b] for b in step.reads if not there[b]) for step in steps]
    used = [bool(there[b] or readers[b]) for b in range(len(size))]
    adds = [more - sum(size[b] for b in s.writes if used[b]) for more, s in zip(adds, steps, strict=True)]
    missing = [len(above) for above in users]
    heap: list[tuple[int, int, int]] = []
    for index, count in enumerate(missing):
        if not count:
            heappush(heap, (adds[index], -index, index))
    done = bytearray(len(steps))
    order: Order = []
    while heap:
        added, _, index = heappop(heap)
        if done[index] or added != adds[index]:
            continue
        done[index] = 1
        order.append(index)
        for buffer in steps[index].reads:
            if there[buffer]:
                continue
            there[buffer] = 1
            for other in readers[buffer]:
                adds[other] -= size[buffer]
                if not done[other] and not missing[other]:
                    heappush(heap, (adds[other], -other, other))
        for before in steps[index].needs:
            missing[before] -= 1
            if not missing[before]:
                heappush(heap, (adds[before], -before, before))
    return order[::-1]


def by_rank(liveness: Liveness, ranks: Sequence[int | None]) -> Order:
    """The steps by rank as far as that is possible; one without a rank follows what it needs."""
    users = _users(liveness)
    missing = [len(step.needs) for step in liveness.steps]
    known: list[int] = []
    for step, rank in zip(liveness.steps, ranks, strict=True):
        known.append(max((known[k] for k in step.needs), default=-1) if rank is None else rank)
    heap: list[tuple[int, int]] = []
    for index, count in enumerate(missing):
        if not count:
            heappush(heap, (known[index], index))
    order: Order = []
    while heap:
        index = heappop(heap)[1]
        order.append(index)
        for user in users[index]:
            missing[user] -= 1
            if not missing[user]:
                heappush(heap, (known[user], user))
    return order


def by_branches(liveness: Liveness) -> Order:
    """Depth first from the steps without users; the neediest operand of each step first.

    What a step needs is estimated as if its operands shared nothing.
    """
    steps, size = liveness.steps, liveness.size
    leaves = [sum(size[b] for b in step.writes) for step in steps]
    needs = [0] * len(steps)
    below: list[list[int]] = []
    for index, step in enumerate(steps):
        operands = sorted(step.needs, key=lambda k: (leaves[k] - needs[k], k))
        held = most = 0
        for operand in operands:
            most = max(most, held + needs[operand])
            held += leaves[operand]
        if not step.writes:  # a view leaves what it looks at
            leaves[index] = held
        made = 0 if step.reuse or not step.writes else leaves[index]
        needs[index] = max(most, held + made + step.extra)
        below.append(operands)
    used = bytearray(len(steps))
    for step in steps:
        for before in step.needs:
            used[before] = 1
    ends = sorted((k for k in range(len(steps)) if not used[k]), key=lambda k: (leaves[k] - needs[k], k))
    state = bytearray(len(steps))
    order: Order = []
    for end in ends:
        pending = [end]
        while pending:
            index = pending[-1]
            if state[index] == 0:
                state[index] = 1
                pending.extend(k for k in reversed(below[index]) if not state[k])
            else:
                pending.pop()
                if state[index] == 1:
                    state[index] = 2
                    order.append(index)
    return order

"""Exact extraction of long, thin pieces by dynamic programming, in time linear in their length.

The strongly connected components of the class graph are decided one after the other, users first.  All that
matters of the decisions so far is which undecided classes they need: the *frontier*, a set of bits, and the
least cost of getting there.  A network whose tensors exist in two layouts has a handful of frontiers at each
depth however many layers it has, so thousands of layers are solved to the proved optimum.  Where there
are too many frontiers, or a component has too many choices, it gives up after a fixed number of steps.

A frontier is dropped if another one costs no more even with the nodes that provide what it needs beyond the
first from what the first needs: a conversion from one layout to another, say.  (Whatever completes the first
then completes the other, and these nodes come last, so no cycle arises.)
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

from egraph_opt.extraction.piece import Choice, Piece

COMPARED = 24
"""How many of the cheapest frontiers the others are compared with to be dropped."""

WIDEST = 3000
"""More frontiers than this at one depth, and the piece is not thin."""

LOCAL_STEPS = 20_000
"""Partial choices that are tried within one component before giving up."""

Chain = tuple[tuple[int, ...], "Chain"] | None
"""The nodes chosen so far, latest first."""

Value = tuple[int, float, int]
"""Price, tie, and how many nodes are not the incumbent's."""

Single = list[list[tuple[Value, list[int]]]]
"""For the class at each position its nodes, the cheapest first, with the positions of what they use."""

State = tuple[int, float, int, Chain]
"""A value and the nodes."""

Option = tuple[int, int, float, int, tuple[int, ...]]
"""A way to provide some classes of a component: what it needs of later ones, price, tie, moved, nodes."""


@dataclass
class _Steps:
    """A budget that does not depend on the machine."""

    left: int


def frontier(piece: Piece, steps: int, widest: int = WIDEST) -> Choice | None:
    """The optimal choice (cost, then tie, then closeness to the incumbent); None if it takes more steps."""
    budget = _Steps(steps)
    groups = _thin_order(piece)
    order = [here for group in groups for here in group]
    position = [0] * len(order)
    for at, here in enumerate(order):
        position[here] = at
    needed = 0
    for root in piece.roots:
        needed |= 1 << position[root]
    states: dict[int, State] = {needed: (0, 0.0, 0, None)}
    single = _single_ways(piece, order, position)
    start = 0
    for group in groups:
        advanced = _advance(piece, states, group, position, start, single, budget, widest)
        if advanced is None:
            return None
        start += len(group)
        states = _undominated(advanced, single, start, budget) if len(advanced) > 1 else advanced
    return _choice(piece, states[0][3])


def _thin_order(piece: Piece) -> list[list[int]]:
    """The components, users first, such that few classes are needed and undecided at any time.

    Of the order in which they were found and a greedy one, the one that is less wide.
    """
    component = piece.component.tolist()
    groups: list[list[int]] = [[] for _ in range(max(component, default=-1) + 1)]
    for here, number in enumerate(component):
        groups[number].append(here)
    below: list[set[int]] = []
    for group in groups:
        reach = {child for here in group for node in piece.options[here] for child in piece.children[node]}
        below.append(reach.difference(group))
    orders = [list(range(len(groups) - 1, -1, -1)), _greedy_order(groups, below, component)]
    best = min(orders, key=lambda order: _width(order, groups, below))
    return [groups[number] for number in best]


def _width(order: list[int], groups: list[list[int]], below: list[set[int]]) -> tuple[int, int]:
    """How many classes are needed and undecided, at most and in all."""
    pending: set[int] = set()
    widest = total = 0
    for number in order:
        pending.difference_update(groups[number])
        pending |= below[number]
        widest = max(widest, len(pending))
        total += len(pending)
    return widest, total


def _greedy_order(groups: list[list[int]], below: list[set[int]], component: list[int]) -> list[int]:
    """Of the components all of whose users are decided, next the one that adds the fewest classes to the
    frontier, the latest found where several do."""
    users: list[set[int]] = [set() for _ in groups]
    for number, reach in enumerate(below):
        for child in reach:
            users[component[child]].add(number)
    using: list[list[int]] = [[] for _ in component]
    for number, reach in enumerate(below):
        for child in reach:
            using[child].append(number)
    missing = [len(above) for above in users]
    added = [len(reach) - len(group) for reach, group in zip(below, groups, strict=True)]
    seen = [False] * len(component)
    found = 0
    heap: list[tuple[int, int, int]] = []
    order: list[int] = []

    def offer(number: int) -> None:
        nonlocal found
        found += 1
        heappush(heap, (added[number], -found, number))

    for number in range(len(groups) - 1, -1, -1):
        if not missing[number]:
            offer(number)
    done = [False] * len(groups)
    while heap:
        number = heappop(heap)[2]
        if done[number]:
            continue
        done[number] = True
        order.append(number)
        for child in sorted(below[number]):
            if not seen[child]:
                seen[child] = True
                for user in using[child]:
                    added[user] -= 1
                    if not missing[user] and not done[user]:
                        offer(user)
        for other in sorted({component[child] for child in below[number]}):
            missing[other] -= 1
            if not missing[other]:
                offer(other)
    return order


def _advance(
    piece: Piece,
    states: dict[int, State],
    members: list[int],
    position: list[int],
    start: int,
    single: Single,
    budget: _Steps,
    widest: int,
) -> dict[int, State] | None:
    """The frontiers after the component ``members`` is decided; bit 0 is the first class after it."""
    size = len(members)
    own = (1 << size) - 1
    known: dict[int, list[Option]] = {0: [(0, 0, 0.0, 0, ())]}
    after: dict[int, State] = {}
    for mask, (price, tie, moved, chain) in states.items():
        demand, rest = mask & own, mask >> size
        options = known.get(demand)
        if options is None:
            found = _options(piece, members, demand, position, start, single, budget)
            if found is None:
                return None
            options = known[demand] = found
        budget.left -= len(options)
        if budget.left < 0:
            return None
        for needs, more, extra, changed, nodes in options:
            key = rest | needs
            old = after.get(key)
            value = (price + more, tie + extra, moved + changed)
            if old is None or value < old[:3]:
                after[key] = (*value, (nodes, chain) if nodes else chain)
    budget.left -= 2 * len(after)
    if len(after) > widest:
        return None
    return after


def _single_ways(piece: Piece, order: list[int], position: list[int]) -> Single:
    return [
        sorted(
            (
                (piece.price[node], piece.tie[node], 0 if piece.kept[node] else 1),
                [position[child] for child in piece.children[node]],
            )
            for node in piece.options[here]
        )
        for here in order
    ]


def _completed(value: Value, lacking: int, given: int, single: Single, start: int, limit: Value) -> bool:
    """Whether the lacking classes can be had from the given ones, one node each, within ``limit``."""
    price, tie, moved = value
    while lacking:
        bit = lacking & -lacking
        lacking ^= bit
        for more, below in single[start + bit.bit_length() - 1]:
            if price + more[0] > limit[0]:
                return False
            if all(given >> (at - start) & 1 for at in below):
                price, tie, moved = price + more[0], tie + more[1], moved + more[2]
                break
        else:
            return False
    return (price, tie, moved) <= limit


def _undominated(states: dict[int, State], single: Single, start: int, budget: _Steps) -> dict[int, State]:
    ranked = sorted(states.items(), key=lambda item: (item[1][:3], item[0].bit_count(), item[0]))
    best: list[tuple[int, Value]] = []
    left: dict[int, State] = {}
    for mask, state in ranked:
        limit = state[:3]
        for tried, (other, value) in enumerate(best):
            if _completed(value, other & ~mask, mask, single, start, limit):
                budget.left -= tried
                break
        else:
            budget.left -= len(best)
            left[mask] = state
            if len(best) < COMPARED:
                best.append((mask, limit))
    return left


def _options(
    piece: Piece,
    members: list[int],
    demand: int,
    position: list[int],
    start: int,
    single: Single,
    budget: _Steps,
) -> list[Option] | None:
    """The acyclic ways to provide the demanded members of a component, the cheapest for each set of needs.

    Best first, so that a way whose needs contain those of a complete one can be dropped.
    """
    size = len(members)
    own = (1 << size) - 1
    ways: list[Option] = []
    # price, tie, moved, a number, pending members, decided members, needs, nodes, and what each uses inside
    heap: list[tuple[int, float, int, int, int, int, int, tuple[int, ...], tuple[tuple[int, int], ...]]]
    heap = [(0, 0.0, 0, 0, demand, 0, 0, (), ())]
    number = 0
    while heap:
        price, tie, moved, _, pending, decided, needs, nodes, uses = heappop(heap)
        value = (price, tie, moved)
        if any(_completed(way[1:4], way[0] & ~needs, needs, single, start + size, value) for way in ways):
            continue
        if not pending:
            ways.append((needs, price, tie, moved, nodes))
            continue
        bit = pending & -pending
        here = members[bit.bit_length() - 1]
        budget.left -= len(piece.options[here]) * (1 + len(uses))
        number += len(piece.options[here])
        if budget.left < 0 or number > LOCAL_STEPS:
            return None
        for at, node in enumerate(piece.options[here]):
            below = 0
            for child in piece.children[node]:
                below |= 1 << (position[child] - start)
            inside = below & own
            if inside and _reaches(inside, bit, uses):
                continue
            heappush(
                heap,
                (
                    price + piece.price[node],
                    tie + piece.tie[node],
                    moved + (0 if piece.kept[node] else 1),
                    number + at,
                    (pending | (inside & ~decided)) & ~bit,
                    decided | bit,
                    needs | (below >> size),
                    (*nodes, node),
                    (*uses, (bit, inside)) if size > 1 else uses,
                ),
            )
    return ways


def _reaches(members: int, goal: int, uses: tuple[tuple[int, int], ...]) -> bool:
    """Whether some of the members use the goal, directly or through decided ones."""
    while True:
        if members & goal:
            return True
        more = members
        for bit, inside in uses:
            if members & bit:
                more |= inside
        if more == members:
            return False
        members = more


def _choice(piece: Piece, chain: Chain) -> Choice:
    choice = [-1] * len(piece.classes)
    while chain is not None:
        nodes, chain = chain
        for node in nodes:
            choice[piece.owner[node]] = node
    return choice

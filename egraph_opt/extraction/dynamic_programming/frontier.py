"""Exact extraction of pieces of small width by dynamic programming, in time linear in their length.

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

from collections.abc import Callable, Collection
from typing import NamedTuple

from egraph_opt.extraction.dynamic_programming.component_solutions import (
    ClassRow,
    ClassRows,
    Component,
    ComponentSolutions,
    Option,
    StepBudget,
    Value,
)
from egraph_opt.extraction.dynamic_programming.elimination_order import elimination_order
from egraph_opt.extraction.piece import Choice, Piece

COMPARED = 24
"""How many of the cheapest frontiers the others are compared with to be dropped."""

COMPARISON = 3
"""Steps that a comparison takes."""

WIDEST = 3000
"""More frontiers than this at one depth, and the piece is too wide."""

Chain = tuple[tuple[int, ...], "Chain"] | None
"""The nodes chosen so far, latest first."""

Completion = tuple[int, float, int, int, int]
"""A node: price, tie, moved, and what it uses: the first place, counted from its own, and bits from there."""

State = tuple[int, float, int, Chain]
"""A value and the nodes."""


class CompletionRow(NamedTuple):
    """The nodes of a class, the cheapest first, and what any of them uses: first place and bits from it."""

    nodes: list[Completion]
    first: int
    bits: int


class Completions:
    """The row of the class at each position, made where it is asked for: in a wide piece each is long."""

    def __init__(self, rows: ClassRows) -> None:
        self._rows = rows
        self._made: dict[int, CompletionRow] = {}

    def at(self, position: int) -> CompletionRow:
        number = self._rows.at[position]
        if number not in self._made:
            self._made[number] = _completion_row(self._rows.row[number])
        return self._made[number]


class Ahead:
    """The classes that are undecided; ``start`` is the position of bit 0."""

    def __init__(self, completions: Completions, start: int) -> None:
        self._completions = completions
        self._start = start
        self._known: dict[tuple[int, int], Value | None] = {}

    def cheapest(self, place: int, given: int) -> Value | None:
        """What the class at a place costs that the given ones provide with one node; None if they do not.

        Frontiers are much alike, so the same is asked again and again.
        """
        row = self._completions.at(self._start + place)
        near = given >> (place + row.first) & row.bits
        key = place, near
        if key not in self._known:
            self._known[key] = _cheapest(row, near)
        return self._known[key]


def _cheapest(row: CompletionRow, near: int) -> Value | None:
    for price, tie, moved, first, bits in row.nodes:
        if not bits << (first - row.first) & ~near:
            return price, tie, moved
    return None


def dynamic_program(
    piece: Piece, steps: int, widest: int = WIDEST, late: Callable[[], bool] = lambda: False
) -> Choice | None:
    """The optimal choice (cost, then tie, then closeness to the incumbent); None if it takes more steps.

    Args:
        widest: more frontiers than this at one depth, and it gives up.
        late: asked before each component whether to give up.
    """
    budget = StepBudget(steps)
    groups = elimination_order(piece)
    order = [here for group in groups for here in group]
    position = [0] * len(order)
    for at, here in enumerate(order):
        position[here] = at
    needed = 0
    for root in piece.roots:
        needed |= 1 << position[root]
    states: dict[int, State] = {needed: (0, 0.0, 0, None)}
    rows = ClassRows(piece, order, position)
    solutions, completions = ComponentSolutions(rows), Completions(rows)
    start = 0
    for group in groups:
        if late():
            return None
        advanced = _advance(states, solutions.component(start, len(group)), solutions, budget, widest)
        if advanced is None:
            return None
        start += len(group)
        states = _undominated(advanced, Ahead(completions, start), budget) if len(advanced) > 1 else advanced
    return _choice(piece, states[0][3])


def _advance(
    states: dict[int, State],
    component: Component,
    solutions: ComponentSolutions,
    budget: StepBudget,
    widest: int,
) -> dict[int, State] | None:
    """The frontiers after a component is decided; bit 0 is the first class after it."""
    size = component.size
    own = (1 << size) - 1
    known: dict[int, list[Option]] = {0: [(0, 0, 0.0, 0, ())]}
    after: dict[int, State] = {}
    for mask, (price, tie, moved, chain) in states.items():
        demand, rest = mask & own, mask >> size
        options = known.get(demand)
        if options is None:
            found = solutions.options(component, demand, budget)
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
        if len(after) > widest:
            return None
    budget.left -= 2 * len(after)
    return after


def _completion_row(row: ClassRow) -> CompletionRow:
    used = {place for _, below in row for place in below}
    nodes = [(*value, *_places(below, min(used, default=0))) for value, below in row]
    return CompletionRow(nodes, *_places(used, 0))


def _places(places: Collection[int], otherwise: int) -> tuple[int, int]:
    """The first of some places, and all of them as bits from there; ``otherwise`` if there are none."""
    first = min(places, default=otherwise)
    return first, sum(1 << (place - first) for place in places)


def _undominated(states: dict[int, State], ahead: Ahead, budget: StepBudget) -> dict[int, State]:
    """The frontiers that none of the cheapest makes needless, the cheapest first."""
    ranked = sorted(states.items(), key=lambda item: (item[1][:3], item[0].bit_count(), item[0]))
    best: list[tuple[int, Value]] = []
    left: dict[int, State] = {}
    for mask, state in ranked:
        limit = state[:3]
        tried = _completed(best, mask, limit, ahead)
        budget.left -= COMPARISON * tried
        if tried < len(best):
            continue
        left[mask] = state
        if len(best) < COMPARED:
            best.append((mask, limit))
    return left


def _completed(best: list[tuple[int, Value]], given: int, limit: Value, ahead: Ahead) -> int:
    """Which frontier has what it lacks from the given classes, one node each, within ``limit``; or how many.

    Frontiers lack much the same, and what none of the nodes of a class provides is in the way of most.
    """
    known: dict[int, Value] = {}
    beyond = 0
    highest = limit[0]
    for tried, (other, (price, tie, moved)) in enumerate(best):
        lacking = other & ~given
        if lacking & beyond:
            continue
        while lacking:
            bit = lacking & -lacking
            found = known.get(bit)
            if found is None:
                found = ahead.cheapest(bit.bit_length() - 1, given)
                if found is None:
                    beyond |= bit
                    break
                known[bit] = found
            price += found[0]
            if price > highest:
                break
            tie += found[1]
            moved += found[2]
            lacking ^= bit
        if not lacking and (price, tie, moved) <= limit:
            return tried
    return len(best)


def _choice(piece: Piece, chain: Chain) -> Choice:
    choice = [-1] * len(piece.classes)
    while chain is not None:
        nodes, chain = chain
        for node in nodes:
            choice[piece.owner[node]] = node
    return choice

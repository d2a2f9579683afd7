"""The ways to provide classes of one strongly connected component, worked out once for all components alike.

A network repeats its layers, so its components are alike up to numbering: the same nodes at the same prices,
using classes outside of it that could replace each other in the same way.  A component is written down in
numbers of its own, its *form*; what was found for a form is looked up for each component that has it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush

from egraph_opt.extraction.piece import Piece

LOCAL_STEPS = 20_000
"""Partial choices that are tried within one component before giving up."""

Value = tuple[int, float, int]
"""Price, tie, and how many nodes are not the incumbent's."""

Option = tuple[int, int, float, int, tuple[int, ...]]
"""A way to provide some classes of a component: what it needs of later ones, price, tie, moved, nodes."""

Single = list[list[tuple[Value, list[int]]]]
"""For the class at each position its nodes, the cheapest first, with the positions of what they use."""

Node = tuple[Value, int, int]
"""A node of a member: its value, the members that it uses and the outside classes that it uses, as bits."""

Form = tuple[tuple[tuple[Node, ...], ...], tuple[tuple[tuple[Value, int], ...], ...]]
"""Per member its nodes; per outside class its nodes with the outside classes they use (-1: others too)."""

Way = tuple[int, int, float, int, tuple[tuple[int, int], ...]]
"""An `Option` of a form: nodes as pairs of a member and the number among its nodes."""


@dataclass
class Steps:
    """A budget that does not depend on the machine."""

    left: int


@dataclass
class Ways:
    """The ways of a piece's components, by form.

    Attributes:
        position: of each class; a component's members come one after the other, later ones are outside.
    """

    piece: Piece
    position: list[int]
    single: Single
    _number: dict[Form, int] = field(default_factory=dict)
    _known: dict[tuple[int, int], list[Way]] = field(default_factory=dict)

    def component(self, members: list[int], start: int) -> Component:
        """The component at the positions from ``start``."""
        piece, position = self.piece, self.position
        end = start + len(members)
        outside: dict[int, int] = {}
        rows = []
        for here in members:
            row = []
            for node in piece.options[here]:
                inside = needs = 0
                for child in piece.children[node]:
                    at = position[child]
                    if at < end:
                        inside |= 1 << (at - start)
                    else:
                        needs |= 1 << outside.setdefault(at, len(outside))
                value = (piece.price[node], piece.tie[node], 0 if piece.kept[node] else 1)
                row.append((value, inside, needs))
            rows.append(tuple(row))
        beyond = []
        for at in outside:
            singles = []
            for value, below in self.single[at]:
                known = [outside.get(b, -1) for b in below]
                singles.append((value, -1 if -1 in known else sum(1 << b for b in known)))
            beyond.append(tuple(singles))
        form = (tuple(rows), tuple(beyond))
        number = self._number.setdefault(form, len(self._number))
        return Component(self, form, number, members, [at - end for at in outside])

    def known(self, number: int, form: Form, demand: int, budget: Steps) -> list[Way] | None:
        """The ways of a form, the cheapest first; None if that takes too many steps."""
        if (number, demand) not in self._known:
            found = _ways(form, demand, budget)
            if found is None:
                return None
            self._known[number, demand] = found
        return self._known[number, demand]


@dataclass(frozen=True)
class Component:
    """A component with its form; ``beyond`` are the places of the outside classes after it."""

    ways: Ways
    form: Form
    number: int
    members: list[int]
    beyond: list[int]

    def options(self, demand: int, budget: Steps) -> list[Option] | None:
        """The acyclic ways to provide the demanded members (bits); None if it takes too many steps."""
        found = self.ways.known(self.number, self.form, demand, budget)
        if found is None:
            return None
        budget.left -= len(found)
        options = self.ways.piece.options
        answer = []
        for needs, price, tie, moved, picked in found:
            nodes = tuple(options[self.members[member]][k] for member, k in picked)
            answer.append((self._places(needs), price, tie, moved, nodes))
        return answer

    def _places(self, needs: int) -> int:
        places = 0
        while needs:
            bit = needs & -needs
            needs ^= bit
            places |= 1 << self.beyond[bit.bit_length() - 1]
        return places


def _ways(form: Form, demand: int, budget: Steps) -> list[Way] | None:
    """Best first, so that a way whose needs contain those of a complete one can be dropped."""
    rows, beyond = form
    ways: list[Way] = []
    # price, tie, moved, a number, pending members, decided members, needs, nodes, and what each uses inside
    heap: list[
        tuple[int, float, int, int, int, int, int, tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]
    ]
    heap = [(0, 0.0, 0, 0, demand, 0, 0, (), ())]
    number = 0
    while heap:
        price, tie, moved, _, pending, decided, needs, nodes, uses = heappop(heap)
        value = (price, tie, moved)
        if any(_completed(way[1:4], way[0] & ~needs, needs, beyond, value) for way in ways):
            continue
        if not pending:
            ways.append((needs, price, tie, moved, nodes))
            continue
        bit = pending & -pending
        member = bit.bit_length() - 1
        row = rows[member]
        budget.left -= len(row) * (1 + len(uses))
        number += len(row)
        if budget.left < 0 or number > LOCAL_STEPS:
            return None
        for k, (more, inside, outside) in enumerate(row):
            if inside and _reaches(inside, bit, uses):
                continue
            heappush(
                heap,
                (
                    price + more[0],
                    tie + more[1],
                    moved + more[2],
                    number + k,
                    (pending | (inside & ~decided)) & ~bit,
                    decided | bit,
                    needs | outside,
                    (*nodes, (member, k)),
                    (*uses, (bit, inside)) if len(rows) > 1 else uses,
                ),
            )
    return ways


def _completed(
    value: Value, lacking: int, given: int, beyond: tuple[tuple[tuple[Value, int], ...], ...], limit: Value
) -> bool:
    """Whether the lacking outside classes can be had from the given ones, one node each, within ``limit``."""
    price, tie, moved = value
    while lacking:
        bit = lacking & -lacking
        lacking ^= bit
        for more, below in beyond[bit.bit_length() - 1]:
            if price + more[0] > limit[0]:
                return False
            if not below & ~given:
                price, tie, moved = price + more[0], tie + more[1], moved + more[2]
                break
        else:
            return False
    return (price, tie, moved) <= limit


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

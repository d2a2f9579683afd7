"""The solutions of strongly connected components, worked out once for all that are isomorphic.

A network repeats its layers, so its components are the same up to numbering: the same nodes at the same
prices, using classes outside of it that could replace each other in the same way.  A component is written
down in numbers of its own, its *canonical form*; the solutions of a form are looked up for each component
that has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

from egraph_opt.extraction.piece import Piece

LOCAL_STEPS = 20_000
"""Partial choices that are tried within one component before giving up."""

Value = tuple[int, float, int]
"""Price, tie, and how many nodes are not the incumbent's."""

Option = tuple[int, int, float, int, tuple[int, ...]]
"""A solution of some classes of a component: what it needs of later ones, price, tie, moved, nodes."""

ClassRow = tuple[tuple[Value, tuple[int, ...]], ...]
"""The nodes of a class, the cheapest first, with the places of what they use, counted from its own."""

Node = tuple[Value, int, int]
"""A node of a member: its value, the members that it uses and the outside classes that it uses, as bits."""

ComponentForm = tuple[tuple[tuple[Node, ...], ...], tuple[tuple[tuple[Value, int], ...], ...]]
"""Per member its nodes; per outside class its nodes with the outside classes they use (-1: others too)."""

LocalSolution = tuple[int, int, float, int, tuple[tuple[int, int], ...]]
"""An `Option` of a form: nodes as pairs of a member and the number among its nodes."""


@dataclass
class StepBudget:
    """A budget that does not depend on the machine."""

    left: int


class ClassRows:
    """The classes of a piece in an order, each with its `ClassRow`; equal rows have equal numbers.

    Attributes:
        row: by number.
        at: of the class at each position the number of its row.
        nodes: of the class at each position its nodes, in the order of the row.
    """

    def __init__(self, piece: Piece, order: list[int], position: list[int]) -> None:
        self.row: list[ClassRow] = []
        self.at: list[int] = []
        self.nodes: list[list[int]] = []
        price, tie, kept, children = piece.price, piece.tie, piece.kept, piece.children
        number: dict[ClassRow, int] = {}
        for place, here in enumerate(order):
            described = sorted(
                (
                    (price[node], tie[node], 0 if kept[node] else 1),
                    tuple(sorted([position[child] - place for child in children[node]])),
                    node,
                )
                for node in piece.options[here]
            )
            row = tuple([(value, below) for value, below, _ in described])
            if row not in number:
                number[row] = len(self.row)
                self.row.append(row)
            self.at.append(number[row])
            self.nodes.append([node for _, _, node in described])


class ComponentSolutions:
    """A memo of the components of a piece: their canonical forms, and the solutions of each form."""

    def __init__(self, rows: ClassRows) -> None:
        self.rows = rows
        self._outside: dict[tuple[int, ...], list[int]] = {}
        self._forms: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[ComponentForm, int]] = {}
        self._number: dict[ComponentForm, int] = {}
        self._solutions: dict[tuple[int, int], list[LocalSolution]] = {}

    def component(self, start: int, size: int) -> Component:
        """The component at ``size`` positions from ``start``; classes at later ones are outside."""
        at = self.rows.at
        inner = tuple(at[start : start + size])
        outside = self._outside.get(inner)
        if outside is None:
            outside = self._outside[inner] = self._used(inner)
        key = inner, tuple([at[start + place] for place in outside])
        if key not in self._forms:
            form = self._form(*key, outside)
            self._forms[key] = form, self._number.setdefault(form, len(self._number))
        form, number = self._forms[key]
        return Component(form, number, start, tuple([place - size for place in outside]))

    def _used(self, inner: tuple[int, ...]) -> list[int]:
        """The places of what the members with these rows use outside, counted from the first member's."""
        found: dict[int, None] = {}
        for member, number in enumerate(inner):
            for _, below in self.rows.row[number]:
                found.update((member + place, None) for place in below if member + place >= len(inner))
        return list(found)

    def _form(self, inner: tuple[int, ...], outer: tuple[int, ...], outside: list[int]) -> ComponentForm:
        size, index = len(inner), {place: k for k, place in enumerate(outside)}
        rows = []
        for member, number in enumerate(inner):
            row = []
            for value, below in self.rows.row[number]:
                inside = needs = 0
                for place in below:
                    if member + place < size:
                        inside |= 1 << (member + place)
                    else:
                        needs |= 1 << index[member + place]
                row.append((value, inside, needs))
            rows.append(tuple(row))
        beyond = []
        for place, number in zip(outside, outer, strict=True):
            singles = []
            for value, below in self.rows.row[number]:
                known = [index.get(place + other, -1) for other in below]
                singles.append((value, -1 if -1 in known else sum(1 << k for k in known)))
            beyond.append(tuple(singles))
        return tuple(rows), tuple(beyond)

    def options(self, component: Component, demand: int, budget: StepBudget) -> list[Option] | None:
        """The acyclic solutions that provide the demanded members (bits); None if it takes too many steps."""
        key = component.number, demand
        if key not in self._solutions:
            found = _local_solutions(component.form, demand, budget)
            if found is None:
                return None
            self._solutions[key] = found
        local = self._solutions[key]
        budget.left -= len(local)
        nodes = self.rows.nodes
        options = []
        for needs, price, tie, moved, picked in local:
            chosen = tuple([nodes[component.start + member][k] for member, k in picked])
            options.append((component.places(needs), price, tie, moved, chosen))
        return options


@dataclass(frozen=True)
class Component:
    """A component in its piece.

    Attributes:
        form, number: the canonical form, and its number among the forms.
        start: its first position in the order.
        beyond: the places of the outside classes, counted from the first after it.
    """

    form: ComponentForm
    number: int
    start: int
    beyond: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many classes it has."""
        return len(self.form[0])

    def places(self, needs: int) -> int:
        """Outside classes of the form (bits) as classes after the component (bits)."""
        places = 0
        while needs:
            bit = needs & -needs
            needs ^= bit
            places |= 1 << self.beyond[bit.bit_length() - 1]
        return places


def _local_solutions(form: ComponentForm, demand: int, budget: StepBudget) -> list[LocalSolution] | None:
    """The solutions of a form, best first; None if that takes too many steps.

    One that needs more than a complete one, and costs no less, is dropped.
    """
    rows, beyond = form
    complete: list[LocalSolution] = []
    # price, tie, moved, a number, pending members, decided members, needs, nodes, and what each uses inside
    heap: list[
        tuple[int, float, int, int, int, int, int, tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]
    ]
    heap = [(0, 0.0, 0, 0, demand, 0, 0, (), ())]
    number = 0
    while heap:
        price, tie, moved, _, pending, decided, needs, nodes, uses = heappop(heap)
        value = (price, tie, moved)
        if any(_completed(other[1:4], other[0] & ~needs, needs, beyond, value) for other in complete):
            continue
        if not pending:
            complete.append((needs, price, tie, moved, nodes))
            continue
        bit = pending & -pending
        member = bit.bit_length() - 1
        row = rows[member]
        budget.left -= len(row) * (1 + len(uses))
        number += len(row)
        if budget.left < 0 or number > LOCAL_STEPS:
            return None
        for k, (more, inside, outside) in enumerate(row):
            if inside & (decided | bit) and _reaches(inside, bit, uses):
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
    return complete


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

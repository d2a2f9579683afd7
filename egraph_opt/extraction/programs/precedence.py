"""Acyclicity as rows of a program, by the elimination of vertices.

A variable ``e[c, d]`` says that class c comes after class d.  It is 1 where c's node uses d, precedence is
transitive, and no two classes come after each other.  Asking for that of all triples of classes would take
a cubic number of rows; but it is enough to ask for it around each class when it is taken out of the graph,
its users being joined with what it uses (Rankooh and Rintanen, 2022: "Propositional encodings of acyclicity
and reachability by using vertex elimination"; their integer programs for planning without deletes use it
likewise).  In graphs of small width, as networks are, few pairs are joined.  No number of cycle cuts is as
strong where cycles are many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.programs.rows import Rows

Pair = tuple[int, int]
"""A class, and one that it uses or comes after."""


@dataclass(frozen=True)
class Precedence:
    """Rows that no cyclic choice satisfies, and how many more columns they use, each between 0 and 1."""

    columns: int
    rows: Rows


class _Table:
    """Rows as they are made; columns of pairs are numbered as they come."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._column: dict[Pair, int] = {}
        self._row: list[int] = []
        self._at: list[int] = []
        self._value: list[float] = []
        self._upper: list[float] = []

    def pair(self, pair: Pair) -> int:
        return self._column.setdefault(pair, self._first + len(self._column))

    def add(self, plus: list[int], minus: list[int], upper: float) -> None:
        self._row += [len(self._upper)] * (len(plus) + len(minus))
        self._at += plus + minus
        self._value += [1.0] * len(plus) + [-1.0] * len(minus)
        self._upper.append(upper)

    def __len__(self) -> int:
        return len(self._upper)

    def done(self) -> Precedence:
        rows = Rows(
            np.array(self._row, np.int64),
            np.array(self._at, np.int64),
            np.array(self._value),
            np.full(len(self), -np.inf),
            np.array(self._upper),
        )
        return Precedence(len(self._column), rows)


def precedence(piece: Piece, most: int) -> Precedence | None:
    """The rows of a piece; None where there are more than ``most``."""
    table = _Table(len(piece.nodes) + len(piece.classes))
    uses: dict[Pair, list[int]] = {}
    for node, child in zip(*(column.tolist() for column in piece.cyclic_pairs), strict=True):
        uses.setdefault((piece.owner[node], child), []).append(node)
    for pair, nodes in uses.items():
        table.add(nodes, [table.pair(pair)], 0.0)
    return table.done() if _eliminate(uses, table, most) else None


def _eliminate(uses: Mapping[Pair, object], table: _Table, most: int) -> bool:
    """Write the rows around each class, those that join few pairs first; False if there are too many."""
    below: dict[int, set[int]] = {}
    above: dict[int, set[int]] = {}
    for user, child in uses:
        below.setdefault(user, set()).add(child)
        above.setdefault(child, set()).add(user)
    heap = [(len(below[here]) * len(above[here]), here) for here in below if here in above]
    heapify(heap)
    done: set[int] = set()
    while heap:
        joined, here = heappop(heap)
        if here in done or joined != len(below[here]) * len(above[here]):
            continue
        done.add(here)
        users, used = sorted(above[here]), sorted(below[here])
        for user in users:
            for other in used:
                if user == other:
                    table.add([table.pair((user, here)), table.pair((here, user))], [], 1.0)
                    continue
                through = [table.pair((user, here)), table.pair((here, other))]
                table.add(through, [table.pair((user, other))], 1.0)
                below[user].add(other)
                above[other].add(user)
        if len(table) > most:
            return False
        for user in users:
            below[user].discard(here)
        for other in used:
            above[other].discard(here)
        for near in sorted({*users, *used}):
            if near in above and near in below:
                heappush(heap, (len(below[near]) * len(above[near]), near))
    return True

"""Isomorphic pieces are solved once: a network repeats its layers.

Numbers differ from layer to layer, so a piece is written down in an order of its own: colours of classes
and nodes are refined by those around them (Weisfeiler and Leman), and classes numbered from the roots down
by colour.  Pieces with the same *canonical form* are isomorphic.  Colours that do not tell two
classes apart may lead to two forms for one piece, which is then solved twice; never to one form for two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from egraph_opt.extraction.piece import Choice, Found, Piece

REFINEMENTS = 8
"""How many steps away colours look."""

PieceForm = tuple[tuple[tuple[tuple[float, float, bool, tuple[int, ...]], ...], ...], tuple[int, ...]]
"""Per class its nodes (cost, tie, whether the incumbent's, children), and the roots."""


@dataclass(frozen=True)
class CanonicalPiece:
    """A piece of ``size`` classes in an order of its own: its classes, and the nodes of each."""

    size: int
    form: PieceForm
    classes: list[int]
    nodes: list[list[int]]

    def write(self, choice: Choice) -> list[int]:
        """A choice in this order: per class which of its nodes, or -1."""
        return [
            nodes.index(choice[here]) if choice[here] >= 0 else -1
            for here, nodes in zip(self.classes, self.nodes, strict=True)
        ]

    def read(self, picked: Sequence[int]) -> Choice:
        """The choice that was written."""
        choice = [-1] * self.size
        for here, nodes, pick in zip(self.classes, self.nodes, picked, strict=True):
            if pick >= 0:
                choice[here] = nodes[pick]
        return choice


def canonical_piece(piece: Piece) -> CanonicalPiece:
    """Write a piece down."""
    class_colour, node_colour = _colours(piece)
    number: dict[int, int] = {}
    rows: list[list[int]] = []
    order = sorted(piece.roots, key=lambda here: (class_colour[here], here))
    for here in order:  # grows
        if here in number:
            continue
        number[here] = len(number)
        nodes = sorted(piece.options[here], key=lambda node: (node_colour[node], node))
        rows.append(nodes)
        for node in nodes:
            order += sorted(piece.children[node], key=lambda below: (class_colour[below], below))
    described = [
        [
            (
                piece.cost[node],
                piece.tie[node],
                piece.kept[node],
                tuple(sorted(number[below] for below in piece.children[node])),
            )
            for node in nodes
        ]
        for nodes in rows
    ]
    sorting = [sorted(range(len(row)), key=row.__getitem__) for row in described]
    form = tuple(tuple(row[k] for k in by) for row, by in zip(described, sorting, strict=True))
    nodes_of = [[nodes[k] for k in by] for nodes, by in zip(rows, sorting, strict=True)]
    roots = tuple(sorted(number[root] for root in piece.roots))
    return CanonicalPiece(len(piece.classes), (form, roots), list(number), nodes_of)


def _colours(piece: Piece) -> tuple[list[int], list[int]]:
    """Numbers for classes and nodes that do not depend on how they are numbered."""
    own = [hash(row) for row in zip(piece.cost, piece.tie, piece.kept, strict=True)]
    roots = set(piece.roots)
    classes = [hash((here in roots, len(nodes))) for here, nodes in enumerate(piece.options)]
    nodes = own
    for _ in range(REFINEMENTS):
        below = [
            hash((old, *sorted(classes[child] for child in used)))
            for old, used in zip(own, piece.children, strict=True)
        ]
        nodes = [hash((colour, classes[owner])) for colour, owner in zip(below, piece.owner, strict=True)]
        classes = [
            hash((old, *sorted(nodes[k] for k in options), 0, *sorted(nodes[k] for k in users)))
            for old, options, users in zip(classes, piece.options, piece.users, strict=True)
        ]
        if len(set(classes)) == len(classes):
            break
    return classes, nodes


class IsomorphicPieces:
    """Pieces, each with the first one that is like it.

    Attributes:
        distinct: the numbers of the pieces that are unlike all before them.
    """

    def __init__(self, pieces: Sequence[Piece]) -> None:
        sizes = [(len(piece.nodes), len(piece.classes), hash(tuple(sorted(piece.cost)))) for piece in pieces]
        count = Counter(sizes)
        first: dict[PieceForm, int] = {}
        self.distinct: list[int] = []
        self._copies: list[tuple[CanonicalPiece, int] | None] = []
        for number, (piece, size) in enumerate(zip(pieces, sizes, strict=True)):
            written = canonical_piece(piece) if count[size] > 1 else None
            like = number if written is None else first.setdefault(written.form, number)
            self._copies.append(None if written is None else (written, like))
            if like == number:
                self.distinct.append(number)

    def solve(self, solve: Callable[[int], Found]) -> list[Found]:
        """Solve the distinct ones by number, and the others as those were."""
        found: list[Found] = []
        picked: dict[int, tuple[list[int], float]] = {}
        for number, copy in enumerate(self._copies):
            if copy is None:
                found.append(solve(number))
                continue
            written, like = copy
            if like == number:
                answer = solve(number)
                picked[number] = written.write(answer.choice), answer.bound
                found.append(answer)
            else:
                choice, bound = picked[like]
                found.append(Found(written.read(choice), bound))
        return found


class SolvedForms:
    """What has been found for pieces by their form, wherever they were met."""

    def __init__(self) -> None:
        self._known: dict[PieceForm, tuple[list[int], float]] = {}

    def solve(self, piece: Piece, solve: Callable[[Piece], Found]) -> Found:
        """What was found for a piece like this one, or else what ``solve`` finds."""
        written = canonical_piece(piece)
        if written.form not in self._known:
            found = solve(piece)
            self._known[written.form] = written.write(found.choice), found.bound
            return found
        picked, bound = self._known[written.form]
        return Found(written.read(picked), bound)

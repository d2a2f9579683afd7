"""The incumbent of a piece before any search, and how an optimum replaces it."""

from __future__ import annotations

from egraph_opt.extraction.checking import better
from egraph_opt.extraction.heuristics.greedy import greedy
from egraph_opt.extraction.piece import Choice, Found, Piece
from egraph_opt.extraction.strategies.budget import Budget


def starting_choice(piece: Piece) -> Choice:
    """The better of the incumbent and the greedy choice; the incumbent where they are equal."""
    found = piece.used(greedy(piece))
    if piece.incumbent is not None and not better(piece.value(found), piece.value(piece.incumbent)):
        return piece.incumbent
    return found


def trivial_bound(piece: Piece) -> float:
    """A lower bound of a piece that takes no time: the cheapest node of each root."""
    return sum(min(piece.cost[node] for node in piece.options[root]) for root in piece.roots)


def starting_point(piece: Piece) -> Found:
    """`starting_choice` and `trivial_bound` together."""
    return Found(starting_choice(piece), trivial_bound(piece))


def greedy_piece(piece: Piece, budget: Budget) -> Found:
    """The strategy `greedy-dag`."""
    return starting_point(piece)


def optimal(piece: Piece, choice: Choice) -> Found:
    """An optimal choice as it is found: the incumbent if that is as good."""
    if piece.incumbent is not None and not better(piece.value(choice), piece.value(piece.incumbent)):
        choice = piece.incumbent
    return Found(choice, piece.value(choice)[0])

"""Pieces of small width: proved by dynamic programming, within a number of steps."""

from __future__ import annotations

from collections.abc import Callable

from egraph_opt.extraction.dynamic_programming.frontier import WIDEST, dynamic_program
from egraph_opt.extraction.piece import Found, Piece
from egraph_opt.extraction.strategies.incumbent import optimal

AUTO_STEPS = 400_000
"""Steps in `auto` for one piece, a fraction of a second."""

EXACT_STEPS = 12_000_000
"""The same in `exact`, and where it is the last resort."""

WIDE = 20_000
"""Frontiers at one depth there."""


def solve_narrow(piece: Piece, late: Callable[[], bool]) -> Found | None:
    """The optimum, if that takes no more than `AUTO_STEPS` (less for small pieces)."""
    size = len(piece.nodes)
    return _optimum(piece, max(20 * size, min(AUTO_STEPS, 1000 * size)), WIDEST, late)


def solve_wide(piece: Piece, late: Callable[[], bool]) -> Found | None:
    """The optimum, if that takes no more than `EXACT_STEPS`."""
    return _optimum(piece, EXACT_STEPS, WIDE, late)


def _optimum(piece: Piece, steps: int, widest: int, late: Callable[[], bool]) -> Found | None:
    choice = dynamic_program(piece, steps, widest, late)
    return None if choice is None else optimal(piece, choice)

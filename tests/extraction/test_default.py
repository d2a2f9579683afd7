"""The default strategy: what it tries in turn on a hard part, and that a part is searched once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from egraph_opt.extraction import ExtractionProblem, check, extract
from egraph_opt.extraction.dynamic_programming.frontier import dynamic_program
from egraph_opt.extraction.piece import Choice, Found, Piece
from egraph_opt.extraction.presolve.presolve import presolve
from egraph_opt.extraction.strategies import treatments
from egraph_opt.extraction.strategies.isomorphism import IsomorphicPieces, SolvedForms
from egraph_opt.extraction.strategies.steps import starting_point

from .egraphs import Node, problem_of
from .test_contraction import pieces
from .test_interrupts import at_the, knotted


def woven(classes: int, ways: int = 4, seed: int = 1) -> ExtractionProblem:
    """Without cycles, but too wide for dynamic programming: classes use any before them."""
    rng = np.random.default_rng(seed)
    nodes: list[Node] = []
    for here in range(classes):
        for _ in range(ways):
            below = tuple(rng.integers(0, here, 2).tolist()) if here > classes // 15 else ()
            nodes.append((here, below, float(rng.integers(1, 9)), 0.0))
    return problem_of(nodes, list(range(classes - classes // 6, classes)))


def attempts_on(monkeypatch: pytest.MonkeyPatch, problem: ExtractionProblem) -> list[int | str]:
    """The parts of each proof, and where dynamic programming came; none proves."""
    tried: list[int | str] = []

    def prove(piece: Piece, start: Choice, *, parts: int, **_: object) -> Found:
        tried.append(parts)
        return Found(start, 0.0)

    def solve_wide(piece: Piece, late: Callable[[], bool]) -> None:
        tried.append("dynamic program")

    monkeypatch.setattr(treatments, "prove", prove)
    monkeypatch.setattr(treatments, "solve_wide", solve_wide)
    check(problem, extract(problem, iterations=1))
    return tried


def test_short_proofs_come_before_dynamic_programming_and_long_ones_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small, large = attempts_on(monkeypatch, knotted(100)), attempts_on(monkeypatch, knotted(200))
    assert small == [treatments.FEW_PARTS, "dynamic program", treatments.MOST_PARTS]
    assert large == [treatments.FEW_PARTS, "dynamic program", treatments.MORE_PARTS]


def test_without_cycles_the_only_proof_is_a_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert attempts_on(monkeypatch, woven(200)) == [treatments.MORE_PARTS, "dynamic program"]


def test_a_part_that_several_pieces_leave_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two copies, one of them with a class that contraction takes out, so they are no copies as they come."""
    one = knotted(90)
    nodes = [
        (int(one.node_class[k]), tuple(one.children(k).tolist()), float(one.cost[k]), 0.0)
        for k in range(one.n_nodes)
    ]
    first, extra = one.n_classes, 2 * one.n_classes
    again = [(first + here, tuple(first + c for c in below), cost, tie) for here, below, cost, tie in nodes]
    user = next(k for k, node in enumerate(again) if node[1])
    here, below, cost, tie = again[user]
    again[user] = (here, (extra, *below[1:]), cost, tie)
    passed: list[Node] = [(extra, below[:1], 0.0, 0.0), (extra, below[:1], 1.0, 0.0)]
    roots = one.roots.tolist()
    both = problem_of([*nodes, *again, *passed], [*roots, *(first + root for root in roots)])
    searched: list[int] = []

    def prove(piece: Piece, start: Choice, **_: object) -> Found:
        searched.append(len(piece.nodes))
        return Found(start, 0.0)

    monkeypatch.setattr(treatments, "prove", prove)
    monkeypatch.setattr(treatments, "solve_wide", lambda piece, late: None)
    solution = extract(both, iterations=1)
    check(both, solution)
    assert len(solution.pieces) == 2
    assert len({report.nodes for report in solution.pieces}) == 2
    assert searched == [searched[0]] * 2  # short proofs and long ones


def test_copies_of_a_piece_are_counted_and_solved_once() -> None:
    problem = woven(60)
    (piece,) = presolve(problem, None).pieces
    found = starting_point(piece)
    isomorphic = IsomorphicPieces([piece, piece, piece])
    assert isomorphic.distinct == [0]
    assert [part.choice for part in isomorphic.solve(lambda number: found)] == [found.choice] * 3


def test_what_was_found_for_a_form_is_read_in_the_numbers_of_another_piece() -> None:
    known, solved = SolvedForms(), 0

    def solve(piece: Piece) -> Found:
        nonlocal solved
        solved += 1
        return starting_point(piece)

    for piece in pieces(20, cyclic=True):
        first = known.solve(piece, solve)
        count = solved
        assert known.solve(piece, solve) == first
        assert solved == count
        assert piece.order(first.choice) is not None


def test_dynamic_programming_ends_when_it_is_late() -> None:
    (piece,) = presolve(woven(20), None).pieces
    assert dynamic_program(piece, 1_000_000) is not None
    assert dynamic_program(piece, 1_000_000, late=at_the(2, lambda: True)) is None

"""Isomorphic pieces have one canonical form, and are solved once."""

from __future__ import annotations

import random

import numpy as np
import pytest

from egraph_opt.extraction import ExtractionProblem, check, extract, registry
from egraph_opt.extraction.piece import Found, Piece
from egraph_opt.extraction.presolve.presolve import presolve
from egraph_opt.extraction.strategies.budget import Budget
from egraph_opt.extraction.strategies.isomorphism import canonical_piece
from egraph_opt.extraction.strategies.treatments import default_piece

from .egraphs import Node, leafy_problem, problem_of
from .test_contraction import pieces


def nodes_of(problem: ExtractionProblem) -> list[Node]:
    return [
        (
            int(problem.node_class[k]),
            tuple(problem.children(k).tolist()),
            float(problem.cost[k]),
            float(problem.tie[k]),
        )
        for k in range(problem.n_nodes)
    ]


def shuffled(problem: ExtractionProblem, seed: int, first: int = 0) -> tuple[list[Node], list[int]]:
    """The same problem with other numbers, from ``first`` on: its nodes and roots."""
    rng = random.Random(seed)
    numbers = list(range(first, first + problem.n_classes))
    rng.shuffle(numbers)
    nodes = [
        (numbers[c], tuple(numbers[d] for d in below), cost, tie) for c, below, cost, tie in nodes_of(problem)
    ]
    rng.shuffle(nodes)
    return nodes, [numbers[root] for root in problem.roots]


def test_numbers_do_not_matter() -> None:
    same = compared = 0
    for seed in range(100):
        problem = leafy_problem(seed, cyclic=True)
        other = problem_of(*shuffled(problem, seed))
        for a, b in zip(presolve(problem, None).pieces, presolve(other, None).pieces, strict=True):
            compared += 1
            same += canonical_piece(a).form == canonical_piece(b).form
    assert compared > 60
    assert same > 0.8 * compared  # symmetric ones may be written in two ways, and some pieces change places


def test_a_choice_is_read_as_it_was_written() -> None:
    for piece in pieces(50, cyclic=True):
        written = canonical_piece(piece)
        first = [min(nodes) for nodes in piece.options]
        assert written.read(written.write(first)) == first


def test_a_price_makes_another_form() -> None:
    (piece,) = pieces(10, cyclic=True)[:1]
    expensive = Piece(**{**vars(piece), "cost": [piece.cost[0] + 1e-6, *piece.cost[1:]]})
    assert canonical_piece(expensive).form != canonical_piece(piece).form


def test_repeated_layers_are_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = leafy_problem(3, cyclic=True)
    nodes: list[Node] = []
    roots: list[int] = []
    for number in range(12):
        more, ends = shuffled(layer, number, first=number * layer.n_classes)
        nodes += more
        roots += ends
    solved: list[int] = []

    def count(piece: Piece, budget: Budget) -> Found:
        solved.append(len(piece.nodes))
        return plain(piece, budget)

    plain = default_piece
    whole = problem_of(nodes, roots)
    pieces_each = len(presolve(layer, None).pieces)
    monkeypatch.setitem(
        registry.EXTRACTORS, "auto", registry.Extractor("auto", "nothing", True, registry._by_pieces(count))
    )
    solution = extract(whole)
    check(whole, solution)
    assert solution.proved
    assert len(solution.pieces) == 12 * pieces_each
    assert len(solved) == pieces_each
    assert solution.cost == pytest.approx(12 * extract(layer, "exact").cost)
    assert np.isfinite(solution.lower_bound)

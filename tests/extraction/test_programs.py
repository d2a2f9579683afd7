"""The parts of the search by themselves: dynamic programming, cycle cuts and acyclic orders agree."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from egraph_opt.extraction.dynamic_programming.frontier import dynamic_program
from egraph_opt.extraction.heuristics.acyclic_order import allowed_under, improve, random_order, region
from egraph_opt.extraction.heuristics.greedy import greedy
from egraph_opt.extraction.piece import Piece
from egraph_opt.extraction.presolve.presolve import presolve
from egraph_opt.extraction.programs.cutting_planes import cycles_in, mutual_pairs, prove
from egraph_opt.extraction.programs.solver import Effort

from .egraphs import Node, optimum, problem_of, random_problem, residual


def pieces(count: int, max_classes: int = 8) -> Iterator[Piece]:
    """The undecided pieces of random cyclic problems."""
    for seed in range(count):
        problem = random_problem(seed, cyclic=True, max_classes=max_classes)
        if optimum(problem) is not None:
            yield from presolve(problem, None).pieces


def test_cycle_cuts_prove_what_dynamic_programming_finds() -> None:
    compared = 0
    for piece in pieces(300):
        best = dynamic_program(piece, 100_000)
        assert best is not None
        found = prove(piece, piece.used(greedy(piece)), parts=1000, effort=Effort, seed=0)
        assert piece.value(found.choice)[0] == pytest.approx(piece.value(best)[0])
        assert found.bound == pytest.approx(piece.value(best)[0])
        assert piece.order(found.choice) is not None
        compared += 1
    assert compared > 50


def test_ties_are_broken_by_a_second_program() -> None:
    # three choices of the same cost that no presolve can tell apart, with ties 9, 4 and 6
    nodes: list[Node] = [(0, (1, 2), 1.0, 0.0), (0, (2, 3), 1.0, 0.0), (0, (1, 3), 1.0, 0.0)]
    nodes += [(1, (), 2.0, 5.5), (2, (), 2.0, 3.5), (3, (), 2.0, 0.5)]
    (piece,) = presolve(problem_of(nodes, [0]), None).pieces
    expensive = [piece.nodes.index(node) if node >= 0 else -1 for node in (0, 3, 4, -1)]
    choice = [expensive[here] for here in piece.classes]
    found = prove(piece, choice, parts=1000, effort=Effort, seed=0)
    assert piece.value(found.choice) == (5.0, 4.0)
    assert piece.value(dynamic_program(piece, 1000) or []) == (5.0, 4.0)


def test_acyclic_orders_only_improve_and_never_close_a_cycle() -> None:
    for piece in pieces(150):
        start = piece.used(greedy(piece))
        best = improve(piece, start, iterations=5, effort=Effort, seed=3)
        assert piece.order(best) is not None
        assert piece.used(best) == best
        assert piece.value(best) <= piece.value(start)


def test_an_order_allows_the_incumbent_and_no_cycle() -> None:
    random = np.random.default_rng(0)
    for piece in pieces(150):
        start = piece.used(greedy(piece))
        everything = np.ones(len(piece.nodes), np.bool_)
        keys = random_order(piece, start, everything, random)
        allowed = allowed_under(piece, keys)
        assert all(allowed[node] for node in start if node >= 0)
        for node in np.flatnonzero(allowed):
            here = piece.owner[node]
            for child in piece.children[node]:
                same = piece.component[child] == piece.component[here]
                assert not same or keys[child] < keys[here]


def test_a_region_holds_the_chosen_nodes_and_not_much_more() -> None:
    problem, _ = residual(200)
    (piece,) = presolve(problem, None).pieces
    choice = piece.used(greedy(piece))
    mask = region(piece, choice, 50, np.random.default_rng(1))
    chosen = [node for node in choice if node >= 0]
    assert mask[chosen].all()
    assert 50 <= mask.sum() <= len(chosen) + 60


def test_cycles_of_a_choice_are_found() -> None:
    nodes = [(0, (1,), 1.0, 0.0), (1, (2,), 1.0, 0.0), (2, (1,), 1.0, 0.0), (2, (), 9.0, 0.0)]
    nodes += [(1, (), 9.5, 0.0)]
    (piece,) = presolve(problem_of(nodes, [0]), None).pieces
    assert [sorted(piece.classes[here] for here in pair) for pair in mutual_pairs(piece)] == [[1, 2]]
    number = {node: position for position, node in enumerate(piece.nodes)}
    cyclic = [number[{0: 0, 1: 1, 2: 2}[here]] for here in piece.classes]
    assert [sorted(piece.classes[here] for here in cycle) for cycle in cycles_in(piece, cyclic)] == [[1, 2]]


def test_dynamic_programming_gives_up_after_its_steps() -> None:
    problem, best = residual(50)
    (piece,) = presolve(problem, None).pieces
    assert dynamic_program(piece, 100) is None
    assert piece.value(dynamic_program(piece, 100_000) or [])[0] == best


def three_layouts(layers: int) -> Piece:
    """A residual network with three layouts of every tensor and all conversions between them."""
    rng = np.random.default_rng(7)
    nodes: list[Node] = [(0, (), 0.0, 0.0)]
    for layer in range(layers):
        for layout in range(3):
            here = 3 * layer + layout
            below = (here - 3, here - 9) if layer % 3 == 2 and layer > 2 else (here - 3,)
            if layer:
                nodes.append((here, below, float(rng.integers(1, 5)), 0.0))
            nodes += [(here, (3 * layer + other,), 0.5, 0.0) for other in range(3) if other != layout]
    (piece,) = presolve(problem_of(nodes, [3 * layers - 3]), None).pieces
    return piece


def test_frontiers_that_a_conversion_makes_equal_are_merged() -> None:
    small = three_layouts(6)
    best = dynamic_program(small, 30_000)
    assert best is not None
    found = prove(small, small.used(greedy(small)), parts=1000, effort=Effort, seed=0)
    assert found.bound == pytest.approx(small.value(best)[0])
    large = three_layouts(300)
    assert dynamic_program(large, 40_000) is not None


def test_sums_that_are_equal_in_decimals_have_equal_prices() -> None:
    nodes = [
        (0, (1,), 0.1, 0.0),
        (0, (), 0.3, 1.0),
        (1, (), 0.2, 0.0),
        (1, (0,), 7.7, 0.0),
        (0, (), 20.0, 0.0),
    ]
    (piece,) = presolve(problem_of(nodes, [0]), None, at_any_cost=True).pieces
    price = {piece.nodes[k]: price for k, price in enumerate(piece.price)}
    assert price[0] + price[2] == price[1]
    best = dynamic_program(piece, 1000)
    assert best is not None
    assert piece.value(best) == pytest.approx((0.3, 0.0))

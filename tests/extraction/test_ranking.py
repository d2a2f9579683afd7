"""The next cheapest solutions, and what else could compute a class, against brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from egraph_opt.errors import ExtractionError
from egraph_opt.extraction import alternatives, check, extract, k_best
from egraph_opt.extraction.solution import measure

from .egraphs import Node, all_solutions, problem_of, random_problem, residual


@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize("block", range(4))
def test_the_k_best_are_the_k_cheapest_of_all_solutions(block: int, cyclic: bool) -> None:
    ranked = 0
    for seed in range(block * 50, block * 50 + 50):
        problem = random_problem(seed, cyclic)
        everything = all_solutions(problem)
        if not everything:
            with pytest.raises(ExtractionError, match="class"):
                k_best(problem, 3)
            continue
        values = sorted(measure(problem, choice) for choice in everything)
        for k in (1, 12):
            found = k_best(problem, k)
            assert len(found) == min(k, len(everything)), seed
            assert [s.cost for s in found] == pytest.approx([cost for cost, _ in values[:k]]), seed
            assert len({s.choice.tobytes() for s in found}) == len(found)
            for solution in found:
                check(problem, solution)
                assert solution.proved, seed
            ranked += len(found)
        assert measure(problem, k_best(problem, 1)[0].choice) == pytest.approx(values[0])
    assert ranked > 60


@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize("block", range(4))
def test_alternatives_are_the_cheapest_of_their_kind(block: int, cyclic: bool) -> None:
    compared = unused = 0
    for seed in range(block * 50, block * 50 + 50):
        problem = random_problem(seed, cyclic, max_classes=7)
        everything = all_solutions(problem)
        if not everything:
            continue
        best = extract(problem, "exact")
        for here in range(problem.n_classes):
            cheapest: dict[int, float] = {}
            for choice in everything:
                node = int(choice[here])
                cheapest[node] = min(cheapest.get(node, np.inf), measure(problem, choice)[0])
            found = alternatives(problem, best, here)
            assert found[0].node == best.choice[here]
            assert {one.node: one.cost for one in found} == pytest.approx(cheapest), (seed, here)
            for one in found:
                check(problem, one.solution)
                assert one.solution.choice[here] == one.node
                assert one.proved
                assert one.difference == pytest.approx(one.cost - best.cost)
            assert [one.difference for one in found] == sorted(one.difference for one in found)
            compared += len(found)
            unused += sum(one.node < 0 for one in found)
    assert compared > 100
    assert unused > 10


def independent(pieces: int) -> list[Node]:
    """A root over so many diamonds; the two ways through the k-th differ by k + 1."""
    nodes: list[Node] = [(0, tuple(3 * k + 1 for k in range(pieces)), 1.0, 0.0)]
    for k in range(pieces):
        here = 3 * k + 1
        nodes += [(here, (here + 1,), 1.0, 0.0), (here, (here + 2,), 1.0, 0.0)]
        nodes += [(here + 1, (), 1.0, 0.0), (here + 2, (), 2.0 + k, 0.0)]
    return nodes


def test_independent_pieces_are_ranked_apart_and_their_sums_combined() -> None:
    problem = problem_of(independent(200), [0])
    found = k_best(problem, 12)
    # sums of distinct numbers from 1: one way to 0, 1 and 2, two to 3 and 4, three to 5, four to 6
    assert [s.cost - found[0].cost for s in found] == [0, 1, 2, 3, 3, 4, 4, 5, 5, 5, 6, 6]
    assert all(s.proved for s in found)


def test_a_long_network_is_ranked_and_its_layouts_compared() -> None:
    problem, best = residual(12)
    found = k_best(problem, 20)
    assert found[0].cost == best
    assert all(s.proved for s in found)
    assert found[-1].cost > best
    conversion = alternatives(problem, found[0], 2 * 9)  # the ninth layer, dear in the first layout
    assert conversion[0].difference == 0.0
    assert max(one.difference for one in conversion) == 10.0


def test_solutions_that_were_not_looked_for_are_no_proof() -> None:
    problem, best = residual(12)
    (only,) = k_best(problem, 5, seconds=0)
    check(problem, only)
    assert not only.proved
    assert only.lower_bound <= best <= only.cost
    greedy = k_best(problem, 5, "greedy-dag")
    for solution in greedy:
        check(problem, solution)
        assert not solution.proved
    assert [s.cost for s in greedy] == sorted(s.cost for s in greedy)


def test_bad_questions_about_rankings() -> None:
    problem, _ = residual(3)
    best = extract(problem)
    with pytest.raises(ExtractionError, match="k=0: must be at least 1"):
        k_best(problem, 0)
    with pytest.raises(ExtractionError, match="did you mean 'greedy-dag'"):
        k_best(problem, 1, "greedy_dag")
    with pytest.raises(ExtractionError, match="there is no class 99"):
        alternatives(problem, best, 99)
    with pytest.raises(ExtractionError, match="the solution says that it costs"):
        alternatives(problem, replace(best, cost=best.cost - 1, lower_bound=0.0), 0)

"""Malformed problems and solutions are refused with the class in the message."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from egraph_opt.errors import ExtractionError
from egraph_opt.extraction import EXTRACTORS, ExtractionProblem, check, extract, load_json, selection

from .egraphs import Node, problem_of

CHAIN: list[Node] = [(0, (1,), 1.0, 0.0), (1, (2,), 1.0, 0.0), (2, (), 1.0, 0.0)]
INVERSES: list[Node] = [(0, (1,), 1.0, 0.0), (1, (0,), 1.0, 0.0), (0, (), 5.0, 0.0)]


@pytest.mark.parametrize(
    ("nodes", "roots", "message"),
    [
        ([(3, (), -1.0, 0.0)], [3], "class 3 has cost -1"),
        ([(3, (), math.nan, 0.0)], [3], "class 3 has cost nan"),
        ([(3, (), 1.0, math.inf)], [3], "class 3 has tie inf"),
        ([(0, (), 1.0, 0.0)], [2], "class 2 is a root but has no nodes"),
        ([(0, (4,), 1.0, 0.0)], [0], "class 4 has no nodes, but node 0 of class 0 uses it"),
        ([(0, (-1,), 1.0, 0.0)], [0], "negative class"),
    ],
)
def test_malformed_problems(nodes: list[Node], roots: list[int], message: str) -> None:
    with pytest.raises(ExtractionError, match=message):
        problem_of(nodes, roots)


def test_arrays_that_do_not_fit() -> None:
    one = np.array([0])
    with pytest.raises(ExtractionError, match="child pointers"):
        ExtractionProblem(one, np.array([0]), np.array([], np.int32), np.array([1.0]), one)
    with pytest.raises(ExtractionError, match="child_ptr must grow"):
        ExtractionProblem(one, np.array([0, 2]), one, np.array([1.0]), one)
    with pytest.raises(ExtractionError, match="flat array of integers"):
        ExtractionProblem(np.array([0.5]), np.array([0, 0]), np.array([], np.int32), np.array([1.0]), one)


@pytest.mark.parametrize("name", sorted(EXTRACTORS))
def test_problems_without_a_solution(name: str) -> None:
    with pytest.raises(ExtractionError, match="class 0 needs class 1 needs class 0"):
        extract(problem_of(INVERSES[:2], [0]), name)
    with pytest.raises(
        ExtractionError, match="class 2, which root class 0 needs, has only nodes of infinite"
    ):
        extract(problem_of([*CHAIN[:2], (2, (), math.inf, 0.0)], [0]), name)
    with pytest.raises(ExtractionError, match="class 0 has only nodes of infinite cost"):
        extract(problem_of([(0, (), math.inf, 0.0)], [0]), name)


@pytest.mark.parametrize("name", sorted(EXTRACTORS))
def test_infinite_costs_are_avoided_where_there_is_another_way(name: str) -> None:
    problem = problem_of([*INVERSES, (0, (), math.inf, 0.0)], [1])
    assert extract(problem, name).choice.tolist() == [2, 1]


@pytest.mark.parametrize("name", sorted(EXTRACTORS))
def test_a_cycle_that_costs_nothing_is_no_solution(name: str) -> None:
    free = [(0, (1,), 0.0, 0.0), (1, (0,), 0.0, 0.0), (0, (), 5.0, 0.0), (1, (), 6.0, 0.0)]
    solution = extract(problem_of(free, [0, 1]), name)
    assert solution.cost == 5.0


def test_empty_problems_cost_nothing() -> None:
    empty = np.array([], np.int32)
    solution = extract(ExtractionProblem(empty, np.array([0]), empty, np.array([]), empty))
    assert (solution.cost, solution.gap, solution.proved) == (0.0, 0.0, True)
    free = extract(problem_of([(0, (), 0.0, 0.0)], [0]))
    assert (free.cost, free.gap, free.proved) == (0.0, 0.0, True)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ([-1, 1, 2], "root class 0 has no chosen node"),
        ([0, -1, 2], "class 1 has no chosen node, but the choice of class 0 uses it"),
        ([0, 2, 2], "class 1 chooses node 2, which belongs to class 2"),
        ([0, 1, 9], "class 2 chooses node 9, which does not exist"),
        ([0, 1], "one integer for each of 3 classes"),
    ],
)
def test_what_check_refuses(choice: list[int], message: str) -> None:
    problem = problem_of(CHAIN, [0])
    check(problem, np.array([0, 1, 2]))
    with pytest.raises(ExtractionError, match=message):
        check(problem, np.array(choice))
    with pytest.raises(ExtractionError, match="the incumbent is no solution"):
        extract(problem, incumbent=np.array(choice))


def test_check_refuses_cycles_unused_classes_and_infinite_costs() -> None:
    problem = problem_of([*INVERSES, (2, (), 1.0, 0.0), (0, (), math.inf, 0.0)], [0])
    with pytest.raises(ExtractionError, match=r"cyclic: class (0 needs class 1|1 needs class 0)"):
        check(problem, np.array([0, 1, -1]))
    with pytest.raises(ExtractionError, match="class 2 has a chosen node, but no root needs it"):
        check(problem, np.array([2, -1, 3]))
    with pytest.raises(ExtractionError, match="class 0 has a chosen node of infinite cost"):
        check(problem, np.array([4, -1, -1]))


def test_an_unknown_extractor_is_answered_with_the_nearest() -> None:
    with pytest.raises(ExtractionError, match="did you mean 'greedy-dag'"):
        extract(problem_of(CHAIN, [0]), "greedy_dag")


def test_an_incumbent_of_infinite_cost_is_replaced() -> None:
    problem = problem_of([(0, (), math.inf, 0.0), (0, (), 4.0, 0.0)], [0])
    assert extract(problem, incumbent=np.array([0])).choice.tolist() == [1]


def test_an_incumbent_stays_where_nothing_is_cheaper() -> None:
    twins = [(0, (1,), 1.0, 0.0), (0, (2,), 1.0, 0.0), (1, (), 1.0, 0.0), (2, (), 1.0, 0.0)]
    problem = problem_of(twins, [0])
    for name in EXTRACTORS:
        for incumbent in ([0, 2, -1], [1, -1, 3]):
            assert extract(problem, name, incumbent=np.array(incumbent)).choice.tolist() == incumbent
            unused = [incumbent[0], 2, 3]
            assert extract(problem, name, incumbent=np.array(unused)).choice.tolist() == incumbent


def test_selection_takes_one_of_the_merged_nodes() -> None:
    # t = transpose(x), u = transpose(t): u was merged with x; a node of infinite cost is given too
    merged = [(0, (), 3.0, 0.0), (1, (0,), 1.0, 0.0), (0, (1,), 1.0, 0.0), (2, (0,), math.inf, 0.0)]
    problem = problem_of([*merged, (2, (1,), 1.0, 0.0)], [2])
    assert selection(problem, [0, 1, 2, 3]).tolist() == [0, -1, 3]
    with pytest.raises(ExtractionError, match="no graph of their own"):
        selection(problem, [1, 2, 3])


def test_reading_extraction_gym_files(tmp_path: Path) -> None:
    nodes = {
        "f": {"op": "f", "children": ["b"], "eclass": "1", "cost": 1.0},
        "g": {"op": "g", "children": [], "eclass": "1", "cost": 4.0},
        "a": {"op": "a", "children": [], "eclass": "2", "cost": 3.5},
        "b": {"op": "b", "children": [], "eclass": "2", "cost": 2.0},
    }
    text = json.dumps({"nodes": nodes, "root_eclasses": ["1"]})
    plain, packed, wrong = tmp_path / "e.json", tmp_path / "e.json.gz", tmp_path / "wrong.json"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    for path in (plain, packed):
        assert extract(load_json(path)).cost == 3.0
    for content in ('{"nodes": {"f": {}}}', "[" * 100_000, "3", '{"nodes": {}, "root_eclasses": [[]]}'):
        wrong.write_text(content)
        with pytest.raises(ExtractionError, match=r"wrong.json is not an e-graph"):
            load_json(wrong)


def test_a_solution_that_lies_about_its_figures_is_refused() -> None:
    problem = problem_of(CHAIN, [0])
    found = extract(problem)
    check(problem, found)
    with pytest.raises(ExtractionError, match="says that it costs"):
        check(problem, replace(found, cost=found.cost + 1))
    with pytest.raises(ExtractionError, match="contradicts the lower bound"):
        check(problem, replace(found, lower_bound=found.cost + 1))

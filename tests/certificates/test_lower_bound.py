"""Whatever evidence says, a bound that is accepted is true: by brute force on small problems."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from egraph_opt.certificates.cases import Impossible, PartEvidence, Split, bound_of_parts
from egraph_opt.certificates.checking_bound import check_bound
from egraph_opt.certificates.errors import CertificateError
from egraph_opt.certificates.lower_bound import CLASS, NODE, Payments, SelectionPart
from egraph_opt.certificates.selection import SelectionProblem, check_choice, settled
from egraph_opt.certificates.stated_bound import StatedBound
from egraph_opt.certifying.bound import MadeBound, bound_of
from egraph_opt.extraction import ExtractionProblem
from egraph_opt.extraction.problem import has_solution
from tests.certificates.test_corrupted import changed, other_value, places
from tests.extraction.egraphs import all_solutions, leafy_problem, problem_of, random_problem, tangled_problem

PROBLEMS = [
    *((f"random {seed}", random_problem(seed, cyclic=bool(seed % 2), max_classes=6)) for seed in range(16)),
    *((f"leafy {seed}", leafy_problem(seed, cyclic=bool(seed % 2), classes=5)) for seed in range(8)),
    *((f"tangled {seed}", tangled_problem(seed, classes=4)) for seed in range(8)),
]
SOLVABLE = {name: problem for name, problem in PROBLEMS if has_solution(problem)}


def _cost(problem: ExtractionProblem, choice: np.ndarray) -> Fraction | float:
    costs = problem.cost[choice[choice >= 0]].tolist()
    return math.inf if math.inf in costs else sum(map(Fraction, costs), Fraction(0))


@cache
def _by_cost(problem: ExtractionProblem) -> list[tuple[Any, np.ndarray]]:
    pairs = [(_cost(problem, choice), choice) for choice in all_solutions(problem)]
    return sorted((pair for pair in pairs if pair[0] < math.inf), key=lambda pair: pair[0])


@cache
def _extraction(problem: SelectionProblem) -> ExtractionProblem:
    """A stated problem for brute force, at its exact costs."""
    nodes = [
        (problem.owner[k], problem.children[k], problem.cost[k] / problem.scale, 0.0)
        for k in range(len(problem.owner))
    ]
    return problem_of(nodes, list(problem.roots))


def _stated(made: MadeBound) -> StatedBound:
    return StatedBound("none", "", 0, made.problem, made.chosen, None, made.fineness, made.bound, made.parts)


@pytest.mark.parametrize("name", SOLVABLE)
def test_the_bound_of_a_cheapest_choice_is_its_cost(name: str) -> None:
    problem = SOLVABLE[name]
    cost, choice = _by_cost(problem)[0]
    stated = _stated(bound_of(problem, choice))
    found = check_bound(stated, [])
    assert found.proved
    assert found.cost == float(cost)
    assert stated.bound <= cost


@pytest.mark.parametrize("name", SOLVABLE)
@pytest.mark.parametrize("seconds", [0.0, 20.0])
def test_no_bound_is_above_the_optimum_whatever_is_chosen(name: str, seconds: float) -> None:
    problem = SOLVABLE[name]
    found = _by_cost(problem)
    made = bound_of(problem, found[-1][1], seconds)
    assert made.bound <= found[0][0]
    assert made.problem.cost_of(made.chosen) == found[-1][0]


def _random_evidence(problem: SelectionProblem, rng: random.Random) -> list[PartEvidence]:
    """Parts, prices, sets and cases by chance."""
    classes = list(range(len(problem.options)))
    rng.shuffle(classes)
    cut = rng.randint(0, len(classes))
    found = []
    for part in (classes[:cut], classes[cut:]):
        if not part:
            continue
        sets = [tuple(rng.sample(part, rng.randint(1, len(part)))) for _ in range(3)]
        most = max(problem.cost)

        def prices(part: list[int] = part, most: int = most) -> Payments:
            pays = [(rng.choice(part), rng.choice(part), rng.randint(0, most)) for _ in range(4)]
            rewards = [(rng.randrange(3), rng.randint(0, most)) for _ in range(3)]
            return Payments(tuple(pays), tuple(rewards))

        what = rng.choice((CLASS, NODE))
        number = rng.choice(part)
        if what == NODE:
            number = rng.choice(problem.options[number])
        cases = rng.choice(((prices(),), (Split(what, number, 1, 2), prices(), prices())))
        found.append(
            PartEvidence(tuple(part), 10 * most, tuple((rng.choice(s), s) for s in sets), tuple(cases))
        )
    return found


@pytest.mark.parametrize("name", SOLVABLE)
def test_prices_by_chance_prove_nothing_wrong(name: str) -> None:
    choices = _by_cost(SOLVABLE[name])
    made = bound_of(SOLVABLE[name], choices[0][1], 0.0)
    rng = random.Random(name)
    for _ in range(100):
        try:
            bound = bound_of_parts(made.problem, _random_evidence(made.problem, rng), rng.choice((1, 3)))
        except CertificateError as error:
            if "impossible" not in str(error):  # a case without solutions has no prices
                raise
            continue
        assert bound <= choices[0][0]


@pytest.mark.parametrize("name", SOLVABLE)
def test_what_all_solutions_have_and_what_some_have(name: str) -> None:
    made = bound_of(SOLVABLE[name], _by_cost(SOLVABLE[name])[0][1], 0.0)
    solutions = all_solutions(_extraction(made.problem))
    known = settled(made.problem, dict(enumerate(made.problem.options)), made.problem.roots)
    assert known is not None
    possible = {node for nodes in known.options.values() for node in nodes}
    for choice in solutions:
        assert known.used <= set(np.flatnonzero(choice >= 0).tolist())
        assert set(choice[choice >= 0].tolist()) <= possible


@pytest.mark.parametrize("name", list(SOLVABLE)[::3])
def test_changed_evidence_is_refused_or_as_true(name: str) -> None:
    """Costs, children, chosen nodes, prices, sets, cases and the bound itself."""
    made = bound_of(SOLVABLE[name], _by_cost(SOLVABLE[name])[0][1])
    text, rng = json.dumps(_stated(made).to_json()), random.Random(name)
    refused = 0
    for _ in range(60):
        found = json.loads(text)
        place = rng.choice([p for p in places(found) if p[0] not in ("cost_model", "unit", "bodies")])
        changed(found, place, other_value(found, place, rng))
        try:
            stated = StatedBound.from_json(found)
            check_bound(stated, [])
        except CertificateError:
            refused += 1
        else:
            assert stated.bound <= _by_cost(_extraction(stated.problem))[0][0], place
    assert refused > 10


def test_a_bound_that_is_raised_is_refused() -> None:
    problem = tangled_problem(3, classes=4)
    found = _stated(bound_of(problem, _by_cost(problem)[0][1])).to_json()
    top, bottom = found["bound"]
    with pytest.raises(CertificateError, match=r"the bound is said to be 1\d.*, and what is shown is"):
        check_bound(StatedBound.from_json({**found, "bound": [top + 1, bottom]}), [])


@pytest.mark.parametrize(
    ("chosen", "reason"),
    [
        ((), "has no node of class 0"),
        ((0,), "has no node of class 1"),
        ((0, 1), "has two nodes of class 0"),
        ((0, 2), "has a cycle"),
        ((1, 2), "does not need class 1"),
        ((7,), "names 7"),
    ],
)
def test_what_is_no_graph_is_refused(chosen: tuple[int, ...], reason: str) -> None:
    problem = SelectionProblem.of([[(1.0, [1]), (5.0, [])], [(1.0, [0])]], [0])
    with pytest.raises(CertificateError, match=reason):
        check_choice(problem, chosen)
    check_choice(problem, (1,))


def test_a_part_is_in_no_other_part() -> None:
    problem = SelectionProblem.of([[(2.0, [])]], [0])
    part = PartEvidence((0,), 2, (), (Payments((), ()),))
    assert bound_of_parts(problem, [part], 1) == 2
    with pytest.raises(CertificateError, match="share a class"):
        bound_of_parts(problem, [part, part], 1)


def test_a_case_is_called_impossible_where_it_is() -> None:
    problem = SelectionProblem.of([[(2.0, []), (3.0, [])]], [0])
    without = PartEvidence((0,), 9, (), (Split(NODE, 0, 1, 2), Payments((), ()), Impossible()))
    with pytest.raises(CertificateError, match="case 2 is said to be impossible, and is not"):
        bound_of_parts(problem, [without], 1)
    class_ = PartEvidence((0,), 9, (), (Split(CLASS, 0, 1, 2), Payments((), ()), Impossible()))
    assert bound_of_parts(problem, [class_], 1) == 2


def test_prices_are_not_negative() -> None:
    problem = SelectionProblem.of([[(2.0, [1])], [(1.0, [])]], [0])
    part = SelectionPart(problem, (0, 1), 1)
    with pytest.raises(CertificateError, match="class 0 pays -1 to class 1"):
        part.bound(part.whole(), Payments(((0, 1, -1),), ()))


@pytest.mark.parametrize("cost", [-1.0, math.nan, math.inf, "1", True, None])
def test_costs_are_finite_numbers(cost: Any) -> None:
    with pytest.raises(CertificateError, match="has a node that costs"):
        SelectionProblem.of([[(cost, [])]], [0])

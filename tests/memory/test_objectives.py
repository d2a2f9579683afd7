"""Which graph an objective takes, how limits are kept or warned about, and what is refused."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from egraph_opt import Saturated, optimize, saturate
from egraph_opt.errors import ObjectiveError
from egraph_opt.extraction import ExtractionProblem, check, extract
from egraph_opt.memory import Objective, objective_of
from egraph_opt.memory.candidates import Candidate, Need, as_solution, candidates
from egraph_opt.memory.objective import bytes_text, pareto_front, parse_bytes, pick

from .models import model

SLICED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[64, 64] x) => (float[8, 64] y) <int64[1] from = {0}, int64[1] to = {8}, int64[1] axis = {0}>
{ t = Transpose <perm = [1, 0]> (x) y = Slice (t, from, to, axis) }"""

PRODUCTS = """<ir_version: 8, opset_import: ["" : 17]>
g (float[8, 4] x) => (float[8, 1] y) <float[4, 64] u, float[4, 64] v, float[4, 64] w>
{
    a = MatMul (x, u)  p = ReduceL2 <axes = [1]> (a)
    b = MatMul (x, v)  q = ReduceMax <axes = [1]> (b)
    c = MatMul (x, w)  r = ReduceMin <axes = [1]> (c)
    s = Mul (p, q)     y = Add (s, r)
}"""

BRANCH = """<ir_version: 8, opset_import: ["" : 17]>
g (bool c, float[8, 4] x) => (float[8, 1] y, float[8, 1] z)
<float[4, 64] u, float[4, 64] v, float[4, 64] w, int64[2] wide = {8, SIZE}>
{
    y = If (c) <
        then_branch = t () => (float[8, 1] o) {
            a = MatMul (x, u)  p = ReduceL2 <axes = [1]> (a)
            b = MatMul (x, v)  q = ReduceMax <axes = [1]> (b)
            d = MatMul (x, w)  r = ReduceMin <axes = [1]> (d)
            s = Mul (p, q)     o = Add (s, r)
        },
        else_branch = e () => (float[8, 1] k) { k = ReduceMean <axes = [1]> (x) }>
    e = Expand (y, wide)
    z = ReduceLogSum <axes = [1]> (e)
}"""
"""The products in a branch; outside of it a result of 8 x SIZE floats."""


@pytest.fixture(scope="module")
def products() -> Saturated:
    """Three products of one tensor: merged they are a node less, and all results are there at once."""
    return saturate(model(PRODUCTS))


def test_of_graphs_of_equal_cost_memory_takes_the_smaller() -> None:
    """Slice before Transpose: 2 of 64 rows and 2 of 8, for 16 KiB and 2."""
    saturated = saturate(model(SLICED))
    by_cost, by_memory = (saturated.extract("nodes", objective=o).report for o in ("cost", "memory"))
    assert (by_cost.cost.after, by_cost.memory.after) == (2, (64 + 8) * 64 * 4)
    assert (by_memory.cost.after, by_memory.memory.after) == (2, (8 + 8) * 64 * 4)
    assert by_memory.verification.status == "passed"


def test_memory_is_bought_within_the_tolerance_only(products: Saturated) -> None:
    tight, wide = (products.extract("nodes", objective=o).report for o in ("memory", ("memory", 0.2)))
    assert (tight.cost.after, wide.cost.after) == (7, 8)
    assert tight.memory.before == 8 * 64 * 4 + 3 * 8 * 4  # one product, and what all three became
    assert tight.memory.after == 2 * 3 * 8 * 64 * 4  # the product, and its parts
    assert wide.memory.after == 8 * 64 * 4 + 2 * 8 * 4  # one product, and what two became
    assert wide.cost.lower_bound == 7 and wide.cost.gap == pytest.approx(1 / 8)
    assert wide.verification.status == "passed"


def test_the_front_holds_the_best_pairs(products: Saturated) -> None:
    report = products.extract("nodes", objective="memory", verify=False).report
    points = report.memory.front
    assert [(p.cost, p.peak) for p in points] == [(7, 12_288), (8, 2_112)]
    assert all(a.cost < b.cost and a.peak > b.peak for a, b in pairwise(points))
    assert report.to_dict()["memory"]["front"][0] == {"cost": 7.0, "peak": 12_288}


def test_a_limit_takes_the_cheapest_that_keeps_to_it(products: Saturated) -> None:
    for limit, cost in ((10**6, 7), (12_288, 7), (12_287, 8), (2_112, 8)):
        report = products.extract("nodes", objective=("cost", limit), verify=False).report
        assert (report.cost.after, report.warnings) == (cost, ())
        assert report.memory.after is not None and report.memory.after <= limit == report.memory.limit


def test_a_limit_that_nothing_keeps_to_gives_the_smallest_and_a_warning(products: Saturated) -> None:
    report = products.extract("nodes", objective=("cost", 2_000), verify=False).report
    assert (report.cost.after, report.memory.after) == (8, 2_112)
    assert "needs at most 1.95 KiB" in report.warnings[0] and "2.06 KiB" in report.warnings[0]
    assert "limit 1.95 KiB" in str(report)


@pytest.mark.parametrize("wanted", [("memory", 0.2), ("cost", 5_000)])
def test_a_body_is_made_smaller_where_that_makes_the_whole_smaller(wanted: tuple[str, float]) -> None:
    narrow = saturate(model(BRANCH.replace("SIZE", "16")))
    report = narrow.extract("nodes", objective=wanted).report
    assert [(p.cost, p.peak) for p in report.memory.front] == [(11, 12_320), (12, 2_144)]
    assert (report.cost.after, report.cost.lower_bound, report.memory.after) == (12, 11, 2_144)
    assert report.verification.status == "passed"


def test_a_body_stays_as_it_is_cheapest_where_the_peak_is_elsewhere() -> None:
    wide = saturate(model(BRANCH.replace("SIZE", "4096")))
    report = wide.extract("nodes", objective=("memory", 0.2), verify=False).report
    assert (report.cost.after, report.cost.gap, report.memory.after) == (11, 0, 8 * 4096 * 4 + 2 * 8 * 4)


def test_the_same_objective_gives_the_same_model(products: Saturated) -> None:
    first, second = (products.extract("nodes", objective="memory", verify=False) for _ in range(2))
    assert first.model.SerializeToString() == second.model.SerializeToString()


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("memroy", "did you mean 'memory'"),
        ("costs", "did you mean 'cost'"),
        (("cost", "512MiB"), "positive number of bytes"),
        (("cost", 0), "positive number of bytes"),
        (("cost", 1.5), "positive number of bytes"),
        (("cost", True), "positive number of bytes"),
        (("memory", -0.1), "0 or more"),
        (("memory", float("nan")), "0 or more"),
        (("cost", 1, 2), "unknown objective"),
        ((), "unknown objective"),
        (None, "unknown objective"),
        (7, "unknown objective"),
    ],
)
def test_what_is_no_objective_is_refused(wanted: object, said: str) -> None:
    with pytest.raises(ObjectiveError, match=said):
        optimize("a model that is never read", "nodes", objective=wanted)  # type: ignore[arg-type]


def test_objectives_are_read() -> None:
    assert objective_of("cost") == Objective() and not objective_of("cost").searches
    assert objective_of(("cost", 2.0**20)) == Objective(limit=2**20)
    assert objective_of(("memory", 0.5)) == Objective("memory", tolerance=0.5)
    assert objective_of(Objective("memory")) == objective_of("memory")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("512MiB", 512 * 2**20),
        ("1.5 GB", 15 * 10**8),
        ("64k", 65_536),
        ("17", 17),
        ("2 b", 2),
        ("1TiB", 2**40),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, count: int) -> None:
    assert parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "MiB", "12 apples", "-5", "0", "nan", "inf", "1.2.3k"])
def test_sizes_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ObjectiveError, match="number of bytes"):
        parse_bytes(text)


def test_sizes_are_written_for_people() -> None:
    assert [bytes_text(n) for n in (0, 1023, 1024, 3 * 2**19, 2**31)] == [
        "0 B",
        "1,023 B",
        "1.00 KiB",
        "1.50 MiB",
        "2.00 GiB",
    ]


def choices(problem: ExtractionProblem) -> list[np.ndarray]:
    """All solutions of a layered problem in which every class is used."""
    options = [np.flatnonzero(problem.node_class == c).tolist() for c in range(problem.n_classes)]
    return [np.array(nodes, np.int32) for nodes in product(*options)]


@pytest.mark.parametrize("seed", range(8))
def test_candidates_hold_the_smallest_peak_of_small_chains_of_choices(seed: int) -> None:
    """A chain of classes with two nodes each, the peak being the largest pair of neighbours."""
    random = np.random.default_rng(seed)
    count = 6
    node_class = np.repeat(np.arange(count, dtype=np.int32), 2)
    problem = ExtractionProblem(
        node_class=node_class,
        child_ptr=np.array([*np.minimum(np.arange(2 * count + 1), 2 * count - 2)]),
        child=node_class[:-2] + np.int32(1),
        cost=random.integers(10, 20, 2 * count).astype(float),
        roots=np.array([0]),
    )
    size = random.integers(1, 100, 2 * count).astype(float)

    def need(choice: np.ndarray) -> Need:
        pairs = [size[choice[c]] + size[choice[c + 1]] for c in range(count - 1)]
        at = int(np.argmax(pairs))
        return Need(int(pairs[at]), (at, at + 1))

    optimum = extract(problem)
    found = candidates(problem, [optimum.choice], size, need, lambda priced: extract(priced).choice)
    for candidate in found:
        check(problem, as_solution(candidate, optimum))
    everything = [Candidate(float(problem.cost[c].sum()), need(c).peak, c, ()) for c in choices(problem)]
    least = min(c.peak for c in everything)
    assert found[0].cost == min(c.cost for c in everything)
    assert min(c.peak for c in found) == least
    best = pareto_front(found)
    assert best[0].cost == optimum.cost and best[-1].peak == least
    assert pick(found, Objective("memory", tolerance=9.0)).peak == least
    assert pick(found, Objective(limit=least - 1)).peak == least
    assert pick(found, Objective()).cost == optimum.cost

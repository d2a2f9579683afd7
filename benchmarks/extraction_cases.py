"""E-graphs for `extraction.py`: residual networks, random ones with their optimum, and those of models."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from egraph_opt import saturate
from egraph_opt.cost.model import default_points
from egraph_opt.cost.registry import cost_model
from egraph_opt.cost.repricing import key_of
from egraph_opt.extraction import ExtractionProblem
from egraph_opt.extraction.structure import Ints, topological


def problem_of(
    owner: list[int], children: list[list[int]], cost: list[float], roots: list[int]
) -> ExtractionProblem:
    """A problem from the class, child classes and cost of each node."""
    return ExtractionProblem(
        node_class=np.array(owner, np.int32),
        child_ptr=np.cumsum([0, *map(len, children)]).astype(np.int32),
        child=np.array([child for below in children for child in below], np.int32),
        cost=np.array(cost),
        roots=np.array(roots, np.int32),
    )


def residual(layers: int) -> ExtractionProblem:
    """A residual network of so many layers with every tensor in two layouts.

    An operator costs 1, each third one 10 in the first layout; a conversion costs 0.5; every second layer
    adds the tensor two layers before.
    """
    owner, children, cost = [0, 1, 0], [[], [0], [1]], [0.0, 0.5, 0.5]
    for layer in range(1, layers + 1):
        for layout in (0, 1):
            here = 2 * layer + layout
            skip = [here - 4] if layer % 2 == 0 else []
            owner += [here, here]
            children += [[here - 2, *skip], [here + 1 - 2 * layout]]
            cost += [10.0 if layer % 3 == 0 and layout == 0 else 1.0, 0.5]
    return problem_of(owner, children, cost, [2 * layers])


def uneven(layers: int, seed: int = 0) -> ExtractionProblem:
    """A residual network like `residual` with random costs, and skips over 2 to 8 layers."""
    rng = random.Random(seed)
    owner, children, cost = [0, 1, 0], [[], [0], [1]], [0.0, 0.5, 0.5]
    for layer in range(1, layers + 1):
        skip = rng.randint(2, 8) if layer > 8 and rng.random() < 0.4 else 0
        for layout in (0, 1):
            here = 2 * layer + layout
            owner += [here, here]
            children += [[here - 2, *([here - 2 * skip] if skip else [])], [here + 1 - 2 * layout]]
            cost += [rng.choice((1.0, 2.0, 3.0, 5.0)), rng.choice((0.5, 1.0, 1.5))]
    return problem_of(owner, children, cost, [2 * layers])


def random_graph(seed: int, cyclic: bool) -> ExtractionProblem:
    """A random e-graph of up to 14 classes; every class has a leaf, most of them expensive."""
    rng = random.Random(seed)
    n = rng.randint(2, 14)
    owner = list(range(n))
    children: list[list[int]] = [[] for _ in range(n)]
    cost = [rng.choice((3.0, 9.0, 20.0)) for _ in range(n)]
    for here in range(n):
        below = range(n) if cyclic else range(here)
        for _ in range(rng.choice((1, 1, 2)) if len(below) else 0):
            owner.append(here)
            children.append([rng.choice(below) for _ in range(rng.randint(1, 3))])
            cost.append(rng.choice((0.0, 0.1, 1.0, 1.0, 2.0)))
    return problem_of(owner, children, cost, sorted(rng.sample(range(n), rng.randint(1, 2))))


def brute_force(problem: ExtractionProblem) -> float:
    """The least cost of any acyclic choice, by trying all of them."""
    options = [np.flatnonzero(problem.node_class == here).tolist() for here in range(problem.n_classes)]
    below = [problem.children(node).tolist() for node in range(problem.n_nodes)]
    best = float("inf")
    stack: list[tuple[dict[int, int], list[int]]] = [({}, problem.roots.tolist())]
    while stack:
        choice, pending = stack.pop()
        pending = [here for here in pending if here not in choice]
        if pending:
            here, rest = pending[0], pending[1:]
            stack.extend(({**choice, here: node}, rest + below[node]) for node in options[here])
            continue
        rows = [below[choice[here]] if here in choice else [] for here in range(problem.n_classes)]
        if topological(rows) is not None:
            best = min(best, float(problem.cost[list(choice.values())].sum()))
    return best


def of_model(path: Path, cost: str) -> Iterator[tuple[ExtractionProblem, Ints | None]]:
    """The problems that a model's graphs pose under a cost model, each with the original graph."""
    model = cost_model(cost)
    saturated = saturate(path, target=model)
    if saturated.region is None:
        return
    points = default_points(saturated.region.inputs)
    key = key_of(model, points, saturated.limits.fold_bytes)
    prices = {id(part.choice.snapshot): part.prices for part in saturated.solve(model).walk()}
    for region in saturated.region.walk():
        compiled = region.compiled(key)
        problem = compiled.reduced.at(prices[id(region.snapshot)].cost)
        yield problem, compiled.reduced.down(compiled.original)

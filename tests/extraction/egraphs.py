"""E-graphs for the extraction tests, and the optimum by brute force."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np

from egraph_opt.errors import ExtractionError
from egraph_opt.extraction import ExtractionProblem, check
from egraph_opt.extraction.solution import measure, used_part
from egraph_opt.extraction.structure import Ints

Node = tuple[int, tuple[int, ...], float, float]
"""Class, child classes, cost, tie."""


def problem_of(nodes: list[Node], roots: list[int]) -> ExtractionProblem:
    """A problem from a list of nodes."""
    return ExtractionProblem(
        node_class=np.array([node[0] for node in nodes], np.int32),
        child_ptr=np.cumsum([0, *(len(node[1]) for node in nodes)]).astype(np.int32),
        child=np.array([child for node in nodes for child in node[1]], np.int32),
        cost=np.array([node[2] for node in nodes]),
        roots=np.array(roots, np.int32),
        tie=np.array([node[3] for node in nodes]),
    )


def random_problem(seed: int, cyclic: bool, max_classes: int = 8) -> ExtractionProblem:
    """A small random e-graph; costs repeat and are often 0, so that ties and free cycles occur."""
    rng = random.Random(seed)
    n = rng.randint(1, max_classes)
    nodes: list[Node] = []
    for here in range(n):
        for _ in range(rng.choice((1, 1, 2, 2, 3))):
            below = range(n) if cyclic and rng.random() < 0.7 else range(here)
            children = tuple(rng.choice(below) for _ in range(rng.randint(0, 3))) if len(below) else ()
            cost = rng.choice((0.0, 0.0, 1.0, 1.0, 2.0, 0.1, 0.3, 7.5, math.inf))
            nodes.append((here, children, cost, float(rng.choice((0, 0, 1, 5)))))
    rng.shuffle(nodes)
    return problem_of(nodes, sorted(rng.sample(range(n), rng.randint(1, min(n, 2)))))


def leafy_problem(seed: int, cyclic: bool, classes: int = 12) -> ExtractionProblem:
    """A random e-graph where every class can be had by itself at a price: little is decided at once."""
    rng = random.Random(seed)
    nodes: list[Node] = []
    for here in range(classes):
        nodes.append((here, (), rng.choice((3.0, 9.0, 20.0)), float(rng.choice((0, 1)))))
        below = range(classes) if cyclic else range(here)
        for _ in range(rng.choice((1, 2, 2, 3)) if len(below) else 0):
            children = tuple(rng.choice(below) for _ in range(rng.randint(1, 3)))
            nodes.append(
                (here, children, rng.choice((0.0, 0.1, 1.0, 1.0, 2.0)), float(rng.choice((0, 0, 1))))
            )
    return problem_of(nodes, sorted(rng.sample(range(classes), rng.randint(1, 3))))


def tangled_problem(seed: int, classes: int = 6) -> ExtractionProblem:
    """A random e-graph where every class can use any other, so that nearly all of it is on cycles."""
    rng = random.Random(seed)
    nodes: list[Node] = []
    for here in range(classes):
        others = [other for other in range(classes) if other != here]
        nodes.append((here, (), float(rng.randint(6, 12)), 0.0))
        for _ in range(3):
            children = tuple(rng.sample(others, rng.randint(1, 3)))
            nodes.append((here, children, rng.randint(0, 8) / 2, 0.0))
    return problem_of(nodes, sorted(rng.sample(range(classes), 3)))


def all_solutions(problem: ExtractionProblem) -> list[Ints]:
    """Every solution of a small problem, by trying all choices."""
    options = [
        [node for node in range(problem.n_nodes) if problem.node_class[node] == here] or [-1]
        for here in range(problem.n_classes)
    ]
    found: dict[bytes, Ints | None] = {}
    for picked in itertools.product(*options):
        choice = used_part(problem, np.array(picked, np.int32))
        if choice.tobytes() in found:
            continue
        try:
            check(problem, choice)
        except ExtractionError:
            found[choice.tobytes()] = None
        else:
            found[choice.tobytes()] = choice
    return [choice for choice in found.values() if choice is not None]


def optimum(problem: ExtractionProblem) -> tuple[float, float] | None:
    """The smallest (cost, tie) of any solution, by trying all choices; None if there is no solution."""
    values = (measure(problem, choice) for choice in all_solutions(problem))
    return min(((round(cost, 9), tie) for cost, tie in values), default=None)


def chain(length: int) -> ExtractionProblem:
    """Each value computed from the one before, by a cheap and an expensive node."""
    nodes: list[Node] = [(0, (), 0.0, 0.0)]
    for here in range(1, length + 1):
        nodes += [(here, (here - 1,), 1.0, 0.0), (here, (here - 1, here - 1), 2.0, 0.0)]
    return problem_of(nodes, [length])


def residual(layers: int) -> tuple[ExtractionProblem, float]:
    """A residual network whose tensors exist in two layouts with conversions both ways, and its optimum.

    Every layer is an element-wise operator (either layout, cost 1), and a sum with the tensor two layers
    before; each third one is cheap in the second layout only (1 instead of 10).  A conversion costs 0.5.  The
    input and the output are in the first layout.
    """
    nodes: list[Node] = [(0, (), 0.0, 0.0), (1, (0,), 0.5, 0.0), (0, (1,), 0.5, 0.0)]
    for layer in range(1, layers + 1):
        for layout in (0, 1):
            here = 2 * layer + layout
            expensive = layer % 3 == 0 and layout == 0
            below = [2 * (layer - 1) + layout] + ([2 * (layer - 2) + layout] if layer % 2 == 0 else [])
            nodes.append((here, tuple(below), 10.0 if expensive else 1.0, 0.0))
            nodes.append((here, (2 * layer + 1 - layout,), 0.5, 0.0))
    return problem_of(nodes, [2 * layers]), layers + (1.0 if layers >= 3 else 0.0)

"""What an e-graph leaves to choose, as a certificate states it: one node for each class, at exact costs.

A solution chooses a node for each root and for each child of what it chooses, without a cycle.  Costs are
floats in the file; each is a rational number, and all are counted here in one unit that divides them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from egraph_opt.certificates.errors import CertificateError
from egraph_opt.forking import cached_property


@dataclass(frozen=True)
class SelectionProblem:
    """Classes and nodes, both numbered from 0; the nodes of a class have consecutive numbers.

    Attributes:
        owner: the class of each node.
        children: the classes that each node needs, each once, sorted.
        cost: of each node, in units.
        scale: how many units make a cost of 1.
        roots: the classes that a solution must provide.
        options: the nodes of each class.
    """

    owner: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]
    cost: tuple[int, ...]
    scale: int
    roots: tuple[int, ...]
    options: tuple[tuple[int, ...], ...]

    @classmethod
    def of(
        cls, classes: Sequence[Sequence[tuple[float, Sequence[int]]]], roots: Sequence[int]
    ) -> SelectionProblem:
        """The problem of classes, each a list of (cost, children).

        Raises:
            CertificateError: a cost that is none, a class that does not exist.
        """
        nodes = [(here, *node) for here, options in enumerate(classes) for node in options]
        costs = [_cost(cost) for _, cost, _ in nodes]
        scale = math.lcm(*(cost.denominator for cost in costs))
        ends = [0]
        for options in classes:
            ends.append(ends[-1] + len(options))
        inside = range(len(classes))
        return cls(
            owner=tuple(here for here, _, _ in nodes),
            children=tuple(tuple(sorted(set(numbers(below, inside)))) for _, _, below in nodes),
            cost=tuple(int(cost * scale) for cost in costs),
            scale=scale,
            roots=tuple(sorted(set(numbers(roots, inside)))),
            options=tuple(tuple(range(a, b)) for a, b in pairwise(ends)),
        )

    @cached_property
    def users(self) -> tuple[tuple[int, ...], ...]:
        """The nodes that need each class."""
        found: list[list[int]] = [[] for _ in self.options]
        for node, below in enumerate(self.children):
            for child in below:
                found[child].append(node)
        return tuple(map(tuple, found))

    @cached_property
    def required(self) -> frozenset[int]:
        """The classes that every solution has."""
        found = settled(self, dict(enumerate(self.options)), self.roots)
        if found is None:
            raise CertificateError("not a certificate: its problem has no solution")
        return found.used

    def cost_of(self, chosen: Iterable[int]) -> Fraction:
        """What nodes cost together."""
        return Fraction(sum(self.cost[node] for node in chosen), self.scale)


def numbers(found: Any, inside: range) -> list[int]:
    """A list of numbers of classes or nodes.

    Raises:
        CertificateError: it is none, or holds others.
    """
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise CertificateError("not a certificate: the bound has something else than a list of numbers")
    for number in found:
        if type(number) is not int or number not in inside:
            raise CertificateError(f"not a certificate: the bound names {number!r}, of {len(inside)}")
    return list(found)


def _cost(value: Any) -> Fraction:
    if type(value) not in (int, float) or not math.isfinite(value) or value < 0:
        raise CertificateError(f"not a certificate: the bound has a node that costs {value!r}")
    return Fraction(value)


class Settled(NamedTuple):
    """What follows from what is left to choose.

    Attributes:
        options: the nodes that solutions can have, by class.
        used: the classes that every solution has.
    """

    options: dict[int, tuple[int, ...]]
    used: frozenset[int]


def settled(
    problem: SelectionProblem, options: Mapping[int, Sequence[int]], used: Iterable[int]
) -> Settled | None:
    """What solutions with some classes can have and what they must have; None where there is none.

    A class needs itself and what all of its nodes need, where a node that needs its own class is none.  What
    this has for the greatest answer is begun with classes of nodes without children and brought down from
    there: as solutions have no cycle, by induction from their leaves they have no less.

    Args:
        options: the nodes that are left of some classes; all other classes are taken to be there.
    """
    bit = {here: 1 << k for k, here in enumerate(options)}
    below = {
        node: [child for child in problem.children[node] if child in options]
        for nodes in options.values()
        for node in nodes
    }
    above: dict[int, set[int]] = {here: set() for here in options}
    for node, children in below.items():
        for child in children:
            above[child].add(problem.owner[node])
    users = {here: sorted(owners) for here, owners in above.items()}
    found = dict.fromkeys(options, -1)  # all bits: it cannot be built

    def possible(here: int) -> dict[int, int]:
        """The nodes of a class that can be built without it, and what they need."""
        needs = {}
        for node in options[here]:
            together = 0
            for child in below[node]:
                together |= found[child]
            if not together & bit[here]:
                needs[node] = together
        return needs

    queue = deque(here for here, nodes in options.items() if any(not below[node] for node in nodes))
    waiting = set(queue)
    while queue:
        here = queue.popleft()
        waiting.discard(here)
        common = -1
        for needs in possible(here).values():
            common &= needs
        if common != -1 and common | bit[here] != found[here]:
            found[here] = common | bit[here]
            new = [user for user in users[here] if user not in waiting]
            waiting.update(new)
            queue.extend(new)
    together = 0
    for here in used:
        together |= found[here]
    if together < 0:
        return None
    left = {here: tuple(possible(here)) for here in options}
    return Settled(left, frozenset(here for here in options if together & bit[here]))


def check_choice(problem: SelectionProblem, chosen: Sequence[int]) -> None:
    """Check that nodes are a solution, and no more than one.

    Raises:
        CertificateError: they are not; the message names the class.
    """
    choice: dict[int, int] = {}
    for node in numbers(chosen, range(len(problem.owner))):
        if problem.owner[node] in choice:
            raise CertificateError(f"the chosen graph has two nodes of class {problem.owner[node]}")
        choice[problem.owner[node]] = node
    waiting, reached = list(problem.roots), set(problem.roots)
    while waiting:
        here = waiting.pop()
        if here not in choice:
            raise CertificateError(f"the chosen graph has no node of class {here}, which it needs")
        new = [child for child in problem.children[choice[here]] if child not in reached]
        reached.update(new)
        waiting += new
    if len(reached) < len(choice):
        raise CertificateError(f"the chosen graph does not need class {min(choice.keys() - reached)}")
    if settled(problem, {here: (node,) for here, node in choice.items()}, problem.roots) is None:
        raise CertificateError("the chosen graph has a cycle")

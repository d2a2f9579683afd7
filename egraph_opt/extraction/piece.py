"""A part of a problem that can be solved by itself, small enough in its terms for plain Python lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from egraph_opt.extraction.problem import ExtractionProblem
from egraph_opt.extraction.structure import Ints, pointers, strong_components, topological, users_of
from egraph_opt.forking import cached_property

Choice = list[int]
"""Per class of a piece the chosen node, or -1."""


@dataclass(frozen=True)
class Found:
    """A solution of a piece (the used part only) and a lower bound of the piece's cost."""

    choice: Choice
    bound: float


def used_choice(choice: Sequence[int], children: Sequence[Sequence[int]], roots: Sequence[int]) -> Choice:
    """The part of a choice that the roots use; every class they need must have a node."""
    part = [-1] * len(choice)
    stack = list(roots)
    while stack:
        here = stack.pop()
        if part[here] < 0:
            part[here] = choice[here]
            stack.extend(children[choice[here]])
    return part


@dataclass(eq=False)
class Piece:
    """A self-contained problem; its classes and nodes are numbered from 0.

    Not a frozen record, since what follows from the fields is worked out when it is first needed, and kept:
    the fields themselves are never changed.

    Attributes:
        classes: of each class, its id in the whole problem.
        nodes: of each node, its id in the whole problem.
        owner: the class of each node.
        options: the nodes of each class.
        children: the child classes of each node, each once, sorted.
        cost: of each node, finite.
        tie: of each node.
        kept: whether the node is the incumbent's, which breaks the last ties.
        roots: the classes that must be provided.
        incumbent: a solution to start from, if there is one.
    """

    classes: list[int]
    nodes: list[int]
    owner: list[int]
    options: list[list[int]]
    children: list[tuple[int, ...]]
    cost: list[float]
    tie: list[float]
    kept: list[bool]
    roots: list[int]
    incumbent: Choice | None

    @cached_property
    def price(self) -> list[int]:
        """`cost` as integers of 12 to 13 digits, so that sums do not depend on the order of adding.

        The unit is a power of ten, in which costs with few decimal places are whole: equal sums stay equal.
        """
        times, over = self._scale
        return [round(cost * times / over) for cost in self.cost]

    @cached_property
    def unit(self) -> float:
        """The cost that one of `price` represents."""
        times, over = self._scale
        return over / times

    @cached_property
    def _scale(self) -> tuple[float, float]:
        """What `price` is multiplied with, and divided by."""
        largest = max(self.cost, default=0.0)
        if not largest > 0:
            return 1.0, 1.0
        digits = 12 - math.floor(math.log10(largest))
        if digits > 300:  # near the smallest numbers there are
            return 1e12, largest
        return (10.0**digits, 1.0) if digits >= 0 else (1.0, 10.0**-digits)

    def lower(self, bound: int) -> float:
        """What every solution costs, at least, whose nodes have that `price` together, at least."""
        return max(0.0, (bound - self._rounded) * self.unit)

    def price_of(self, choice: Sequence[int]) -> int:
        """The `price` of a choice."""
        return sum(self.price[node] for node in choice if node >= 0)

    def enough(self, choice: Sequence[int]) -> int:
        """The bound that proves a choice optimal, up to a relative 1e-9, if any bound can."""
        proof = math.ceil(self.value(choice)[0] * (1 - 5e-10) / self.unit + self._rounded)
        return min(proof, self.price_of(choice))

    @cached_property
    def _rounded(self) -> float:
        """How much more than its cost the price of a solution can be, with one node for each class."""
        times, over = self._scale
        costs = np.array(self.cost) * times / over
        added = np.abs(np.array(self.price, np.float64) - costs) + costs * 2.0**-51
        most = np.zeros(len(self.classes))
        np.maximum.at(most, self.owners, added)
        return math.fsum(most.tolist())

    @cached_property
    def owners(self) -> Ints:
        """`owner` as an array."""
        return np.array(self.owner, np.int32)

    @cached_property
    def users(self) -> list[list[int]]:
        """The nodes that use each class."""
        return users_of(self.children, len(self.classes))

    @cached_property
    def pairs(self) -> tuple[Ints, Ints]:
        """All (node, child class) pairs, sorted by node."""
        node = np.repeat(np.arange(len(self.children), dtype=np.int32), [len(c) for c in self.children])
        child = np.array([child for below in self.children for child in below], np.int32)
        return node, child

    @cached_property
    def problem(self) -> ExtractionProblem:
        """The piece as a problem of its own; classes and nodes keep the piece's numbers."""
        node, child = self.pairs
        return ExtractionProblem(
            node_class=self.owners,
            child_ptr=pointers(node, len(self.nodes)),
            child=child,
            cost=np.array(self.cost),
            roots=np.array(self.roots, np.int32),
            tie=np.array(self.tie),
            n_classes=len(self.classes),
        )

    @cached_property
    def component(self) -> Ints:
        """The strongly connected component of each class; children are in smaller or equal ones."""
        node, child = self.pairs
        n = len(self.classes)
        edges = np.unique(self.owners[node].astype(np.int64) * n + child)
        return strong_components(pointers(edges // n, n), (edges % n).astype(np.int32))

    @cached_property
    def cyclic_pairs(self) -> tuple[Ints, Ints]:
        """The (node, child class) pairs that can be part of a cycle."""
        node, child = self.pairs
        inside = self.component[self.owners[node]] == self.component[child]
        return node[inside], child[inside]

    def used(self, choice: Sequence[int]) -> Choice:
        """The part of a choice that the roots use; every class they need must have a node."""
        return used_choice(choice, self.children, self.roots)

    def value(self, choice: Sequence[int]) -> tuple[float, float]:
        """Cost and tie of a choice."""
        chosen = [node for node in choice if node >= 0]
        return math.fsum(self.cost[k] for k in chosen), math.fsum(self.tie[k] for k in chosen)

    def order(self, choice: Sequence[int]) -> list[int] | None:
        """The classes of a choice with children first, or None if it is cyclic."""
        below = [self.children[node] if node >= 0 else () for node in choice]
        order = topological(below)
        return None if order is None else [here for here in order if choice[here] >= 0]

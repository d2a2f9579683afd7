"""What the nodes of some classes cost at least, as prices prove it in exact integers.

The classes of a problem fall into *parts*, and bounds of parts add up, as each node is of one class.  In a
part, say that a class pays a price p >= 0 to each of certain child classes of its node.  And say that a class
that is used gives a reward r >= 0 for a set S of classes that it is in: it goes to the class of S that is
built first, by a node that needs no class of S.  There is one, as solutions have no cycle.  No money is lost:
what is used is paid by what uses it, at most, and gives what another one gets.  So a solution costs, in these
classes, no less than

    the sum over its classes of  the least over their nodes of (the node's cost + what the class pays for its
    children - the rewards that the node may get) - what the class may be paid + the rewards that it gives.

That is no less than the sum over the classes that every solution has, and over the others where it is
negative.

This is weak duality: prices are multipliers of "what is needed is chosen", and rewards of cycle cuts (see
`extraction.programs.linear`).  Any prices are right; good ones give a high bound.  A part's nodes cost a
multiple of the greatest common divisor of its costs, so that a bound may be rounded up to one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from egraph_opt.certificates.errors import CertificateError
from egraph_opt.certificates.selection import SelectionProblem, Settled, settled
from egraph_opt.forking import cached_property

CLASS, NODE = "class", "node"


class Payments(NamedTuple):
    """Prices of a case.

    Attributes:
        pays: (class, child class, price).
        rewards: (number of a set, reward).
    """

    pays: tuple[tuple[int, int, int], ...]
    rewards: tuple[tuple[int, int], ...]


class Supposed:
    """A case: the nodes that are left to choose from, and classes that are used."""

    def __init__(
        self, problem: SelectionProblem, options: Mapping[int, Sequence[int]], given: frozenset[int]
    ) -> None:
        """Take the nodes of each class of the part."""
        self._problem, self._options, self._given = problem, options, given

    @property
    def is_impossible(self) -> bool:
        """Whether it has no solution."""
        return self._settled is None

    @property
    def options(self) -> Mapping[int, Sequence[int]]:
        """The nodes that its solutions can have."""
        return self._known.options

    @property
    def used(self) -> frozenset[int]:
        """The classes that its solutions have."""
        return self._known.used

    @property
    def _known(self) -> Settled:
        if self._settled is None:
            raise CertificateError("not a certificate: it goes on from a case that is impossible")
        return self._settled

    @cached_property
    def _settled(self) -> Settled | None:
        return settled(self._problem, self._options, self._given)

    def narrowed(self, options: Mapping[int, Sequence[int]]) -> Supposed:
        """A case of it, with fewer nodes."""
        return Supposed(self._problem, {**self._options, **options}, self._given)

    def halves(self, what: str, number: int) -> tuple[Supposed, Supposed]:
        """With and without a class or a node.

        Raises:
            CertificateError: there is none of it.
        """
        here = number if what == CLASS else self._problem.owner[number]
        if here not in self._options:
            raise CertificateError(f"not a certificate: {what} {number} is not of the part of its case")
        if what == CLASS:
            having = self._options
            lost = {*self._problem.options[here], *self._problem.users[here]}
        else:
            left = tuple(node for node in self._options[here] if node == number)
            having, lost = {**self._options, here: left}, {number}
        lacking = {
            owner: nodes if lost.isdisjoint(nodes) else tuple(node for node in nodes if node not in lost)
            for owner, nodes in self._options.items()
        }
        return (
            Supposed(self._problem, having, self._given | {here}),
            Supposed(self._problem, lacking, self._given),
        )


class _Value(NamedTuple):
    """A class at given prices: what each of its nodes costs it, and what it gives less what it is paid."""

    nodes: list[int]
    balance: int


def _share(value: _Value, used: bool) -> int:
    """What a class adds to the bound."""
    if not value.nodes:
        return 0
    least = min(value.nodes) + value.balance
    return least if used else min(0, least)


def _least(values: Mapping[int, _Value], supposed: Supposed) -> int:
    return sum(_share(value, here in supposed.used) for here, value in values.items())


@dataclass
class SelectionPart:
    """Some classes of a problem, and bounds of what their nodes cost together.

    Attributes:
        fineness: into how many parts a unit of cost is divided for prices.
        sets: see `PartEvidence`.
    """

    problem: SelectionProblem
    classes: tuple[int, ...]
    fineness: int
    sets: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    _entering: list[tuple[int, ...]] = field(default_factory=list)

    def add_sets(self, sets: Sequence[tuple[int, tuple[int, ...]]]) -> None:
        """Add sets whose entering nodes may get rewards.

        Raises:
            CertificateError: a set that is not of this part's classes, or lacks the class that gives.
        """
        inside = set(self.classes)
        for giver, members in sets:
            within = set(members)
            if giver not in within or not within <= inside:
                raise CertificateError(f"not a certificate: a reward of class {giver} within other classes")
            self.sets.append((giver, members))
            self._entering.append(
                tuple(
                    node
                    for here in sorted(within)
                    for node in self.problem.options[here]
                    if within.isdisjoint(self.problem.children[node])
                )
            )

    def whole(self) -> Supposed:
        """All solutions."""
        options = {here: self.problem.options[here] for here in self.classes}
        return Supposed(self.problem, options, self.problem.required & options.keys())

    def bound(self, supposed: Supposed, payments: Payments) -> int:
        """What the nodes of the part cost at least, in fractions of units, as prices prove it.

        Raises:
            CertificateError: a price that is negative, or of other classes.
        """
        return self.rounded(_least(self._values(supposed, payments), supposed))

    def cheaper(self, supposed: Supposed, payments: Payments, goal: int) -> Supposed:
        """The case of solutions below a goal: without nodes that, as prices prove, are in none."""
        values = self._values(supposed, payments)
        least = _least(values, supposed)
        options = {}
        for here, nodes in supposed.options.items():
            value = values[here]
            others = least - _share(value, here in supposed.used)
            options[here] = tuple(
                node
                for node, cost in zip(nodes, value.nodes, strict=True)
                if self.rounded(others + cost + value.balance) < goal
            )
        return supposed.narrowed(options)

    def _values(self, supposed: Supposed, payments: Payments) -> dict[int, _Value]:
        pays: dict[int, dict[int, int]] = {}
        balance = dict.fromkeys(self.classes, 0)
        for here, child, price in payments.pays:
            if price < 0 or here not in balance or child not in balance:
                raise CertificateError(f"not a certificate: class {here} pays {price} to class {child}")
            prices = pays.setdefault(here, {})
            prices[child] = prices.get(child, 0) + price
            balance[child] -= price
        gets: dict[int, int] = {}
        for number, reward in payments.rewards:
            if reward < 0:
                raise CertificateError(f"not a certificate: a reward of {reward}")
            balance[self.sets[number][0]] += reward
            for node in self._entering[number]:
                gets[node] = gets.get(node, 0) + reward
        cost, children, fineness = self.problem.cost, self.problem.children, self.fineness
        found = {}
        for here, nodes in supposed.options.items():
            prices = pays.get(here, {})
            each = [
                cost[node] * fineness
                + (sum(prices.get(child, 0) for child in children[node]) if prices else 0)
                - gets.get(node, 0)
                for node in nodes
            ]
            found[here] = _Value(each, balance[here])
        return found

    def rounded(self, bound: int) -> int:
        """The least that nodes of the part can cost that is not below a bound."""
        step = self._step
        return max(0, -(-bound // step) * step) if step else 0

    @cached_property
    def _step(self) -> int:
        nodes = (node for here in self.classes for node in self.problem.options[here])
        return self.fineness * math.gcd(*(self.problem.cost[node] for node in nodes))

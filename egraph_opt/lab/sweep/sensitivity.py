"""How far each parameter of a cost model may move before another graph is chosen.

The others stay at their values.  Where the graph changes is found by going away from the value in steps that
grow, and by bisection of the step in which it did: a graph that comes and goes within one step is not seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from egraph_opt.cost.domains import ListOf, Numbers, OneOf, TableOf
from egraph_opt.cost.model import CostModel
from egraph_opt.cost.parameters import Override, Parameter
from egraph_opt.cost.registry import cost_model, parameters_of
from egraph_opt.errors import UnknownParameterError
from egraph_opt.lab.sweep.repricer import Cheapest, Repricer, changed_laws, changed_operators
from egraph_opt.pipeline.saturated import Saturated

STEP = 4.0
"""From one value to the next that is tried."""

MOST_STEPS = 10
"""Towards infinity, or towards 0."""

TOLERANCE = 0.01
"""How exactly the ends are found, as a share of the value."""

TIE = 1e-9
"""Prices that differ by no more, as a share, are one."""

NO_PRICE = "no price depends on it"
SAME_GRAPH = "the same graph stays the cheapest"
NO_NUMBER = "it is no number"

REASONS = (SAME_GRAPH, NO_PRICE)
"""Why a parameter changes nothing, the more telling first."""


@dataclass(frozen=True)
class Change:
    """Another graph that is chosen.

    Attributes:
        at: a value of the parameter at which it is.
        operators: by how many nodes each differs.
        laws: by how many nodes what each made differs.
    """

    at: float | str
    price: float
    nodes: int
    graph: str
    operators: Mapping[str, int]
    laws: Mapping[str, int]


@dataclass(frozen=True)
class Sensitivity:
    """What one parameter does to the choice.

    Attributes:
        least, most: what was looked at.
        low, high: the graph is the same between these.
        below, above: what is chosen outside of them; None where they are the ends of what was looked at.
        others: of a parameter that is a name, what other names choose.
        reason: why nothing changes; "" where something does.
    """

    name: str
    value: float | str | None
    unit: str
    least: float = math.nan
    most: float = math.nan
    low: float = math.nan
    high: float = math.nan
    below: Change | None = None
    above: Change | None = None
    others: tuple[Change, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class SensitivityReport:
    """The chosen graph, and how far it holds in each parameter."""

    model: str
    cost: str
    unit: str
    chosen: Cheapest
    parameters: tuple[Sensitivity, ...]


class Examination:
    """A model and a cost model whose parameters are moved one at a time.

    Args:
        saturate: makes the e-graph that a cost model needs; asked again where a parameter is a limit that
            laws look at.
        within: look no farther than this factor up and down; by default at the whole range.

    Raises:
        ExtractionError: there is nothing to choose from.
    """

    def __init__(
        self,
        saturate: Callable[[CostModel], Saturated],
        name: str,
        overrides: tuple[Override, ...] = (),
        *,
        within: float = math.inf,
        extractor: str = "auto",
    ) -> None:
        self.saturate, self.name, self.overrides = saturate, name, overrides
        self.within, self.extractor = within, extractor
        self.parameters = parameters_of(name, overrides)
        self.model = cost_model(name, overrides)
        self.saturated = saturate(self.model)
        self.chosen, self.extracted = Repricer(self.saturated).solve(self.model, extractor)
        self.repricer = Repricer(self.saturated, self.extracted)
        self.prices = self.repricer.prices(self.model)
        self._others: dict[object, Repricer] = {}

    def report(
        self, names: tuple[str, ...] = (), progress: Callable[[float], None] = lambda share: None
    ) -> SensitivityReport:
        """Examine parameters, all unless some are named (`table` means its entries, too).

        Raises:
            UnknownParameterError: there is no such parameter; suggests the nearest.
        """
        entries = list(self._entries())
        known = {entry[0] for entry in entries} | set(self.parameters)
        for name in names:
            if name not in known:
                raise UnknownParameterError(name, known, "", self.name)
        wanted = [
            entry
            for entry in entries
            if not names or not {entry[0], entry[0].partition(".")[0]}.isdisjoint(names)
        ]
        found = []
        for k, (name, declared, value) in enumerate(wanted):
            found.append(self._examined(name, declared, value))
            progress((k + 1) / len(wanted))
        source = self.saturated.loaded.source
        return SensitivityReport(source, self.name, self.model.unit, self.chosen, tuple(found))

    def _entries(self) -> Iterator[tuple[str, Parameter, object]]:
        """Parameters with their values, and of tables of numbers each entry."""
        for name, declared in self.parameters.items():
            if isinstance(declared.domain, TableOf) and declared.domain.numbers is not None:
                for entry, value in declared.value.items():
                    yield f"{name}.{entry}", declared, value
            else:
                yield name, declared, declared.value

    def _examined(self, name: str, declared: Parameter, value: object) -> Sensitivity:
        numbers, domain = declared.domain.numbers, declared.domain
        if numbers is not None and isinstance(value, (int, float)):
            return self._number(name, declared.unit, value, numbers)
        if isinstance(domain, OneOf):
            return self._name(name, declared.unit, str(value), domain.names.known)
        kind = "a list" if isinstance(domain, ListOf) else "a table"
        return Sensitivity(name, None, declared.unit, reason=f"{NO_NUMBER} but {kind}")

    def _name(self, name: str, unit: str, value: str, known: tuple[str, ...]) -> Sensitivity:
        """A parameter that is one of some names."""
        tried = [(other, self._at_other(name, other)) for other in known if other != value]
        others = tuple(self._change(other, answer) for other, answer in tried if answer is not None)
        return Sensitivity(name, value, unit, others=others, reason="" if others else SAME_GRAPH)

    def _number(self, name: str, unit: str, value: float, numbers: Numbers) -> Sensitivity:
        least, most = self._range(value, numbers)
        low, below = self._end(name, value, least, numbers.whole)
        high, above = self._end(name, value, most, numbers.whole)
        reason = ""
        if below is None and above is None:
            moved = [self._prices_at(name, end) == self.prices for end in (least, most)]
            reason = NO_PRICE if all(moved) else SAME_GRAPH
        return Sensitivity(name, value, unit, least, most, low, high, below, above, reason=reason)

    def _range(self, value: float, numbers: Numbers) -> tuple[float, float]:
        """Where a number is looked at: in what it may be, and not beyond some factor."""
        factor = min(self.within, STEP**MOST_STEPS)
        scale = abs(value) or 1.0
        ends = sorted((value / factor, value * factor)) if value else (-scale * factor, scale * factor)
        least = numbers.least if math.isinf(self.within) and numbers.least > -math.inf else ends[0]
        most = numbers.most if math.isinf(self.within) and numbers.most < math.inf else ends[1]
        least, most = max(least, numbers.least), min(most, numbers.most)
        return (math.ceil(least), math.floor(most)) if numbers.whole else (least, most)

    def _end(self, name: str, value: float, end: float, whole: bool) -> tuple[float, Change | None]:
        """The last value towards an end at which the graph is the same, and what is chosen beyond it."""
        same = value
        for probe in self._probes(name, value, end, whole):
            answer = self._at_other(name, probe)
            if answer is not None:
                return self._bisected(name, same, probe, answer, whole=whole)
            same = probe
        return end, None

    def _probes(self, name: str, value: float, end: float, whole: bool) -> list[float]:
        """Values from one to an end; where a new e-graph is needed for each, the end alone."""
        if value == end:
            return []
        alone = self._needs_another(name, end) or self._prices_at(name, end) == self.prices
        found = [] if alone else [round(x) if whole else x for x in steps(value, end)]
        return [x for x in dict.fromkeys(found) if x not in (value, end)] + [end]

    def _bisected(
        self, name: str, same: float, other: float, answer: Cheapest, *, whole: bool
    ) -> tuple[float, Change]:
        while abs(other - same) > (1 if whole else TOLERANCE * max(abs(same), abs(other))):
            middle = midpoint(same, other)
            if whole:
                middle = round(middle)
                middle += (middle == min(same, other)) - (middle == max(same, other))
            found = self._at_other(name, middle)
            if found is not None:
                other, answer = middle, found
            else:
                same = middle
        return same, self._change(other, answer)

    def _moved(self, name: str, value: object) -> CostModel:
        return cost_model(self.name, (*self.overrides, Override(name, value)))

    def _repricer(self, model: CostModel) -> Repricer:
        if not self.saturated.mismatch(model):
            return self.repricer
        key = tuple(model.rulesets), tuple(sorted(model.limits.items()))
        if key not in self._others:
            self._others[key] = Repricer(self.saturate(model))
        return self._others[key]

    def _needs_another(self, name: str, value: object) -> bool:
        return bool(self.saturated.mismatch(self._moved(name, value)))

    def _prices_at(self, name: str, value: object) -> str:
        """The prices in the e-graph that the value asks for: in another they are others."""
        model = self._moved(name, value)
        return self._repricer(model).prices(model)

    def _at_other(self, name: str, value: object) -> Cheapest | None:
        """What is chosen with a parameter at another value; None for the same graph, or one of its price.

        (In the e-graph at hand the same graph is the answer where none is cheaper, in others it need not be.)
        """
        model = self._moved(name, value)
        repricer = self._repricer(model)
        answer = repricer.ask(model, self.extractor)
        if answer.graph.key == self.chosen.graph.key:
            return None
        same = self.repricer.price(self.extracted, model)
        return None if math.isclose(answer.price, same, rel_tol=TIE) else answer

    def _change(self, at: float | str, answer: Cheapest) -> Change:
        before, after = self.chosen.graph, answer.graph
        return Change(
            at,
            answer.price,
            after.nodes,
            after.key,
            changed_operators(before, after),
            changed_laws(before, after),
        )


def steps(value: float, end: float) -> Iterator[float]:
    """Values from one towards an end, each some times as large or as small as the one before.

    >>> list(steps(2.0, 100.0)), list(steps(8.0, 0.5)), [round(x, 2) for x in steps(0.0, 100.0)][-3:]
    ([8.0, 32.0], [2.0], [1.56, 6.25, 25.0])
    """
    if value == 0 or (value < 0) != (end < 0 or (end == 0 and value < 0)):
        yield from (end / STEP**k for k in range(MOST_STEPS, 0, -1))
        return
    factor = STEP if abs(end) > abs(value) else 1 / STEP
    for k in range(1, MOST_STEPS + 1):
        step = value * factor**k
        if abs(step) >= abs(end) if factor > 1 else abs(step) <= abs(end):
            return
        yield step


def midpoint(one: float, other: float) -> float:
    """The geometric mean of numbers of one sign, which suits ranges over many magnitudes; else the middle."""
    return math.copysign(math.sqrt(one * other), one) if one * other > 0 else (one + other) / 2

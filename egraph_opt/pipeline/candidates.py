"""Cost models beside the one that was asked for: what each of them chooses is timed whole.

Bolder and more cautious ones price what the original does not have less or more; one counts nodes; one has
the price that nodes take in their place.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.facts.fact import Fact
from egraph_opt.measurement.specimen import specimen_key

MARGINS = (0.1, 0.0, 0.3, 0.2, 1.0, 0.5, 0.05)
"""By what share nodes that the original lacks are priced higher, for one candidate after the other."""


_TAKEN = (
    *("name", "unit", "rulesets", "limits", "pseudo_operators", "applied", "margin", "runtime", "elsewhere"),
    *("any_types", "free_sizes_factor", "sides", "datasheet"),
)


class Variant(CostModel):
    """A cost model of which one thing is another."""

    def __init__(self, model: CostModel) -> None:
        self.model = model
        for name in _TAKEN:
            setattr(self, name, getattr(model, name))

    def prepare(self, views: Sequence[NodeView], progress: Callable[[float], None]) -> None:
        self.model.prepare(views, progress)

    def remarks(self, views: Sequence[NodeView]) -> Sequence[str]:
        return self.model.remarks(views)

    def is_unmeasured(self, node: NodeView) -> bool:
        return self.model.is_unmeasured(node)

    def time_of(self, node: NodeView, side: str) -> float:
        return self.model.time_of(node, side)

    def stored_bytes(self, fact: Fact, operators: frozenset[str]) -> int | None:
        return self.model.stored_bytes(fact, operators)

    def of_bodies(self, node: NodeView, costs: Sequence[float]) -> float:
        return self.model.of_bodies(node, costs)

    def in_model(self, micros: float, kernels: int) -> float:
        return self.model.in_model(micros, kernels)

    def cost(self, node: NodeView) -> float:
        return self.model.cost(node)

    def kernel_name(self, node: NodeView) -> str:
        return self.model.kernel_name(node)

    def breakdown(self, node: NodeView) -> Mapping[str, float]:
        return self.model.breakdown(node)

    def reason(self, node: NodeView) -> str:
        return self.model.reason(node)

    def build_command(self, inputs: Mapping[str, Sequence[int | None]], path: str) -> str:
        return self.model.build_command(inputs, path)


class WithMargin(Variant):
    """Prices what the original does not have higher, or less so."""

    def __init__(self, model: CostModel, margin: float) -> None:
        super().__init__(model)
        self.margin = margin


class FewestNodes(Variant):
    """Counts kernels, and takes their prices only where they are as many.

    Where prices of single nodes are wrong, as on a busy machine, that graph is often as fast.
    """

    def __init__(self, model: CostModel) -> None:
        super().__init__(model)
        self.name, self.unit, self.margin = f"{model.name}, fewest nodes", "nodes", 0.0

    def cost(self, node: NodeView) -> float:
        price = self.model.cost(node)
        if not 0 < price < math.inf:
            return price
        return 1.0 + node.body_cost + min(price * LITTLE, 0.5)


LITTLE = 1e-9
"""What a price counts beside a node."""


@dataclass
class PlacePrices:
    """What nodes take within whole models, as profiles of these have shown.

    Attributes:
        nodes: by the key of a node what it took in its place, and what its price is.
        operators: by the operator's name the sums of both.
    """

    seen: defaultdict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    operators: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0, 0.0]))

    def learn(self, key: str, operator: str, micros: float, price: float) -> None:
        """A node of a model: what it took there, and what it is priced at."""
        self.seen[key].append((micros, price))
        for name in (operator, ""):
            self.operators[name][0] += micros
            self.operators[name][1] += price

    def of(self, key: str) -> float | None:
        """What a node takes in its places, in the mean; None where that is what it is priced at, too."""
        if key not in self.seen:
            return None
        micros, prices = (math.fsum(part) / len(self.seen[key]) for part in zip(*self.seen[key], strict=True))
        return micros if abs(micros - prices) > DIFFERS * prices else None

    def factor(self, operator: str) -> float:
        """How many times its price a node of an operator takes that was in no place yet."""
        micros, prices = self.operators.get(operator) or self.operators.get("") or (1.0, 1.0)
        return min(max(micros / prices, 1 / FARTHEST), FARTHEST) if prices > 0 else 1.0

    @property
    def changed(self) -> int:
        """How many nodes take something else in their place."""
        return sum(self.of(key) is not None for key in self.seen)


DIFFERS = 0.1
"""Below this share a time in place is the price."""

FARTHEST = 2.0
"""So many times a price, or part of it, a node may take by what others of its operator show."""


class ByPlace(Variant):
    """Prices nodes as they took in whole models; those that were in none as others of their operator did."""

    def __init__(self, model: CostModel, places: PlacePrices) -> None:
        super().__init__(model)
        self.places = {key: price for key in places.seen if (price := places.of(key)) is not None}
        self.known = frozenset(places.seen)
        self.factors = {name: places.factor(name) for name in places.operators}

    def cost(self, node: NodeView) -> float:
        price = self.model.cost(node)
        if not LEAST < price - node.body_cost < math.inf:
            return price
        key = specimen_key(node)
        if key in self.known:
            return self.places.get(key, price - node.body_cost) + node.body_cost
        factor = self.factors.get(self.model.kernel_name(node), self.factors.get("", 1.0))
        return factor * (price - node.body_cost) + node.body_cost


LEAST = 0.5
"""What costs less is no kernel but a view, or nothing."""


def model_variants(model: CostModel, count: int) -> Iterator[CostModel]:
    """A cost model and variants of it, each of which may choose another graph."""
    yield model
    others = [WithMargin(model, margin) for margin in MARGINS if margin != model.margin]
    yield from [*others[:1], FewestNodes(model), *others[1:]][: count - 1]

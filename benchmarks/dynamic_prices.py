"""Whether a model with free sizes is priced like the same model with those sizes in its file.

python benchmarks/dynamic_prices.py trained light FOLDER.. [--only TEXT] [--costs nodes,flops,bytes,ascend]

Compared are the nodes that run in both, by name: what computes sizes alone is constant where they are fixed.
A line for each model and cost model whose sums differ by more than 2 %, with the nodes that differ most; then
it ends with 1.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fixed_points import asked_for

from egraph_opt import saturate
from egraph_opt.cost.registry import cost_model
from egraph_opt.pipeline.hints import sizes_of
from egraph_opt.pipeline.original import original_cost
from egraph_opt.pipeline.saturated import Saturated

MOST = 0.02
SHOWN = 4

Prices = dict[str, float]
"""By the first output of a node."""


@dataclass(frozen=True)
class Compared:
    """The prices of the nodes that both versions run."""

    free: Prices
    fixed: Prices

    @property
    def difference(self) -> float:
        """Of the sums, as a share of that of the fixed version."""
        free, fixed = (math.fsum(prices.values()) for prices in (self.free, self.fixed))
        return 0.0 if free == fixed else abs(free - fixed) / fixed if fixed else math.inf

    @property
    def worst(self) -> list[str]:
        """The nodes that differ most."""
        return sorted(self.free, key=lambda name: -abs(self.free[name] - self.fixed[name]))[:SHOWN]


def _prices(saturated: Saturated, cost: str, points: Mapping[str, int]) -> Prices:
    region, model = saturated.region, cost_model(cost)
    found = {}
    for node in region.original if region is not None else ():
        name = next((value.name for value in node.outputs if value.name), None)
        if name is not None:
            found[name] = original_cost((node,), model, points)
    return found


def compared(path: Path, costs: list[str]) -> dict[str, Compared]:
    """By cost model; none where no input has a free size, or nobody knows one."""
    free = saturate(path, rewrites=())
    if free.region is None or not any(
        is_free(dim) for fact in free.region.inputs for dim in fact.shape or ()
    ):
        return {}
    graph = free.loaded.model.graph
    inputs = [value for value in graph.inputs if value.name not in graph.initializers and value.shape]
    points = free.points(cost_model("nodes"))
    shapes = {str(value.name): sizes_of(value, points) for value in inputs}
    fixed = saturate(path, rewrites=(), input_shapes=shapes)
    found = {}
    for cost in costs:
        ours, theirs = _prices(free, cost, points), _prices(fixed, cost, fixed.points(cost_model("nodes")))
        both = [name for name in ours if name in theirs]
        found[cost] = Compared({name: ours[name] for name in both}, {name: theirs[name] for name in both})
    return found


def is_free(dim: object) -> bool:
    return isinstance(dim, str)


def main() -> None:
    models, costs = asked_for(__doc__ or "")
    looked_at = wrong = 0
    for name, path in models.items():
        for cost, found in compared(path, costs).items():
            looked_at += 1
            if found.difference > MOST:
                wrong += 1
                print(f"{name}, {cost}: {found.difference:.1%}")
                for node in found.worst:
                    print(f"    {node}: {found.free[node]:g}, fixed {found.fixed[node]:g}")
    print(f"{looked_at - wrong} of {looked_at} agree to {MOST:.0%}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()

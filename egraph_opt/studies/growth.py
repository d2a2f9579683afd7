"""How e-graphs grow: e-nodes, rounds and seconds of models beside how large these are."""

from __future__ import annotations

import math
from dataclasses import dataclass

from egraph_opt.cost.model import CostModel
from egraph_opt.cost.registry import cost_model
from egraph_opt.model.reading import ModelSource
from egraph_opt.pipeline.limits import Limits
from egraph_opt.pipeline.stages import saturate


@dataclass(frozen=True)
class GrowthRow:
    """One model saturated.

    Attributes:
        nodes: that run in the model as it came.
        e_nodes: of all its graphs, bodies included.
        rounds: of the graph that took most.
        stop: "saturated", or the limit that ended one of them.
        seconds: by stage: reading, lowering and saturation.
    """

    model: str
    cost_model: str
    nodes: int
    e_nodes: int
    rounds: int
    stop: str
    seconds: float

    @property
    def per_node(self) -> float:
        """E-nodes for each node that runs."""
        return self.e_nodes / max(self.nodes, 1)


def grow(
    name: str, model: ModelSource, cost: str | CostModel = "ascend", *, limits: Limits = Limits()
) -> GrowthRow:
    """Saturate a model for a target."""
    target = cost_model(cost)
    saturated = saturate(model, limits=limits, target=target)
    reports = [region.saturation for region in saturated.region.walk()] if saturated.region else []
    stops = [report.stop for report in reports if report.stop != "saturated"]
    return GrowthRow(
        *(name, target.name, saturated.counts.runtime),
        e_nodes=sum(report.nodes for report in reports),
        rounds=max((report.rounds for report in reports), default=0),
        stop=stops[0] if stops else "saturated",
        seconds=math.fsum(saturated.seconds.values()),
    )

"""Memory traffic: bytes that the nodes read and write, nothing being kept in a cache between two nodes."""

from __future__ import annotations

from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.cost_models import counting


class Bytes(CostModel):
    """Counts traffic as :func:`egraph_opt.cost_models.counting.traffic` defines it."""

    name = "bytes"
    unit = "B"

    def cost(self, node: NodeView) -> float:
        return counting.traffic(node) + node.body_cost

"""Memory traffic: bytes that the nodes read and write, nothing being kept in a cache between two nodes."""

from __future__ import annotations

from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.cost_models import counting


class Bytes(CostModel):
    """Bytes that nodes read and write, see `egraph_opt.cost_models.counting.traffic`."""

    name = "bytes"
    unit = "B"

    def cost(self, node: NodeView) -> float:
        return counting.traffic(node) + node.body_cost

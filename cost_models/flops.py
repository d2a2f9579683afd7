"""Arithmetic operations: a multiply-add is 2, any other operation on an element 1, moving data 0."""

from __future__ import annotations

from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.cost_models import counting


class Flops(CostModel):
    """Arithmetic operations, see `egraph_opt.cost_models.counting.flops`."""

    name = "flops"
    unit = "flop"

    def cost(self, node: NodeView) -> float:
        return counting.flops(node) + node.body_cost

"""Nodes: 1 for every node that runs, views included; a Constant is data and counts 0."""

from __future__ import annotations

from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.cost_models import counting

CANDIDATES = 3
"""Graphs that `nodes:timed` times beside the original, the fastest of all being the result."""


class Nodes(CostModel):
    """Nodes that run; those of bodies of If, Loop and Scan are added to the node that has them."""

    name = "nodes"
    unit = "nodes"

    def __init__(self, variant: str = "") -> None:
        if variant:
            self.name, self.confirm = f"nodes:{variant}", CANDIDATES

    @classmethod
    def variants(cls) -> tuple[str, ...]:
        return ("timed",)

    def cost(self, node: NodeView) -> float:
        own = 0.0 if node.op_type in counting.LEAVES and not node.domain else 1.0
        return own + node.body_cost

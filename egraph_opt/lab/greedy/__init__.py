"""Greedy rewriting by the same laws: passes in an order, each of which forgets what it replaced.

What is left between the best order of passes and saturation is the price of having an order.
"""

from __future__ import annotations

from egraph_opt.lab.greedy.managers import (
    FixedPointPassManager,
    GeneralPassManager,
    PassManager,
    local_search,
    random_orders,
)
from egraph_opt.lab.greedy.model import GreedyModel
from egraph_opt.lab.greedy.passes import ORDERS, Pass

__all__ = [
    "ORDERS",
    "FixedPointPassManager",
    "GeneralPassManager",
    "GreedyModel",
    "Pass",
    "PassManager",
    "local_search",
    "random_orders",
]

"""Which nodes convert a tensor to another layout, and which work in one.

The pseudo-operators are those of `rewrites/targets/layouts.py`.
"""

from egraph_opt.cost.model import NodeView
from egraph_opt.operators.declaration import PSEUDO_DOMAIN


def is_conversion(node: NodeView) -> bool:
    return node.domain == PSEUDO_DOMAIN and node.op_type in ("FromLayout", "ToLayout")


def is_laid(node: NodeView) -> bool:
    """Whether the operands of a node are in a layout, and perhaps its result."""
    return node.domain == PSEUDO_DOMAIN and node.op_type in ("Laid", "Unlaid")

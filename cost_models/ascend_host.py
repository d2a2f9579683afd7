"""What the host spends on a node of Ascend where operators are dispatched one by one (``eager``).

An offline model is launched as a whole: its tasks follow each other on the device.  Eagerly, the host infers
shapes, tiles and launches each operator while the device is busy with those before, and waits for the device
where a shape is computed there.  Between the two is a queue: a long kernel hides what the host does for those
that follow, so that a model takes about as long as the slower of both for all of its operators.  A price
belongs to one of them, and is a mean of both, the more of the slower side the further it is behind.  A single
operator that no model is known of takes the longer of both.

No kernels are fused that are launched one by one, and no compiler rewrites the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import counting
from egraph_opt.cost_models.ascend_soc import Soc
from egraph_opt.operators.declaration import PSEUDO_DOMAIN

EAGER = "eager"

HOST, DEVICE = "host", "device"

KERNELS: Mapping[str, Any] = MappingProxyType(
    {"fused_stages": 0, "vector_stages": 0, "composite_operators": [], "compiler_passes": []}
)
"""Parameters of kernels that are launched one by one, unless others are given."""


def share_of_host(totals: Mapping[str, float]) -> float | None:
    """The part of a price that is the host's: half where both sides take equally long."""
    host, device = totals[HOST] ** 2, totals[DEVICE] ** 2
    return host / (host + device) if host + device > 0 else None


def together(share: float | None, host: float, device: float) -> float:
    """The price of a node by what each side does for it."""
    return max(host, device) if share is None else share * host + (1 - share) * device


_SHAPED_BY = {
    "ConstantOfShape": (0,),
    "Expand": (1,),
    "OneHot": (1,),
    "Pad": (1,),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (2, 3),
    "Slice": (1, 2, 3, 4),
    "Tile": (1,),
    "TopK": (1,),
}
"""Operands that decide the shape of an operator's result."""

COUNTING = frozenset(("Compress", "NonMaxSuppression", "NonZero", "Unique"))
"""Operators whose results are as long as their operands' elements say."""


def time(soc: Soc, node: NodeView) -> float:
    """Microseconds of the host; nothing where a whole model is launched at once."""
    if soc.dispatch != EAGER or node.op_type in counting.LEAVES:
        return 0.0
    parts = (node,) if node.parts is None else node.parts.nodes
    launched = len(parts) if node.domain == PSEUDO_DOMAIN else 1
    return launched * soc.host_us + soc.host_wait_us * any(map(waits, parts))


def waits(node: NodeView) -> bool:
    """Whether the host has to know elements that the device computes, before it can launch what follows."""
    if node.domain not in ("", "ai.onnx"):
        return False
    shaping = (node.input(k) for k in _SHAPED_BY.get(node.op_type, ()))
    computed = any(f is not None and not f.const and f.value is None for f in shaping)
    return computed or node.op_type in COUNTING or node.op_type in counting.CONTROL

"""What the bodies of If, Loop, Scan and SequenceMap cost on Ascend: as often as they run.

How often that is a node says itself where its trip count is a number, or the scanned dim is.  Where it does
not, `loop_iterations` is assumed, and the report says so.  Of two branches one runs: the more expensive one
is paid (``branch_price = "maximum"``), or both by their probability (``"expected"``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import counting
from egraph_opt.cost_models.ascend_soc import Soc

ENDLESS = 2**31 - 1
"""Exporters write the greatest int32 or int64 as the trip count of a loop that only its condition ends."""

LOOPS = counting.CONTROL - {"If"}


def of_bodies(soc: Soc, node: NodeView, costs: Sequence[float]) -> float:
    """What the bodies of a node cost together; those of an If in the order else, then."""
    if node.op_type != "If":
        count = iterations(node)
        return math.fsum(costs) * (soc.loop_iterations if count is None else count)
    if soc.branch_price == "maximum" or len(costs) != 2:
        return max(costs, default=0.0)
    otherwise, then = costs
    return soc.then_probability * then + (1 - soc.then_probability) * otherwise


def iterations(node: NodeView) -> int | None:
    """How often the body of a loop runs; None where that is not known before it does.

    A condition may end a Loop before its trip count is reached: then it is the most.
    """
    if node.op_type == "Loop":
        return _trip_count(node)
    return _scanned(node) if node.op_type == "Scan" else None


def _trip_count(node: NodeView) -> int | None:
    limit, condition = node.input(0), node.input(1)
    if condition is not None and condition.splat == 0:
        return 0
    count = None if limit is None else limit.splat if limit.ints is None else next(iter(limit.ints), None)
    return None if count is None or count >= ENDLESS else max(int(count), 0)


def _scanned(node: NodeView) -> int | None:
    """The extent of the axis along which the first of the scanned inputs is taken apart."""
    scanned = node.integer("num_scan_inputs", 0)
    x = node.inputs[-scanned] if 0 < scanned <= len(node.inputs) else None
    if x is None or not x.shape:
        return None
    if 0 < node.opset < 9:  # a batch stands first, and the operator runs for each of its elements
        lengths = x.shape[:2]
        known = [dim for dim in lengths if isinstance(dim, int)]
        return counting.product(known) if len(known) == 2 else None
    axis = (node.integers("scan_input_axes") or (0,))[0]
    dim = x.shape[axis] if -len(x.shape) <= axis < len(x.shape) else None
    return dim if isinstance(dim, int) else None

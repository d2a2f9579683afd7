"""What is done element by element on Ascend: work of the scalar unit, and of moves too short for the others.

A count of such steps times what one takes on a core (`scalar_cycles`), over the cores that take part: no more
than there are independent parts, so that the time grows with every count and nowhere jumps.  A few steps cost
nothing beside a launch; hundreds of thousands cost more than all else.
"""

from __future__ import annotations

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import counting
from egraph_opt.cost_models.ascend_device import Device

UPDATES = frozenset(("Scatter", "ScatterElements", "ScatterND"))
"""One core writes one update after the other: two may be to one place."""

PICKS = frozenset(("Gather", "GatherElements", "GatherND"))

EXTREMES = frozenset(("ArgMax", "ArgMin"))

LANES_BYTES = 256
"""What the vector unit computes a cycle: results side by side are found together."""


def scalar_time(device: Device, node: NodeView) -> float:
    """Microseconds of work of that kind; 0 for operators that have none."""
    cycles, cores = device.soc.scalar_cycles, device.soc.vector_cores
    if node.op_type in UPDATES:
        return _on_cores(device, _updates(node) * cycles["update"], device.soc.scatter_cores)
    if node.op_type in PICKS:
        picks, row = _picks(device, node)
        share = min(row / device.soc.block_bytes, 1.0)
        each = cycles["picked_element"] + (cycles["picked_row"] - cycles["picked_element"]) * share
        return _on_cores(device, picks * each, min(picks, cores))
    if node.op_type in EXTREMES:
        return _extremes(device, node, node.integer("axis", 0))
    if node.op_type == "TopK":
        count = counting.elements(node.input(0))
        rows = count / max(_extent(node), 1)
        sorting = _on_cores(device, count * cycles["sorted"], min(rows, cores))
        return max(sorting, _extremes(device, node, node.integer("axis", -1)))
    return 0.0


def _on_cores(device: Device, cycles: float, cores: float) -> float:
    return cycles / (max(cores, 1) * device.soc.clock_ghz * 1e3)


def _updates(node: NodeView) -> int:
    """How many places are written: index tuples, or elements."""
    indices = counting.dims(node.input(1))
    return counting.product(indices[:-1] if node.op_type == "ScatterND" else indices)


def _picks(device: Device, node: NodeView) -> tuple[float, float]:
    """How many rows are picked, and the contiguous bytes of each."""
    x, indices = counting.dims(node.input(0)), counting.dims(node.input(1))
    row = 1
    if node.op_type == "Gather" and x:
        row = counting.product(x[node.integer("axis", 0) % len(x) + 1 :])
    elif node.op_type == "GatherND" and indices:
        row = counting.product(x[node.integer("batch_dims", 0) + indices[-1] :])
    return counting.elements(node.output()) / max(row, 1), row * device.width(node.input(0))


def _extremes(device: Device, node: NodeView, axis: int) -> float:
    """Finding the largest along an axis, the least that is found where several are."""
    rows = _rows(device, node, axis)
    return _on_cores(device, rows * device.soc.scalar_cycles["extreme"], min(rows, device.soc.vector_cores))


def _rows(device: Device, node: NodeView, axis: int) -> float:
    """How many results are found one after the other; those of inner axes lie side by side in vectors."""
    x = counting.dims(node.input(0))
    axis = axis % len(x) if x else 0
    inner = counting.product(x[axis + 1 :])
    lanes = LANES_BYTES / max(device.width(node.input(0)), 1.0)
    return counting.product(x[:axis]) * max(inner / lanes, min(inner, 1))


def _extent(node: NodeView) -> int:
    x = counting.dims(node.input(0))
    return x[node.integer("axis", -1) % len(x)] if x else 1

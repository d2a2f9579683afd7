"""What moving elements costs on Ascend (Transpose, Slice, Concat, Split, Gather ...), in microseconds."""

from __future__ import annotations

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import counting
from egraph_opt.cost_models.ascend_device import Device
from egraph_opt.facts.fact import Fact


def transpose(device: Device, node: NodeView) -> float:
    """Awkward where the innermost axis changes place, else rows that stay in one piece.

    A row that is shorter than a block takes as long as one, or is turned like single elements.
    """
    soc = device.soc
    bytes_ = device.bytes_of(node.input(0)) + device.bytes_of(node.output())
    row = _kept_row(node) * device.width(node.input(0))
    blocks = device.rearrange(bytes_ * max(1.0, soc.block_bytes / row), soc.block_move_efficiency)
    return soc.fixed_transpose_us + min(device.rearrange(bytes_, soc.transpose_efficiency), blocks)


def move(device: Device, node: NodeView) -> float:
    """Slice, Concat, Split, Gather, Pad, Expand ...: bytes in and out, slower where rows are short."""
    soc, out = device.soc, node.output()
    inputs: tuple[Fact | None, ...] = node.inputs
    if node.op_type in counting.SELECTIONS:
        inputs = (out, *inputs[1:])
    moving = device.operands((*inputs, *node.outputs))
    if _strided(node):
        moving = max(moving, device.rearrange(2 * device.bytes_of(out), soc.transpose_efficiency))
    computing = 0.0
    if node.op_type.startswith("Gather"):
        # Every row that is picked takes as long as its elements do, up to those of a block.
        row, width = _row_bytes(device, node), device.width(node.input(0))
        one_by_one = counting.elements(out) * min(row, soc.block_bytes) / max(row, width)
        computing = device.vector(one_by_one, device.cycles("Gather"), width)
    return soc.fixed_vector_us + max(moving, computing)


def _row_bytes(device: Device, node: NodeView) -> float:
    """Contiguous bytes that one index of a Gather picks."""
    shape, width = counting.dims(node.input(0)), device.width(node.input(0))
    if node.op_type != "Gather" or not shape:
        return width
    axis = node.integer("axis", 0) % len(shape)
    return counting.product(shape[axis + 1 :]) * width


def _kept_row(node: NodeView) -> int:
    """How many elements a Transpose keeps in a row: those of its last axes, as far as they stay behind."""
    shape = counting.dims(node.input(0))
    perm = node.integers("perm") or tuple(reversed(range(len(shape))))
    moving = [axis for axis in perm if axis < len(shape) and shape[axis] != 1]
    row = 1
    for place, axis in zip(sorted(moving, reverse=True), reversed(moving), strict=True):
        if place != axis:
            break
        row *= shape[axis]
    return max(row, 1)


def _strided(node: NodeView) -> bool:
    """Whether a Slice takes every n-th element of the innermost axis."""
    x, axes, steps = node.input(0), node.input(3), node.input(4)
    if node.op_type != "Slice" or x is None or steps is None or steps.ints is None or not x.shape:
        return False
    along = axes.ints if axes is not None and axes.ints is not None else range(len(steps.ints))
    last = len(x.shape) - 1
    return any(step != 1 and axis in (last, -1) for axis, step in zip(along, steps.ints, strict=False))

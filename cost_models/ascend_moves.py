"""What moving elements costs on Ascend (Transpose, Slice, Concat, Split, Gather ...), in microseconds."""

from __future__ import annotations

from dataclasses import replace

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import counting
from egraph_opt.cost_models.ascend_device import Device
from egraph_opt.cost_models.ascend_scalar import scalar_time
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
    """Slice, Concat, Split, Gather, Pad, Expand ...: bytes in and out, and what goes one by one."""
    turned = _as_transpose(node)
    if turned is not None:
        return transpose(device, turned)
    soc, out = device.soc, node.output()
    inputs: tuple[Fact | None, ...] = node.inputs
    if node.op_type in counting.SELECTIONS:
        inputs = (out, *inputs[1:])
    moving = device.operands((*inputs, *node.outputs))
    if _strided(node):
        moving = max(moving, device.rearrange(2 * device.bytes_of(out), soc.transpose_efficiency))
    parts = device.parts((*node.inputs, *node.outputs))
    blocks = sum(device.stream(2 * _in_blocks(device, part, whole), parts) for part, whole in _cuts(node))
    moving = max(moving, blocks, device.stream(_grown(device, node), parts))
    return soc.fixed_vector_us + moving + scalar_time(device, node)


def _as_transpose(node: NodeView) -> NodeView | None:
    """DepthToSpace and SpaceToDepth as the Transpose that they are between two views."""
    x, block = node.input(0), max(node.integer("blocksize", 1), 1)
    shape = counting.dims(x)
    if node.op_type not in ("DepthToSpace", "SpaceToDepth") or x is None or len(shape) != 4:
        return None
    n, c, h, w = shape
    if node.op_type == "SpaceToDepth":
        apart, perm = (n, c, h // block, block, w // block, block), (0, 3, 5, 1, 2, 4)
    elif node.text("mode", "DCR") == "CRD":
        apart, perm = (n, c // block**2, block, block, h, w), (0, 1, 4, 2, 5, 3)
    else:
        apart, perm = (n, block, block, c // block**2, h, w), (0, 3, 4, 1, 5, 2)
    y = Fact(x.dtype, tuple(apart[axis] for axis in perm))
    inputs = (Fact(x.dtype, apart),)
    return replace(node, op_type="Transpose", attributes={"perm": perm}, inputs=inputs, outputs=(y,))


def _cuts(node: NodeView) -> list[tuple[Fact, Fact]]:
    """The parts that are cut out of a tensor or put into one, each with that tensor."""
    x, y = node.input(0), node.output()
    parts, whole = {"Slice": ((y,), x), "Split": (node.outputs, x), "Concat": (node.inputs, y)}.get(
        node.op_type, ((), None)
    )
    return [] if whole is None else [(part, whole) for part in parts if part is not None]


def _grown(device: Device, node: NodeView) -> float:
    """The bytes of a tensor and of the larger one that it becomes, in blocks where their rows differ."""
    x, y = node.input(0), node.output()
    if node.op_type not in ("Expand", "Pad", "Tile") or x is None or y is None or x.const:
        return 0.0
    return _in_blocks(device, x, y) + _in_blocks(device, y, x)


def _in_blocks(device: Device, part: Fact, whole: Fact) -> float:
    """The bytes of a part whose rows lie apart in the whole tensor: each takes a block at least."""
    cut, full = counting.dims(part), counting.dims(whole)
    rank = max(len(cut), len(full))
    cut, full = ((1,) * (rank - len(shape)) + shape for shape in (cut, full))
    axis = max((k for k, (n, m) in enumerate(zip(cut, full, strict=False)) if n != m), default=-1)
    row = counting.product(cut[axis:]) * device.width(part) if axis >= 0 else 0.0
    return device.bytes_of(part) * max(1.0, device.soc.block_bytes / row) if row > 0 else 0.0


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
    """Whether a Slice takes every n-th element of the innermost axis, those of one element aside."""
    x, axes, steps = node.input(0), node.input(3), node.input(4)
    if node.op_type != "Slice" or x is None or steps is None or steps.ints is None or not x.shape:
        return False
    along = axes.ints if axes is not None and axes.ints is not None else range(len(steps.ints))
    shape = counting.dims(x)
    behind = (counting.product(shape[axis % len(shape) + 1 :]) for axis in along)
    return any(step != 1 and inner == 1 for inner, step in zip(behind, steps.ints, strict=False))

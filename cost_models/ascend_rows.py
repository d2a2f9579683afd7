"""Rows that Ascend computes one by one: each takes whole blocks in the buffers of a core, however short.

Reductions, Softmax and normalisations in ND work on rows that lie apart; moves to the buffers of a core are
aligned to a block (`block_bytes`), so that a row of one element takes as long as one of 16 in float16.  A row
is all from the axis on: over the second of [N, 2, 2] it has four elements, over the first all lie together.
"""

from __future__ import annotations

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import counting
from egraph_opt.cost_models.ascend_device import Device

Shape = tuple[int, ...]

ALONG = frozenset(("Hardmax", "LogSoftmax", "LpNormalization", "Softmax"))
"""Operators along one axis, the last unless they say another."""

FROM = frozenset(("LayerNormalization", "RMSNormalization"))
"""Operators on all axes from one on."""

COERCED = frozenset(("Hardmax", "LogSoftmax", "Softmax"))
"""Before opset 13 these are on all axes from one on, which is the second unless they say another."""


LONG = 2**20
"""Rows of so many elements have no tail to speak of."""


def tail(device: Device, node: NodeView) -> float:
    """By what factor whole blocks are more to compute than the rows of a node; 1 where it has none.

    Bytes are computed as float16.
    """
    return _tail(device, node, max(device.width(node.input(0)), 2.0))


def moving_tails(device: Device, node: NodeView) -> float:
    """The time to move what is more than the rows: of the operand, and of a result that has rows as well."""
    x = node.input(0)
    rows = device.bytes_of(x) * (2 if node.op_type in ALONG | FROM else 1)
    return device.stream(rows * (_tail(device, node, device.width(x)) - 1.0))


def _tail(device: Device, node: NodeView, width: float) -> float:
    row = _row(node)
    if not device.has_rows or row is None or not 1 <= row < LONG:
        return 1.0
    return device.whole_blocks(row, width) / row


def _row(node: NodeView) -> int | None:
    """Elements that lie in one piece and are computed together; None where all do."""
    shape = counting.dims(node.input(0))
    if not shape:
        return None
    if node.op_type in COERCED and 0 < node.opset < 13:
        return counting.product(shape[node.integer("axis", 1) % (len(shape) + 1) :])
    if node.op_type in FROM:
        return counting.product(shape[node.integer("axis", -1) % len(shape) :])
    if node.op_type in ALONG:
        return _piece(shape, (node.integer("axis", -1),))
    if node.op_type in counting.GLOBAL_POOLS:
        return _piece(shape, tuple(range(2, len(shape))))
    return _piece(shape, _reduced(node)) if node.op_type in _REDUCTIONS else None


def _piece(shape: Shape, axes: Shape) -> int | None:
    """The elements from the last of some axes on, with those chosen beside it; None where there are none.

    Rows within it are folded onto each other, so that what lies behind the axis fills the same blocks.
    """
    chosen = {axis % len(shape) for axis in axes}
    if not chosen:
        return None
    piece, last = 1, max(chosen)
    for axis in reversed(range(len(shape))):
        if axis < last and axis not in chosen and shape[axis] != 1:
            break
        piece *= shape[axis]
    return piece


_EXTREMES = frozenset(("ArgMax", "ArgMin"))

_REDUCTIONS = frozenset(name for name in counting.REDUCTIONS if name.startswith("Reduce")) | _EXTREMES


def _reduced(node: NodeView) -> Shape:
    """The axes of a reduction: all where none are known."""
    if node.op_type in _EXTREMES:
        return (node.integer("axis", 0),)
    given = node.input(1)
    listed = given.ints if given is not None else node.integers("axes")
    return tuple(listed) if listed else tuple(range(len(counting.dims(node.input(0)))))

"""What the Attention operator costs on Ascend: two products and the Softmax between them, as one kernel.

The scores stay on the chip, tile by tile: while the cube works on one the vector unit works on another (BMM +
Mul + Softmax + BMM is FlashAttention in Ascend/mstt op_fusion_pass.yaml).  So the slower of the two is paid.
"""

from __future__ import annotations

from typing import NamedTuple

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import counting
from egraph_opt.cost_models.ascend_device import Device


class Extents(NamedTuple):
    """What the products go over; `heads` are those of all queries in the batch."""

    heads: int
    rows: int
    columns: int
    key_size: int
    value_size: int


def attention_time(device: Device, node: NodeView) -> float | None:
    """The time of an Attention; None where its shapes are not known well enough."""
    extents = _extents(node)
    if extents is None:
        return None
    heads, rows, columns, key_size, value_size = extents
    width = device.width(node.input(0))
    products = device.cube(rows, columns, key_size, heads, width)
    products += device.cube(rows, value_size, columns, heads, width)
    cycles = sum(map(device.cycles, _steps(device, node)))
    softmax = device.vector(heads * rows * columns, cycles, width)
    moving = device.operands((*node.inputs, *node.outputs))
    return device.soc.fixed_cube_us + max(products, softmax, moving)


def _extents(node: NodeView) -> Extents | None:
    """Of [batch, heads, length, head size], or [batch, length, heads * head size], and what came before."""
    q, k, v, past = (counting.dims(node.input(i)) for i in (0, 1, 2, 4))
    if not len(q) == len(k) == len(v) or len(q) not in (3, 4):
        return None
    columns = k[-2] + (past[-2] if len(past) == 4 else 0)
    if len(q) == 4:
        return Extents(q[0] * q[1], q[2], columns, q[3], v[3])
    heads, kept = max(node.integer("q_num_heads", 1), 1), max(node.integer("kv_num_heads", 1), 1)
    return Extents(q[0] * heads, q[1], columns, max(q[2] // heads, 1), max(v[2] // kept, 1))


def _steps(device: Device, node: NodeView) -> list[str]:
    """The instructions for each score."""
    steps = list(device.soc.vector_steps["Softmax"])
    if node.attributes.get("scale") != 1.0:
        steps.append("Muls")
    if node.input(3) is not None:
        steps.append("Add")
    if node.integer("is_causal", 0):
        steps.append("Select")
    if node.attributes.get("softcap"):
        steps += ["Muls", "Tanh", "Muls"]
    return steps

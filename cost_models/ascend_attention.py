"""What the Attention operator costs on Ascend: two products and the Softmax between them.

As one kernel the scores stay on the chip, tile by tile: while the cube works on one the vector unit works on
another (BMM + Mul + Softmax + BMM is FlashAttention in Ascend/mstt op_fusion_pass.yaml), and the slower of
the two is paid.  Chips whose compiler makes no such kernel run it as its parts.
"""

from __future__ import annotations

from typing import NamedTuple

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import ascend_fusion, counting
from egraph_opt.cost_models.ascend_device import Device
from egraph_opt.facts.fact import Fact
from egraph_opt.operators.declaration import PSEUDO_DOMAIN

Stage = tuple[str, tuple[()], str, int]
"""An operator, its attributes, where its second operand comes from, and in which place that is."""


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
    cycles = sum(device.cycles(step, width) for step in _steps(device, node))
    softmax = device.vector(heads * rows * columns, cycles, width)
    moving = device.operands((*node.inputs, *node.outputs))
    return device.soc.fixed_cube_us + max(products, softmax, moving)


def kernels(node: NodeView) -> tuple[NodeView, ...] | None:
    """What it is where it is no kernel of its own; None where its shapes are not known well enough."""
    extents = _extents(node)
    if extents is None:
        return None
    heads, rows, columns, key_size, value_size = extents
    dtype = 0 if node.inputs[0] is None else node.inputs[0].dtype
    shapes = (
        (rows, key_size),
        (columns, key_size),
        (key_size, columns),
        (rows, columns),
        (columns, value_size),
    )
    q, k, turned, weights, v = (Fact(dtype, (heads, *shape)) for shape in shapes)
    stages, others = _stages(node, weights)
    described = {"cube": "MatMul", "settings": (), "operands": 2, "stages": stages}
    return (
        NodeView("Transpose", "", {"perm": (0, 2, 1)}, (k,), (turned,)),
        NodeView(ascend_fusion.FORM, PSEUDO_DOMAIN, described, (q, turned, *others), (weights,)),
        NodeView("Softmax", "", {"axis": 2}, (weights,), (weights,)),
        NodeView("MatMul", "", {}, (weights, v), (Fact(dtype, (heads, rows, value_size)),)),
    )


def _stages(node: NodeView, scores: Fact) -> tuple[tuple[Stage, ...], list[Fact]]:
    """What is done to the scores in the kernel of the first product, and its operands."""
    number = Fact(scores.dtype, (), const=True)
    future = Fact(scores.dtype, (scores.shape or ())[1:], const=True)
    found: list[tuple[str, str, Fact | None]] = []
    if node.attributes.get("scale") != 1.0:
        found.append(("Mul", "constant", number))
    if node.attributes.get("softcap"):
        found += [("Mul", "constant", number), ("Tanh", "", None), ("Mul", "constant", number)]
    if node.input(3) is not None:
        found.append(("Add", "value", node.input(3)))
    if node.integer("is_causal", 0):
        found.append(("Add", "constant", future))
    stages = tuple((op, (), source, 1) for op, source, _ in found)
    return stages, [other for *_, other in found if other is not None]


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

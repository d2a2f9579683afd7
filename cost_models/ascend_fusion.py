"""What a fused kernel costs on Ascend: a cube operator with element-wise stages behind it.

The stages run on the vector unit while the cube computes its next tiles: no second launch, and the inner
values stay in the buffers between the two.  What is paid is the cube operator, and of the stages the vector
time, or the time to read their other operands, as far as it does not fit beside the cube's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import counting
from egraph_opt.cost_models.ascend_device import Device
from egraph_opt.facts.fact import Fact

OPERATOR = "fused_cube"
"""The pseudo-operator of `rewrites/targets/fused_cube.py`, and what a cost model sees of it."""

FORM = "FusedCube"


@dataclass(frozen=True)
class Stage:
    """An element-wise stage as a node of its own; `other` is its operand from outside, if it has one."""

    view: NodeView
    other: Fact | None


def cube_of(node: NodeView) -> NodeView:
    """The cube operator within a kernel."""
    settings = node.attributes["settings"]
    assert isinstance(settings, tuple)
    inputs = node.inputs[: node.integer("operands", 0)]
    return NodeView(node.text("cube"), "", dict(settings), inputs, node.outputs)


def stages_of(node: NodeView) -> Iterator[Stage]:
    """The stages of a kernel, in their order."""
    result, others = node.outputs[0], iter(node.inputs[node.integer("operands", 0) :])
    stages = node.attributes["stages"]
    assert isinstance(stages, tuple)
    for op, settings, source, position in stages:
        other = next(others) if source in ("value", "constant") else None
        second = result if other is None else other
        operands = (result,) if not source else (second, result) if position == 0 else (result, second)
        yield Stage(NodeView(op, "", dict(settings), operands, node.outputs), other)


def cube_kernel_time(
    device: Device, node: NodeView, price: Callable[[NodeView], float], computing: Callable[[NodeView], float]
) -> float:
    """The time of a kernel, without conversions of formats.

    Args:
        price: what a node costs by itself.
        computing: an element-wise operator's time on the vector unit.
    """
    soc = device.soc
    cube = cube_of(node)
    cube_time = price(cube)
    vector, apart, unfused = 0.0, 0.0, cube_time
    others: list[Fact | None] = []
    fused = True
    for stage in stages_of(node):
        alone = price(stage.view)
        unfused += alone
        fused = fused and _joins(device, stage, cube)
        if fused:
            vector += computing(stage.view)
            others.append(stage.other)
        else:
            apart += alone
    uncovered = vector - max(0.0, cube_time - soc.fixed_cube_us)
    return min(cube_time + max(uncovered, device.operands(others)) + apart, unfused)


def _joins(device: Device, stage: Stage, cube: NodeView) -> bool:
    """Whether the chip's compiler takes a stage into the kernel: an operator it fuses, or a bias."""
    op = stage.view.op_type
    return op in device.soc.fused_operators or (op == "Add" and _is_bias(stage.other, cube))


def _is_bias(other: Fact | None, cube: NodeView) -> bool:
    """A constant with one element a channel, along the axis where the cube operator's bias is."""
    if other is None or not other.const or other.shape is None or cube.outputs[0].shape is None:
        return False
    behind = 1 if cube.op_type in ("MatMul", "Gemm") else len(cube.outputs[0].shape) - 1
    shape = counting.dims(other)
    return len(shape) >= behind and counting.product(shape) == shape[-behind]

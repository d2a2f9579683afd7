"""What kernels of the vector units cost on Ascend: pools, and element-wise stages with maybe a reduction.

The latter are launched once; what comes from outside and the result are moved, the values between the stages
are not; the vector work of all stages adds up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import counting
from egraph_opt.cost_models.ascend_device import Device
from egraph_opt.facts.fact import Fact

OPERATOR = "vector_kernel"
"""The pseudo-operator of `rewrites/targets/vector_kernel.py`, and what a cost model sees of it."""

FORM = "VectorKernel"


def stages_of(node: NodeView) -> Iterator[NodeView]:
    """The stages of a kernel as nodes of their own, in their order."""
    stages = node.attributes["stages"]
    assert isinstance(stages, tuple)
    first, *outside = node.inputs
    assert first is not None
    result, others = first, iter(outside)
    for number, (op, settings, source, position) in enumerate(stages):
        given = result
        result = node.outputs[0] if number + 1 == len(stages) else _result(op, settings, given)
        operands: tuple[Fact | None, ...] = (given,)
        if source:
            other = {"first": first, "result": given}[source] if source in _INSIDE else next(others)
            operands = (other, given) if position == 0 else (given, other)
        yield NodeView(op, "", _attributes(op, settings), operands, (result,))


_INSIDE = frozenset(("first", "result"))


def _result(op: str, settings: tuple[Any, ...], given: Fact) -> Fact:
    """What a stage that is not the last makes of a value: the same shape."""
    return replace(given, dtype=settings[0]) if op == "Cast" else given


def _attributes(op: str, settings: tuple[Any, ...]) -> dict[str, Any]:
    """The attributes of a stage's ONNX operator."""
    if op == "Cast":
        return {"to": settings[0]}
    return dict(zip(("axes", "keepdims"), settings, strict=True) if op in counting.REDUCTIONS else settings)


def vector_kernel_time(
    device: Device,
    node: NodeView,
    price: Callable[[NodeView], float],
    computing: Callable[[NodeView], float | None],
) -> float:
    """The time of a kernel.

    Args:
        price: what a node costs by itself.
        computing: a node's time on the vector units; None if it runs elsewhere.
    """
    stages = tuple(stages_of(node))
    alone = sum(map(price, stages))
    times = [time for stage in stages if (time := computing(stage)) is not None]
    if len(times) < len(stages):
        return alone
    moving = device.operands((*node.inputs, *node.outputs))
    together = device.soc.fixed_vector_us + max(sum(times), moving)
    return min(alone, together)


def pool_time(device: Device, node: NodeView) -> float:
    """The time of a pool on the vector unit, whose operands are images in blocks of channels."""
    soc, x, y = device.soc, node.input(0), node.output()
    shape, width = counting.dims(x), device.width(x)
    cycles = device.cycles("Add") / soc.pool_efficiency
    window = counting.product(counting.kernel(node, 0))
    computing = device.vector(counting.elements(y) * window, cycles, width)
    images = sum(device.blocked(counting.dims(fact), width) for fact in (x, y))
    moving = device.stream(images, device.parts((x, y)))
    row = min(max(1.0, (shape[-1] if shape else 1) / soc.row_width), soc.wide_row_cap)
    return soc.fixed_vector_us + max(computing, moving) * row

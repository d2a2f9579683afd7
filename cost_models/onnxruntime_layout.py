"""What ONNX Runtime's blocked layout costs: conversions by themselves, and kernels between them.

Both are read from what is measured of ordinary nodes, which the runtime converts for: a convolution that was
timed alone has told how long its operands, its kernel and its result took.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models.layouts import is_conversion, is_laid
from egraph_opt.measurement.timing import Measurement

BLOCK = 16
"""Channels of a block on processors with AVX-512 or NEON; those of AVX2 have 8, which divides it."""

DISPATCH = -0.8
"""Microseconds that the runtime spends on a kernel besides, less those that its profiler adds to it."""

LEAST = 0.4
"""Microseconds of any kernel."""

_CONVERTING = ("conv", "fused_cube", "pool", "global_pool")
"""Operators for which the runtime converts; the others take what is in the layout already."""

Lookup = Callable[[NodeView], Measurement | None]


def measured_as(view: NodeView) -> NodeView:
    """The view whose time tells what one costs."""
    if is_conversion(view):
        return _converting(view)
    if is_laid(view) and view.parts is not None and len(view.parts.nodes) == 1:
        return view.parts.nodes[0]
    return view


def _converting(view: NodeView) -> NodeView:
    """A node that does nothing but that the runtime converts its operand and its result."""
    fact = view.inputs[0]
    assert fact is not None
    if fact.shape is not None and len(fact.shape) == 4 and isinstance(fact.shape[1], int):
        channels = -(-fact.shape[1] // BLOCK) * BLOCK
        fact = replace(fact, shape=(fact.shape[0], channels, *fact.shape[2:]))
    settings = MappingProxyType({"kernel_shape": (1, 1)})
    return NodeView("MaxPool", "", settings, (fact,), (fact,), opset=view.opset)


def price(view: NodeView, measurement: Lookup) -> float:
    """Microseconds of a conversion, or of a kernel in the layout; infinite where the machine has none."""
    found = measurement(measured_as(view))
    if found is None:
        return math.inf
    if is_conversion(view):
        return without_profiler(found.entering if view.op_type == "ToLayout" else found.leaving, 1)
    if view.attributes["kernel"] in _CONVERTING:
        enters = bool(view.attributes["enters"])
        if not found.leaving or (found.entering > 0) != enters:
            return math.inf
    return without_profiler(found.micros, found.kernels)


def without_profiler(micros: float, kernels: int) -> float:
    """What kernels take together where nobody looks."""
    return max(micros + DISPATCH * kernels, LEAST * kernels)

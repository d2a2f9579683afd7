"""Pooling, and the window arithmetic that it shares with convolution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from egraph_opt.facts.fact import Fact
from egraph_opt.operators.declaration import OnnxForm, TermSpec, attribute_class, lowers, operator
from egraph_opt.operators.expressions import String, Tensor

if TYPE_CHECKING:
    from egraph_opt.operators.node_reader import NodeReader


def explicit_pads(
    node: NodeReader, kernel: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Pads (all begins, then all ends) in place of `auto_pad`; None where they depend on unknown dims."""
    axes = len(kernel)
    mode = node.attribute("auto_pad") or "NOTSET"
    if mode == "NOTSET":
        return tuple(node.attribute("pads") or (0,) * (2 * axes))
    if mode == "VALID":
        return (0,) * (2 * axes)
    begins, ends = [], []
    shape = node.fact(0).shape
    assert shape is not None
    for dim, k, s, d in zip(shape[2:], kernel, strides, dilations, strict=True):
        if not isinstance(dim, int):
            if s != 1:
                return None
            dim = k * d  # with stride 1 the padding does not depend on it
        total = max((-(-dim // s) - 1) * s + (k - 1) * d + 1 - dim, 0)
        begin, end = shares(total, mode)
        begins.append(begin)
        ends.append(end)
    return (*begins, *ends)


def shares(total: int, mode: str) -> tuple[int, int]:
    """How many pads there are in front and behind, by `auto_pad`: of an odd one, one more."""
    small, large = total // 2, total - total // 2
    return (small, large) if mode == "SAME_UPPER" else (large, small)


@attribute_class
@dataclass(frozen=True)
class PoolWindow:
    """A pooling window: per spatial axis, pads as all begins, then all ends."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    dilations: tuple[int, ...]
    ceil_mode: int = 0
    count_include_pad: int = 0


def settings_of(window: PoolWindow) -> dict[str, Any]:
    """The attributes of a pool of any kind."""
    return {"kernel_shape": window.kernel, "pads": window.pads, "strides": window.strides}


def _pool_form(opset: int, attributes: tuple[str, PoolWindow], facts: tuple[Fact, ...]) -> OnnxForm | None:
    kind, window = attributes
    settings = settings_of(window)
    if any(d != 1 for d in window.dilations):
        if opset < (10 if kind == "MaxPool" else 19):
            return None
        settings["dilations"] = window.dilations
    if window.ceil_mode:
        if opset < 10:
            return None
        settings["ceil_mode"] = 1
    if kind == "AveragePool":
        settings["count_include_pad"] = window.count_include_pad
    return OnnxForm(kind, (0,), tuple(sorted(settings.items())))


@operator(form=_pool_form, op_types=("AveragePool", "MaxPool"))
def pool(kind: String, x: Tensor, window: PoolWindow) -> Tensor:
    """AveragePool or MaxPool of x: [N, C, *spatial]; `window` is a `PoolWindow`."""


@lowers("AveragePool", "MaxPool")
def _lower_pool(node: NodeReader) -> TermSpec | None:
    if node.uses_output(1) or node.attribute("storage_order"):
        return None
    window = window_of(node)
    return None if window is None else TermSpec("pool", (node.op_type, window), (0,))


def window_of(node: NodeReader) -> PoolWindow | None:
    """The window of a pool; None where it depends on dims that are not known."""
    kernel = tuple(node.attribute("kernel_shape"))
    if node.fact(0).rank != len(kernel) + 2:
        return None
    strides = tuple(node.attribute("strides") or (1,) * len(kernel))
    dilations = tuple(node.attribute("dilations") or (1,) * len(kernel))
    ceil_mode = node.attribute("ceil_mode") or 0
    if ceil_mode and node.attribute("auto_pad") not in (None, "NOTSET"):
        return None
    pads = explicit_pads(node, kernel, strides, dilations)
    if pads is None:
        return None
    include = node.attribute("count_include_pad") or 0
    return PoolWindow(kernel, strides, pads, dilations, ceil_mode, include)


def _global_pool_form(opset: int, attributes: tuple[str], facts: tuple[Fact, ...]) -> OnnxForm | None:
    return OnnxForm(attributes[0], (0,))


@operator(form=_global_pool_form, op_types=("GlobalAveragePool", "GlobalMaxPool"))
def global_pool(kind: String, x: Tensor) -> Tensor:
    """GlobalAveragePool or GlobalMaxPool: all spatial axes become 1."""


@lowers("GlobalAveragePool", "GlobalMaxPool")
def _lower_global_pool(node: NodeReader) -> TermSpec | None:
    return TermSpec("global_pool", (node.op_type,), (0,))

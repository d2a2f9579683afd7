"""What the instruction set of an Ascend chip cannot express of pools and convolutions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models import counting
from egraph_opt.cost_models.ascend_soc import Soc

Shape = tuple[int, ...]


def beyond_pools(soc: Soc, node: NodeView) -> Iterator[str]:
    """Limits of pools that a node is beyond, each in words; such a pool runs on the AI CPU."""
    kernel = counting.kernel(node, 0)
    yield from _above("kernel", kernel, soc.pool_kernel, "pool_kernel")
    yield from _above("window", (counting.product(kernel),), soc.pool_window, "pool_window")
    yield from _above("stride", node.integers("strides") or (), soc.pool_stride, "pool_stride")
    yield from _above("dilation", node.integers("dilations") or (), 1, "")


def beyond_convolutions(soc: Soc, node: NodeView, kernel: Shape) -> Iterator[str]:
    """Likewise of convolutions, which are slow then."""
    yield from _above("kernel", kernel, soc.conv_kernel, "conv_kernel")
    yield from _above("stride", node.integers("strides") or (), soc.conv_stride, "conv_stride")
    yield from _above("pad", node.integers("pads") or (), soc.conv_pad, "conv_pad")
    yield from _above("dilation", node.integers("dilations") or (), soc.conv_dilation, "conv_dilation")


def _above(what: str, values: Iterable[int], most: int, parameter: str) -> Iterator[str]:
    largest = max(values, default=0)
    if largest > most:
        yield f"{what} {largest} above {most}" + (f" ({parameter})" if parameter else "")

"""Pools of an example with gaps in their windows: around a small image, and with pads that make up for them.

What is the greatest or the mean of nothing, standards and kernels say, and not what a pad holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from egraph_opt.check.beside.changing import with_changed
from egraph_opt.check.beside.variants import dims_of, resized
from egraph_opt.check.scope import attributes_in, nodes_of
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression
from egraph_opt.operators.windows import PoolWindow

LENGTH = 2
"""Of the image along each axis."""

DILATIONS = (LENGTH + 1, LENGTH + 2)
"""With pads of one, and of two, a window of two elements has one of them on either side of the image."""


GAPS = 21
"""The opset that all pools with gaps have."""


def with_windows_around_images(example: Example) -> Iterator[Example]:
    """Each pool with a window of two elements, of which one is in front of the image and one behind it."""
    for node, k, window in _windows(example):
        rank = len(window.kernel)
        dims = {d for v in example.operands.values for d in dims_of(v)[2:] if len(dims_of(v)) == rank + 2}
        small = resized(example, {d for d in dims if isinstance(d, int) and d > 1}, LENGTH)
        for dilation in DILATIONS:
            two = replace(window, kernel=(2,) * rank, strides=(1,) * rank, dilations=(dilation,) * rank)
            yield with_changed(small, node, k, two)


def with_gaps_in_windows(example: Example) -> Iterator[Example]:
    """Each pool with gaps between the elements of its windows, of which there are as many as before."""
    for node, k, window in _windows(example):
        rank = len(window.kernel)
        longer = [d * (n - 1) for d, n in zip(window.dilations, window.kernel, strict=True)]
        ends = [end + more for end, more in zip(window.pads[rank:], longer, strict=True)]
        dilations = tuple(2 * d for d in window.dilations)
        gaps = replace(window, dilations=dilations, pads=(*window.pads[:rank], *ends))
        yield replace(with_changed(example, node, k, gaps), opset=GAPS)


def _windows(example: Example) -> Iterator[tuple[Expression, int, PoolWindow]]:
    """The windows of pools, and where in a term each of them is."""
    for node in nodes_of(example):
        for k in attributes_in(node):
            window = getattr(node.arguments[k].head, "value", None)
            if isinstance(window, PoolWindow):
                yield node, k, window

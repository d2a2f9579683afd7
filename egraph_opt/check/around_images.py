"""Pools of an example whose windows lie around a small image: no element of such a window is a pixel.

What is the greatest or the mean of nothing, standards and kernels say, and not what a pad holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from egraph_opt.check.scope import attributes_in, nodes_of
from egraph_opt.check.shorthands import replaced, with_argument
from egraph_opt.check.variants import dims_of, resized
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import constant
from egraph_opt.operators.windows import PoolWindow

LENGTH = 2
"""Of the image along each axis."""

DILATIONS = (LENGTH + 1, LENGTH + 2)
"""With pads of one, and of two, a window of two elements has one of them on either side of the image."""


def with_windows_around_images(example: Example) -> Iterator[Example]:
    """Each pool with a window of two elements, of which one is in front of the image and one behind it."""
    for node in nodes_of(example):
        for k in attributes_in(node):
            given = node.arguments[k]
            window = getattr(given.head, "value", None)
            if not isinstance(window, PoolWindow):
                continue
            rank = len(window.kernel)
            dims = {d for v in example.operands.values for d in dims_of(v)[2:] if len(dims_of(v)) == rank + 2}
            small = resized(example, {d for d in dims if isinstance(d, int) and d > 1}, LENGTH)
            for dilation in DILATIONS:
                two = replace(window, kernel=(2,) * rank, strides=(1,) * rank, dilations=(dilation,) * rank)
                other = with_argument(node, k, constant(two, given.sort))
                yield replace(small, term=replaced(small.term, {node: other}))

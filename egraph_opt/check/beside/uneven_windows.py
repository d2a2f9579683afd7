"""Windows that are longer along one axis than along another, and in step with themselves as they were:
as long as their strides, with pads that keep the size of an image, on images that are multiples of all sides.

Numbers of a window that are chosen one by one seldom agree: a kernel of 2 by 3 with strides of 2 by 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle, islice
from typing import Any

from egraph_opt.check.beside.changing import with_changed
from egraph_opt.check.beside.seen_from_behind import WINDOWED
from egraph_opt.check.beside.variants import dims_of, resized, with_shape
from egraph_opt.check.scope import nodes_of, place_of_leaf
from egraph_opt.check.terms import Builder
from egraph_opt.facts.fact import Dim
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression

SIDES, WITH_A_MIDDLE = ((2, 3), (3, 2)), ((3, 5), (5, 3))
"""Lengths along one axis and the next, of kernels and strides, and of kernels whose pads are half of them."""

OF_TWO = ((1, 2), (2, 1))
"""The same of dilations."""

SIZE = 6
"""Of an image along each axis, a multiple of all sides."""

IMAGE = {"conv": 0, "conv_transpose": 0, "pool": 1, "lp_pool": 1}
"""Where the image is among the arguments of operators."""

Shape = tuple[int, ...]


def with_uneven_windows(example: Example) -> Iterator[Example]:
    """Each window of several axes with other kernels, strides, dilations and pads, on other images."""
    for node in nodes_of(example):
        if node.head.name not in WINDOWED:
            continue
        window = node.arguments[WINDOWED[node.head.name]].head.value
        kernel = _kernel(example, node, window)
        if len(kernel) > 1:
            images = [example, *_with_larger_images(example, node)]
            for sides, other in _others(kernel, window):
                yield from (_with_window(image, node, sides, other) for image in images)


def _kernel(example: Example, node: Expression, window: Any) -> Shape:
    """How long a window is along each axis; nothing where its weights are no leaf, or no numbers say."""
    if hasattr(window, "kernel"):
        return tuple(window.kernel)
    place = place_of_leaf(node.arguments[1])
    dims = dims_of(example.operands.values[place])[2:] if place >= 0 else ()
    known = tuple(d for d in dims if isinstance(d, int))
    return known if len(known) == len(dims) else ()


def _others(kernel: Shape, window: Any) -> Iterator[tuple[Shape, Any]]:
    """Kernels with what else a window says."""
    axes, is_in_step = len(kernel), window.strides == kernel
    keeps_size = any(window.pads) and window.pads == _halves(kernel, window.dilations)
    for sides in WITH_A_MIDDLE if keeps_size else SIDES:
        other = _along(sides, axes)
        pads = _halves(other, window.dilations) if keeps_size else window.pads
        yield other, replace(window, strides=other if is_in_step else window.strides, pads=pads)
    for sides in SIDES if not is_in_step else ():
        yield kernel, replace(window, strides=_along(sides, axes))
    for sides in OF_TWO:
        dilations = _along(sides, axes)
        pads = _halves(kernel, dilations) if keeps_size else window.pads
        yield kernel, replace(window, dilations=dilations, pads=pads)
        if not keeps_size:
            yield kernel, replace(window, pads=tuple(d - 1 for d in dilations * 2))


def _along(sides: Shape, axes: int) -> Shape:
    return tuple(islice(cycle(sides), axes))


def _halves(kernel: Shape, dilations: Shape) -> Shape:
    """Pads in front and behind that are half of what a window reaches beyond its first element."""
    reach = [d * (k - 1) for k, d in zip(kernel, dilations, strict=True)]
    return (*(r // 2 for r in reach), *(r - r // 2 for r in reach))


def _with_window(example: Example, node: Expression, kernel: Shape, window: Any) -> Example:
    """A window and, of a convolution, weights of its size, whose elements begin again."""
    if not hasattr(window, "kernel"):
        place = place_of_leaf(node.arguments[1])
        dims = dims_of(example.operands.values[place])[:2]
        example = with_shape(example, place, (*dims, *kernel))
    else:
        window = replace(window, kernel=kernel)
    return with_changed(example, node, WINDOWED[node.head.name], window)


def _with_larger_images(example: Example, node: Expression) -> Iterator[Example]:
    """All sizes of an image the same one, and one of them twice that."""
    image = node.arguments[IMAGE[node.head.name]]
    dims, place = _dims(example, image), place_of_leaf(image)
    sizes = {d for d in dims[2:] if isinstance(d, int) and d > 1}
    if sizes and dims[1] not in sizes:
        yield _with_weights_of(example, node, resized(example, sizes, SIZE))
    elif place >= 0:
        yield with_shape(example, place, (*dims[:2], *(SIZE,) * len(dims[2:])))
    if place >= 0:
        yield with_shape(example, place, (*dims[:2], 2 * SIZE, *(SIZE,) * len(dims[3:])))


def _with_weights_of(example: Example, node: Expression, larger: Example) -> Example:
    """The same with the weights of another example, of which kernels may be as long as images were."""
    place = place_of_leaf(node.arguments[1])
    if node.head.name not in ("conv", "conv_transpose") or place < 0:
        return larger
    return with_shape(larger, place, dims_of(example.operands.values[place]))


def _dims(example: Example, image: Expression) -> Sequence[Dim | None]:
    builder = Builder(example.operands, example.opset)
    known = builder.lowered.facts[builder.term(image)]
    return () if known is None or known.shape is None else known.shape

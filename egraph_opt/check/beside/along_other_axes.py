"""Factors of one product along other axes: as many elements in all, and not as many along each axis.

And windows that are larger or smaller with their pads, and images of which few pixels are left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product
from typing import Any

from egraph_opt.check.beside.changing import with_changed, with_roots
from egraph_opt.check.beside.followed_sizes import FEW_VIEWS, FOLLOWING, with_dims_of
from egraph_opt.check.beside.variants import arrays_of, dims_of, with_input
from egraph_opt.check.scope import attributes_in, nodes_of, place_of_leaf, roots_of
from egraph_opt.check.tried_terms import lowered_if_typed
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression, constant, parts
from egraph_opt.operators.linear import ConvWindow
from egraph_opt.operators.windows import PoolWindow

WIDER = (-2, 2, 4)
"""By how much a window is larger that has pads on both sides for it."""

LEAST_SCALE = 0.01
"""Of images that are made smaller."""

Shape = tuple[int, ...]


def with_factors_along_other_axes(example: Example) -> Iterator[Example]:
    """Each kernel, and each Expand with the views behind it, with one axis as long as two of them were."""
    for node in nodes_of(example):
        if node.head.name == "expand":
            yield from _of_copies(example, node)
        for k in attributes_in(node):
            window = getattr(node.arguments[k].head, "value", None)
            if isinstance(window, PoolWindow):
                for kernel in _moved(window.kernel):
                    strides = kernel if window.strides == window.kernel else window.strides
                    yield with_changed(example, node, k, replace(window, kernel=kernel, strides=strides))
            elif isinstance(window, ConvWindow):
                yield from _of_weights(example, node, k, window)


def _moved(sizes: Shape) -> Iterator[Shape]:
    """A list in which one number goes into another one."""
    for i, j in permutations(range(len(sizes)), 2):
        if sizes[i] > 1:
            yield _with_factor(sizes, i, j, sizes[i])


def _with_factor(sizes: Shape, i: int, j: int, factor: int) -> Shape:
    by = {i: sizes[i] // factor, j: sizes[j] * factor}
    return tuple(by.get(k, size) for k, size in enumerate(sizes))


def _of_weights(example: Example, node: Expression, k: int, window: ConvWindow) -> Iterator[Example]:
    place = place_of_leaf(node.arguments[1])
    array = arrays_of(example).get(place)
    if array is None or array.ndim < 4:
        return
    kernel = array.shape[2:]
    for other in _moved(kernel):
        strides = other if window.strides == kernel else window.strides
        operands = example.operands.with_constant(place, array.reshape(*array.shape[:2], *other))
        yield replace(with_changed(example, node, k, replace(window, strides=strides)), operands=operands)


def _of_copies(example: Example, node: Expression) -> Iterator[Example]:
    """An Expand along two axes, and views behind it with the same factor along others, or as they were."""
    dims = node.arguments[1].head.value
    views = [v for v in nodes_of(example) if v != node and v.head.name in FOLLOWING and node in parts(v)]
    if len(views) > FEW_VIEWS or not all(isinstance(d, int) for d in dims):
        return
    for i, j in permutations(range(len(dims)), 2):
        factor = dims[i]
        if factor < 2 or dims[j] < 2:
            continue
        ways = [[_with_factor(dims, i, j, factor)], *(list(_with_factors(v, factor)) for v in views)]
        for chosen in product(*ways):
            made = {n: constant(d, n.arguments[1].sort) for n, d in zip((node, *views), chosen, strict=True)}
            terms = tuple(with_dims_of(term, made) for term in roots_of(example))
            moved = with_roots(example, terms)
            if lowered_if_typed(moved):
                yield moved


def _with_factors(view: Expression, factor: int) -> Iterator[Shape]:
    dims: Any = view.arguments[1].head.value
    yield dims
    for i, j in permutations(range(len(dims)), 2):
        if isinstance(dims[i], int) and isinstance(dims[j], int) and dims[i] > 1 and not dims[i] % factor:
            yield _with_factor(dims, i, j, factor)


def with_padded_windows(example: Example) -> Iterator[Example]:
    """Each pool with a window that is longer or shorter, and so are its pads: the image stays as it is."""
    for node in nodes_of(example):
        for k in attributes_in(node):
            window = getattr(node.arguments[k].head, "value", None)
            if not isinstance(window, PoolWindow) or not any(window.pads):
                continue
            rank = len(window.kernel)
            for more in WIDER:
                kernel = tuple(n + more for n in window.kernel)
                pads = tuple(p + more // 2 * window.dilations[a % rank] for a, p in enumerate(window.pads))
                if min(kernel) > 0 and min(pads) >= 0:
                    yield with_changed(example, node, k, replace(window, kernel=kernel, pads=pads))


def with_few_pixels(example: Example) -> Iterator[Example]:
    """Each Resize of an input by known scales, of so many pixels that one is left along an axis."""
    for node in nodes_of(example):
        if node.head.name != "resize":
            continue
        place, scales = (place_of_leaf(node.arguments[k]) for k in (0, 2))
        known = arrays_of(example).get(scales)
        if place < 0 or known is None:
            continue
        value = example.operands.values[place]
        dims = dims_of(value)
        for axis, scale in enumerate(map(float, known.reshape(-1)) if known.size == len(dims) else ()):
            if LEAST_SCALE < scale < 1:
                for size in sorted({math.ceil(1 / scale), math.ceil(2 / scale) - 1}):
                    yield with_input(example, value, (*dims[:axis], size, *dims[axis + 1 :]))

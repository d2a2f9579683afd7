"""Pools with dilations see elements that are far apart as neighbours.

Pool(x; dilation d along one axis) -> Slice(Reshape(Pool(Reshape(x, [.., q, d * r]))))

Elements that are d apart stand below each other in rows of d; what fills the last row is cut off, or is never
the greatest.  For targets that publish limits of windows, which have no kernel for dilations.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.sorts import Dims, Pads, Slices, String, Tensor
from egraph_opt.operators import PoolWindow, pad, pool, reshape, slice_
from egraph_opt.operators.terms import limit
from egraph_opt.rewrites.conditions.values import is_kernel_float
from egraph_opt.rewrites.convolution.pool_axes import STILL, along_axes

law = laws_of("pooling", numerics="reassociates", kind="replace", serves="target")


class Rows(NamedTuple):
    """The axis in rows of as many elements as the dilation.

    Attributes:
        pads: how many elements fill the last row, in x's rank.
        fill: what they are.
        image: the dims of x, of which the last but one axis is pooled.
        window: of the pool of that.
        made: the dims of what it makes, as x has its axes.
        kept: the part of it that is asked for.
    """

    pads: Pads
    fill: float
    image: Dims
    window: PoolWindow
    made: Dims
    kept: Slices


@hosted()
def in_rows(kind: str, window: PoolWindow, x: Fact, y: Fact) -> Rows | None:
    """Along the only axis that is pooled, with a dilation."""
    along = along_axes(window)
    wide = [k for k, each in enumerate(along) if each != STILL]
    if len(wide) != 1 or window.ceil_mode or not x.is_symbolic or not x.shape or not y.shape:
        return None
    (size, stride, before, behind, step), axis = along[wide[0]], wide[0] + 2
    dim, count = x.shape[axis], y.shape[axis]
    if not isinstance(dim, int) or not isinstance(count, int) or step == 1 or min(dim - step, count - 1) < 0:
        return None
    missing = -dim % step
    # Windows that reach behind x look at what fills the last row.
    seen = bool(missing and behind)
    if before % step or (seen and (kind != "MaxPool" or not is_kernel_float.function(x))):
        return None
    rows, pads = (dim + missing) // step, (before // step, -(-behind // step))
    made = rows + sum(pads) - size + 1
    if made < 1 or max(pads) >= size:
        return None
    channels = symbolic.product(x.shape[1:axis])
    inner = symbolic.mul(step, symbolic.product(x.shape[axis + 1 :]))
    return Rows(
        (*(0,) * (len(x.shape) + axis), missing, *(0,) * (len(x.shape) - axis - 1)),
        -math.inf if seen else 0.0,
        (x.shape[0], channels, rows, inner),
        replace(window, kernel=(size, 1), strides=(1, 1), pads=(pads[0], 0, pads[1], 0), dilations=(1, 1)),
        (*x.shape[:axis], made * step, *x.shape[axis + 1 :]),
        ((axis, 0, (count - 1) * stride + 1, stride),),
    )


@hosted()
def is_dilated(window: PoolWindow, side: int) -> bool:
    """A window that is looked at in steps, by a target that has limits."""
    return side > 0 and any(d > 1 for d in window.dilations)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, limits = g.input((2, 2, 8, 7)), {"pool_kernel": 255}

    def dilated(size: int, step: int, pads: tuple[int, int] = (0, 0), **more: Any) -> PoolWindow:
        window = PoolWindow((size, 1), (1, 1), (pads[0], 0, pads[1], 0), (step, 1))
        return replace(window, **more)

    for window in (
        dilated(3, 2, (2, 2)),
        dilated(2, 3, (0, 1)),
        dilated(3, 3, strides=(2, 1)),
        PoolWindow((1, 3), (1, 2), (0, 2, 0, 2), (1, 2)),
    ):
        yield g.fires(pool("MaxPool", x, window), **limits)
    mean = pool("AveragePool", x, dilated(3, 2, (2, 2)))
    yield replace(g.fires(mean, **limits), opset=21)
    yield g.fires(pool("MaxPool", g.input(("N", 2, 9)), PoolWindow((3,), (1,), (2, 2), (2,))), **limits)
    yield g.near_miss(pool("MaxPool", x, dilated(3, 2, (1, 2))), why="the pads are no whole steps", **limits)
    both = PoolWindow((3, 2), (1, 1), (0,) * 4, (2, 1))
    yield g.near_miss(pool("MaxPool", x, both), why="along two axes", **limits)
    yield g.near_miss(pool("MaxPool", x, dilated(3, 1)), why="no dilation", **limits)


@law(source="space-to-batch, as convolutions have it", examples=_examples)
def dilations_in_rows(kind: String, x: Tensor, w: PoolWindow):
    """Pool(x; dilation d) = Slice(Reshape(Pool(Reshape(x)))) along one axis, in rows of d elements"""
    y = pool(kind, x, w)
    rows = in_rows(kind, w, x, y)
    image = reshape(pad(x, "constant", rows[0], rows[1]), rows[2])
    kept = slice_(reshape(pool(kind, image, rows[3]), rows[4]), rows[5])
    demand = guard(is_dilated(w, limit("pool_kernel")))
    yield rewrite(y, kept, demand, because="dims do not say what was a step")

"""Pools of p-norms, for which targets have no kernel, or a slow one.

LpPool(x; p) -> (n * AveragePool(|x|^p))^(1/p)                     n elements in a window
LpPool(x; stride = kernel) -> ReduceL1(Reshape(x)), ReduceL2 for p = 2
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, laws_of, number_like, rewrite
from egraph_opt.laws.algebra import sqrt
from egraph_opt.laws.sorts import Float, Int, Name, Tensor
from egraph_opt.operators import PoolWindow, lp_pool, pool, reduce, reshape, slice_, unary
from egraph_opt.rewrites.conditions.view_shapes import known_dims
from egraph_opt.rewrites.convolution.pool_blocks import in_windows
from egraph_opt.rewrites.convolution.pooling import is_within

law = laws_of("pooling", numerics="reassociates", kind="replace", source="ONNX, LpPool")


@hosted()
def counting_pads(window: PoolWindow, x: Fact) -> PoolWindow | None:
    """The window of a mean over as many elements as the norm: pads are zeros that count."""
    sound = not window.ceil_mode and x.dtype == TensorProto.FLOAT
    return replace(window, count_include_pad=1) if sound else None


@hosted()
def elements_of(window: PoolWindow) -> Float:
    return float(math.prod(window.kernel))


@hosted()
def as_float(power: int) -> Float:
    return float(power)


@hosted()
def inverse_of(power: int) -> Float | None:
    return 1 / power if power > 2 else None


@hosted()
def norm_of(power: int) -> Name | None:
    return {1: "ReduceL1", 2: "ReduceL2"}.get(power)


def _window(kernel: tuple[int, int], strides: tuple[int, int], pads: int = 0, **more: int) -> PoolWindow:
    return PoolWindow(kernel, strides, (pads,) * 4, (1, 1), **more)


def _means(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 2, 6, 7))
    for power in (1, 2, 3):
        yield g.fires(lp_pool(power, x, _window((2, 3), (2, 1), 1)))
    rounded = lp_pool(2, x, _window((2, 2), (2, 2), ceil_mode=1))
    yield replace(g.near_miss(rounded, why="what counts of a partial window is disputed"), opset=21)
    wide = replace(_window((2, 3), (4, 4), 1), dilations=(6, 6))
    for power in (1, 2, 3):
        larger = lp_pool(power, g.input(("N", 2, 7, 8)), wide)
        yield replace(g.near_miss(larger, why="larger than the image with its pads"), opset=21)


@law(examples=_means)
def norms_are_means(x: Tensor, p: Int, w: PoolWindow):
    """LpPool(x; p) = (n * AveragePool(|x|^p))^(1/p)"""
    why = "a mean does not say of what"
    count, window, fits = number_like(x, elements_of(w)), counting_pads(w, x), is_within(w, x)
    size, power, root = unary("Abs", (), x), number_like(x, as_float(p)), number_like(x, inverse_of(p))
    yield rewrite(lp_pool(1, x, w), pool("AveragePool", size, window) * count, fits, because=why)
    yield rewrite(lp_pool(2, x, w), sqrt(pool("AveragePool", x * x, window) * count), fits, because=why)
    powers = pool("AveragePool", size**power, window) * count
    yield rewrite(lp_pool(p, x, w), powers**root, fits, because=why)


def _rows(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 2, 6, 7))
    for power in (1, 2):
        yield g.fires(lp_pool(power, x, _window((2, 3), (2, 3))))
    yield g.near_miss(lp_pool(2, x, _window((2, 3), (2, 2))), why="windows overlap")
    yield g.near_miss(lp_pool(3, x, _window((2, 3), (2, 3))), why="no reduction is such a norm")


@law(examples=_rows)
def norms_in_a_row(x: Tensor, p: Int, w: PoolWindow):
    """LpPool(x; stride = kernel) = ReduceL1(Reshape(x)) over what is in a window, ReduceL2 for p = 2"""
    y = lp_pool(p, x, w)
    parts = in_windows(w, x, y)
    reduced = reduce(norm_of(p), reshape(slice_(x, parts[2]), parts[0]), parts[1], 1)
    yield rewrite(y, reshape(reduced, known_dims(y)), because="dims do not say what was a window")

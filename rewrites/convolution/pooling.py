"""Pooling: cascades of smaller windows, windows that are the whole input, padding made explicit.

    AveragePool(x; k1*k2, stride k1*s2) = AveragePool(AveragePool(x; k1, stride k1); k2, stride s2)
    AveragePool(x; the whole input) = GlobalAveragePool(x)
    AveragePool(x; pads counted) = AveragePool(Pad(x))

and likewise for MaxPool.  Cascades are looked for only above the target's limits `pool_kernel` (a side of
the window), `pool_window` (its elements) and `pool_stride`.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.compat import PyObject, String, eq, holds, i64, let, rewrite
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import PoolWindow, global_pool, pad, pool
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, fact, limit

CANDIDATES = 3
"""Cascades offered per window; the cost model chooses."""


def is_plain(window: PoolWindow) -> bool:
    """No padding, dilation or partial windows."""
    return not any(window.pads) and not window.ceil_mode and all(d == 1 for d in window.dilations)


def fits(kernel: tuple[int, ...], strides: tuple[int, ...], side: int, area: int, stride: int) -> bool:
    return max(kernel) <= side and math.prod(kernel) <= area and max(strides) <= stride


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]


@hosted()
def cascade(
    window: PoolWindow, rank: int, side: int, area: int, stride: int
) -> tuple[PoolWindow, PoolWindow] | None:
    """The `rank`-th best pair (inner, outer) of windows for one beyond the limits; None if there is none.

    Per axis the inner kernel and stride are k1, where k1 divides both kernel and stride.  Best are pairs in
    which both steps fit, then those with balanced areas.
    """
    if not is_plain(window) or fits(window.kernel, window.strides, side, area, stride):
        return None
    pairs = []
    axes = zip(window.kernel, window.strides, strict=True)
    for inner in itertools.product(*(_divisors(math.gcd(k, s)) for k, s in axes)):
        outer = tuple(k // d for k, d in zip(window.kernel, inner, strict=True))
        steps = tuple(s // d for s, d in zip(window.strides, inner, strict=True))
        if max(inner) == 1 or not fits(inner, inner, side, area, stride):
            continue
        rest_fits = fits(outer, steps, side, area, stride)
        balance = abs(math.log(math.prod(inner) / math.prod(outer)))
        pairs.append((not rest_fits, balance, inner, outer, steps))
    if rank >= len(pairs):
        return None
    _, _, inner, outer, steps = sorted(pairs)[rank]
    return replace(window, kernel=inner, strides=inner), replace(window, kernel=outer, strides=steps)


@hosted()
def part(pair: tuple[PoolWindow, PoolWindow], index: int) -> PoolWindow:
    return pair[index]


def _window(kernel: tuple[int, ...], strides: tuple[int, ...] | None = None, **more: Any) -> PoolWindow:
    count = len(kernel)
    pads = more.pop("pads", (0,) * (2 * count))
    return PoolWindow(kernel, strides or kernel, pads, (1,) * count, **more)


_LIMITS = {"pool_kernel": 15, "pool_window": 64, "pool_stride": 16}


def _cascade_examples(rng: np.random.Generator) -> Iterator[Example]:
    for kind in ("AveragePool", "MaxPool"):
        g = Operands(rng)
        yield g.fires(pool(kind, g.input(("N", 2, 16, 32)), _window((16, 32))), **_LIMITS)
        yield g.fires(pool(kind, g.input((1, 2, 19, 33)), _window((16, 8), (8, 8))), **_LIMITS)
        yield g.fires(pool(kind, g.input((1, 2, 100)), _window((32,))), **_LIMITS)
        x = g.input((1, 2, 40, 40))
        yield g.near_miss(pool(kind, x, _window((8, 8))), why="within the limits", **_LIMITS)
        yield g.near_miss(pool(kind, x, _window((17, 17))), why="17 is prime and beyond the limit", **_LIMITS)
        yield g.near_miss(pool(kind, x, _window((32, 32))), why="the target has no limits")
        yield g.near_miss(pool(kind, x, _window((32, 32), (1, 1))), why="windows overlap", **_LIMITS)
        padded = _window((32, 32), pads=(4, 4, 4, 4))
        yield g.near_miss(pool(kind, x, padded), why="padded", **_LIMITS)


@law("pooling", numerics="reassociates", examples=_cascade_examples)
def cascade_of_pools(
    kind: String, x: Tensor, w: PyObject, pair: PyObject, side: i64, area: i64, stride: i64
) -> Iterator[Any]:
    """Pool(x; k1*k2, stride k1*s2) = Pool(Pool(x; k1, stride k1); k2, stride s2) beyond the target's limits

    Source: Ascend auto-optimizer, AvgPoolSplit.
    """
    limits = (
        eq(side).to(limit("pool_kernel")),
        eq(area).to(limit("pool_window")),
        eq(stride).to(limit("pool_stride")),
    )
    inner, outer = PyObject(part)(pair, PyObject(0)), PyObject(part)(pair, PyObject(1))
    for rank in range(CANDIDATES):
        found = let(pair, cascade, w, PyObject(rank), side, area, stride)
        yield rewrite(pool(kind, x, w), pool(kind, pool(kind, x, inner), outer), *limits, *found)


@hosted(default=False)
def covers_input(window: PoolWindow, x: Fact) -> bool:
    """The one window that there is is the whole input, without padding."""
    return (
        is_plain(window)
        and x.shape is not None
        and x.shape[2:] == window.kernel
        and x.dtype in (TensorProto.FLOAT, TensorProto.FLOAT16)  # onnxruntime has no others
    )


def _whole_examples(rng: np.random.Generator) -> Iterator[Example]:
    for kind in ("AveragePool", "MaxPool"):
        g = Operands(rng)
        yield g.fires(pool(kind, g.input(("N", 2, 7, 5)), _window((7, 5), (1, 1))))
        yield g.fires(pool(kind, g.input((1, 2, 13)), _window((13,))))
        yield g.near_miss(pool(kind, g.input((1, 2, 8, 5)), _window((7, 5), (1, 1))), why="one row more")
        yield g.near_miss(
            pool(kind, g.input((1, 2, 7, "L")), _window((7, 5), (1, 1))), why="the width is unknown"
        )
        double = pool(kind, g.input((1, 2, 7, 5), TensorProto.DOUBLE), _window((7, 5), (1, 1)))
        yield g.near_miss(double, why="onnxruntime has no such kernel")


@law("pooling", numerics="reassociates", examples=_whole_examples)
def whole_input(x: Tensor, w: PyObject) -> Iterator[Any]:
    """AveragePool(x; the whole input) = GlobalAveragePool(x), likewise MaxPool

    Source: Ascend auto-optimizer, AvgPoolSplit; the only way out for a prime kernel.
    """
    whole = holds(covers_input, w, fact(x))
    yield rewrite(pool("AveragePool", x, w), global_pool("GlobalAveragePool", x), whole)
    yield rewrite(pool("MaxPool", x, w), global_pool("GlobalMaxPool", x), whole)


@hosted()
def full_pads(window: PoolWindow, side: int) -> tuple[int, ...] | None:
    """The pads of a counted padding, for all axes, where the window is beyond the limit."""
    if not window.count_include_pad or not any(window.pads) or window.ceil_mode or max(window.kernel) <= side:
        return None
    axes = len(window.kernel)
    return (0, 0, *window.pads[:axes], 0, 0, *window.pads[axes:])


@hosted()
def unpadded(window: PoolWindow) -> PoolWindow:
    return replace(window, pads=(0,) * len(window.pads))


def _pad_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input((1, 2, 30, 30))
    counted = _window((16, 16), pads=(1, 1, 1, 1), count_include_pad=1)
    yield g.fires(pool("AveragePool", x, counted), pool_kernel=15)
    apart = _window((16, 16), pads=(1, 1, 1, 1))
    yield g.near_miss(pool("AveragePool", x, apart), why="padding does not count", pool_kernel=15)
    yield g.near_miss(pool("AveragePool", x, counted), why="within the limit", pool_kernel=16)


@law("pooling", numerics="reassociates", examples=_pad_examples)
def pads_apart(x: Tensor, w: PyObject, p: PyObject, u: PyObject, side: i64) -> Iterator[Any]:
    """AveragePool(x; pads counted) = AveragePool(Pad(x)) for a window beyond the target's limit

    Source: ONNX; a cascade needs a window without pads.
    """
    yield rewrite(
        pool("AveragePool", x, w),
        pool("AveragePool", pad(x, "constant", p, 0.0), u),
        eq(side).to(limit("pool_kernel")),
        *let(p, full_pads, w, side),
        *let(u, unpadded, w),
    )

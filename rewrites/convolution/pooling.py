"""Pooling: cascades of smaller windows, windows that are the whole input, padding made explicit.

Pool(x; k1*k2, stride k1*s2) = Pool(Pool(x; k1, stride k1); k2, stride s2)
AveragePool(x; the whole input) = GlobalAveragePool(x), likewise MaxPool
AveragePool(x; pads counted) -> AveragePool(Pad(x))

Cascades are looked for only above the target's limits `pool_kernel` (a side of the window), `pool_window`
(its elements) and `pool_stride`.
"""

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, laws_of, rewrite
from egraph_opt.laws.sorts import Int, Name, Pads, String, Tensor
from egraph_opt.operators import PoolWindow, global_pool, pad, pool
from egraph_opt.operators.terms import limit, node
from egraph_opt.rewrites.conditions.operands import number, numbers

law = laws_of("pooling", numerics="reassociates", kind="split", serves="target")

CANDIDATES = 3
"""Cascades offered per window; the cost model chooses.  One for all of x, which has a global pool as well."""


def is_plain(window: PoolWindow) -> bool:
    """No padding, dilation or partial windows."""
    return not any(window.pads) and not window.ceil_mode and all(d == 1 for d in window.dilations)


def window_fits(kernel: tuple[int, ...], strides: tuple[int, ...], side: int, area: int, stride: int) -> bool:
    return max(kernel) <= side and math.prod(kernel) <= area and max(strides) <= stride


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]


def _whole_axes(window: PoolWindow, x: Fact) -> tuple[bool, ...]:
    """Whether there is but one window along each axis: how far it would move does not matter then."""
    dims = (x.shape or ())[2:]
    return tuple(k == d for k, d in itertools.zip_longest(window.kernel, dims))


def _steps(strides: Iterable[int], whole: Iterable[bool]) -> tuple[int, ...]:
    """The strides, 1 along axes with one window, so that equal pools are written alike."""
    return tuple(1 if one else s for s, one in zip(strides, whole, strict=True))


def _kernels_exist(x: Fact) -> bool:
    """onnxruntime pools nothing else globally."""
    return x.dtype in (TensorProto.FLOAT, TensorProto.FLOAT16)


@hosted()
def covers_input(window: PoolWindow, x: Fact) -> bool:
    """The one window that there is is the whole input, without padding."""
    covers = is_plain(window) and x.shape is not None and x.shape[2:] == window.kernel
    return covers and _kernels_exist(x)


@hosted()
def cascade(
    window: PoolWindow, x: Fact, rank: int, side: int, area: int, stride: int
) -> tuple[PoolWindow, PoolWindow] | None:
    """The `rank`-th best pair (inner, outer) of windows for one beyond the limits; None if there is none.

    Per axis the inner kernel and stride are k1, where k1 divides the kernel, and the stride where it matters.
    Best are pairs in which both steps fit, then those with balanced areas.
    """
    if not is_plain(window) or window_fits(window.kernel, window.strides, side, area, stride):
        return None
    pairs, whole = [], _whole_axes(window, x)
    axes = zip(window.kernel, window.strides, whole, strict=True)
    for inner in itertools.product(*(_divisors(k if one else math.gcd(k, s)) for k, s, one in axes)):
        outer = tuple(k // d for k, d in zip(window.kernel, inner, strict=True))
        steps = _steps((s // d for s, d in zip(window.strides, inner, strict=True)), whole)
        if max(inner) == 1 or not window_fits(inner, inner, side, area, stride):
            continue
        rest_fits = window_fits(outer, steps, side, area, stride)
        balance = abs(math.log(math.prod(inner) / math.prod(outer)))
        pairs.append((not rest_fits, balance, inner, outer, steps))
    if rank >= min(len(pairs), 1 if covers_input.function(window, x) else CANDIDATES):
        return None
    _, _, inner, outer, steps = sorted(pairs)[rank]
    return replace(window, kernel=inner, strides=inner), replace(window, kernel=outer, strides=steps)


@hosted()
def joined_window(inner: PoolWindow, outer: PoolWindow, x: Fact) -> PoolWindow | None:
    """The window of two pools in a row of which the inner one's windows touch, but do not overlap."""
    if not (is_plain(inner) and is_plain(outer)) or inner.kernel != inner.strides:
        return None
    kernel = tuple(a * b for a, b in zip(inner.kernel, outer.kernel, strict=True))
    strides = tuple(a * b for a, b in zip(inner.strides, outer.strides, strict=True))
    one = replace(outer, kernel=kernel)
    return replace(one, strides=_steps(strides, _whole_axes(one, x)))


@hosted()
def is_within(window: PoolWindow, x: Fact) -> bool:
    """The window is not known to be larger than x with its pads: ONNX leaves open what is pooled there."""
    if x.shape is None or len(x.shape) != len(window.kernel) + 2:
        return False
    axes = len(window.kernel)
    along = (x.shape[2:], window.pads[:axes], window.pads[axes:], window.kernel, window.dilations)
    return all(
        not isinstance(dim, int) or (k - 1) * d < dim + before + behind
        for dim, before, behind, k, d in zip(*along, strict=True)
    )


def _window(*kernel: int) -> PoolWindow:
    return PoolWindow(kernel, kernel, (0,) * (2 * len(kernel)), (1,) * len(kernel))


def _cascade_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    for kind in ("AveragePool", "MaxPool"):
        x = g.input(("N", 2, 16, 32))
        y = pool(kind, x, _window(2, 4))
        yield g.fires(pool(kind, y, replace(_window(4, 2), strides=(2, 3))))
        yield g.near_miss(pool(kind, y, replace(_window(3, 2), pads=(1, 0, 0, 0))), why="padded")
        yield g.fires(pool(kind, pool(kind, x, _window(2, 4)), replace(_window(8, 8), strides=(3, 1))))
        overlapping = pool(kind, x, replace(_window(3, 3), strides=(2, 2)))
        yield g.near_miss(pool(kind, overlapping, _window(2, 2)), why="windows overlap")
        few = pool(kind, g.input(("N", 2, 3, 3)), _window(1, 2))
        yield g.near_miss(pool(kind, few, _window(2, 2)), why="the joined window is larger than the image")
        wide = pool(kind, g.input(("N", 1, 511, 1)), _window(512, 1))
        yield g.near_miss(wide, why="the window is larger than the image")


@law(source="Ascend auto-optimizer, AvgPoolSplit", examples=_cascade_examples, uses=(numbers,))
def cascade_of_pools(kind: String, x: Tensor, w: PoolWindow, u: PoolWindow, k: Int):
    """Pool(x; k1*k2, stride k1*s2) = Pool(Pool(x; k1, stride k1); k2, stride s2)

    To the right beyond the target's limits, to the left where the original has the inner one.
    """
    limits = (limit("pool_kernel"), limit("pool_window"), limit("pool_stride"))
    pair = cascade(w, x, k, *limits)
    two = pool(kind, pool(kind, x, pair[0]), pair[1])
    yield rewrite(pool(kind, x, w), two, is_within(w, x), number(k), inverse="cascade_of_pools")
    inner, one = pool(kind, x, w), joined_window(w, u, x)
    known = (is_within(one, x), guard(eq(inner, node(k))))
    yield rewrite(pool(kind, inner, u), pool(kind, x, one), known, inverse="cascade_of_pools")


@hosted()
def whole_window(x: Fact) -> PoolWindow | None:
    """The window that covers all of x, of which the batch may be any."""
    kernel = tuple(d for d in (x.shape or ())[2:] if isinstance(d, int) and d > 0)
    if not kernel or len(kernel) + 2 != x.rank or not _kernels_exist(x):
        return None
    return PoolWindow(kernel, (1,) * len(kernel), (0,) * (2 * len(kernel)), (1,) * len(kernel))


def _whole_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    for kind in ("AveragePool", "MaxPool"):
        x = g.input(("N", 2, 7, 6))
        yield g.fires(pool(kind, x, _window(7, 6)))
        yield g.fires(global_pool(f"Global{kind}", pool(kind, x, _window(1, 2))))
        yield g.near_miss(
            global_pool(f"Global{kind}", pool(kind, g.input((1, 2, 7, "L")), _window(1, 2))),
            why="x is not known",
        )


@hosted()
def global_of(kind: str) -> Name:
    return f"Global{kind}"


@hosted()
def windowed(kind: str) -> Name:
    """The pool that a global one is of the whole input."""
    return kind.removeprefix("Global")


@law(
    kind="replace",
    source="Ascend auto-optimizer, AvgPoolSplit; the only way out for a prime kernel",
    examples=_whole_examples,
)
def whole_input(kind: String, x: Tensor, w: PoolWindow, z: Tensor):
    """AveragePool(x; the whole input) = GlobalAveragePool(x), likewise MaxPool

    To the left where x is pooled itself, since both can be one.
    """
    at_once = global_pool(global_of(kind), x)
    yield rewrite(pool(kind, x, w), at_once, covers_input(w, x), inverse="whole_input")
    whole, pooled = global_pool(kind, x), guard(eq(x, pool(windowed(kind), z, w)))
    yield rewrite(whole, pool(windowed(kind), x, whole_window(x)), pooled, inverse="whole_input")


@hosted()
def full_pads(window: PoolWindow) -> Pads | None:
    """The pads of a counted padding, for all axes."""
    if not window.count_include_pad or not any(window.pads) or window.ceil_mode:
        return None
    axes = len(window.kernel)
    return (0, 0, *window.pads[:axes], 0, 0, *window.pads[axes:])


@hosted()
def exceeds(window: PoolWindow, side: int) -> bool:
    return max(window.kernel) > side


@hosted()
def unpadded(window: PoolWindow) -> PoolWindow:
    return replace(window, pads=(0,) * len(window.pads))


@law(source="ONNX; a cascade needs a window without pads")
def pads_apart(x: Tensor, w: PoolWindow):
    """AveragePool(x; pads counted) = AveragePool(Pad(x)) for a window beyond the target's limit"""
    apart = pool("AveragePool", pad(x, "constant", full_pads(w), 0.0), unpadded(w))
    beyond = guard(exceeds(w, limit("pool_kernel")))
    yield rewrite(pool("AveragePool", x, w), apart, beyond, inverse="padding.pad_into_average_pool")

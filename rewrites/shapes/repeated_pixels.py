"""Images of which every element is repeated whole times are resized, and what takes one of each takes x.

Reshape(Expand(Reshape(x))) -> Resize(x; s)             each element s times along axes of an image; Tile too
Pool(Resize(x; s); stride = kernel) -> Resize(x; s / kernel)   where kernels divide s
Slice(Resize(x; s); step) -> Resize(x; s / step)               likewise

of the nearest element and whole numbers, which `resize.by_one` removes where they are 1.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, kernel, laws_of, opset, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Dims, Settings, Slices, String, Tensor
from egraph_opt.operators import (
    Literal,
    PoolWindow,
    expand,
    literal,
    none,
    pool,
    reshape,
    resize,
    slice_,
    tile,
)
from egraph_opt.rewrites.conditions.operands import moved, moves
from egraph_opt.rewrites.conditions.values import is_float, is_of_type
from egraph_opt.rewrites.shapes.resize_identities import NEAREST, crops

law = laws_of("resize", numerics="finite", kind="fuse", serves="traffic", source="PyTorch, interpolate")


def _times(factors: Any) -> Literal:
    return Literal(TensorProto.FLOAT, (len(factors),), tuple(map(float, factors)))


@hosted()
def times_repeated(x: Fact, view: Fact, wide: Fact, y: Fact) -> Literal | None:
    """How often each element of an image is there along each axis: an axis of 1 behind is expanded."""
    if x.shape is None or not 3 <= len(x.shape) <= 5:
        return None
    if view.shape is None or wide.shape is None or len(view.shape) != len(wide.shape):
        return None
    if y.shape is None or len(y.shape) != len(x.shape):
        return None
    pairs, at, factors = list(zip(view.shape, wide.shape, strict=True)), 0, []
    for own, made in zip(x.shape, y.shape, strict=True):
        if at == len(pairs) or not all(symbolic.known_equal(own, d) for d in pairs[at]):
            return None
        at += 1
        times = pairs[at][1] if at < len(pairs) and pairs[at][0] == 1 != pairs[at][1] else 1
        if not isinstance(times, int) or not symbolic.known_equal(symbolic.mul(own, times), made):
            return None
        at += times != 1
        factors.append(times)
    return _times(factors) if at == len(pairs) and factors[:2] == [1, 1] and max(factors) > 1 else None


@hosted()
def needs_no_region(opset: int) -> bool:
    """A Resize has a region of interest that may be left out."""
    return opset > 12


def _repeated(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, row, flat = g.input((2, 3, 4, 5)), g.input(("N", 3, "L")), g.input((2, 6, 1, 5))

    def repeated(view: Any, wide: Any, made: Any, of: Any = x) -> Any:
        return reshape(expand(reshape(of, view), wide), made)

    yield from g.all_fire(
        repeated((2, 3, 4, 1, 5, 1), (2, 3, 4, 2, 5, 3), (2, 3, 8, 15)),
        repeated((2, 3, 4, 5, 1), (1, 1, 1, 1, 2), (2, 3, 4, 10)),
        reshape(tile(reshape(x, (2, 3, 4, 1, 5)), (1, 1, 1, 2, 1)), (2, 3, 8, 5)),
        repeated(("N", 3, "L", 1), (1, 1, 1, 3), ("N", 3, "3*L"), row),
    )
    yield from g.near_misses(
        (repeated((2, 3, 1, 4, 5), (2, 3, 2, 4, 5), (2, 3, 8, 5)), "rows are in order twice"),
        (repeated((2, 3, 4, 1, 5), (2, 3, 4, 2, 5), (2, 3, 4, 10)), "rows are twice as long"),
        (repeated((2, 3, 1, 4, 5), (2, 3, 2, 4, 5), (2, 6, 4, 5)), "channels"),
        (repeated((2, 6, 5, 1), (2, 6, 5, 2), (2, 6, 2, 5), flat), "two rows of one"),
        (reshape(tile(reshape(x, (2, 3, 4, 1, 5)), (1, 1, 2, 1, 1)), (2, 3, 8, 5)), "the image twice"),
    )
    whole = g.input(("N", 3, "L"), TensorProto.INT64)
    wide = repeated(("N", 3, "L", 1), (1, 1, 1, 3), ("N", 3, "3*L"), whole)
    tiled = reshape(tile(reshape(whole, ("N", 3, "L", 1)), (1, 1, 1, 3)), ("N", 3, "3*L"))
    for integers in (wide, tiled):
        yield g.near_miss(integers, why="a Resize rounds large integers")
    rows = repeated((2, 3, 4, 1, 5), (1, 1, 1, 2, 1), (2, 3, 8, 5))
    again = reshape(tile(reshape(x, (2, 3, 4, 1, 5)), (1, 1, 1, 2, 1)), (2, 3, 8, 5))
    for number, large in product((11, 12), (rows, again)):
        yield replace(g.near_miss(large, why="a Resize has to have a region"), opset=number)


@law(examples=_repeated, uses=(moves,))
def repeated_elements(x: Tensor, i: Tensor, d: Dims, e: Dims, how: Any):
    """Reshape(Expand(Reshape(x))) = Resize(x; s) where elements are there s times along axes of an image"""
    floats, view = (is_float(x), *kernel(is_of_type(x, TensorProto.FLOAT))), reshape(x, d)
    known = (*floats, guard(varies(x)), needs_no_region(opset()))
    for repeating in ("Expand", "Tile"):
        wide = moved(repeating, view, i, how)
        y = reshape(wide, e)
        made = resize(x, none(), literal(times_repeated(x, view, wide, y)), none(), NEAREST)
        yield rewrite(y, made, *known, because="forgets the view")


# --- one of each ----------------------------------------------------------------------------------------


def _factors(scales: Fact, s: Settings) -> tuple[int, ...] | None:
    """How often elements are repeated along each axis."""
    given = dict(s)
    if any(given.get(k) != v for k, v in NEAREST) or crops(s) or scales.data is None:
        return None
    found = tuple(map(float, scales.data))
    return tuple(map(int, found)) if all(v >= 1 and v.is_integer() for v in found) else None


@hosted()
def divided_by_window(window: PoolWindow, scales: Fact, s: Settings) -> Literal | None:
    """The scales that are left where a window sees one element only, repeated."""
    factors = _factors(scales, s)
    if factors is None or len(factors) != len(window.kernel) + 2 or window.kernel != window.strides:
        return None
    if any(window.pads) or any(d != 1 for d in window.dilations):
        return None
    sizes = (1, 1, *window.kernel)
    if any(factor % size for factor, size in zip(factors, sizes, strict=True)):
        return None
    return _times([factor // size for factor, size in zip(factors, sizes, strict=True)])


@hosted()
def divided_by_steps(t: Slices, x: Fact, y: Fact, scales: Fact, s: Settings) -> Literal | None:
    """The scales that are left where a slice from the first steps on takes some of each element, as often."""
    factors = list(_factors(scales, s) or ())
    if x.shape is None or y.shape is None or not len(factors) == len(x.shape) == len(y.shape):
        return None
    for axis, start, _, step in t:
        if not 0 <= start < step or factors[axis] % step:
            return None
        factors[axis] //= step
        if not symbolic.known_equal(symbolic.mul(x.shape[axis], factors[axis]), y.shape[axis]):
            return None
    return _times(factors)


def _pooled(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, twice = g.input(("N", 3, 4, "L")), g.constant(np.array((1, 1, 2, 4), np.float32))
    linear = tuple((k, "linear" if k == "mode" else v) for k, v in NEAREST)

    def window(kernel: tuple[int, int], strides: tuple[int, int], pads: int = 0) -> PoolWindow:
        return PoolWindow(kernel, strides, (pads,) * 4, (1, 1))

    large, between = (resize(x, none(), twice, none(), how) for how in (NEAREST, linear))
    for kind in ("AveragePool", "MaxPool"):
        yield g.fires(pool(kind, large, window((2, 4), (2, 4))))
        yield g.fires(pool(kind, large, window((1, 2), (1, 2))))
        yield from g.near_misses(
            (pool(kind, large, window((2, 3), (2, 3))), "a window sees two"),
            (pool(kind, large, window((2, 2), (1, 2))), "windows overlap"),
            (pool(kind, large, window((2, 2), (2, 2), 1)), "windows begin between"),
            (pool(kind, between, window((2, 2), (2, 2))), "elements between are weighed"),
        )


@law(numerics="reassociates", kind="eliminate", serves="arithmetic", examples=_pooled)
def pooled_repetition(kind: String, x: Tensor, w: PoolWindow, roi: Tensor, scales: Tensor, s: Settings):
    """Pool(Resize(x; s); stride = kernel) = Resize(x; s / kernel) where kernels divide s"""
    y = pool(kind, resize(x, roi, scales, none(), s), w)
    less = resize(x, roi, literal(divided_by_window(w, scales, s)), none(), s)
    yield rewrite(y, less, guard(varies(x)), because="a mean does not say of how many")


def _sliced(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, twice = g.input((2, 3, 4, 5)), g.constant(np.array((1, 1, 2, 4), np.float32))
    linear = tuple((k, "linear" if k == "mode" else v) for k, v in NEAREST)
    large, between = (resize(x, none(), twice, none(), how) for how in (NEAREST, linear))
    yield from g.all_fire(slice_(large, ((2, 0, 8, 2), (3, 1, 20, 2))), slice_(large, ((3, 3, 20, 4),)))
    yield from g.near_misses(
        (slice_(large, ((2, 0, 6, 2),)), "one row is left out"),
        (slice_(large, ((2, 2, 8, 2),)), "the first row is left out"),
        (slice_(large, ((3, 0, 20, 3),)), "not as many of each"),
        (slice_(between, ((2, 0, 8, 2),)), "elements between are weighed"),
    )


@law(numerics="bitwise", kind="eliminate", serves="arithmetic", examples=_sliced)
def sliced_repetition(x: Tensor, t: Slices, roi: Tensor, scales: Tensor, s: Settings):
    """Slice(Resize(x; s); step) = Resize(x; s / step) where steps divide s and the slice goes to the end"""
    y = slice_(resize(x, roi, scales, none(), s), t)
    less = resize(x, roi, literal(divided_by_steps(t, x, y, scales, s)), none(), s)
    yield rewrite(y, less, guard(varies(x)), because="forgets what was left out")

"""Resizes that change nothing, that repeat one element, and that follow each other.

Resize(x; by 1, or to x's own size) -> x
Resize(x) -> Expand(x)                                     for an image of one element
Resize(Resize(x; a); b) -> Resize(x; a * b)                for the nearest element and whole numbers
Resize(x; 1 / 2) -> Slice(x; every second)                 for the nearest element and powers of two
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Dims, Settings, Slices, Tensor
from egraph_opt.operators import Literal, expand, literal, none, resize, slice_
from egraph_opt.rewrites.conditions.values import is_float

law = laws_of("resize", numerics="finite", kind="eliminate")

NEAREST: tuple[tuple[str, Any], ...] = (
    ("coordinate_transformation_mode", "asymmetric"),
    ("mode", "nearest"),
    ("nearest_mode", "floor"),
)


def crops(s: Settings) -> bool:
    given = dict(s)
    mode = given.get("coordinate_transformation_mode")
    return mode == "tf_crop_and_resize" or bool(given.get("antialias")) or "axes" in given


@hosted()
def changes_nothing(x: Fact, y: Fact, scales: Fact, sizes: Fact, s: Settings) -> bool:
    """By 1 along each axis; a size that is the same by another factor looks elsewhere."""
    if crops(s) or x.shape is None or y.shape is None or len(x.shape) != len(y.shape):
        return False
    if scales != ABSENT:
        return (
            scales.data is not None and all(v == 1 for v in scales.data) and len(scales.data) == len(x.shape)
        )
    keeps = dict(s).get("keep_aspect_ratio_policy", "stretch") == "stretch"
    return keeps and sizes != ABSENT and all(map(symbolic.known_equal, x.shape, y.shape))


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 4, 3, "L"))
    ones, more = (g.constant(np.array(v, np.float32)) for v in ((1, 1, 1, 1), (1, 1, 1.1, 1)))
    linear = (("coordinate_transformation_mode", "half_pixel"), ("mode", "linear"))
    for settings in (NEAREST, linear):
        yield g.fires(resize(x, none(), ones, none(), settings))
    small, sizes = g.input((2, 4, 3, 5)), g.constant(np.array([2, 4, 3, 5]))
    yield g.fires(resize(small, none(), none(), sizes, linear))
    yield g.near_miss(resize(x, none(), more, none(), linear), why="it looks elsewhere")


@law(examples=_examples)
def by_one(x: Tensor, roi: Tensor, scales: Tensor, sizes: Tensor, s: Settings):
    """Resize(x) = x by 1, or to x's own size"""
    y = resize(x, roi, scales, sizes, s)
    same = (changes_nothing(x, y, scales, sizes, s), is_float(x))
    yield rewrite(y, x, *same, because="every x is its own Resize")


@hosted()
def written_out(x: Fact, y: Fact, s: Settings) -> Dims | None:
    """To what an image of one element is expanded, where batch and channels stay."""
    if crops(s) or dict(s).get("mode") not in ("nearest", "linear"):
        return None
    if x.shape is None or y.shape is None or len(x.shape) != len(y.shape) or len(x.shape) < 3:
        return None
    if any(d != 1 for d in x.shape[2:]) or not all(map(symbolic.known_equal, x.shape[:2], y.shape[:2])):
        return None
    sizes = tuple(d for d in y.shape[2:] if isinstance(d, int))
    return (1, 1, *sizes) if len(sizes) == len(y.shape) - 2 else None


def _single_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, sizes = g.input(("N", 4, 1, 1)), g.constant(np.array([2, 4, 3, 5]))
    by = g.constant(np.array([1, 1, 3, 5], np.float32))
    linear = (("coordinate_transformation_mode", "half_pixel"), ("mode", "linear"))
    yield g.fires(resize(g.input((2, 4, 1, 1)), none(), none(), sizes, linear))
    yield g.fires(resize(x, none(), by, none(), NEAREST))
    yield g.near_miss(resize(g.input(("N", 4, 1, 2)), none(), by, none(), NEAREST), why="there are two")


@law(kind="replace", serves="traffic", source="DeepLab, pooling of an image", examples=_single_examples)
def of_one_element(x: Tensor, roi: Tensor, scales: Tensor, sizes: Tensor, s: Settings):
    """Resize(x) = Expand(x) for an image of one element"""
    y = resize(x, roi, scales, sizes, s)
    known = (is_float(x), guard(varies(x)))
    yield rewrite(y, expand(x, written_out(x, y, s)), *known, because="forgets how it was made larger")


@hosted()
def both_scales(a: Fact, b: Fact, s: Settings) -> Literal | None:
    """Of two Resizes that repeat each element: whole numbers, as asymmetric coordinates have them."""
    given = dict(s)
    if any(given.get(k) != v for k, v in NEAREST) or crops(s) or a.data is None or b.data is None:
        return None
    if len(a.data) != len(b.data) or a.dtype != b.dtype:
        return None
    whole = all(v >= 1 and v.is_integer() for v in map(float, (*a.data, *b.data)))
    made = tuple(float(v) * float(w) for v, w in zip(a.data, b.data, strict=True))
    return Literal(a.dtype, (len(made),), made) if whole else None


def _twice_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 4, 3, "L"))
    twice, wide, half = (g.constant(np.array((1, 1, *v), np.float32)) for v in ((2, 2), (1, 3), (2, 0.5)))
    linear = (("coordinate_transformation_mode", "half_pixel"), ("mode", "linear"))

    def both(a: Any, b: Any, s: Any = NEAREST) -> Any:
        return resize(resize(x, none(), a, none(), s), none(), b, none(), s)

    yield from g.all_fire(both(twice, twice), both(twice, wide))
    yield from g.near_misses(
        (both(twice, half), "elements are left out"),
        (both(twice, twice, linear), "elements between are weighed"),
    )


@law(numerics="bitwise", kind="merge", examples=_twice_examples)
def twice(x: Tensor, a: Tensor, b: Tensor, s: Settings):
    """Resize(Resize(x; a); b) = Resize(x; a * b) for the nearest element and whole numbers"""
    two = resize(resize(x, none(), a, none(), s), none(), b, none(), s)
    one = resize(x, none(), literal(both_scales(a, b, s)), none(), s)
    yield rewrite(two, one, because="forgets the factors")


def _step(size: int, dim: int, scale: float | None) -> int | None:
    """How far apart the elements are that are taken, a power of two: of others coordinates are rounded."""
    step = 1
    while step <= dim:
        if scale == 1 / step if scale is not None else step * size == dim:
            return step
        step *= 2
    return None


def _first(step: int, s: Settings) -> int | None:
    """Which element of each `step` is the nearest; of two that are as near one is below, one above.

    Opset 10 has no coordinates to choose: it takes others than later ones take by default.
    """
    given = dict(s)
    mode = given.get("coordinate_transformation_mode")
    if step == 1 or mode == "asymmetric":
        return 0
    lower = given.get("nearest_mode", "round_prefer_floor") in ("round_prefer_floor", "floor")
    return (step - 1 if lower else step) // 2 if mode == "half_pixel" else None


@hosted()
def kept_elements(x: Fact, y: Fact, scales: Fact, s: Settings) -> Slices | None:
    """The slice that takes the nearest elements of x, where it leaves out as many each time."""
    if crops(s) or dict(s).get("mode", "nearest") != "nearest" or x.shape is None or y.shape is None:
        return None
    if len(x.shape) != len(y.shape) or (scales != ABSENT and len(scales.data or ()) != len(x.shape)):
        return None
    spec = []
    for axis, (dim, size) in enumerate(zip(x.shape, y.shape, strict=True)):
        by = None if scales == ABSENT else float(scales.data[axis])  # type: ignore[index]
        if by == 1 or (by is None and symbolic.known_equal(dim, size)):
            continue
        if not isinstance(dim, int) or not isinstance(size, int) or size < 1:
            return None
        step = _step(size, dim, by)
        first = None if step is None else _first(step, s)
        if step is None or first is None:
            return None
        spec.append((axis, first, first + (size - 1) * step + 1, step))
    return tuple(spec) or None


def _smaller(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, half, quarter = (
        g.input(("N", 4, 8, 13)),
        g.constant(np.array((1, 1, 0.5, 0.5), np.float32)),
        g.constant(np.array((1, 1, 1, 0.25), np.float32)),
    )
    third, sizes = (g.constant(np.array((1, 1, 0.333333, 1), np.float32)), g.constant(np.array([2, 4, 4, 2])))
    even, long, whole = g.input((2, 4, 8, 8)), g.input(("N", 4, "L", 8)), g.input((2, 4, 8, 8), INT64)

    def nearest(mode: str, rounded: str) -> Settings:
        return (("coordinate_transformation_mode", mode), ("mode", "nearest"), ("nearest_mode", rounded))

    for rounded in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
        for mode in ("asymmetric", "half_pixel"):
            yield g.fires(resize(x, none(), half, none(), nearest(mode, rounded)))
            yield g.fires(resize(x, none(), quarter, none(), nearest(mode, rounded)))
            yield g.fires(resize(even, none(), none(), sizes, nearest(mode, rounded)))
    yield from g.near_misses(
        (resize(x, none(), third, none(), NEAREST), "coordinates are rounded"),
        (resize(x, none(), half, none(), (("mode", "nearest"),)), "no coordinates are said"),
        (resize(whole, none(), none(), sizes, NEAREST), "ONNX's reference makes floats of them"),
        (resize(long, none(), half, none(), NEAREST), "the last one may be left out"),
        (resize(x, none(), half, none(), nearest("align_corners", "floor")), "steps are larger"),
        (resize(x, none(), half, none(), (*NEAREST[:1], ("mode", "linear"))), "means"),
        (resize(even, none(), none(), g.constant(np.array([2, 4, 3, 8])), NEAREST), "not every n-th"),
    )


@law(numerics="bitwise", kind="replace", serves="traffic", examples=_smaller)
def of_every_second(x: Tensor, roi: Tensor, scales: Tensor, sizes: Tensor, s: Settings):
    """Resize(x; 1 / n) = Slice(x; every n-th) for the nearest element and n a power of two"""
    y = resize(x, roi, scales, sizes, s)
    kept = slice_(x, kept_elements(x, y, scales, s))
    known = (is_float(x), guard(varies(x)))
    yield rewrite(y, kept, *known, because="slices forget that they were images")

"""Sizes and scales of a Resize that are computed of its input's dims.

Resize(x, sizes) -> Resize(x, scales)      where sizes are multiples of x's dims, or both are numbers
Resize(x, scales) -> Resize(x, numbers)    where scales are known numbers

Exporters write `interpolate(x, scale_factor=2)` as Floor(Cast(Shape(x)) * 2), in integers or in floats, and
scales as such sizes over Shape(x).  Facts know the elements of integers; `multiples` takes them through
floats, which have every whole number up to 2^24 (float32).  A longer axis is rounded likewise by Resize
itself: its output has floor(dim * scale) elements, computed in float32.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import INTEGERS
from egraph_opt.facts.fact import ABSENT, Dim, Fact
from egraph_opt.laws import (
    Example,
    Operands,
    assign,
    auxiliary,
    eq,
    guard,
    hosted,
    laws_of,
    rewrite,
    rule,
    table,
)
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import DataType, Dims, Settings, Slices, String, Tensor, Tensors
from egraph_opt.operators import (
    Literal,
    binary,
    cast,
    concat,
    gather,
    literal,
    none,
    reshape,
    resize,
    shape_of,
    slice_,
    unary,
)
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.slicing.concat import listing, operands_of
from egraph_opt.rewrites.slicing.gather import indices_of
from egraph_opt.rewrites.slicing.slice import taken_by

law = laws_of(
    "shapes", numerics="reassociates", kind="replace", serves="arithmetic", source="OnnxSlim; onnxsim"
)

MOST = 16
"""Vectors of more elements are no shapes."""

_NUMBERS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64)


# --- elements, in floats too ----------------------------------------------------------------------------


@table()
def multiples(v: Tensor) -> Dims:
    """The elements of a vector or scalar that is computed of dims, whole numbers all."""


@table()
def all_multiples(vs: Tensors) -> Dims:
    """Those of a list, one after the other."""


def _whole(values: Any) -> Dims | None:
    found = tuple(int(v) if isinstance(v, float) and v.is_integer() else v for v in values)
    return None if any(isinstance(v, float) or v is None for v in found) else found


@hosted()
def known_elements(v: Fact) -> Dims | None:
    """The elements as facts have them."""
    if v.rank not in (0, 1) or not v.is_static or (v.shape or (1,))[0] > MOST:  # type: ignore[operator]
        return None
    if v.dtype in INTEGERS:
        return v.value
    if v.dtype not in _NUMBERS or not v.const:
        return None
    if v.splat is not None:
        return _whole((v.splat,) * ((v.shape or (1,))[0]))  # type: ignore[operator]
    return None if v.data is None else _whole(v.data)


@hosted()
def are_numbers(to: DataType) -> bool:
    return to in _NUMBERS


@hosted()
def rounds(op: str) -> bool:
    """A function that changes no whole number."""
    return op in ("Ceil", "Floor", "Identity", "Round")


@hosted()
def combined(op: str, left: Dims, right: Dims) -> Dims | None:
    """Products, and quotients without remainder, element by element."""
    function = {"Mul": symbolic.mul, "Div": symbolic.exact_div}.get(op)
    if function is None or (len(left) != len(right) and 1 not in (len(left), len(right))):
        return None
    count = max(len(left), len(right)) if left and right else 0
    pairs = zip(left * (count // max(len(left), 1)), right * (count // max(len(right), 1)), strict=True)
    found = tuple(function(a, b) for a, b in pairs)
    return None if None in found else found


@hosted()
def as_vector(elements: Dims, dims: Dims) -> Dims | None:
    return elements if len(dims) < 2 else None


@hosted()
def sliced(elements: Dims, spec: Slices) -> Dims | None:
    return tuple(elements[k] for k in taken_by(spec[0], len(elements))) if len(spec) == 1 else None


@hosted()
def gathered(elements: Dims, i: Fact) -> Dims | None:
    places = indices_of(i)
    if places is None or i.rank not in (0, 1) or any(not -len(elements) <= k < len(elements) for k in places):
        return None
    return tuple(elements[k] for k in places)


@hosted()
def joined(first: Dims, rest: Dims) -> Dims | None:
    return (*first, *rest) if len(first) + len(rest) <= MOST else None


@auxiliary(listing)
def counted(v: Tensor, x: Tensor, c: Tensor, r: Tensor, vs: Tensors, rest: Tensors, op: String, f: Settings,
            t: Slices, to: DataType, d: Dims, e: Dims):  # fmt: skip
    """Fills `multiples` and `all_multiples`."""
    in_list = (operands_of(vs, 0), eq(vs, cons(x, rest)))
    yield rule(cast(x, to), then=assign(multiples(x), known_elements(x)))
    yield rule(*in_list, then=assign(multiples(x), known_elements(x)))
    yield rule(resize(v, r, c, x, f), then=assign(multiples(x), known_elements(x)))
    known = eq(d, multiples(x))
    yield rule(known, eq(v, cast(x, to)), are_numbers(to), then=assign(multiples(v), d))
    yield rule(known, eq(v, unary(op, f, x)), rounds(op), then=assign(multiples(v), d))
    yield rule(known, eq(v, reshape(x, e)), then=assign(multiples(v), as_vector(d, e)))
    yield rule(known, eq(v, slice_(x, t)), then=assign(multiples(v), sliced(d, t)))
    yield rule(known, eq(v, gather(x, c, 0)), then=assign(multiples(v), gathered(d, c)))
    for left, right in ((x, c), (c, x)):
        yield rule(known, binary(op, left, right), then=assign(multiples(c), known_elements(c)))
    both = (known, eq(e, multiples(c)), eq(v, binary(op, x, c)))
    yield rule(*both, then=assign(multiples(v), combined(op, d, e)))
    yield rule(operands_of(nil(), 0), then=assign(all_multiples(nil()), ()))
    yield rule(*in_list, known, eq(e, all_multiples(rest)), then=assign(all_multiples(vs), joined(d, e)))
    yield rule(eq(v, concat(vs, 0)), eq(d, all_multiples(vs)), then=assign(multiples(v), d))


# --- sizes are scales -----------------------------------------------------------------------------------


@hosted()
def scales_of(sizes: Dims, x: Fact, scales: Fact, settings: Settings) -> Literal | None:
    """The numbers, as floats, by which the sizes are multiples of x's dims; scales are not given.

    Opset 11 gives an empty vector of scales beside sizes.
    """
    given = dict(settings)
    axes = given.get("axes") or range(x.rank or 0)
    plain = given.get("keep_aspect_ratio_policy", "stretch") == "stretch"
    crops = given.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    if (
        (scales != ABSENT and scales.shape != (0,))
        or x.shape is None
        or crops
        or not plain
        or len(sizes) != len(axes)
    ):
        return None
    smooth = given.get("mode") in ("linear", "cubic") and x.dtype in (TensorProto.FLOAT, TensorProto.FLOAT16)
    dims = [x.shape[axis] for axis in axes]
    return _literal([_scale(a, b, smooth) for a, b in zip(sizes, dims, strict=True)])


def _scale(size: Dim, dim: Dim, smooth: bool) -> float | None:
    """The scale that makes a size of a dim; one that float32 rounds moves what is read by a trifle, which
    changes little where it is smooth, and neither double precision nor integers show it."""
    if symbolic.known_equal(size, dim):
        return 1.0
    if not (isinstance(size, int) and isinstance(dim, int) and size > 0 and dim > 0):
        whole = symbolic.exact_div(size, dim)
        return float(whole) if isinstance(whole, int) else None
    nearest = np.float32(size) / np.float32(dim)
    if Fraction(float(nearest)) == Fraction(size, dim):
        return float(nearest)
    for scale in (nearest, np.nextafter(nearest, np.float32(np.inf))) if smooth else ():
        if int(scale * np.float32(dim)) == int(float(scale) * dim) == size:
            return float(scale)
    return None


def _literal(scales: Any) -> Literal | None:
    if not scales or not all(isinstance(scale, int | float) and 0 < scale < 1 << 20 for scale in scales):
        return None
    return Literal(TensorProto.FLOAT, (len(scales),), tuple(map(float, scales)))


@hosted()
def is_computed(x: Fact) -> bool:
    return not x.const


def resized(g: Operands, x: Any, scales: Any, sizes: Any, mode: str = "nearest", **more: Any) -> Any:
    settings = {"coordinate_transformation_mode": "asymmetric", "mode": mode, "nearest_mode": "floor", **more}
    return resize(x, none(), scales, sizes, tuple(sorted(settings.items())))


def doubled(g: Operands, x: Any, rank: int, factor: float = 2.0, dtype: int = TensorProto.FLOAT) -> Any:
    """Sizes of the spatial axes, as exporters write them: computed in floats."""
    number = np.array([factor], np.float32 if dtype == TensorProto.FLOAT else np.float64)
    spatial = binary("Mul", cast(shape_of(x, 2, rank), dtype), g.constant(number, dtype))
    return concat(listed(shape_of(x, 0, 2), cast(unary("Floor", (), spatial), INT64)), 0)


def _sizes(rng: np.random.Generator) -> Iterator[Example]:
    for shape in (("N", 3, "L", "M"), ("N", 1, "L"), ("N", "M", "L", 2, 3)):
        g = Operands(rng)
        x = g.input(shape)
        yield g.fires(resized(g, x, none(), doubled(g, x, len(shape))))
    g = Operands(rng)
    x = g.input(("N", 2, "L", 4))
    tall = shape_of(x, 0, 4) * g.constant(np.array([1, 1, 3, 2]))
    yield g.fires(resized(g, x, none(), tall, "linear"))
    yield g.fires(resized(g, x, none(), tall, "cubic", coordinate_transformation_mode="half_pixel"))
    yield g.fires(resized(g, x, none(), doubled(g, x, 4, 3.0, TensorProto.DOUBLE), "linear"))
    scalars = [
        reshape(cast(gather(shape_of(x, 0, 4), g.constant(np.array(k)), 0), TensorProto.FLOAT), (1,))
        for k in range(4)
    ]
    ones, twos = (g.constant(np.array([v], np.float32)) for v in (1, 2))
    parts = (binary("Mul", part, ones if k < 2 else twos) for k, part in enumerate(scalars))
    yield g.fires(resized(g, x, none(), cast(concat(listed(*parts), 0), INT64)))
    square = g.input(("N", 2, 24, 24))
    for size, mode in ((12, "nearest"), (36, "nearest"), (32, "linear"), (7, "linear"), (25, "cubic")):
        given = concat(listed(shape_of(square, 0, 2), g.constant(np.array([size, size]))), 0)
        yield g.fires(resized(g, square, none(), given, mode, coordinate_transformation_mode="half_pixel"))
    thirds = concat(listed(shape_of(square, 0, 2), g.constant(np.array([32, 32]))), 0)
    yield g.near_miss(resized(g, square, none(), thirds), why="of 4 / 3 another pixel may be the nearest")
    for dtype in (TensorProto.DOUBLE, TensorProto.UINT8):
        exact = g.input((1, 2, 24, 24), dtype)
        yield g.near_miss(resized(g, exact, none(), thirds, "linear"), why="4 / 3 is rounded to float32")
    yield g.near_miss(resized(g, x, none(), doubled(g, x, 4, 1.5)), why="a part of the size is cut off")
    yield g.near_miss(resized(g, x, none(), g.constant(np.array([1, 2, 3, 4]))), why="no multiples")
    wide = concat(listed(shape_of(x, 0, 2), shape_of(g.input(("M", "L")), 0, 2)), 0)
    yield g.near_miss(resized(g, x, none(), wide), why="another input's dims")
    yield g.near_miss(
        resized(g, x, none(), shape_of(x, 0, 4) + g.constant(np.array([0, 0, 1, 0]))), why="a sum"
    )


@law(examples=_sizes, uses=(counted,))
def multiples_as_scales(x: Tensor, r: Tensor, s: Tensor, z: Tensor, p: Settings):
    """Resize(x, sizes) = Resize(x, scales) where the sizes are known multiples of x's dims"""
    scales = literal(scales_of(multiples(z), x, s, p))
    whole, scaled = resize(x, r, s, z, p), resize(x, r, scales, none(), p)
    yield rewrite(whole, scaled, guard(is_computed(z)), because="forgets what computed them")


@hosted()
def as_scales(elements: Dims) -> Literal | None:
    return _literal(elements)


def _scales(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, "L", "M"))
    before = cast(shape_of(x, 0, 4), TensorProto.FLOAT)
    after = cast(doubled(g, x, 4), TensorProto.FLOAT)
    yield g.fires(resized(g, x, after / before, none()))
    ones = g.constant(np.array([1, 1], np.float32))
    spatial = slice_(after, ((0, 2, 4, 1),)) / slice_(before, ((0, 2, 4, 1),))
    yield g.fires(resized(g, x, concat(listed(ones, spatial), 0), none()))
    longer = cast(shape_of(g.input(("N", 3, "L", "L")), 0, 4), TensorProto.FLOAT)
    yield g.near_miss(resized(g, x, longer / before, none()), why="no number is known")
    yield g.near_miss(
        resized(g, x, g.constant(np.array([1, 1, 2, 2], np.float32)), none()), why="they are constant"
    )


@law(examples=_scales, uses=(counted,))
def known_scales(x: Tensor, r: Tensor, s: Tensor, p: Settings):
    """Resize(x, scales) = Resize(x, numbers) where scales that are computed of dims are whole numbers"""
    numbers = resize(x, r, literal(as_scales(multiples(s))), none(), p)
    yield rewrite(
        resize(x, r, s, none(), p), numbers, guard(is_computed(s)), because="forgets what computed them"
    )

"""Resize: each element is one of the image, or a mean of some, by where it is along each axis.

Which element is next to a place, and how much each weighs, are functions of the place, of both lengths and
of the factor, of which proofs know what all modes have in common: a place is within the image, weights add up
to 1, and by a factor of 1 each element is where it was.  Tests compare the functions with onnxruntime.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import z3

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.semantics.folds import any_axes, sum_in
from egraph_opt.semantics.values import Index, Value, means, number

Settings: TypeAlias = tuple[tuple[str, Any], ...]
Along = tuple[z3.ArithRef, ...]
"""Along an axis: lengths of the image and of the result, the factor, and where the region begins and ends."""

MODES = ("nearest", "linear", "cubic")
CROP = "tf_crop_and_resize"
SHIFTED = "tf_half_pixel_for_nn"
COORDINATES = (
    "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric", SHIFTED, CROP
)  # fmt: skip
POLICIES = ("stretch", "not_larger", "not_smaller")
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
PLACE, WEIGHT, INSIDE = "resize place", "resize weight", "resize inside"


def any_resize(scene: Any, given: dict[str, Any]) -> Settings:
    """All attributes, or the mode alone, as Upsample has it; axes in order, from the front or from behind."""
    scene.must(_fit(*(given[name] for name in ("x", "roi", "scales", "sizes"))))
    if given["roi"] is None and given["sizes"] is None and scene.choose(2):
        return (("mode", MODES[scene.choose(2)]),)
    mode = MODES[scene.choose(len(MODES))]
    settings = {
        "antialias": 0 if mode == "nearest" else scene.choose(2),
        "coordinate_transformation_mode": COORDINATES[scene.choose(len(COORDINATES))],
        "cubic_coeff_a": scene.real("cubic") if mode == "cubic" else -0.75,
        "exclude_outside": scene.choose(2) if mode == "cubic" else 0,
        "extrapolation_value": scene.real("extrapolation"),
        "keep_aspect_ratio_policy": POLICIES[0 if given["sizes"] is None else scene.choose(len(POLICIES))],
        "mode": mode,
        "nearest_mode": NEAREST[scene.choose(len(NEAREST)) if mode == "nearest" else 0],
    }
    if scene.choose(2):
        scene.notes.add("axes of a Resize are in order, and count from the front or from behind")
        axes = any_axes(scene, given)
        settings["axes"] = tuple(a - given["x"].rank for a in axes) if scene.choose(2) else axes
    return tuple(sorted(settings.items()))


def _fit(x: Value, roi: Value | None, scales: Value | None, sizes: Value | None) -> bool:
    """Either factors or lengths are there, and all numbers are in a row."""
    rows = [v.rank == 1 for v in (roi, scales, sizes) if v is not None]
    return x.rank >= 1 and (scales is None) != (sizes is None) and all(rows)


@means("resize", settings=any_resize)
def resize(
    scene: Any, x: Value, roi: Value | None, scales: Value | None, sizes: Value | None, settings: Settings
) -> Value:
    given = dict(settings)
    coordinates = given.get("coordinate_transformation_mode", "asymmetric")
    crops = coordinates == CROP
    scene.must(_fit(x, roi, scales, sizes) and not (crops and roi is None))
    axes = [axis % x.rank for axis in given.get("axes", range(x.rank))]
    along: dict[int, Along] = {}
    shape = list(x.shape)
    for k, axis in enumerate(axes):
        along[axis] = _along(
            scene, [x.shape[a] for a in axes], k, scales, sizes, given, roi if crops else None
        )
        shape[axis] = along[axis][1]
    rules = _rules(given, coordinates)
    stretches = given.get("keep_aspect_ratio_policy", POLICIES[0]) == POLICIES[0]
    same_places = coordinates not in (SHIFTED, CROP)

    def inside(moved: Sequence[int], i: Index) -> z3.BoolRef:
        parts = [scene.function(INSIDE, *map(_real, (i[a], *along[a]))) for a in moved]
        return z3.And([part != 0 for part in parts])

    def at(i: Index) -> z3.ArithRef:
        moved = [a for a in axes if not (same_places and _stays(scene, along[a], sizes, stretches))]
        looked = _nearest if given["mode"] == "nearest" else _mean
        here = looked(scene, x, along, rules, moved, i)
        outside = scene.real_formula(given.get("extrapolation_value", 0.0))
        return z3.If(inside(moved, i), here, outside) if crops else here

    return Value(x.dtype, tuple(shape), at)


def _rules(given: Mapping[str, Any], coordinates: str) -> str:
    """The name of the function that says which elements are looked at."""
    if given["mode"] == "nearest":
        return f"{PLACE} {coordinates} {given.get('nearest_mode', 'floor')}"
    rest = [given.get(name, 0) for name in ("antialias", "exclude_outside", "cubic_coeff_a")]
    return " ".join(map(str, (WEIGHT, coordinates, given["mode"], *rest[: 2 + (given["mode"] == "cubic")])))


def _real(a: z3.ArithRef) -> z3.ArithRef:
    return z3.ToReal(a) if a.is_int() else a


def _along(
    scene: Any,
    dims: Sequence[z3.ArithRef],
    k: int,
    scales: Value | None,
    sizes: Value | None,
    given: Mapping[str, Any],
    roi: Value | None,
) -> Along:
    """What is known along the k-th of the axes that are resized, whose lengths are these."""
    count, dim = len(dims), dims[k]
    region = []
    if roi is not None:
        scene.must(roi.shape[0] == 2 * count)
        region = [roi.at([number(k)]), roi.at([number(k + count)])]
    numbers = sizes if scales is None else scales
    assert numbers is not None
    scene.must(numbers.shape[0] == count)
    row = [numbers.at([number(j)]) for j in range(count)]
    if scales is not None:
        scene.must(row[k] > 0)
        return (dim, z3.simplify(z3.ToInt(_real(dim) * row[k])), row[k], *region)
    policy = given.get("keep_aspect_ratio_policy", POLICIES[0])
    factor = row[k]
    if policy != POLICIES[0]:  # of all lengths and sizes together
        together = [*row, *map(_real, dims)]
        row[k], factor = (scene.function(f"resize {what} {policy} {k}", *together) for what in ("to", "by"))
    length = z3.simplify(z3.ToInt(row[k]))
    scene.must(length >= 0)
    scene.must(z3.Or(length == 0, dim > 0))
    return (dim, length, factor, *region)


def _stays(scene: Any, along: Along, sizes: Value | None, stretches: bool) -> bool:
    """Whether elements are known to be where they were: by a factor of 1, or to the length that there is."""
    dim, length, factor, *_ = along
    if sizes is not None:
        return stretches and bool(scene.same(length, dim))
    return bool(scene.same(factor, z3.RealVal(1)))


def _nearest(
    scene: Any, x: Value, along: Mapping[int, Along], rules: str, moved: Sequence[int], i: Index
) -> z3.ArithRef:
    places = list(i)
    for axis in moved:
        dim = along[axis][0]
        places[axis] = z3.ToInt(scene.function(rules, *map(_real, (i[axis], *along[axis]))))
        scene.known(z3.Implies(dim > 0, z3.And(places[axis] >= 0, places[axis] < dim)))
    return x.at(places)


def _mean(
    scene: Any, x: Value, along: Mapping[int, Along], rules: str, moved: Sequence[int], i: Index
) -> z3.ArithRef:
    if not moved:
        return x.at(i)
    bounds = [x.shape[axis] for axis in moved]

    def weight(k: Index) -> z3.ArithRef:
        total: z3.ArithRef | None = None
        for axis, place in zip(moved, k, strict=True):
            one = scene.function(rules, *map(_real, (place, i[axis], *along[axis])))
            total = one if total is None else scene.multiply(total, one)
        assert total is not None
        return total

    def weighed(k: Index) -> z3.ArithRef:
        places = list(i)
        for axis, place in zip(moved, k, strict=True):
            places[axis] = place
        return scene.multiply(weight(k), x.at(places))

    made = sum_in(scene, "Resize", bounds, weighed)
    if scene.reals:
        some = z3.And([bound > 0 for bound in bounds])
        scene.known(z3.Implies(some, scene.fold("sum", bounds, weight) == 1))
    return made if scene.is_in(x.dtype, FLOATS) else scene.function("resized integer", made)


# --- the functions themselves, for numbers --------------------------------------------------------------


def _coordinate(mode: str, i: float, dim: float, length: float, factor: float, *region: float) -> float:
    """Where the element at an index of the result is in the image."""
    if mode == "asymmetric":
        return i / factor
    if mode == "align_corners":
        return i * (dim - 1) / (length - 1) if length > 1 else 0.0
    if mode == CROP:
        begin, end = region
        if length > 1:
            return begin * (dim - 1) + i * (end - begin) * (dim - 1) / (length - 1)
        return 0.5 * (begin + end) * (dim - 1)
    if mode == "pytorch_half_pixel" and length <= 1:
        return 0.0
    if mode == SHIFTED:
        return (i + 0.5) / factor
    offset = dim / 2 * (1 - length / (factor * dim)) if mode == "half_pixel_symmetric" else 0.0
    return offset + (i + 0.5) / factor - 0.5


_ROUNDED: dict[str, Callable[[float], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "round_prefer_floor": lambda a: math.ceil(a - 0.5),
    "round_prefer_ceil": lambda a: math.floor(a + 0.5),
}


def _place(mode: str, nearest: str, i: float, dim: float, *along: float) -> float:
    return min(max(_ROUNDED[nearest](_coordinate(mode, i, dim, *along)), 0), dim - 1)


def _inside(i: float, dim: float, *along: float) -> float:
    return float(0 <= _coordinate(CROP, i, dim, *along) <= dim - 1)


def _linear(mode: str, k: float, i: float, dim: float, *along: float) -> float:
    where = min(max(_coordinate(mode, i, dim, *along), 0.0), dim - 1)
    return max(0.0, 1 - abs(where - k))


def _cubic(mode: str, a: float, k: float, i: float, dim: float, *along: float) -> float:
    """Elements next to the image are those at its border."""
    where = _coordinate(mode, i, dim, *along)
    first, total = math.floor(where), 0.0
    for step in range(-1, 3):
        if min(max(first + step, 0), dim - 1) == k:
            far = abs(where - first - step)
            if far <= 1:
                total += (a + 2) * far**3 - (a + 3) * far**2 + 1
            else:
                total += a * far**3 - 5 * a * far**2 + 8 * a * far - 4 * a
    return total


def numbers_of(name: str) -> Callable[..., float] | None:
    """The function of a name, of numbers; None of what is compared with nothing."""
    if name == INSIDE:
        return _inside
    if name.startswith(PLACE):
        coordinates, nearest = name.removeprefix(PLACE).split()
        return partial(_place, coordinates, nearest)
    if not name.startswith(WEIGHT):
        return None
    coordinates, mode, antialias, exclude, *a = name.removeprefix(WEIGHT).split()
    if antialias != "0" or exclude != "0":
        return None
    return partial(_linear, coordinates) if mode == "linear" else partial(_cubic, coordinates, *map(float, a))

"""Resize: each element is one of the image, or a mean of some, by where it is along each axis.

Which element is next to a place, and how much each weighs, are functions of the place, of both lengths and
of the factor, of which proofs know what all modes have in common: a place is within the image, weights add up
to 1, and by a factor of 1 each element is where it was.  Tests compare the functions with onnxruntime.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import z3

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.semantics.folds import any_axes, sum_in
from egraph_opt.semantics.resized_places import CROP, INSIDE, LENGTH, PLACE, SHIFTED, WEIGHT
from egraph_opt.semantics.values import Index, Value, means, number

Settings: TypeAlias = tuple[tuple[str, Any], ...]
Along = tuple[z3.ArithRef, ...]
"""Along an axis: lengths of the image and of the result, the factor, and where the region begins and ends."""

MODES = ("nearest", "linear", "cubic")
COORDINATES = (
    "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric", SHIFTED, CROP
)  # fmt: skip
POLICIES = ("stretch", "not_larger", "not_smaller")
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


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


@dataclass(frozen=True)
class ResizeRows:
    """The numbers by which axes are resized: where regions begin and end, and factors or lengths."""

    roi: Value | None
    scales: Value | None
    sizes: Value | None


@means("resize", settings=any_resize)
def resize(scene: Any, x: Value, *rows_and_settings: Value | Settings | None) -> Value:
    """Behind the image come regions, factors and lengths, and then the settings."""
    numbers: list[Any] = list(rows_and_settings[:-1])
    settings: Any = rows_and_settings[-1]
    given = dict(settings)
    coordinates = given.get("coordinate_transformation_mode", "asymmetric")
    crops = coordinates == CROP
    scene.must(_fit(x, *numbers) and not (crops and numbers[0] is None))
    rows = ResizeRows(numbers[0] if crops else None, *numbers[1:])
    axes = [axis % x.rank for axis in given.get("axes", range(x.rank))]
    dims = [x.shape[axis] for axis in axes]
    along = {axis: _along(scene, dims, k, rows, given) for k, axis in enumerate(axes)}
    shape = tuple(along[axis][1] if axis in along else dim for axis, dim in enumerate(x.shape))
    resized = _Resized(scene, x, along, _rules(given, coordinates))
    stretches = given.get("keep_aspect_ratio_policy", POLICIES[0]) == POLICIES[0]
    same_places = coordinates != CROP

    def at(i: Index) -> z3.ArithRef:
        moved = [a for a in axes if not (same_places and _stays(scene, along[a], rows.sizes, stretches))]
        here = (resized.nearest if given["mode"] == "nearest" else resized.mean)(moved, i)
        outside = scene.real_formula(given.get("extrapolation_value", 0.0))
        return z3.If(resized.inside(moved, i), here, outside) if crops else here

    return Value(x.dtype, shape, at)


def _rules(given: Mapping[str, Any], coordinates: str) -> str:
    """The name of the function that says which elements are looked at."""
    if given["mode"] == "nearest":
        return f"{PLACE} {coordinates} {given.get('nearest_mode', 'floor')}"
    rest = [given.get(name, 0) for name in ("antialias", "exclude_outside", "cubic_coeff_a")]
    return " ".join(map(str, (WEIGHT, coordinates, given["mode"], *rest[: 2 + (given["mode"] == "cubic")])))


def _real(a: z3.ArithRef) -> z3.ArithRef:
    return z3.ToReal(a) if a.is_int() else a


def _along(
    scene: Any, dims: Sequence[z3.ArithRef], k: int, rows: ResizeRows, given: Mapping[str, Any]
) -> Along:
    """What is known along the k-th of the axes that are resized, whose lengths are these."""
    count, dim = len(dims), dims[k]
    region = []
    if rows.roi is not None:
        scene.must(rows.roi.shape[0] == 2 * count)
        region = [rows.roi.at([number(k)]), rows.roi.at([number(k + count)])]
    numbers = rows.sizes if rows.scales is None else rows.scales
    assert numbers is not None
    scene.must(numbers.shape[0] == count)
    row = [numbers.at([number(j)]) for j in range(count)]
    if rows.scales is not None:
        scene.must(row[k] > 0)
        return (dim, _times(scene, dim, row[k]), row[k], *region)
    policy = given.get("keep_aspect_ratio_policy", POLICIES[0])
    factor = row[k]
    if policy != POLICIES[0]:  # of all lengths and sizes together
        together = [*row, *map(_real, dims)]
        row[k], factor = (scene.function(f"resize {what} {policy} {k}", *together) for what in ("to", "by"))
    length = z3.simplify(z3.ToInt(row[k]))
    scene.must(length >= 0)
    scene.must(z3.Or(length == 0, dim > 0))
    return (dim, length, factor, *region)


MOST = 2**24
"""Elements along an axis that is resized: of more, factors are rounded."""


def _times(scene: Any, dim: z3.ArithRef, factor: z3.ArithRef) -> z3.ArithRef:
    """How long an axis is by a factor: what runtimes compute in float32, which is exact of whole factors."""
    factor = z3.simplify(factor)
    if z3.eq(factor, z3.RealVal(1)):
        length = dim
    else:
        length = z3.ToInt(scene.function(LENGTH, _real(dim), factor))
        exact = z3.Implies(z3.IsInt(factor), z3.ToReal(length) == _real(dim) * factor)
        scene.known(length >= 0, exact, z3.Implies(factor == 1, length == dim))
    scene.notes.add(f"what is resized has at most {MOST} elements along an axis, and so has the result")
    return length


def _stays(scene: Any, along: Along, sizes: Value | None, stretches: bool) -> bool:
    """Whether elements are known to be where they were: by a factor of 1, or to the length that there is."""
    dim, length, factor, *_ = along
    if sizes is not None:
        return stretches and bool(scene.same(length, dim))
    return bool(scene.same(factor, z3.RealVal(1)))


@dataclass(frozen=True)
class _Resized:
    """Elements of a result.

    Attributes:
        along: by axis that is resized what is known along it.
        rules: the name of the function that says which elements are looked at.
    """

    scene: Any
    x: Value
    along: Mapping[int, Along]
    rules: str

    def inside(self, moved: Sequence[int], i: Index) -> z3.BoolRef:
        """Whether a place is within the image, along the axes along which elements move."""
        parts = [self.scene.function(INSIDE, *map(_real, (i[a], *self.along[a]))) for a in moved]
        return z3.And([part != 0 for part in parts])

    def nearest(self, moved: Sequence[int], i: Index) -> z3.ArithRef:
        places = list(i)
        for axis in moved:
            dim = self.along[axis][0]
            places[axis] = z3.ToInt(
                self.scene.function(self.rules, *map(_real, (i[axis], *self.along[axis])))
            )
            self.scene.known(z3.Implies(dim > 0, z3.And(places[axis] >= 0, places[axis] < dim)))
        return self.x.at(places)

    def mean(self, moved: Sequence[int], i: Index) -> z3.ArithRef:
        scene, x = self.scene, self.x
        if not moved:
            return x.at(i)
        bounds = [x.shape[axis] for axis in moved]

        def weight(k: Index) -> z3.ArithRef:
            total: z3.ArithRef | None = None
            for axis, place in zip(moved, k, strict=True):
                one = scene.function(self.rules, *map(_real, (place, i[axis], *self.along[axis])))
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

"""Images that are resized alike are combined first: one Resize for several.

Resize(x) + Resize(y) -> Resize(x + y)              likewise differences; products to the nearest element
Concat(Resize(x), Resize(y), ..) -> Resize(Concat(x, y, ..))        along an axis that stays as it is

See `slicing.concat` on how lists are walked.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Example,
    Operands,
    assign,
    auxiliary,
    eq,
    guard,
    hosted,
    laws_of,
    relu,
    rewrite,
    rule,
    table,
)
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Settings, String, Tensor, Tensors
from egraph_opt.operators import binary, concat, none, resize
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.arithmetic.distributivity import same_type
from egraph_opt.rewrites.conditions.values import is_float
from egraph_opt.rewrites.linear.joined_products import differ_along
from egraph_opt.rewrites.shapes.resize_identities import NEAREST
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk

law = laws_of("resize", numerics="reassociates", kind="merge", serves="arithmetic")

LARGER = "the larger images are more to compute"

LINEAR: tuple[tuple[str, Any], ...] = (("coordinate_transformation_mode", "half_pixel"), ("mode", "linear"))
CROP: tuple[tuple[str, Any], ...] = (("coordinate_transformation_mode", "tf_crop_and_resize"), *LINEAR[1:])
ROI = np.array((0, 0, 0, 0, 1, 1, 2, 2), np.float32)
"""Twice as much as there is."""


def _crops(s: Settings) -> bool:
    """What is beyond the image is a number of its own."""
    return dict(s).get("coordinate_transformation_mode") == "tf_crop_and_resize"


# --- sums -----------------------------------------------------------------------------------------------


@hosted()
def goes_inside(op: str, s: Settings) -> bool:
    """Sums of weighted sums are weighted sums; products are so of single elements."""
    return not _crops(s) and (op in ("Add", "Sub") or (op == "Mul" and dict(s).get("mode") == "nearest"))


def _sums(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, row = g.input(("N", 4, 3, "L")), g.input(("N", 4, 3, "L")), g.input((1, 4, 1, "L"))
    twice, twelve = (g.constant(np.array((1, 1, *v), np.float32)) for v in ((2, 2), (6, 2)))
    roi = g.constant(ROI)
    whole = [g.input((1, 2, 3, 4), TensorProto.INT32) for _ in range(2)]

    def big(v: Any, s: Any = NEAREST, scales: Any = twice, roi: Any = None) -> Any:
        return resize(v, none() if roi is None else roi, scales, none(), s)

    sizes, small = g.constant(np.array((2, 4, 5, 7))), [g.input((2, 4, 3, 5)) for _ in range(2)]
    first, second = (resize(v, none(), none(), sizes, LINEAR) for v in small)
    yield from g.all_fire(big(x) + big(y), big(x) * big(y), big(x, LINEAR) - big(y, LINEAR), first + second)
    yield from g.near_misses(
        (big(x) + big(y, LINEAR), "two modes"),
        (big(x) + relu(big(y)), "a function is between"),
        (big(x, LINEAR) * big(y, LINEAR), "a product of means is no mean of products"),
        (big(x) + big(row, scales=twelve), "another factor"),
        (big(x, CROP, roi=roi) + big(y, CROP, roi=roi), "what is beyond is counted twice"),
        (binary("Add", *(big(v, LINEAR) for v in whole)), "means of integers are rounded"),
    )
    less = g.constant(np.array((1, 1, 0.4, 1), np.float32))
    pair = big(g.input((1, 4, 3, 5)), scales=less) + big(g.input((1, 4, 1, 5)), scales=less)
    yield g.near_miss(pair, why="of one row nothing is left")


@law(examples=_sums)
def sum_of_resizes(op: String, x: Tensor, y: Tensor, roi: Tensor, scales: Tensor, sizes: Tensor, s: Settings):
    """Resize(x) + Resize(y) = Resize(x + y), likewise differences, and products to the nearest element"""
    first, second = (resize(v, roi, scales, sizes, s) for v in (x, y))
    together = resize(binary(op, x, y), roi, scales, sizes, s)
    known = (goes_inside(op, s), same_type(x, y), is_float(x), guard(varies(x), varies(y)))
    yield rewrite(binary(op, first, second), together, *known, because=LARGER)


# --- concatenations -------------------------------------------------------------------------------------


@table()
def resized(xs: Tensors, axis: Axis, roi: Tensor, scales: Tensor, s: Settings) -> Tensors:
    """The images of a list that are resized alike, by scales."""


@auxiliary(listing)
def resizing(
    x: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, roi: Tensor, scales: Tensor, a: Axis, s: Settings
):
    """Fills `resized`."""
    first, entry = resize(x, roi, scales, none(), s), resized(xs, a, roi, scales, s)
    yield rule(operands_of(xs, a), eq(xs, cons(first, nil())), then=assign(entry, cons(x, nil())))
    longer = (eq(xs, cons(first, rest)), eq(ys, resized(rest, a, roi, scales, s)))
    yield rule(operands_of(xs, a), *longer, then=assign(entry, cons(x, ys)))


@hosted()
def keeps_axis(axis: Axis, scales: Fact, s: Settings) -> bool:
    """Along an axis each element is where it was."""
    given, numbers = dict(s), scales.data
    axes = given.get("axes")
    if _crops(s) or given.get("antialias") or numbers is None:
        return False
    places = axes if axes is not None else tuple(range(len(numbers)))
    by = dict(zip(places, numbers, strict=True))
    return all(place >= 0 for place in places) and by.get(axis, 1) == 1


@hosted()
def fit_together(xs: tuple[Fact, ...], axis: Axis) -> bool:
    """Images that differ along the axis only."""
    return differ_along(xs, axis)


def _lists(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, other = g.input(("N", 4, 3, "L")), g.input(("N", 2, 3, "L")), g.input(("N", 2, 6, "L"))
    twice, once = (g.constant(np.array(v, np.float32)) for v in ((1, 1, 2, 2), (1, 1, 1, 2)))
    more, half = (g.constant(np.array(v, np.float32)) for v in ((1, 1.25, 2, 2), (1, 1, 0.5, 2)))
    five, rows = (
        [g.input(dims) for dims in pair] for pair in (((1, 5, 3, 3),) * 2, ((1, 2, 4, 3), (1, 2, 5, 3)))
    )

    def big(v: Any, s: Any = NEAREST, scales: Any = twice) -> Any:
        return resize(v, none(), scales, none(), s)

    for s in (NEAREST, LINEAR):
        yield g.fires(concat(listed(big(x, s), big(y, s), big(x, s)), 1))
    yield from g.near_misses(
        (concat(listed(big(x), big(x)), 2), "rows are repeated"),
        (concat(listed(big(x), big(y, LINEAR)), 1), "two modes"),
        (concat(listed(big(x), relu(big(y))), 1), "a function is between"),
        (concat(listed(big(x), big(other, scales=once)), 1), "two scales"),
        (concat(listed(*(big(v, scales=more) for v in five)), 1), "channels are repeated, some twice"),
        (concat(listed(*(big(v, scales=half) for v in rows)), 1), "images of four rows, and of five"),
    )


@law(examples=_lists, uses=(resizing,))
def concat_of_resizes(xs: Tensors, ys: Tensors, roi: Tensor, scales: Tensor, a: Axis, s: Settings):
    """Concat(Resize(x), Resize(y), ..) = Resize(Concat(x, y, ..)) along an axis that stays as it is"""
    found = (guard(worth_a_walk(xs)), eq(ys, resized(xs, a, roi, scales, s)))
    together = resize(concat(ys, a), roi, scales, none(), s)
    sound = (keeps_axis(a, scales, s), fit_together(ys, a))
    yield rewrite(concat(xs, a), together, *found, *sound, because=LARGER)

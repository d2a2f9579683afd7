"""Parts that are clipped to bounds of their own, and joined, are clipped as one to rows of bounds.

Concat(Clip(x; a, b), Clip(y; c, d), ..) -> Min(Max(Concat(x, y, ..), [a, c, ..]), [b, d, ..])

Corners of boxes are clipped to the width and the height of an image like this.
"""

from collections.abc import Iterator
from math import isfinite

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, assign, auxiliary, eq, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.algebra import relu, varies
from egraph_opt.laws.sorts import Axis, Settings, Tensor, Tensors
from egraph_opt.operators import Literal, concat, literal, slice_, unary, variadic
from egraph_opt.operators.terms import cons, listed, nil, opset
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk
from egraph_opt.rewrites.slicing.slice import dim_at

MOST = 4096
"""A part with more elements along the axis has no bound written for each."""


@table()
def clipped(xs: Tensors, axis: Axis) -> Tensors:
    """What the elements of a list clip."""


@table()
def least(xs: Tensors, axis: Axis, ys: Tensors) -> Tensors:
    """The lower bounds of the elements of a list, each as often as it is one."""


@table()
def greatest(xs: Tensors, axis: Axis, ys: Tensors) -> Tensors:
    """The upper bounds likewise."""


def _row(x: Fact, settings: Settings, name: str, axis: int) -> Literal | None:
    bounds, size = dict(settings), dim_at(x, axis)
    known = all(isinstance(bounds.get(k), int | float) and isfinite(bounds[k]) for k in ("min", "max"))
    if not known or not isinstance(size, int) or not 0 < size <= MOST or x.rank is None:
        return None
    return Literal(x.dtype, (size, *(1,) * (x.rank - 1 - axis)), (bounds[name],))


@hosted()
def lower_row(x: Fact, settings: Settings, axis: Axis) -> Literal | None:
    """The lower bound for each element of x along an axis, where there are both."""
    return _row(x, settings, "min", axis)


@hosted()
def upper_row(x: Fact, settings: Settings, axis: Axis) -> Literal | None:
    return _row(x, settings, "max", axis)


BOUNDED: dict[int, int] = {TensorProto.FLOAT: 8, TensorProto.FLOAT16: 12}
"""From which opset on Max and Min broadcast such a type."""


@hosted()
def may_be_bounded(x: Fact, number: int) -> bool:
    """Max and Min broadcast operands of this type."""
    return number >= BOUNDED.get(x.dtype, number + 1)


@auxiliary(listing)
def bounds_of_all(
    x: Tensor, xs: Tensors, ys: Tensors, ls: Tensors, us: Tensors, rest: Tensors, s: Settings, a: Axis
):  # fmt: skip
    """Fills `clipped`, `least` and `greatest`, from the end of a list to its front."""
    first, low, high = unary("Clip", s, x), literal(lower_row(x, s, a)), literal(upper_row(x, s, a))
    known = (operands_of(xs, a), may_be_bounded(x, opset()), varies(x))
    tail = (eq(ys, clipped(rest, a)), eq(ls, least(rest, a, ys)), eq(us, greatest(rest, a, ys)))
    for others, lows, highs, found in (
        (nil(), nil(), nil(), (eq(xs, cons(first, nil())),)),
        (ys, ls, us, (eq(xs, cons(first, rest)), *tail)),
    ):
        more = cons(x, others)
        then = (
            assign(clipped(xs, a), more),
            assign(least(xs, a, more), cons(low, lows)),
            assign(greatest(xs, a, more), cons(high, highs)),
        )
        yield rule(*known, *found, then=then)


@hosted()
def differ(*bounds: tuple[Fact, ...]) -> bool:
    """Of one kind at least there are several: else all of them are one Clip."""
    return any(len({b.splat for b in row}) > 1 for row in bounds)


def _corners(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    boxes, y = g.input(("N", 5, 4)), g.input(("N", 5, 3))

    def clip(x: Tensor, high: float | None, low: float | None = 0.0) -> Tensor:
        return unary("Clip", (("max", high), ("min", low)), x)  # type: ignore[no-any-return]

    corners = [slice_(boxes, ((2, k, k + 1, 1),)) for k in range(4)]
    yield from g.all_fire(
        concat(listed(*(clip(c, (6.0, 4.0)[k % 2]) for k, c in enumerate(corners))), 2),
        concat(listed(clip(boxes, 1.0), clip(y, 1.0, -1.0)), 2),
        concat(listed(clip(boxes, 2.0), clip(g.input(("N", 3, 4)), 1.0)), 1),
    )
    half = unary("Clip", (("max", 2.0), ("min", 1.0)), g.input((3,), TensorProto.FLOAT16))
    more = unary("Clip", (("max", 3.0), ("min", 1.0)), g.input((2,), TensorProto.FLOAT16))
    yield g.fires(concat(listed(half, more), 0))
    yield from g.near_misses(
        (concat(listed(clip(boxes, 1.0), clip(y, 1.0)), 2), "one Clip does"),
        (concat(listed(clip(boxes, 1.0), clip(y, None)), 2), "one has no upper bound"),
        (concat(listed(clip(boxes, 1.0), relu(y)), 2), "one is no Clip"),
        (concat(listed(clip(g.input(("N", 4)), 1.0), clip(g.input((3, 4)), 2.0)), 0), "as many as there are"),
    )


@law(
    "joining",
    numerics="finite",
    kind="merge",
    serves="launches",
    source="detectors: boxes within an image",
    examples=_corners,
    uses=(bounds_of_all,),
)
def joined_bounds(xs: Tensors, ys: Tensors, ls: Tensors, us: Tensors, a: Axis):
    """Concat(Clip(x; a, b), Clip(y; c, d), ..) = Min(Max(Concat(x, y, ..), [a, c, ..]), [b, d, ..])

    Of two zeros Max and Min may take the other one than Clip.
    """
    newest = guard(worth_a_walk(xs), eq(ys, clipped(xs, a)))
    found = (newest, eq(ls, least(xs, a, ys)), eq(us, greatest(xs, a, ys)))
    above = variadic("Max", listed(concat(ys, a), concat(ls, 0)))
    made = variadic("Min", listed(above, concat(us, 0)))
    yield rewrite(concat(xs, a), made, *found, guard(differ(ls, us)), because="rows of bounds were numbers")

"""Constants in front of tokens, and beside them, meet in the constant that is added to all: class tokens.

Concat(Expand(C), x, ..) -> Pad(Concat(x, ..); 0) + Concat(C, 0)      a batch that is counted at run time
Concat(x, y + b) + P -> Concat(x, y) + (P + Concat(0, b))             for constants b and P, in either order
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.dtypes import FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import is_constant, varies
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axis, Dims, Int, Pads, Tensor, Tensors
from egraph_opt.operators import Literal, concat, expand, expand_to, literal, pad, shape_of
from egraph_opt.operators.terms import cons, listed
from egraph_opt.rewrites.conditions.chains import affine, chosen
from egraph_opt.rewrites.conditions.channels import overflows_nowhere, static_shape
from egraph_opt.rewrites.conditions.operands import moved, moves
from egraph_opt.rewrites.conditions.values import broadcasts_into
from egraph_opt.rewrites.linear.joined_products import differ_along
from egraph_opt.rewrites.slicing.borders import PADDED
from egraph_opt.rewrites.slicing.reflection import along
from egraph_opt.rewrites.slicing.slice import dim_at

SOURCE = "ViT, arXiv 2010.11929: a class token and positions"


def _order(x: Any, y: Any, side: int) -> Any:
    """The list of x and y, or of y and x where `side` is 1."""
    return listed(y, x) if side else listed(x, y)


# --- expanded constants ---------------------------------------------------------------------------------


def _lengths(c: Fact, wide: Fact, z: Fact, axis: int) -> tuple[int, int, int] | None:
    """Where a constant has the axis of a Concat, how long it is there, and how long all else is.

    The constant is expanded along other axes.
    """
    dims, total, own = static_shape(c), dim_at(z, axis), dim_at(wide, axis)
    if dims is None or z.rank is None or c.dtype not in PADDED or not differ_along((wide, z), axis):
        return None
    place = axis - (z.rank - len(dims))
    if place < 0 or dims[place] != own or not isinstance(total, int) or not 0 < dims[place] < total:
        return None
    return place, dims[place], total - dims[place]


@hosted()
def room(c: Fact, wide: Fact, z: Fact, axis: Axis, side: Int) -> Pads | None:
    """The pads that leave room for a constant: in front of all else if side is 0, else behind it."""
    found = _lengths(c, wide, z, axis)
    if found is None:
        return None
    _, own, _ = found
    return along(z.rank or 0, axis, 0 if side else own, own if side else 0)


@hosted()
def zeros_beside(c: Fact, wide: Fact, z: Fact, axis: Axis) -> Literal | None:
    """Zeros for all else, next to the constant."""
    found = _lengths(c, wide, z, axis)
    if found is None or c.shape is None:
        return None
    place, _, rest = found
    return Literal(c.dtype, (*c.shape[:place], rest, *c.shape[place + 1 :]), (0.0,))  # type: ignore[arg-type]


@hosted()
def own_axis(c: Fact, z: Fact, axis: Axis) -> Axis | None:
    """The axis of a constant that is one of what it is expanded to."""
    return None if c.rank is None or z.rank is None else axis - (z.rank - c.rank)


def _tokens(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, token, like = g.input(("N", 5, 4)), g.random(1, 1, 4), g.input(("N", 1, 4))
    wide, whole = expand_to(token, shape_of(like, 0, 3)), g.constant(np.ones((1, 2), np.int64))
    yield from g.all_fire(
        concat(listed(wide, x), 1),
        concat(listed(x, wide), 1),
        concat(listed(wide, x, g.input(("N", 2, 4))), 1),
        concat(listed(expand(g.random(2, 4), (3, 1, 1)), g.input((3, 5, 4))), 1),
        concat(listed(expand(g.random(2, 1), (1, 4)), g.input((5, 4))), 0),
    )
    yield from g.near_misses(
        (concat(listed(wide, g.input(("N", "L", 4))), 1), "how many follow is not known"),
        (concat(listed(expand(g.random(1, 4), (2, 1)), g.input((5, 4))), 0), "expanded along that axis"),
        (concat(listed(like, x), 1), "nothing is expanded"),
        (concat(listed(expand(whole, (3, 1)), g.input((3, 4), INT64)), 1), "integers"),
    )


@law(
    "concat",
    numerics="finite",
    kind="replace",
    serves="traffic",
    source=SOURCE,
    examples=_tokens,
    uses=(moves,),
)
def expanded_in_front(c: Tensor, x: Tensor, xs: Tensors, t: Tensor, d: Dims, a: Axis):
    """Concat(Expand(C), x, ..) = Pad(Concat(x, ..)) + Concat(C, 0), likewise Concat(x, Expand(C))"""
    wide, demand = moved("Expand", c, t, d), guard(is_constant(c), varies(x))
    rest = cons(x, xs)
    for parts, others, side in ((cons(wide, rest), rest, 0), (listed(x, wide), listed(x), 1)):
        z = concat(parts, a)
        own = concat(_order(c, literal(zeros_beside(c, wide, z, a)), side), own_axis(c, z, a))
        apart = pad(concat(others, a), "constant", room(c, wide, z, a, side), 0.0) + own
        yield rewrite(z, apart, demand, because="any constant of as many may be one that was expanded")


# --- constants beside a part ----------------------------------------------------------------------------


@hosted()
def as_long_as(y: Fact, axis: Axis) -> Dims | None:
    """The target that gives a constant beside y all of one axis."""
    dim = dim_at(y, axis)
    return (dim, *(1,) * ((y.rank or 0) - 1 - axis)) if isinstance(dim, int) and dim > 0 else None


@hosted()
def zeros_for(b: Fact, x: Fact, y: Fact, axis: Axis) -> tuple[Literal, Axis] | None:
    """Zeros beside x for a constant beside y, and the axis along which both are joined."""
    dims, own, whole = static_shape(b), dim_at(x, axis), y.rank
    if dims is None or whole is None or not isinstance(own, int) or own < 1 or b.dtype not in FLOATS:
        return None
    if not broadcasts_into(dims, y.shape):
        return None
    full = (*(1,) * (whole - axis - len(dims)), *dims)
    place = len(full) - (whole - axis)
    return Literal(b.dtype, (*full[:place], own, *full[place + 1 :]), (0.0,)), place


@hosted()
def add_up(b: Fact, p: Fact) -> bool:
    """The sum of two constants is finite where both are."""
    return b.dtype in FLOATS and overflows_nowhere("Add", b, p)


def _biases(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 1, 4)), g.input(("N", 5, 4))
    b, places = g.random(4), g.random(1, 6, 4)
    half, large, rest = (
        g.input((2, 4), TensorProto.FLOAT16),
        *(g.constant(np.float16(v)) for v in (65024, 512)),
    )
    cancelling = g.constant([1e20]) + g.constant([-1e20])
    yield from g.all_fire(
        concat(listed(x, y + b), 1) + places,
        concat(listed(y + b, x), 1) + places,
        concat(listed(x, y + g.random(5, 1)), 1) + b,
        concat(listed(g.random(2, 3), g.input((2, 4)) + g.constant(2.0)), 1) + g.random(7),
    )
    yield from g.near_misses(
        (concat(listed(x, g.input(("N", "L", 4)) + b), 1) + b, "how many follow is not known"),
        (concat(listed(half, half + large), 1) + rest, "the sum of both is infinite"),
        (concat(listed(g.random(2, 1, 4), g.input((1, 5, 4)) + g.random(2, 1, 4)), 1) + b, "more rows"),
        (concat(listed(half + large, half), 1) + rest, "the sum of both is infinite"),
        (concat(listed(x, y * b), 1) + places, "a product"),
        (concat(listed(x, y + b), 1) * places, "a product of both"),
        (concat(listed(g.random(1), cancelling), 0) + g.input((2,)), "a constant is biased"),
        (concat(listed(cancelling, g.random(1)), 0) + g.input((2,)), "a constant is biased"),
        (concat(listed(x, y + g.input((4,))), 1) + places, "the bias varies"),
        (concat(listed(x, y + b), 1) + g.input((4,)), "what is added varies"),
    )


@law(
    "joining",
    numerics="reassociates",
    kind="merge",
    serves="arithmetic",
    source=SOURCE,
    examples=_biases,
    uses=(affine,),
)
def bias_of_part(x: Tensor, y: Tensor, b: Tensor, p: Tensor, a: Axis):
    """Concat(x, y + b) + P = Concat(x, y) + (P + Concat(0, b)) for constants b and P, in either order"""
    long, zeros = expand(b, as_long_as(y, a)), zeros_for(b, x, y, a)
    for side in (0, 1):
        whole = concat(_order(x, y + b, side), a)
        moved_bias = concat(_order(literal(zeros[0]), long, side), zeros[1])
        together = concat(_order(x, y, side), a) + (p + moved_bias)
        known = varies(y), add_up(b, p), guard(chosen("Add", y, b), chosen("Add", whole, p))
        yield rewrite(whole + p, together, *known, because="b may be any part of P")

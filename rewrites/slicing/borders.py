"""A border that is one number throughout, in a Concat, is what a Pad adds: a window behind it takes that in.

The number is a constant's, or one that a model fills a tensor with at run time, as `zeros_like` does.

Concat(C, x, ..) = Pad(Concat(x, ..); in front)
Concat(x, C) = Pad(x; behind), also behind two operands
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, kernel, law, opset, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Int, Number, Pads, Tensor, Tensors
from egraph_opt.operators import concat, expand_to, pad, shape_of
from egraph_opt.operators.terms import cons, listed
from egraph_opt.rewrites.linear.joined_products import differ_along
from egraph_opt.rewrites.slicing.reflection import along
from egraph_opt.rewrites.slicing.slice import dim_at

PADDED = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE})
"""Types that onnxruntime pads in every opset, and of which there are windows."""

PADDED_SINCE: dict[int, int] = {**dict.fromkeys(PADDED, 0), TensorProto.FLOAT16: 13}
"""Since which opset onnxruntime pads a type."""


@hosted()
def is_padded(x: Fact, version: int) -> bool:
    return x.dtype in PADDED_SINCE and version >= PADDED_SINCE[x.dtype]


@hosted()
def border(c: Fact, x: Fact, axis: Axis, side: Int) -> Pads | None:
    """The pads that add as many elements as c has, of one number: in front of x if side is 0, else behind."""
    count = dim_at(c, axis)
    if c.splat is None or c.dtype not in PADDED_SINCE or not differ_along((c, x), axis):
        return None
    if not isinstance(count, int) or not count:
        return None
    return along(len(c.shape or ()), axis, 0 if side else count, count if side else 0)


@hosted()
def has_windows(x: Fact) -> bool:
    """Of the ranks of images and sequences: dims and bounds that are joined stay what they are."""
    return x.rank is not None and x.rank > 2


@hosted()
def number_of(c: Fact) -> Number | None:
    return c.splat


def _borders(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, zeros = g.input((1, 3, "L")), g.constant(np.zeros((1, 3, 2), np.float32))
    halves = g.constant(np.full((1, 1, 5), 0.5, np.float32))
    fixed, other = g.input((1, 3, 5)), g.input((1, 2, 5))
    yield from g.all_fire(
        concat(listed(zeros, x), 2),
        concat(listed(x, zeros), 2),
        concat(listed(zeros, x, zeros), 2),
        concat(listed(fixed, other, halves), 1),
    )
    zero = g.constant(np.array(0.0, np.float32))
    half, like = g.input((1, 3, "L"), TensorProto.FLOAT16), expand_to(zero, shape_of(x, 0, 3))
    made = expand_to(g.constant(np.array(0.0, np.float16), TensorProto.FLOAT16), shape_of(half, 0, 3))
    yield from g.all_fire(
        concat(listed(x, like), 1), concat(listed(like, x), 1), concat(listed(half, made), 1)
    )
    yield from g.near_misses(
        (concat(listed(g.random(1, 3, 2), x), 2), "of several numbers"),
        (concat(listed(g.input((1, 3, 2)), x), 2), "nobody knows the numbers"),
        (concat(listed(x, expand_to(zero, shape_of(x, 0, 3))), 2), "as many as nobody knows"),
        (concat(listed(halves, g.input((1, 2, "L"))), 1), "lengths that are not known to be equal"),
        (concat(listed(fixed, halves, other), 1), "in between"),
        (concat(listed(g.constant(np.zeros(2, np.float32)), g.input((3,))), 0), "no image"),
    )


@law("concat", numerics="bitwise", kind="replace", serves="traffic", examples=_borders)
def constant_borders(c: Tensor, x: Tensor, y: Tensor, xs: Tensors, a: Axis):
    """Concat(C, x, ..) = Pad(Concat(x, ..)), and Concat(.., x, C) likewise, of a C of one number"""
    why, rest = "any constant of one number is such a border", cons(x, xs)
    in_front = pad(concat(rest, a), "constant", border(c, x, a, 0), number_of(c))
    known = (*guard(varies(x), has_windows(x)), *kernel(is_padded(x, opset())))
    yield rewrite(concat(cons(c, rest), a), in_front, *known, because=why)
    for parts in ((x,), (y, x)):
        behind = pad(concat(listed(*parts), a), "constant", border(c, x, a, 1), number_of(c))
        yield rewrite(concat(listed(*parts, c), a), behind, *known, because=why)

"""A border that is one number throughout, in a Concat, is what a Pad adds: a window behind it takes that in.

Concat(C, x, ..) = Pad(Concat(x, ..); in front)
Concat(x, C) = Pad(x; behind), also behind two operands
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Int, Number, Pads, Tensor, Tensors
from egraph_opt.operators import concat, pad
from egraph_opt.operators.terms import cons, listed
from egraph_opt.rewrites.conditions.channels import static_shape
from egraph_opt.rewrites.linear.joined_products import differ_along
from egraph_opt.rewrites.slicing.reflection import along

PADDED = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE})
"""Types that onnxruntime pads in every opset, and of which there are windows."""


@hosted()
def border(c: Fact, x: Fact, axis: Axis, side: Int) -> Pads | None:
    """The pads that add as many elements as a constant has: in front of x if side is 0, else behind it."""
    dims = static_shape(c)
    if c.splat is None or not c.const or not dims or c.dtype not in PADDED or not differ_along((c, x), axis):
        return None
    count = dims[axis]
    return along(len(dims), axis, 0 if side else count, count if side else 0) if count else None


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
    yield from g.near_misses(
        (concat(listed(g.random(1, 3, 2), x), 2), "of several numbers"),
        (concat(listed(g.input((1, 3, 2)), x), 2), "no constant"),
        (concat(listed(halves, g.input((1, 2, "L"))), 1), "lengths that are not known to be equal"),
        (concat(listed(fixed, halves, other), 1), "in between"),
        (concat(listed(g.constant(np.zeros(2, np.float32)), g.input((3,))), 0), "no image"),
    )


@law("concat", numerics="bitwise", kind="replace", serves="traffic", examples=_borders)
def constant_borders(c: Tensor, x: Tensor, y: Tensor, xs: Tensors, a: Axis):
    """Concat(C, x, ..) = Pad(Concat(x, ..)), and Concat(.., x, C) likewise, for a C of one number"""
    why, rest = "any constant of one number is such a border", cons(x, xs)
    in_front = pad(concat(rest, a), "constant", border(c, x, a, 0), number_of(c))
    yield rewrite(concat(cons(c, rest), a), in_front, guard(varies(x), has_windows(x)), because=why)
    for parts in ((x,), (y, x)):
        behind = pad(concat(listed(*parts), a), "constant", border(c, x, a, 1), number_of(c))
        known = guard(varies(x), has_windows(x))
        yield rewrite(concat(listed(*parts, c), a), behind, known, because=why)

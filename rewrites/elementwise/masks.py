"""Masks of zeros and ones that are made of conditions are choices.

    x * Cast(c) -> Where(c, x, 0)
    1 - Cast(c) -> Cast(Not(c))
    Where(c, x, 0) + Where(c, 0, y) -> Where(c, x, y)
    x * Where(c, 1, b) -> Where(c, x, x * b)

So x * m + y * (1 - m) is one choice.  Infinity times 0 is NaN, and is not chosen.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import number_like
from egraph_opt.laws.sorts import DataType, Int, Tensor
from egraph_opt.operators import cast, where
from egraph_opt.operators.elementwise import apply_unary
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.values import all_are, broadcasts_into, fits

law = laws_of("conditions", numerics="finite", kind="fuse", serves="launches", source="blending by a mask")

BOOL, FLOAT = TensorProto.BOOL, TensorProto.FLOAT


@hosted()
def is_mask(c: Fact, x: Fact) -> bool:
    """A condition, computed, for floats."""
    return c.dtype == BOOL and not c.const and x.dtype in KERNEL_FLOATS


def _masked(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, c, row = g.input(("N", 3)), g.input(("N", 3), BOOL), g.input((3,), BOOL)
    whole = g.input(("N", 3), TensorProto.INT64)
    yield from g.all_fire(x * cast(c, FLOAT), cast(row, FLOAT) * x, g.constant(2.0) * cast(c, FLOAT))
    yield from g.near_misses(
        (x * cast(whole, FLOAT), "it may be 2"),
        (whole * cast(c, TensorProto.INT64), "integers"),
        (x + cast(c, FLOAT), "a sum"),
    )


@law(uses=(either_side,), examples=_masked)
def masked(x: Tensor, c: Tensor, t: DataType, i: Int):
    """x * Cast(c) = Where(c, x, 0) for a condition c"""
    product = beside("Mul", x, cast(c, t), i)
    yield rewrite(product, where(c, x, number_like(x, 0.0)), is_mask(c, x), because="a choice forgets 0 * x")


def _unmasked(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    c, one, wide = g.input(("N", 3), BOOL), g.constant([1.0]), g.constant(np.ones((4, 1, 1)))
    yield g.fires(one - cast(c, FLOAT))
    yield from g.near_misses(
        (g.constant(2.0) - cast(c, FLOAT), "from 2"),
        (wide - cast(c, FLOAT), "broadcasting makes it bigger"),
        (one - cast(g.input(("N", 3), TensorProto.INT64), FLOAT), "it may be 2"),
    )


@law(numerics="bitwise", examples=_unmasked)
def unmasked(c: Tensor, d: Tensor, t: DataType):
    """1 - Cast(c) = Cast(Not(c)) for a condition c"""
    rest, known = d - cast(c, t), (is_mask(c, d), all_are(d, 1), fits(d, c))
    yield rewrite(rest, cast(apply_unary("Not", c), t), *known, because="negations cancel on their own")


def _blended(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, zero = g.input(("N", 3)), g.input((3,)), g.constant(0.0)
    c, other = g.input(("N", 1), BOOL), g.input(("N", 1), BOOL)
    first: Any = where(c, x, zero)
    wide = g.constant(np.zeros((4, 1, 1)))
    yield from g.all_fire(first + where(c, zero, y), where(c, zero, y) + first)
    yield from g.near_misses(
        (first + where(other, zero, y), "two conditions"),
        (first + where(c, y, zero), "both where it holds"),
        (first + where(c, g.constant(1.0), y), "1 is added"),
        (where(c, x, g.constant(1.0)) + where(c, zero, y), "1 is added"),
        (first + where(c, wide, y), "broadcasting makes it bigger"),
        (where(c, x, wide) + where(c, zero, y), "broadcasting makes it bigger"),
    )


@hosted()
def are_zeros(a: Fact, b: Fact, x: Fact) -> bool:
    """Two zeros for floats, neither of which broadcasts anything."""
    return x.dtype in KERNEL_FLOATS and a.rank == b.rank == 0


@law(uses=(either_side,), examples=_blended)
def blended(x: Tensor, y: Tensor, c: Tensor, a: Tensor, b: Tensor, i: Int):
    """Where(c, x, 0) + Where(c, 0, y) = Where(c, x, y)"""
    both = beside("Add", where(c, x, a), where(c, b, y), i)
    zeros = (all_are(a, 0), all_are(b, 0), are_zeros(a, b, x))
    yield rewrite(both, where(c, x, y), *zeros, because="a choice forgets the zeros")


# --- factors that are chosen ----------------------------------------------------------------------------


def _factors(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, c, one, some = g.input(("N", 3)), g.input(("N", 1), BOOL), g.constant(1.0), g.constant([0.5])
    wide = g.constant(np.ones((4, 1, 1)))
    zero = g.constant([0.0])
    yield from g.all_fire(x * where(c, one, some), where(c, some, one) * x)
    yield from g.all_fire(x * where(c, one, zero), where(c, zero, one) * x)
    yield from g.near_misses(
        (x * where(c, g.constant(2.0), some), "neither is 1"),
        (x * where(c, one, g.input((3,))), "it is no constant"),
        (x * where(c, wide, some), "broadcasting makes it bigger"),
        (x * where(c, one, wide * g.constant(2.0)), "broadcasting makes it bigger"),
        (x * where(g.input((2, 1, 3), BOOL), one, some), "the condition makes it bigger"),
    )


@hosted()
def are_factors(c: Fact, a: Fact, b: Fact, x: Fact) -> bool:
    """1 and another constant, of which, and of the condition, none makes x bigger."""
    shapes = (c.shape, a.shape, b.shape)
    known = x.dtype in KERNEL_FLOATS and a.const and b.const and not x.const and not c.const
    return (
        known and a.splat == 1 and b.splat not in (0, 1) and all(broadcasts_into(d, x.shape) for d in shapes)
    )


@hosted()
def are_one_and_zero(c: Fact, a: Fact, b: Fact, x: Fact) -> bool:
    """1 and 0, of which, and of the condition, none makes x bigger."""
    shapes = (c.shape, a.shape, b.shape)
    known = x.dtype in KERNEL_FLOATS and not x.const and not c.const
    return known and (a.splat, b.splat) == (1, 0) and all(broadcasts_into(d, x.shape) for d in shapes)


@law(uses=(either_side,), examples=_factors)
def chosen_factor(x: Tensor, c: Tensor, a: Tensor, b: Tensor, i: Int):
    """x * Where(c, 1, b) = Where(c, x, x * b), and x * Where(c, 1, 0) = Where(c, x, 0)"""
    for choice, chosen in ((where(c, a, b), where(c, x, x * b)), (where(c, b, a), where(c, x * b, x))):
        product = beside("Mul", x, choice, i)
        yield rewrite(product, chosen, are_factors(c, a, b, x), because="a choice forgets the 1")
    zero, sound = number_like(x, 0.0), are_one_and_zero(c, a, b, x)
    for choice, chosen in ((where(c, a, b), where(c, x, zero)), (where(c, b, a), where(c, zero, x))):
        yield rewrite(beside("Mul", x, choice, i), chosen, sound, because="a choice forgets 0 * x")

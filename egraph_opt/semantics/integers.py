"""Integers wrap around: sums and products are written as if they did not, what reads them knows better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from egraph_opt.facts.dtypes import FLOATS, INTEGERS
from egraph_opt.semantics.values import ElementType, Index, Value


def place_of(scene: Any, indices: Value, at: Any) -> z3.ArithRef:
    """The whole number that a tensor of integers has at an index."""
    element = indices.at(at)
    return z3.ToInt(element if indices.written else ordered(scene, indices.dtype, element))


def places_along(
    scene: Any, indices: Value, dim: z3.ArithRef, shape: Index, last: int | None = None
) -> Callable[[Index], z3.ArithRef]:
    """Where an element of a tensor of indices is along an axis; below 0 it counts from the end.

    What is matched has indices within the axis, and of what is written that has to be shown.

    Args:
        shape: of what is gathered; where that has no elements, no index is looked at.
        last: the place along the last axis of the indices of which elements are looked at; None for all axes.
    """
    rest = [] if last is None else [z3.IntVal(last)]
    walked = indices.shape if last is None else indices.shape[:-1]

    def valid(i: Index) -> z3.BoolRef:
        k = place_of(scene, indices, [*i, *rest])
        inside = [z3.And(n >= 0, n < d) for n, d in zip(i, walked, strict=True)]
        return z3.Implies(z3.And(inside), z3.And(k >= -dim, k < dim))

    written: bool = scene.showing
    if written:
        scene.show_within(indices, (last, dim), shape, lambda: valid([scene.whole("any") for _ in walked]))
    else:
        scene.assume_within(indices, (last, dim))

    def place(i: Index) -> z3.ArithRef:
        if not written and indices.known is None:
            scene.known(valid(i))
        k = place_of(scene, indices, [*i, *rest])
        return z3.If(k < 0, k + dim, k)

    return place


def held_by(scene: Any, dtype: ElementType, a: z3.ArithRef) -> z3.ArithRef:
    """A number as it is written into a tensor: integers have nothing behind the point."""
    if a.is_int() or z3.is_to_real(a) or scene.is_surely_in(dtype, FLOATS):
        return a
    if z3.is_rational_value(a) and a.denominator_as_long() == 1:
        return a
    if not scene.is_in(dtype, INTEGERS):
        return a
    made: z3.ArithRef = scene.function("written as an integer", a)
    return z3.If(z3.IsInt(a), a, made)


def ordered(scene: Any, dtype: ElementType, a: z3.ArithRef) -> z3.ArithRef:
    """A number that is compared or read: what integers compute wraps around, which a ring does not see.

    Sums and products of integers are written as if there were no end, which is right modulo any power of 2.
    """
    if not is_computed(a) or scene.is_surely_in(dtype, FLOATS) or not scene.is_in(dtype, INTEGERS):
        return a
    made: z3.ArithRef = scene.function(f"wrapped {scene.root(dtype)}", a)
    return made


def is_computed(a: z3.ArithRef) -> bool:
    """Whether a number is a sum or a product, or may be."""
    pending = [z3.simplify(a)]
    while pending:
        part = pending.pop()
        if z3.is_app_of(part, z3.Z3_OP_ITE):
            pending += part.children()[1:]
        elif z3.is_add(part) or z3.is_mul(part) or z3.is_sub(part) or z3.is_app_of(part, z3.Z3_OP_UMINUS):
            return True
    return False

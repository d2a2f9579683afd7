"""Integers wrap around: sums and products are written as if they did not, what reads them knows better."""

from __future__ import annotations

from typing import Any

import z3

from egraph_opt.facts.dtypes import FLOATS, INTEGERS
from egraph_opt.semantics.values import ElementType, Value


def place_of(scene: Any, indices: Value, at: Any) -> z3.ArithRef:
    """The whole number that a tensor of integers has at an index."""
    return z3.ToInt(ordered(scene, indices.dtype, indices.at(at)))


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

"""Casts: what a type holds stays as it is; of other casts nothing is known."""

from __future__ import annotations

from typing import Any, TypeAlias

import z3
from onnx import TensorProto

from egraph_opt.facts.dtypes import FLOATS, HOLDS, INTEGERS
from egraph_opt.semantics.integers import ordered
from egraph_opt.semantics.pointwise import mapped
from egraph_opt.semantics.taken_types import TYPES
from egraph_opt.semantics.values import ElementType, Index, Value, means, of_type

Real: TypeAlias = z3.ArithRef

WHOLE_NUMBERS: dict[int, tuple[int, int]] = {
    TensorProto.BOOL: (0, 1), TensorProto.UINT8: (0, 2**8 - 1), TensorProto.INT32: (-(2**31), 2**31 - 1),
    TensorProto.FLOAT16: (-(2**11), 2**11), TensorProto.FLOAT: (-(2**24), 2**24),
    TensorProto.DOUBLE: (-(2**53), 2**53), TensorProto.INT64: (-(2**63), 2**63 - 1),
}  # fmt: skip
"""The whole numbers that a type holds, all between two."""


def any_type(scene: Any, given: dict[str, Any]) -> Any:
    return scene.type_name(TYPES)


@means("cast", to=any_type)
def cast(scene: Any, x: Value, to: Any) -> Value:
    """What a type holds stays as it is; types that are not chosen keep no value that is known.

    Among floats it is a number of another type, where functions are those of a type: exp in float16 is not
    that in float32.
    """

    def at(i: Index) -> Real:
        scene.is_surely_in(x.dtype, INTEGERS)  # which leaves only the types that are possible
        return kept(x.at(i))

    def kept(a: Real) -> Real:
        a = ordered(scene, x.dtype, a)
        target, own = scene.type_so_far(to), scene.root(x.dtype)
        holds = own == TensorProto.BOOL or target in HOLDS.get(own, ())
        if holds and (scene.reals or own not in FLOATS or own == target):
            return a
        made = scene.function(f"cast {own} {target}", a)
        if holds:  # but what is computed of it is rounded otherwise
            scene.known(scene.function(f"cast {target} {own}", made) == a)
        if target in WHOLE_NUMBERS and (own in INTEGERS or target in INTEGERS):
            low, high = WHOLE_NUMBERS[target]
            scene.known(z3.Implies(z3.And(z3.IsInt(a), a >= low, a <= high), made == a))
        return made

    known = of_type(to) if isinstance(to, int) else ElementType(lambda: scene.type_so_far(to), to.settled)
    return Value(known, x.shape, at, mapped(kept, x))

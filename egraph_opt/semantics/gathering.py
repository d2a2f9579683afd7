"""Elements at places that several indices say together."""

from __future__ import annotations

from typing import Any

import z3

from egraph_opt.semantics.integers import place_of
from egraph_opt.semantics.movement import any_axis
from egraph_opt.semantics.values import Index, Value, means, number


@means("gather_nd", axis=any_axis)
def gather_nd(scene: Any, x: Value, indices: Value, axis: int) -> Value:
    """The last axis of the indices says where in the axes of x from `axis` on; those in front are batches."""
    scene.must(axis < x.rank and axis < indices.rank)
    scene.must(z3.And([a == b for a, b in zip(x.shape[:axis], indices.shape[:axis], strict=True)]))
    depth = scene.counted(indices.shape[-1])
    scene.must(1 <= depth <= x.rank - axis)
    lead = indices.rank - 1

    def at(i: Index) -> z3.ArithRef:
        places = []
        for k in range(depth):
            place, dim = place_of(scene, indices, [*i[:lead], number(k)]), x.shape[axis + k]
            places.append(z3.If(place < 0, place + dim, place))
        return x.at([*i[:axis], *places, *i[lead:]])

    return Value(x.dtype, (*indices.shape[:-1], *x.shape[axis + depth :]), at, x.splat)

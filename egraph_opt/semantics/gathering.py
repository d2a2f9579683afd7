"""Elements at places that several indices say together."""

from __future__ import annotations

from typing import Any

import z3

from egraph_opt.semantics.integers import places_along
from egraph_opt.semantics.movement import any_axis
from egraph_opt.semantics.values import Value, means


@means("gather_nd", axis=any_axis)
def gather_nd(scene: Any, x: Value, indices: Value, axis: int) -> Value:
    """The last axis of the indices says where in the axes of x from `axis` on; those in front are batches."""
    scene.must(axis < x.rank and axis < indices.rank)
    scene.must(z3.And([a == b for a, b in zip(x.shape[:axis], indices.shape[:axis], strict=True)]))
    depth = scene.counted(indices.shape[-1])
    scene.must(1 <= depth <= x.rank - axis)
    lead = indices.rank - 1
    shape = (*indices.shape[:-1], *x.shape[axis + depth :])
    along = [places_along(scene, indices, x.shape[axis + k], shape, last=k) for k in range(depth)]
    at = lambda i: x.at([*i[:axis], *(place(i[:lead]) for place in along), *i[lead:]])  # noqa: E731

    return Value(x.dtype, shape, at, x.splat)

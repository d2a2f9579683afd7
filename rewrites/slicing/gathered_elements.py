"""Elements that are gathered by one index for a whole row are rows that are gathered.

GatherElements_a(x, Expand(i)) -> Gather_a(x, i)         where i has one axis
GatherElements_a(x, Expand(i)) -> GatherND(x, i)         where i has those before a as well, as batches

Boxes of the best scores are gathered like this in detectors: the indices come of a TopK.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, laws_of, rewrite
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axis, Dims, Tensor
from egraph_opt.operators import expand, gather, gather_elements, gather_nd, reshape
from egraph_opt.rewrites.conditions.operands import moved, moves
from egraph_opt.rewrites.conditions.view_shapes import same_dims

law = laws_of(
    "gather",
    numerics="bitwise",
    kind="fuse",
    serves="traffic",
    source="torch.gather behind torch.topk, as detectors are exported",
)


def widened(x: Fact, i: Fact, wide: Fact, axis: Axis) -> bool:
    """Indices of x's rank are expanded to whole rows of x, and along them only."""
    if x.shape is None or i.shape is None or wide.shape is None:
        return False
    if (
        0 in wide.shape
        or not len(x.shape) == len(i.shape) == len(wide.shape) > axis
        or not isinstance(i.shape[axis], int)
    ):
        return False
    known = all(
        symbolic.known_equal(a, b)
        for k, (a, b) in enumerate(zip(x.shape, wide.shape, strict=True))
        if k != axis
    )
    return known and i.shape[axis] == wide.shape[axis] and all(d == 1 for d in i.shape[axis + 1 :])


@hosted()
def one_axis(x: Fact, i: Fact, wide: Fact, axis: Axis) -> Dims | None:
    """The length of the indices, where they are of one axis only."""
    sound = widened(x, i, wide, axis) and all(d == 1 for d in i.shape[:axis])  # type: ignore[index]
    return (i.shape[axis],) if sound else None  # type: ignore[index]


@hosted()
def batches(x: Fact, i: Fact, wide: Fact, axis: Axis) -> Dims | None:
    """The dims of the indices as rows of one number, where each batch has its own."""
    if not widened(x, i, wide, axis) or i.dtype != TensorProto.INT64 or axis == 0:
        return None
    own = i.shape[:axis]  # type: ignore[index]
    if all(d == 1 for d in own) or not same_dims(own, wide.shape[:axis]):  # type: ignore[index]
        return None
    return (*own, i.shape[axis], 1)  # type: ignore[index]


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    rows, batch = g.input((1, 6, 4)), g.input(("N", 6, 4))
    few, many = (g.constant(np.array(v)) for v in ([[[2], [0], [5]]], [[[2]], [[-1]]]))
    yield g.fires(gather_elements(rows, expand(few, (1, 3, 4)), 1))
    yield g.fires(gather_elements(g.input((2, 6, 4)), expand(many, (1, 1, 4)), 1))
    yield g.fires(gather_elements(g.input((6, 4)), expand(g.constant(np.array([[3], [1]])), (1, 4)), 0))
    yield from g.near_misses(
        (gather_elements(rows, expand(few, (1, 3, 3)), 1), "a part of each row"),
        (
            gather_elements(g.input((6, 4)), expand(g.constant(np.array([[3, 1, 0, 0]])), (2, 4)), 0),
            "columns differ",
        ),
        (gather_elements(batch, g.input(("N", 3, 4), INT64), 1), "nothing is expanded"),
    )


@law(examples=_examples, uses=(moves,))
def whole_rows(x: Tensor, i: Tensor, t: Tensor, d: Dims, a: Axis):
    """GatherElements_a(x, Expand(i)) = Gather_a(x, i), or GatherND(x, i) with batches, for whole rows"""
    wide = moved("Expand", i, t, d)
    elements, why = gather_elements(x, wide, a), "a row forgets its elements"
    yield rewrite(elements, gather(x, reshape(i, one_axis(x, i, wide, a)), a), because=why)
    yield rewrite(elements, gather_nd(x, reshape(i, batches(x, i, wide, a)), a), because=why)

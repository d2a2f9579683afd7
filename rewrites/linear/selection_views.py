"""A part of a view of a product is a view of a part of it.

    Slice(Reshape(x)) -> Reshape(Slice(x))           or Reshape(Gather(x)) on an inner factor of an axis

See `selection`, which takes the part of the product.
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.sorts import Axis, Dims, Slices, Tensor
from egraph_opt.operators import Literal, gather, literal, reshape, slice_
from egraph_opt.rewrites.linear.selection import MORE, SPLIT_QKV, absorbing
from egraph_opt.rewrites.slicing.movement import asked, asking_rules
from egraph_opt.rewrites.slicing.slice import taken_by

LARGEST = 1 << 16
"""The most indices that are written for a part."""


def factor_of(before: Shape, after: Shape, axis: int) -> tuple[int, int, int] | None:
    """Which axis of `before` an axis of `after` is a factor of, and the sizes outside and inside of it.

    >>> factor_of(("N", 24), ("N", 2, 3, 4), 2)
    (1, 2, 4)
    """
    for place, dim in enumerate(before):
        if not isinstance(dim, int) or dim < 2:
            continue
        front = symbolic.product(before[:place])
        for first in range(axis + 1):
            if not symbolic.known_equal(symbolic.product(after[:first]), front):
                continue
            for end in range(axis + 1, len(after) + 1):
                outer, inner = symbolic.product(after[first:axis]), symbolic.product(after[axis + 1 : end])
                if not isinstance(outer, int) or not isinstance(inner, int):
                    break
                if outer * after[axis] * inner == dim:  # type: ignore[operator]
                    return place, outer, inner
    return None


@hosted()
def taken_axis(spec: Slices, x: Fact, dims: Dims) -> Axis | None:
    """The axis of x that a slice of Reshape(x) along one axis takes a part of."""
    if len(spec) != 1 or x.shape is None or not isinstance(dims[spec[0][0]], int):
        return None
    found = factor_of(x.shape, dims, spec[0][0])
    return None if found is None else found[0]


def elements_of(spec: Slices, x: Fact, dims: Shape) -> tuple[int, ...] | None:
    """The elements of an axis of x that a slice of Reshape(x) takes."""
    if len(spec) != 1 or x.shape is None:
        return None
    axis = spec[0][0]
    found, size = factor_of(x.shape, dims, axis), dims[axis]
    if found is None or not isinstance(size, int):
        return None
    _, outer, inner = found
    taken = taken_by(spec[0], size)
    if not taken or outer * len(taken) * inner > LARGEST:
        return None
    return tuple((o * size + k) * inner + n for o in range(outer) for k in taken for n in range(inner))


@hosted()
def as_range(spec: Slices, place: Axis, x: Fact, dims: Dims) -> Slices | None:
    """The slice of x that has the elements of a slice of Reshape(x), where they stand in a row."""
    taken = elements_of(spec, x, dims)
    if not taken or taken != tuple(range(taken[0], taken[0] + len(taken))):
        return None
    return ((place, taken[0], taken[0] + len(taken), 1),)


@hosted()
def as_indices(spec: Slices, x: Fact, dims: Dims) -> Literal | None:
    """The indices that gather of x the elements of a slice of Reshape(x), where they do not."""
    taken = elements_of(spec, x, dims)
    if not taken or taken == tuple(range(taken[0], taken[0] + len(taken))):
        return None
    return Literal(TensorProto.INT64, (len(taken),), taken)


@hosted()
def cut_dims(spec: Slices, dims: Dims) -> Dims:
    """The dims of a slice along one axis of known length."""
    axis = spec[0][0]
    size = dims[axis]
    assert isinstance(size, int)
    return tuple(len(taken_by(spec[0], size)) if k == axis else dim for k, dim in enumerate(dims))


def _view_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    w = g.random(5, 24)
    y, wide = g.input(("N", "L", 5)) @ w, g.input((6, 5)) @ w
    for dims, spec in (
        (("N", "L", 3, 2, 4), (2, 1, 2, 1)),
        (("N", "L", 2, 3, 4), (3, 1, 2, 1)),
        (("N", "L", 2, 4, 3), (4, 0, 2, 1)),
        (("N", "L", 2, 3, 4), (3, 2, None, -2)),
        (("N", "L", 3, 8), (2, 0, 2, 1)),
    ):
        yield g.fires(slice_(reshape(y, dims), (spec,)))
        yield g.fires(slice_(reshape(y + g.random(24), dims), (spec,)))
    yield g.fires(slice_(reshape(wide, (2, 3, 3, 8)), ((2, 0, 1, 1),)))
    free = g.input(("N", 24))
    yield g.near_miss(slice_(reshape(y, ("N", "L", 3, 8)), ((1, 0, 1, 1),)), why="rows are taken")
    yield g.near_miss(slice_(reshape(wide, (2, 72)), ((1, 0, 3, 1),)), why="the axis spans two")
    yield g.near_miss(slice_(reshape(free, ("N", 3, 8)), ((1, 0, 1, 1),)), why="there is no product")


@law(
    "selection",
    numerics="bitwise",
    kind="move",
    serves="arithmetic",
    source=SPLIT_QKV,
    examples=_view_examples,
    uses=(absorbing, asking_rules),
)
def before_view(x: Tensor, s: Slices, d: Dims):
    """Slice(Reshape(x)) = Reshape(Slice(x)), or Reshape(Gather(x)) on an inner factor, of products x"""
    axis, dims = taken_axis(s, x, d), cut_dims(s, d)
    for part in (slice_(x, as_range(s, axis, x, d)), gather(x, literal(as_indices(s, x, d)), axis)):
        yield rewrite(slice_(reshape(x, d), s), reshape(part, dims), guard(asked(x, axis)), because=MORE)

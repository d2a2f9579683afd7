"""Axes that reductions take away, and axes that views put in or join: counted in part."""

from typing import Any

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axes, Axis, Dims, String, Tensor, hosted, rewrite
from egraph_opt.operators import reduce, reshape, softmax

from . import fires_on, is_single, of_one, wrong


@hosted()
def all_axes(a: Axes, b: Axes) -> Axes | None:
    """Those of both, of which the latter are counted behind the former."""
    moved = tuple(v + sum(u <= v for u in a) for v in b)
    found = tuple(sorted({*a, *moved}))
    return found if len(found) == len(a) + len(b) else None


@hosted()
def is_extreme(kind: str) -> bool:
    return kind in ("ReduceMax", "ReduceMin")


def reduced(shape: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...]):
    return of_one(lambda x: reduce("ReduceMax", reduce("ReduceMax", x, a, 0), b, 0), shape)


@wrong(
    "finite",
    reduced((2, 2, 2, 3, 3), (0, 1, 2), (1,)),
    values=tuple(float((v * 29) % 73) for v in range(73)),
    examples=fires_on(reduced((2, 3, 4), (0,), (1,))),
)
def reduced_in_steps(kind: String, x: Tensor, a: Axes, b: Axes):
    """Reduce_b(Reduce_a(x)) = Reduce_ab(x), axes counted behind those that went

    Wrong where three went in front: 1 behind (0, 1, 2) is 4, and not 3.
    """
    yield rewrite(
        reduce(kind, reduce(kind, x, a, 0), b, 0),
        reduce(kind, x, all_axes(a, b), 0),
        is_extreme(kind),
        is_single(x),
        because="all at once",
    )


@hosted()
def axis_as_long(d: Dims, x: Fact, a: Axis) -> Axis | None:
    """Which axis of x it is, where a view has one axis less."""
    shape: Any = x.shape
    if not x.is_static or len(d) != len(shape) - 1 or 0 in shape:
        return None
    if d[:a] == shape[:a] and d[a] == shape[a]:
        return a
    return a + 1 if d[a] == shape[a + 1] else None


def softmax_of_view(shape: tuple[int, ...], dims: tuple[int, ...], a: int):
    return of_one(lambda x: softmax("Softmax", reshape(x, dims), a), shape)


@wrong(
    "reassociates",
    softmax_of_view((2, 4, 2), (4, 4), 0),
    examples=fires_on(softmax_of_view((2, 1, 3), (2, 3), 1), softmax_of_view((2, 3, 1), (2, 3), 1)),
)
def softmax_before_view(x: Tensor, d: Dims, a: Axis):
    """Softmax_a(Reshape(x)) = Reshape(Softmax(x)) along the axis of as many elements

    Wrong where that is another axis, of joined ones.
    """
    yield rewrite(
        softmax("Softmax", reshape(x, d), a),
        reshape(softmax("Softmax", x, axis_as_long(d, x, a)), d),
        is_single(x),
        because="as long",
    )


@hosted()
def axis_before_ones(x: Fact, d: Dims, a: Axis) -> Axis | None:
    """Where an axis is before axes of one element are put in."""
    shape: Any = x.shape
    if not x.is_static or 1 in shape or a >= len(d) or d[a] == 1:
        return None
    if tuple(n for n in d if n != 1) != shape:
        return None
    new = [k for k, n in enumerate(d) if n == 1]
    left = a - sum(k < a for k in new)
    return left if len(new) < 3 or left == 0 else left - 1 + (left == len(shape) - 1)


@wrong(
    "reassociates",
    softmax_of_view((2, 3, 4), (1, 2, 1, 3, 1, 4), 3),
    examples=fires_on(softmax_of_view((2, 3), (2, 1, 3), 2), softmax_of_view((2, 3), (1, 2, 1, 3), 1)),
)
def softmax_before_ones(x: Tensor, d: Dims, a: Axis):
    """Softmax_a(Unsqueeze(x)) = Unsqueeze(Softmax(x))

    Wrong of three new axes and one in the middle.
    """
    yield rewrite(
        softmax("Softmax", reshape(x, d), a),
        reshape(softmax("Softmax", x, axis_before_ones(x, d, a)), d),
        is_single(x),
        because="ones tell nothing",
    )

"""What a reflecting Pad adds along an axis are slices of the tensor, backwards.

    Pad_reflect(x; a in front, b behind) = Concat(x[a:0:-1], x, x[-2:-2-b:-1])       axis by axis

Targets without the mode take the one side, all others the other.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, law, rewrite, rule, union
from egraph_opt.laws.algebra import varies
from egraph_opt.laws.sorts import Axis, Int, Mode, Number, Pads, Slices, Tensor
from egraph_opt.operators import concat, pad, slice_
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.operands import number, numbers


def _front(axis: int, count: int) -> Slices:
    return ((axis, count, 0, -1),)


def _behind(axis: int, count: int, dim: Dim) -> Slices:
    if not isinstance(dim, int):
        return ((axis, -2, -2 - count, -1),)
    end = dim - 2 - count
    return ((axis, dim - 2, end if end >= 0 else None, -1),)


class Mirror(NamedTuple):
    """What is added along an axis: the slices in front and behind, and the pads up to this axis."""

    axis: Axis
    front: Slices
    behind: Slices
    pads: Pads


def padded_axes(pads: Pads) -> list[Axis]:
    rank = len(pads) // 2
    return [axis for axis in range(rank) if pads[axis] or pads[axis + rank]]


def first_axes(pads: Pads, count: int) -> Pads:
    """The pads of so many of the axes that are padded."""
    axes = padded_axes(pads)[:count]
    return tuple(p if k % (len(pads) // 2) in axes else 0 for k, p in enumerate(pads))


@hosted()
def pads_before(pads: Pads, k: int) -> Pads | None:
    """The pads of the axes before the k-th one that is padded; None where there are none."""
    return first_axes(pads, k) if k > 0 else None


def padded_axis(x: Fact, pads: Pads, k: int, in_front: int, behind: int) -> Axis | None:
    """The k-th axis that is padded; None where there is none, or it is not padded on these sides."""
    axes, rank = padded_axes(pads), len(pads) // 2
    if x.rank != rank or min(pads, default=0) < 0 or k >= len(axes):
        return None
    sides = (bool(pads[axes[k]]), bool(pads[axes[k] + rank]))
    return axes[k] if sides == (bool(in_front), bool(behind)) else None


SIDES = ((1, 1), (1, 0), (0, 1))
"""Whether something is added in front, and behind."""


def along(rank: int, axis: Axis, before: int, after: int) -> Pads:
    """The pads of one axis."""
    pads = [0] * (2 * rank)
    pads[axis], pads[axis + rank] = before, after
    return tuple(pads)


@hosted()
def mirrored(x: Fact, pads: Pads, k: int, in_front: int, behind: int) -> Mirror | None:
    """Of the k-th axis that is padded; None where it may have too few elements."""
    axis = padded_axis(x, pads, k, in_front, behind)
    if axis is None or x.shape is None:
        return None
    dim, before, after = x.shape[axis], pads[axis], pads[axis + len(x.shape)]
    if not symbolic.is_at_least(dim, max(before, after) + 1):
        return None
    return Mirror(axis, _front(axis, before), _behind(axis, after, dim), first_axes(pads, k + 1))


def _count_behind(behind: Slices, dim: Dim) -> int | None:
    """How many elements a slice takes that begins with the last but one."""
    if not behind:
        return 0
    end = behind[0][2]
    if isinstance(dim, int):
        return dim - 2 - (-1 if end is None else end)
    return None if end is None else -2 - end


def _backwards(spec: Slices) -> Slices:
    """The slice as one that steps back, where it takes one element: in either direction it is the same."""
    if len(spec) != 1 or spec[0][1] in (0, -1) or spec[0][2:] != (spec[0][1] + 1 or None, 1):
        return spec
    axis, start, _, _ = spec[0]
    return ((axis, start, start - 1, -1),)


@hosted()
def reflection(x: Fact, axis: Axis, front: Slices, behind: Slices, parts: int) -> Pads | None:
    """The pads of which these slices are what is added; of two parts, one is x and one slice is empty."""
    front, behind = _backwards(front), _backwards(behind)
    if bool(front) + bool(behind) + 1 != parts or x.shape is None or not axis < len(x.shape):
        return None
    dim = x.shape[axis]
    before, after = front[0][1] if front else 0, _count_behind(behind, dim)
    if after is None or min(before, after) < 0 or not symbolic.is_at_least(dim, max(before, after) + 1):
        return None
    if (front and front != _front(axis, before)) or (behind and behind != _behind(axis, after, dim)):
        return None
    return along(len(x.shape), axis, before, after)


def _reflected(x: Any, *pads: int) -> Any:
    return pad(x, "reflect", pads, 0.0)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, 4, 5))
    for y in (
        _reflected(x, 0, 0, 1, 0, 0, 0, 2, 0),
        _reflected(x, 0, 0, 1, 2, 0, 0, 3, 1),
        _reflected(x, 0, 0, 0, 4, 0, 0, 0, 0),
        _reflected(x, 0, 2, 0, 0, 0, 0, 0, 0),
        _reflected(x, 0, 0, 0, 0, 0, 0, 0, 3),
    ):
        yield g.fires(y)
    yield from g.near_misses(
        (pad(x, "edge", (0, 0, 1, 0, 0, 0, 1, 0), 0.0), "the edge is repeated"),
        (_reflected(g.input((2, "L", 4)), 0, 2, 0, 0, 1, 0), "there may be fewer"),
        (pad(x, "constant", (0, 0, 1, 0, 0, 0, 1, 0), 0.0), "zeros"),
    )


def _slice_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 3, 4, 5)), g.input(("N", 3, 4, 5))

    def around(front: Any, behind: Any, axis: int = 2, of: Any = None) -> Any:
        source = x if of is None else of
        first, last = (
            [slice_(source, ((axis, *bounds, -1),)) for bounds in (side,) if bounds]
            for side in (front, behind)
        )
        return concat(listed(*first, x, *last), axis)

    yield from g.all_fire(
        around((1, 0), (2, 1)), around((3, 0), (2, None)), around((2, 0), ()), around((), (3, 1), axis=3)
    )
    edge = [slice_(x, ((2, k, k + 1, 1),)) for k in (1, 2)]
    yield g.fires(concat(listed(edge[0], x, edge[1]), 2))
    yield from g.near_misses(
        (around((1, None), (3, 1)), "the edge is repeated"),
        (around((2, 0), (1, None)), "it begins further inside"),
        (around((1, 0), (2, 1), of=y), "of another tensor"),
    )


@hosted()
def zero_of(x: Fact) -> Number | None:
    """What a Pad that needs no value has: 0, of a type for which onnxruntime pads."""
    if x.dtype in (TensorProto.FLOAT, TensorProto.DOUBLE):
        return 0.0
    return 0 if x.dtype in (TensorProto.INT32, TensorProto.INT64) else None


_OF_PAD: dict[str, Any] = {"numerics": "bitwise", "kind": "split", "serves": "target"}


def in_steps(mode: str, x: Any, y: Any, k: Any, *, pads: Any, value: Any) -> Iterator[tuple[Any, ...]]:
    """What the k-th axis of a Pad y of x is padded behind: the axis's number, a tensor, and conditions."""
    written = (eq(y, pad(x, mode, pads, value)), guard(varies(x)))
    yield 0, x, written
    yield k, pad(x, mode, pads_before(pads, k), value), (*written, number(k))


@law(
    "padding", **_OF_PAD, source="Ascend auto-optimizer, reflection Pad", uses=(numbers,), examples=_examples
)
def reflected_by_slices(x: Tensor, y: Tensor, p: Pads, v: Number, k: Int):
    """Pad_reflect(x) = Concat(x[a:0:-1], x, x[-2:-2-b:-1]), one axis after the other

    Not last, as edges are: what slices backwards go on to is cheaper for some targets.
    """
    for n, z, written in in_steps("reflect", x, y, k, pads=p, value=v):
        for in_front, behind in SIDES:
            how = mirrored(x, p, n, in_front, behind)
            parts = [slice_(z, how[1])] * in_front + [z] + [slice_(z, how[2])] * behind
            step = union(pad(x, "reflect", how[3], v), concat(listed(*parts), how[0]))
            yield rule(*written, then=step, inverse="slices_that_reflect")


@law("padding", **{**_OF_PAD, "kind": "fuse", "serves": "launches"}, examples=_slice_examples)
def slices_that_reflect(x: Tensor, a: Axis, s: Slices, t: Slices):
    """Concat(x[a:0:-1], x, x[-2:-2-b:-1]) = Pad_reflect(x), in front or behind alone as well"""
    front, behind = slice_(x, s), slice_(x, t)
    for parts, first, last in (((front, x, behind), s, t), ((front, x), s, ()), ((x, behind), (), t)):
        whole = pad(x, "reflect", reflection(x, a, first, last, len(parts)), zero_of(x))
        yield rewrite(concat(listed(*parts), a), whole, guard(varies(x)), inverse="reflected_by_slices")


@hosted()
def both_pads(mode: Mode, p: Pads, q: Pads, v: Number, w: Number) -> Pads | None:
    """The pads of both: of edges, of one number, or reflections along different axes."""
    rank, both = len(p) // 2, tuple(a + b for a, b in zip(p, q, strict=True))
    if mode == "reflect":
        apart = not any((p[k] or p[k + rank]) and (q[k] or q[k + rank]) for k in range(rank))
        return both if apart else None
    alike = v == w and math.copysign(1.0, v) == math.copysign(1.0, w)
    return both if mode == "edge" or (mode == "constant" and alike) else None


def _pair_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 3, 4, 5))
    rows, columns = (0, 0, 1, 0, 0, 0, 2, 0), (0, 0, 0, 3, 0, 0, 0, 0)
    yield g.fires(_reflected(_reflected(x, *rows), *columns))
    yield g.fires(pad(pad(x, "edge", rows, 0.0), "edge", (0, 0, 2, 3, 0, 0, 0, 1), 0.0))
    yield g.fires(pad(pad(x, "constant", rows, 1.5), "constant", (0, 0, 2, 3, 0, 0, 0, 1), 1.5))
    numbers = pad(pad(x, "constant", rows, 1.5), "constant", columns, 0.0)
    yield g.near_miss(numbers, why="of two numbers")
    yield g.near_miss(_reflected(_reflected(x, *rows), *rows), why="the second one reflects the first")
    yield g.near_miss(_reflected(pad(x, "edge", rows, 0.0), *columns), why="of two modes")


@law("padding", **{**_OF_PAD, "kind": "merge", "serves": "launches"}, examples=_pair_examples)
def borders_meet(x: Tensor, m: Mode, p: Pads, q: Pads, v: Number, w: Number):
    """Pad(Pad(x)) = Pad(x) of edges, of one number, and of reflections along different axes"""
    twice = pad(pad(x, m, p, v), m, q, w)
    yield rewrite(twice, pad(x, m, both_pads(m, p, q, v, w), v), because="forgets which border came first")

"""Slices along different axes, whose bounds are computed at run time, are one.

Slice_b(Slice_a(x; s, e); t, f) -> Slice_ab(x; [s, t], [e, f])         likewise where one has known bounds
"""

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, laws_of, rewrite
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axes, Slices, Steps, Tensor
from egraph_opt.operators import Literal, concat, literal, slice_, slice_at
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.values import of_one_type

law = laws_of(
    "slice",
    numerics="bitwise",
    kind="merge",
    serves="traffic",
    source="Ascend auto-optimizer, MergeConsecutiveSlice",
)

FARTHEST: dict[int, int] = {TensorProto.INT64: 2**63 - 1, TensorProto.INT32: 2**31 - 1}
"""An end that stands for all that follows."""

JOINED = "the bounds do not tell what was sliced first"


@hosted()
def in_order(a: Axes, b: Axes) -> bool:
    """All axes of the first slice are in front of those of the second."""
    return bool(a and b) and max(a) < min(b)


@hosted()
def all_axes(a: Axes, b: Axes) -> Axes:
    return (*a, *b)


@hosted()
def all_steps(a: Steps, b: Steps) -> Steps:
    return (*a, *b)


@hosted()
def axes_of(spec: Slices) -> Axes:
    return tuple(entry[0] for entry in spec)


@hosted()
def steps_of(spec: Slices) -> Steps:
    return tuple(entry[3] for entry in spec)


@hosted()
def starts_of(spec: Slices, like: Fact) -> Literal | None:
    """Known starts, in the type of other bounds."""
    return Literal(like.dtype, (len(spec),), tuple(entry[1] for entry in spec)) if spec else None


@hosted()
def ends_of(spec: Slices, like: Fact) -> Literal | None:
    """Known ends, in the type of other bounds; None where these are no indices."""
    far = FARTHEST.get(like.dtype)
    if far is None or not spec:
        return None
    open_ends = (far if step > 0 else -far for _, _, _, step in spec)
    ends = (far if end is None else end for (_, _, end, _), far in zip(spec, open_ends, strict=True))
    return Literal(like.dtype, (len(spec),), tuple(ends))


def _computed(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input(("N", 5, 6))
    s, e, t, f = (g.constant(np.array([k])) for k in (1, 4, -5, 9))
    rows, columns = slice_at(x, s, e, (1,), (1,)), slice_at(x, t, f, (2,), (2,))
    yield g.fires(slice_at(rows, t, f, (2,), (2,)))
    yield g.fires(slice_at(columns, s, e, (1,), (1,)))
    yield g.near_miss(slice_at(rows, t, f, (1,), (1,)), why="one axis twice")
    yield g.near_miss(rows, why="there is one slice")
    narrow = [g.constant(np.array([k], np.int32)) for k in (0, 2)]
    yield g.fires(slice_at(slice_at(x, *narrow, (1,), (1,)), *narrow, (2,), (2,)))
    yield g.near_miss(slice_at(rows, *narrow, (2,), (1,)), why="bounds of two types")
    yield g.near_miss(slice_at(columns, *narrow, (1,), (1,)), why="bounds of two types")


@law(examples=_computed)
def compose_computed(
    x: Tensor, s: Tensor, e: Tensor, a: Axes, m: Steps, t: Tensor, f: Tensor, b: Axes, n: Steps
):
    """Slice_b(Slice_a(x; s, e); t, f) = Slice_ab(x; [s, t], [e, f]) along axes that differ"""
    twice = slice_at(slice_at(x, s, e, a, m), t, f, b, n)
    starts, ends = concat(listed(s, t), 0), concat(listed(e, f), 0)
    once = slice_at(x, starts, ends, all_axes(a, b), all_steps(m, n))
    yield rewrite(twice, once, in_order(a, b), of_one_type(s, t), because=JOINED)
    starts, ends = concat(listed(t, s), 0), concat(listed(f, e), 0)
    once = slice_at(x, starts, ends, all_axes(b, a), all_steps(n, m))
    yield rewrite(twice, once, in_order(b, a), of_one_type(s, t), because=JOINED)


def _known(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, s, e = g.input(("N", 5, 6)), g.input((1,), INT64), g.input((1,), INT64)
    for spec, axis in ((((1, 1, None, 1),), 2), (((2, 5, None, -2),), 1), (((1, 1, 4, 1), (2, 0, 3, 1)), 0)):
        yield g.fires(slice_at(slice_(x, spec), s, e, (axis,), (1,)))
        yield g.fires(slice_(slice_at(x, s, e, (axis,), (1,)), spec))
    yield g.near_miss(slice_at(slice_(x, ((1, 1, 4, 1),)), s, e, (1,), (1,)), why="one axis twice")


@law(examples=_known)
def compose_with_known(x: Tensor, c: Slices, s: Tensor, e: Tensor, a: Axes, m: Steps):
    """Slice_b(Slice_a(x; s, e)) = Slice_ab(x; [s, t], [e, f]) along other axes, either first"""
    b, n, t, f = axes_of(c), steps_of(c), literal(starts_of(c, s)), literal(ends_of(c, s))
    behind = slice_at(x, concat(listed(s, t), 0), concat(listed(e, f), 0), all_axes(a, b), all_steps(m, n))
    before = slice_at(x, concat(listed(t, s), 0), concat(listed(f, e), 0), all_axes(b, a), all_steps(n, m))
    for twice in (slice_(slice_at(x, s, e, a, m), c), slice_at(slice_(x, c), s, e, a, m)):
        yield rewrite(twice, behind, in_order(a, b), because=JOINED)
        yield rewrite(twice, before, in_order(b, a), because=JOINED)

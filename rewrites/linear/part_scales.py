"""A scale of a part of a product goes into a part of its weight.

    Slice(v(x @ W + b)) * s -> Slice(v(x @ W' + b'))      W' and b' scaled in the columns that the slice takes
    Slice_t(v(x @ W + b)) -> Slice_t(v(x @ W' + b'))      for slices t that take none of them

v is nothing, a Reshape, or a Transpose of one: attention scales the queries, one part of three of a fused
projection, which is then multiplied with one weight still.
"""

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws import Example, Operands, auxiliary, eq, guard, hosted, law, rule, table, union
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import Axis, Bundle, Dims, Int, Pads, Permutation, Sizes, Slices, Tensor, Unit
from egraph_opt.operators import Literal, gather, literal, output, pad, reshape, slice_, split, transpose
from egraph_opt.operators.terms import node
from egraph_opt.rewrites.conditions.channels import is_float_constant, is_scale, may_scale
from egraph_opt.rewrites.linear.selection import absorbing, weight
from egraph_opt.rewrites.linear.selection_views import LARGEST


@table()
def taken(x: Tensor) -> Unit:
    """The original takes parts of x."""


@auxiliary()
def taking(x: Tensor, y: Tensor, i: Tensor, b: Bundle, k: Int, n: Int, s: Slices, a: Axis, sizes: Sizes):
    """Fills `taken`."""
    for part in (slice_(x, s), gather(x, i, a)):
        yield rule(eq(y, node(k)), eq(y, part), then=taken(x))
    yield rule(eq(y, node(k)), eq(y, output(b, n)), eq(b, split(x, a, sizes)), then=taken(x))


@table()
def scaled(y: Tensor, z: Tensor, spec: Slices) -> Unit:
    """z is y but for a scale of the part that a slice takes."""


@hosted()
def before_transpose(spec: Slices, p: Permutation) -> Slices:
    """The slice of x of which a slice of Transpose_p(x) is a transpose."""
    return tuple(sorted((p[axis], *bounds) for axis, *bounds in spec))  # type: ignore[misc]


def factors_of(axis: int, y: Shape, at: int, dims: Shape) -> tuple[int, int] | None:
    """From where to where, `axis` among them, the dims of a view of y are the factors of its axis `at`.

    What stands in front of them, or behind, has as many elements as in y, and so has the rest.
    """
    if not isinstance(y[at], int) or not axis < len(dims):
        return None

    def are_alike(a: Shape, b: Shape) -> bool:
        return symbolic.known_equal(symbolic.product(a), symbolic.product(b))

    for first, end in product(range(axis + 1), range(len(dims), axis, -1)):
        beside = are_alike(dims[end:], y[at + 1 :]) or are_alike(dims[:first], y[:at])
        if beside and are_alike(dims[first:end], y[at : at + 1]):
            return first, end
    return None


def _is_in_front(axis: int, first: int, dims: Shape) -> bool:
    """The part is a range of columns: spelled as one, its scales are the same in every view."""
    return all(d == 1 for d in dims[first:axis])


@hosted()
def ones_of_part(spec: Slices, y: Fact, at: Axis, dims: Dims, c: Fact) -> Literal | None:
    """As many ones as elements of an axis of y are scaled, factored like that axis of a view of y is.

    None where c is no single scale, or the slice takes no range of a factor.
    """
    if len(spec) != 1 or not y.shape or not is_scale(c) or c.shape not in ((), (1,)):
        return None
    axis, start, end, step = spec[0]
    found, size = factors_of(axis, y.shape, at, dims), dims[axis]
    if found is None or not isinstance(size, int) or step != 1 or end is None or not 0 <= start < end <= size:
        return None
    if y.shape[at] > LARGEST:  # type: ignore[operator]
        return None
    kept = tuple(end - start if k == axis else dims[k] for k in range(*found))
    if _is_in_front(axis, found[0], dims):
        kept = (math.prod(kept),)  # type: ignore[arg-type]
    return Literal(c.dtype, kept, (1.0,))  # type: ignore[arg-type]


@hosted()
def pads_around(spec: Slices, y: Fact, at: Axis, dims: Dims) -> Pads | None:
    """How many ones stand before and behind those of the part along the factor that is cut."""
    if len(spec) != 1:
        return None
    axis, start, end, _ = spec[0]
    found, size = factors_of(axis, y.shape or (), at, dims), dims[axis]
    if found is None or not isinstance(size, int) or end is None:
        return None
    if _is_in_front(axis, found[0], dims):
        each = math.prod(dims[axis + 1 : found[1]])  # type: ignore[arg-type]
        return start * each, (size - end) * each
    rank = found[1] - found[0]
    pads = [0] * (2 * rank)
    pads[axis - found[0]], pads[axis - found[0] + rank] = start, size - end
    return tuple(pads)


@hosted()
def last_axis(y: Fact) -> Axis | None:
    return y.rank - 1 if y.rank else None


@hosted()
def last_dim(y: Fact, w: Fact) -> Dims | None:
    """The last dim of a product with a matrix w, as the dims of a vector."""
    return (y.shape[-1],) if y.shape and (w.rank or 0) >= 2 else None


def scales_of_axis(spec: Any, y: Any, at: Any, dims: Any, c: Any) -> Any:
    """The number c for what a slice takes of an axis of y, and 1 for the rest of it."""
    part = literal(ones_of_part(spec, y, at, dims, c)) * c
    return pad(part, "constant", pads_around(spec, y, at, dims), 1.0)


@hosted()
def dims_of(y: Fact) -> Dims | None:
    return y.shape


def views_of(y: Any, s: Any, d: Any, p: Any) -> tuple[tuple[Callable[[Any], Any], Any, Any], ...]:
    """Nothing, a Reshape of y, and a Transpose of one, with what s is in front of the last, and the dims."""
    return (
        (lambda v: v, s, dims_of(y)),
        (lambda v: reshape(v, d), s, d),
        (lambda v: transpose(reshape(v, d), p), before_transpose(s, p), d),
    )


@hosted()
def is_scalable_bias(b: Fact, y: Fact) -> bool:
    """A constant that may be scaled along the columns of the sum y without making it bigger."""
    return is_float_constant(b) and y.rank is not None and (b.rank or 0) <= y.rank


@hosted()
def is_apart(s: Slices, other: Slices) -> bool:
    """Two slices take ranges of one axis that do not overlap."""
    if len(s) != 1 or len(other) != 1 or s[0][0] != other[0][0] or s[0][3] < 0 or other[0][3] < 0:
        return False
    (_, a, b, _), (_, c, d, _) = s[0], other[0]
    return b is not None and d is not None and min(a, c) >= 0 and (b <= c or d <= a)


def _scale_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, s = g.input(("N", "L", 5)), g.constant(0.25)
    y = x @ g.random(5, 12)

    def attention(t: Tensor, axis: int, size: int) -> Tensor:
        q, k = (slice_(t, ((axis, n * size, (n + 1) * size, 1),)) for n in (0, 1))
        return q * s - k  # type: ignore[no-any-return]

    for whole in (y, y + g.random(12), y + g.random()):
        yield g.fires(attention(whole, 2, 4))
        for dims, p, axis in (
            (("N", "L", 3, 2, 2), (2, 0, 3, 1, 4), 2),
            (("N", "L", 2, 3, 2), (3, 0, 2, 1, 4), 3),
            (("N", "L", 2, 2, 3), (4, 0, 2, 1, 3), 4),
        ):
            heads = reshape(whole, dims)
            yield g.fires(attention(heads, axis, 1))
            yield g.fires(attention(transpose(heads, p), 0, 1))
    large, factor = x @ g.constant(np.full((5, 12), 1e25)), g.constant(1e20)
    for whole in (large, large + g.random(12)):
        heads = reshape(whole, ("N", "L", 3, 2, 2))
        for view, axis in ((whole, 2), (heads, 2), (transpose(heads, (2, 0, 3, 1, 4)), 0)):
            scaled_part = slice_(view, ((axis, 0, 1, 1),)) * factor
            yield g.near_miss(scaled_part - slice_(view, ((axis, 1, 2, 1),)), why="their product is infinite")
    ones, end, two = x @ g.constant(np.full((5, 12), 0.1)), g.constant(3e38), g.constant(np.full(12, 2.0))
    heads = reshape(ones + two, ("N", "L", 3, 2, 2))
    for view, axis in ((ones + two, 2), (heads, 2), (transpose(heads, (2, 0, 3, 1, 4)), 0)):
        first, second = (slice_(view, ((axis, k, k + 1, 1),)) for k in (0, 1))
        yield g.near_miss(first * end - second, why="the scaled bias is infinite")
    part = slice_(y, ((2, 0, 4, 1),))
    yield g.fires(part * s - slice_(y, ((2, 2, 6, 1),)))
    yield from g.near_misses(
        (attention(g.input(("N", "L", 12)), 2, 4), "there is no product"),
        (attention(relu(y), 2, 4), "a scale does not pass Relu"),
        (attention(relu(y + g.random(12)), 2, 4), "nor does it behind a bias"),
        (attention(g.input(("N", 12, 5)) @ g.random(5, 2), 1, 4), "rows are scaled"),
        (part * g.random(4), "four scales"),
        (part + s, "it is a shift"),
        (attention(x @ g.input((5, 12)), 2, 4), "the weight is no constant"),
    )


@law(
    "selection",
    numerics="reassociates",
    kind="fuse",
    serves="arithmetic",
    source="Ascend auto-optimizer, SplitQKVMatmul; algebra",
    examples=_scale_examples,
    uses=(absorbing, taking),
)
def scale_of_part(
    x: Tensor, y: Tensor, w: Tensor, b: Tensor, c: Tensor, t: Tensor, z: Tensor, o: Tensor, d: Dims,
    s: Slices, r: Slices, k: Permutation,
):  # fmt: skip
    """Slice(v(x @ W + b)) * s = Slice(v(x @ W' + b')), likewise slices of other columns; v a view"""
    forgets = "the weight does not tell which part was scaled"
    finite = (may_scale(c, w), may_scale(c, b))
    for view, spec, dims in views_of(y, s, d, k):
        scales = reshape(scales_of_axis(spec, y, last_axis(y), dims, c), last_dim(y, w))
        made_of = x @ (w * scales)
        for whole, made in (
            (made_of, (eq(y, x @ w), may_scale(c, w))),
            (made_of + b * scales, (eq(y, x @ w + b), *finite, guard(is_scalable_bias(b, y)))),
        ):
            found = (eq(o, slice_(t, s) * c), eq(t, view(y)), *made, guard(weight(w), taken(t)))
            then = (union(o, slice_(view(whole), s)), scaled(t, view(whole), s))
            yield rule(*found, then=then, because=forgets)
    other = (scaled(t, z, s), eq(o, slice_(t, r)), is_apart(s, r))
    yield rule(*other, then=union(o, slice_(z, r)), because=forgets)

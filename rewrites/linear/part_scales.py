"""A scale of a part of a product goes into a part of its weight.

    Slice(v(x @ W + b)) * s = Slice(v(x @ W' + b'))      W' and b' scaled in the columns that the slice takes
    Slice_t(v(x @ W + b)) = Slice_t(v(x @ W' + b'))      for slices t that take none of them

v is nothing, a Reshape, or a Transpose of one: attention scales the queries, one part of three of a fused
projection, which is then multiplied with one weight still.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt import compat as egglog
from egraph_opt.compat import Deduction, Equal, PyObject, closure, eq, guard, holds, i64, let, rule
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import (
    Literal,
    binary,
    gather,
    literal,
    matmul,
    output,
    pad,
    reshape,
    slice_,
    split,
    transpose,
    unary,
)
from egraph_opt.operators.host import hosted
from egraph_opt.operators.sorts import Slices
from egraph_opt.operators.terms import Bundle, Tensor, fact, node
from egraph_opt.rewrites.conditions.channels import is_float_constant, is_scale
from egraph_opt.rewrites.linear.selection import LARGEST, absorbing, weight
from egraph_opt.rewrites.transposes.composition import Permutation


@egglog.function(egg_fn="part_scales_taken")
def taken(x: Tensor) -> egglog.Unit:
    """The original takes parts of x."""


def taking() -> Iterator[Deduction]:
    """The rules that fill `taken`."""
    x, y, i = (egglog.var(name, Tensor) for name in "xyi")
    b, k, n = egglog.var("b", Bundle), egglog.var("k", i64), egglog.var("n", i64)
    s, t = egglog.var("s", PyObject), egglog.var("t", PyObject)
    for part in (slice_(x, s), gather(x, i, s)):
        yield closure(eq(y).to(node(k)), eq(y).to(part), then=taken(x))
    yield closure(eq(y).to(node(k)), eq(y).to(output(b, n)), eq(b).to(split(x, s, t)), then=taken(x))


@egglog.function(egg_fn="part_scales_scaled")
def scaled(y: Tensor, z: Tensor, spec: PyObject) -> egglog.Unit:
    """z is y but for a scale of the part that a slice takes."""


@hosted()
def before_transpose(spec: Slices, p: Permutation) -> Slices:
    """The slice of x of which a slice of Transpose_p(x) is a transpose."""
    return tuple(sorted((p[axis], *bounds) for axis, *bounds in spec))  # type: ignore[misc]


def factors_of(axis: int, y: Shape, dims: Shape) -> tuple[int, int] | None:
    """From where to where, `axis` among them, the dims of a view of y are the factors of its last axis."""
    for first in range(axis + 1):
        inner = symbolic.product(dims[first:])
        if symbolic.known_equal(inner, y[-1]) and isinstance(y[-1], int):
            return first, len(dims)
    return None


@hosted()
def ones_of_part(spec: Slices, y: Fact, dims: Shape, c: Fact) -> Literal | None:
    """As many ones as columns of y are scaled, factored like the last axis of a view of y is.

    None where c is no single scale, or the slice takes no range of a factor.
    """
    if len(spec) != 1 or not y.shape or not is_scale(c) or c.shape not in ((), (1,)):
        return None
    axis, start, end, step = spec[0]
    found, size = factors_of(axis, y.shape, dims), dims[axis]
    if found is None or not isinstance(size, int) or step != 1 or end is None or not 0 <= start < end <= size:
        return None
    if y.shape[-1] > LARGEST:  # type: ignore[operator]
        return None
    kept = tuple(end - start if k == axis else dims[k] for k in range(*found))
    return Literal(c.dtype, kept, (1.0,))  # type: ignore[arg-type]


@hosted()
def pads_around(spec: Slices, y: Fact, dims: Shape) -> tuple[int, ...] | None:
    """How many ones stand before and behind those of the part along the factor that is cut."""
    if len(spec) != 1:
        return None
    axis, start, end, _ = spec[0]
    found, size = factors_of(axis, y.shape or (), dims), dims[axis]
    if found is None or not isinstance(size, int) or end is None:
        return None
    rank = found[1] - found[0]
    pads = [0] * (2 * rank)
    pads[axis - found[0]], pads[axis - found[0] + rank] = start, size - end
    return tuple(pads)


@hosted()
def columns_of(y: Fact) -> Shape | None:
    """The last dim, as the dims of a vector."""
    return (y.shape[-1],) if y.shape else None


@hosted()
def dims_of(y: Fact) -> Shape | None:
    return y.shape


@hosted(default=False)
def is_bias(b: Fact, y: Fact) -> bool:
    """A constant that may be scaled along the columns of the sum y without making it bigger."""
    return is_float_constant(b) and y.rank is not None and (b.rank or 0) <= y.rank


@hosted(default=False)
def is_apart(s: Slices, other: Slices) -> bool:
    """Two slices take ranges of one axis that do not overlap."""
    if len(s) != 1 or len(other) != 1 or s[0][0] != other[0][0] or s[0][3] < 0 or other[0][3] < 0:
        return False
    (_, a, b, _), (_, c, d, _) = s[0], other[0]
    return b is not None and d is not None and min(a, c) >= 0 and (b <= c or d <= a)


def _scale_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    y = matmul(g.input(("N", "L", 5)), g.random(5, 12))
    s = g.constant(0.25)

    def attention(x: Any, axis: int, size: int) -> Any:
        q, k = (slice_(x, ((axis, n * size, (n + 1) * size, 1),)) for n in (0, 1))
        return binary("Sub", binary("Mul", q, s), k)

    for product in (y, binary("Add", y, g.random(12)), binary("Add", y, g.random())):
        yield g.fires(attention(product, 2, 4))
        for dims, p, axis in (
            (("N", "L", 3, 2, 2), (2, 0, 3, 1, 4), 2),
            (("N", "L", 2, 3, 2), (3, 0, 2, 1, 4), 3),
            (("N", "L", 2, 2, 3), (4, 0, 2, 1, 3), 4),
        ):
            heads = reshape(product, dims)
            yield g.fires(attention(heads, axis, 1))
            yield g.fires(attention(transpose(heads, p), 0, 1))
    yield g.near_miss(attention(g.input(("N", "L", 12)), 2, 4), why="there is no product")
    yield g.near_miss(attention(unary("Relu", (), y), 2, 4), why="a scale does not pass Relu")
    yield g.near_miss(attention(matmul(g.input(("N", 12, 5)), g.random(5, 2)), 1, 4), why="rows are scaled")
    part = slice_(y, ((2, 0, 4, 1),))
    yield g.near_miss(binary("Mul", part, g.random(4)), why="four scales")
    yield g.near_miss(binary("Add", part, s), why="it is a shift")
    free = matmul(g.input(("N", "L", 5)), g.input((5, 12)))
    yield g.near_miss(attention(free, 2, 4), why="the weight is no constant")


@law("selection", numerics="reassociates", examples=_scale_examples)
def scale_of_part(
    x: Tensor, y: Tensor, w: Tensor, b: Tensor, c: Tensor, t: Tensor, z: Tensor, o: Tensor, d: PyObject,
    s: PyObject, r: PyObject, n: PyObject, p: PyObject, k: PyObject, m: PyObject,
) -> Iterator[Any]:  # fmt: skip
    """Slice(v(x @ W + b)) * s = Slice(v(x @ W' + b')), likewise slices of other columns; v a view or nothing

    Source: Ascend auto-optimizer, SplitQKVMatmul; algebra.
    """
    yield from absorbing()
    yield from taking()
    one = PyObject(1.0)
    scales = reshape(pad(binary("Mul", literal(n), c), PyObject("constant"), p, one), m)
    product = matmul(x, binary("Mul", w, scales))
    asked = (eq(o).to(binary("Mul", slice_(t, s), c)), *guard(taken(t)))
    for of_sum in (False, True):
        whole = binary("Add", product, binary("Mul", b, scales)) if of_sum else product
        made = (
            (eq(y).to(binary("Add", matmul(x, w), b)), holds(is_bias, fact(b), fact(y)))
            if of_sum
            else (eq(y).to(matmul(x, w)),)
        )
        known = (
            *made,
            weight(w),
            *let(n, ones_of_part, r, fact(y), d, fact(c)),
            *let(p, pads_around, r, fact(y), d),
            *let(m, columns_of, fact(y)),
        )
        plain = (eq(t).to(y), *let(d, dims_of, fact(y)), eq(r).to(s))
        viewed = (eq(t).to(reshape(y, d)), eq(r).to(s))
        turned = (eq(t).to(transpose(reshape(y, d), k)), *let(r, before_transpose, s, k))
        for found, same in (
            (plain, whole),
            (viewed, reshape(whole, d)),
            (turned, transpose(reshape(whole, d), k)),
        ):
            then = (Equal(o, slice_(same, s)), scaled(t, same, s))
            yield rule(*asked, *found, *known, then=then)
    other = (scaled(t, z, s), eq(o).to(slice_(t, r)), holds(is_apart, s, r))
    yield rule(*other, then=Equal(o, slice_(z, r)))

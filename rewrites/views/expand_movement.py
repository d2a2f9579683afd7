"""Expand moves behind products, reductions and transposes, so that they compute or move less.

Expand(x) @ y -> Expand(x @ y), likewise y @ Expand(x)
Mean_a(Expand(x)) -> Expand(Mean_a(x)), likewise Max and Min; sums and norms along axes of x
Transpose(Expand(x)) -> Expand(Transpose(x))
Concat(.., Expand(x), ..) @ W -> Concat(..) @ U + Expand(x) @ V      for rows U and V of W

`expand` has operators that work element by element.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import ALL_FLOATS
from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws import Example, Operands, eq, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import is_constant
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axes, Axis, Dims, Int, Number, Permutation, Slices, String, Tensor, Tensors
from egraph_opt.operators import (
    Literal,
    concat,
    expand,
    expand_to,
    literal,
    reduce,
    reshape,
    shape_of,
    slice_,
    transpose,
)
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.arithmetic.distributivity import factors_apart, joint
from egraph_opt.rewrites.conditions.operands import factor, factors, moved, moves
from egraph_opt.rewrites.conditions.view_shapes import broadcast, same_rank
from egraph_opt.rewrites.views.expanded_parts import Apart, apart, expanded_parts, left_out, most_behind

LESS = "the expanded operand is more to compute"
ONE = Literal(INT64, (1,), (1,))

# --- products -------------------------------------------------------------------------------------------


@hosted()
def sums_alike(x: Fact, wide: Fact, side: int) -> bool:
    """The axis along which a product sums is one of x, and is not expanded; see `factor` for the side."""
    if x.shape is None or wide.shape is None or len(x.shape) < 2:
        return False
    return symbolic.known_equal(x.shape[-1 - side], wide.shape[-1 - side])


def product_dims(x: Shape, y: Shape, side: int) -> Shape:
    """The dims of x @ y, or of y @ x, for an x of two axes or more."""
    a, b = (y, x) if side else (x, y)
    rows = () if len(a) == 1 else (a[-2],)
    columns = () if len(b) == 1 else (b[-1],)
    return (*broadcast(a[:-2], b[:-2]), *rows, *columns)


def target_of(narrow: Shape, wide: Shape | None) -> Dims | None:
    """The target of an Expand from some dims to others, 1 where they agree; None where it is no number."""
    if wide is None or len(wide) < len(narrow):
        return None
    own = (*(None,) * (len(wide) - len(narrow)), *narrow)
    target = tuple(1 if symbolic.known_equal(a, b) else b for a, b in zip(own, wide, strict=True))
    return target if all(isinstance(d, int) and d > 0 for d in target) else None


@hosted()
def target_behind(x: Fact, y: Fact, side: int, z: Fact) -> Dims | None:
    """The target of an Expand from the product of x and y to z."""
    if x.shape is None or y.shape is None:
        return None
    return target_of(product_dims(x.shape, y.shape, side), z.shape)


@hosted()
def all_but_last(t: Fact) -> Slices | None:
    """The slice of a target of known length that leaves its last element out."""
    length = t.shape[0] if t.shape and len(t.shape) == 1 else None
    return ((0, 0, length - 1, 1),) if isinstance(length, int) and length > 0 else None


@hosted()
def is_matrix(w: Fact) -> bool:
    return w.rank == 2


def _products(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, like = g.input((1, 3)), g.random(3, 4), g.input(("N", "L"))
    wide = expand(x, (5, 3))
    target = concat(listed(shape_of(like, 0, 2), g.constant(np.array([3]))), 0)
    yield g.fires(wide @ w)
    yield g.fires(g.random(2, 5) @ expand(g.input((5, 1)), (5, 4)))
    yield g.fires(expand(g.input(("N", 1, 3)), (1, 5, 3)) @ w)
    yield g.fires(expand(g.input((1, 2, 3)), (5, 2, 3)) @ g.input((5, 3, 4)))
    yield g.fires(expand_to(x, target) @ w)
    yield from g.near_misses(
        (expand(g.input((2, 1)), (2, 3)) @ w, "the columns are summed"),
        (g.input((2, 5)) @ expand(g.input((1, 4)), (5, 4)), "the rows are summed"),
        (expand(g.input((3,)), (5, 3)) @ w, "a vector"),
        (x @ w, "nothing is expanded"),
    )


@law(
    "expand",
    numerics="reassociates",
    kind="move",
    serves="arithmetic",
    examples=_products,
    uses=(factors, moves),
)
def past_product(x: Tensor, y: Tensor, t: Tensor, dims: Dims, i: Int):
    """Expand(x) @ y = Expand(x @ y), likewise y @ Expand(x)"""
    wide, narrow = moved("Expand", x, t, dims), factor(x, y, i)
    z = factor(wide, y, i)
    behind = expand(narrow, target_behind(x, y, i, z))
    yield rewrite(z, behind, sums_alike(x, wide, i), because=LESS)
    rows = concat(listed(slice_(t, all_but_last(t)), literal(ONE)), 0)
    computed = sums_alike(x, expand_to(x, t), 0), is_matrix(y)
    yield rewrite(expand_to(x, t) @ y, expand_to(x @ y, rows), *computed, because=LESS)


# --- reductions -----------------------------------------------------------------------------------------


UNCHANGED = ("ReduceMean", "ReduceMax", "ReduceMin")
"""Reductions of equal elements that are one of them."""

SUMS = ("ReduceSum", "ReduceSumSquare", "ReduceL2")


def led(x: Fact, wide: Fact) -> Shape | None:
    """The dims of x with leading ones, up to the rank of what it is expanded to."""
    if x.shape is None or wide.shape is None or len(x.shape) > len(wide.shape):
        return None
    return (*(1,) * (len(wide.shape) - len(x.shape)), *x.shape)


def reduces_alike(kind: str, axes: Axes, x: Shape, wide: Shape, dtype: int) -> bool:
    """Equal elements are reduced to one of them, or axes are reduced that are not expanded."""
    if kind == "ReduceMean" and dtype not in ALL_FLOATS:
        return False
    if all(symbolic.known_equal(x[k], wide[k]) for k in axes):
        return kind in UNCHANGED or kind in SUMS
    return kind in UNCHANGED and all(isinstance(wide[k], int) and wide[k] != 0 for k in axes)


@hosted()
def target_of_reduced(kind: str, axes: Axes, x: Fact, wide: Fact) -> Dims | None:
    """The target of an Expand from the reduction of x to that of what x is expanded to."""
    own = led(x, wide)
    if own is None or wide.shape is None or not reduces_alike(kind, axes, own, wide.shape, x.dtype):
        return None
    one, other = (tuple(1 if k in axes else d for k, d in enumerate(dims)) for dims in (own, wide.shape))
    return target_of(one, other)


@hosted()
def full_dims(x: Fact, wide: Fact) -> Dims | None:
    """The dims of x with leading ones, where it needs some."""
    return led(x, wide) if x.is_symbolic and x.rank != wide.rank else None


def _reductions(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, like, whole = g.input(("N", 1, 3)), g.input(("N", "L")), g.input((3, 1), INT64)
    wide, computed = expand(x, (1, 4, 3)), expand_to(g.input(("N", 1)), shape_of(like, 0, 2))
    for kind, axes in (("ReduceMean", (1,)), ("ReduceMax", (1, 2)), ("ReduceSum", (2,)), ("ReduceMin", (0,))):
        yield g.fires(reduce(kind, wide, axes, 1))
    yield g.fires(reduce("ReduceMean", expand(g.input((3,)), (4, 3)), (0,), 1))
    yield g.fires(reduce("ReduceSum", expand(g.input((4, 1)), (4, 3)), (0,), 1))
    yield from g.near_misses(
        (reduce("ReduceSum", wide, (1,), 1), "there are four summands"),
        (reduce("ReduceMean", computed, (1,), 1), "there may be no element"),
        (reduce("ReduceMean", expand(whole, (3, 4)), (1,), 1), "a sum of integers may overflow"),
    )


@law("expand", numerics="reassociates", kind="move", serves="arithmetic", examples=_reductions, uses=(moves,))
def past_reduce(kind: String, x: Tensor, a: Axes, t: Tensor, dims: Dims):
    """Mean_a(Expand(x)) = Expand(Mean_a(x)), likewise Max and Min; sums and norms along axes of x"""
    wide = moved("Expand", x, t, dims)
    z = reduce(kind, wide, a, 1)
    target = target_of_reduced(kind, a, x, wide)
    yield rewrite(z, expand(reduce(kind, x, a, 1), target), same_rank(x, wide), because=LESS)
    full = reshape(x, full_dims(x, wide))
    yield rewrite(z, expand(reduce(kind, full, a, 1), target), because=LESS)


# --- transposes -----------------------------------------------------------------------------------------


@hosted()
def target_of_transposed(x: Fact, wide: Fact, p: Permutation) -> Dims | None:
    """The target of an Expand from x transposed to what x is expanded to, transposed likewise."""
    own = led(x, wide)
    if own is None or wide.shape is None:
        return None
    return target_of(tuple(own[k] for k in p), tuple(wide.shape[k] for k in p))


@hosted()
def stay_in_place(x: Fact, wide: Fact, p: Permutation) -> bool:
    """Axes that are expanded are not moved.

    Of a Transpose that moves them alone a view of x is left, in which all that x is made of can be computed,
    too.
    """
    own = led(x, wide)
    if own is None or wide.shape is None:
        return False
    return all(k == p[k] or symbolic.known_equal(own[k], wide.shape[k]) for k in range(len(p)))


def _transposes(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, like = g.input(("N", 1, 3)), g.input(("N", "L"))
    yield g.fires(transpose(expand(x, (2, 1, 1, 1)), (0, 3, 2, 1)))
    yield g.fires(transpose(expand(g.input((2, 3)), (4, 2, 3)), (0, 2, 1)))
    yield g.fires(transpose(expand(g.input((2, 1, 3), INT64), (2, 5, 3)), (2, 1, 0)))
    yield g.near_miss(transpose(expand(x, (1, 4, 3)), (0, 2, 1)), why="what is repeated is moved")
    yield g.near_miss(transpose(expand_to(g.input(("N", 1)), shape_of(like, 0, 2)), (1, 0)), why="no numbers")


@law("expand", numerics="bitwise", kind="move", serves="traffic", examples=_transposes, uses=(moves,))
def past_transpose(x: Tensor, t: Tensor, dims: Dims, p: Permutation):
    """Transpose(Expand(x)) = Expand(Transpose(x)), of x with leading ones where it needs some"""
    wide = moved("Expand", x, t, dims)
    z, target, worth = transpose(wide, p), target_of_transposed(x, wide, p), guard(stay_in_place(x, wide, p))
    yield rewrite(z, expand(transpose(x, p), target), same_rank(x, wide), worth, because="less is moved")
    full = reshape(x, full_dims(x, wide))
    yield rewrite(z, expand(transpose(full, p), target), worth, because="less is moved")


# --- parts of an operand --------------------------------------------------------------------------------


@hosted()
def axis_of_rows(w: Fact) -> Axis | None:
    """The axis of a matrix along which products sum."""
    return None if w.rank is None or w.rank < 2 else w.rank - 2


@hosted()
def rows_apart(w: Fact, y: Fact, axis: Axis, behind: Number, ends: Int) -> Apart | None:
    """Rows of W that a product sums with y and with others, which have some at so many ends of W."""
    if w.rank is None or w.rank < 2 or y.rank != axis + 1:
        return None
    parts = apart(w, w.rank - 2, y, axis, behind)
    return parts if parts is not None and len(parts.others) == ends else None


def _parts(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    wide, y, z = expand(g.input((1, 2)), (5, 2)), g.input((5, 3)), g.input((5, 3))
    w, large = g.random(5, 4), g.random(8, 4)
    for parts in ((wide, y), (y, wide)):
        yield g.fires(concat(listed(*parts), 1) @ w)
    for three in ((wide, y, z), (y, wide, z), (y, z, wide)):
        yield g.fires(concat(listed(*three), 1) @ large)
    yield g.fires(concat(listed(expand(g.input((2,)), (5, 2)), y), 1) @ g.random(3, 5, 4))
    long = g.input((5, "L"))
    yield from g.near_misses(
        (concat(listed(y, z), 1) @ g.random(6, 4), "nothing is expanded"),
        (concat(listed(wide, wide * g.constant(2.0)), 0) @ g.random(2, 4), "rows are joined"),
        (concat(listed(wide, y), 1) @ g.random(5), "a vector is no weight"),
        (concat(listed(wide, y), 1) @ g.input((5, 4)), "the weight varies"),
        (concat(listed(expand(g.input((5, 1)), (5, 2)), y), 1) @ w, "columns are repeated"),
        (concat(listed(wide, long), 1) @ w, "where the others begin is not known"),
    )


@law(
    "expand",
    numerics="reassociates",
    kind="split",
    serves="arithmetic",
    source="PointNet, arXiv 1612.00593, whose points get the features of all; DIN, arXiv 1706.06978",
    examples=_parts,
    uses=(expanded_parts, factors_apart),
)
def product_of_parts(y: Tensor, xs: Tensors, ys: Tensors, w: Tensor, c: Axis, n: Number):
    """Concat(.., Expand(x), ..) @ W = Concat(..) @ U + Expand(x) @ V for rows U and V of W"""
    whole = concat(xs, c)
    found, first = eq(ys, left_out(xs, c, y, n)), eq(n, most_behind(xs, c))
    demand = guard(first, is_constant(w), eq(joint(whole), 0))
    for ends in (1, 2):
        rows = rows_apart(w, y, c, n, ends)
        cuts = [slice_(w, rows[1][k]) for k in range(ends)]
        others = cuts[0] if ends == 1 else concat(listed(*cuts), axis_of_rows(w))
        both = concat(ys, c) @ others + y @ slice_(w, rows[0])
        yield rewrite(whole @ w, both, found, demand, because="the others are one list")

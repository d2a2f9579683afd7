"""Products side by side are one product of a stack: the heads of an attention that are written one by one.

Concat_last(x, y, ..) = Concat_first(x, y, ..), views between          of what is alike in all dims
Concat_first(A @ B, C @ D, ..) -> Concat_first(A, C, ..) @ Concat_first(B, D, ..)

The first is asked of products behind which heads are joined, and backwards of parts of one projection, whose
stack is a view of it.  See `slicing.concat` on how lists are walked.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Example,
    Operands,
    assign,
    auxiliary,
    eq,
    guard,
    hosted,
    laws_of,
    rewrite,
    rule,
    table,
)
from egraph_opt.laws.algebra import is_constant, relu, varies
from egraph_opt.laws.sorts import Axis, Dims, Int, Permutation, Slices, Tensor, Tensors, Unit
from egraph_opt.operators import concat, reshape, slice_, transpose
from egraph_opt.operators.terms import cons, listed, nil
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.conditions.view_shapes import known_dims, same_dims
from egraph_opt.rewrites.slicing.concat import listing, operands_of, worth_a_walk

law = laws_of(
    "joining",
    numerics="bitwise",
    kind="merge",
    serves="launches",
    source="Ascend auto-optimizer, SplitQKVMatmul; Vaswani et al., Attention Is All You Need",
    resumes=True,
)

FIRST = 0


# --- products -------------------------------------------------------------------------------------------


@table()
def firsts(xs: Tensors) -> Tensors:
    """The left operands of a list of products of what varies."""


@table()
def seconds(xs: Tensors, lefts: Tensors) -> Tensors:
    """The right operands that belong to these left ones."""


@auxiliary(listing)
def factors_of_all(x: Tensor, y: Tensor, xs: Tensors, ls: Tensors, rs: Tensors, rest: Tensors, a: Axis):
    """Fills `firsts` and `seconds`; one way to be a product is enough, so the first found stays."""
    found = (operands_of(xs, a), varies(x), varies(y))
    one = cons(x, nil())
    ends = (assign(firsts(xs), one), assign(seconds(xs, one), cons(y, nil())))
    yield rule(*found, eq(xs, cons(x @ y, nil())), then=ends)
    tail = (eq(xs, cons(x @ y, rest)), eq(ls, firsts(rest)), eq(rs, seconds(rest, ls)))
    more = cons(x, ls)
    yield rule(*found, *tail, then=(assign(firsts(xs), more), assign(seconds(xs, more), cons(y, rs))))


@hosted()
def are_stacks(lefts: tuple[Fact, ...], rights: tuple[Fact, ...]) -> bool:
    """Stacks of matrices, all lefts alike and all rights, with as many matrices."""
    for xs in (lefts, rights):
        if xs[0].rank is None or xs[0].rank < 3 or any(x.dtype != xs[0].dtype for x in xs):
            return False
        if not all(same_dims(x.shape, xs[0].shape) for x in xs):
            return False
    return same_dims(lefts[0].shape[:-2], rights[0].shape[:-2])  # type: ignore[index]


def _products(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z, w = (g.input(("N", 4, 5)), g.input(("N", 5, 3)), g.input(("N", 4, 5)), g.input(("N", 5, 3)))
    one, row = g.input((1, 5, 3)), g.input(("L", 4, 5))
    yield g.fires(concat(listed(x @ y, z @ w), 0))
    yield g.fires(concat(listed(x @ y, z @ w, x @ w), 0))
    yield from g.near_misses(
        (concat(listed(x @ y, z @ w), 1), "along the rows"),
        (concat(listed(x @ y, z @ one), 0), "one right operand is broadcast"),
        (concat(listed(x @ y, row @ one), 0), "another number of matrices"),
        (concat(listed(x @ y, relu(z @ w)), 0), "Relu is between"),
    )


@law(numerics="reassociates", uses=(factors_of_all,), examples=_products)
def product_of_stacks(xs: Tensors, ls: Tensors, rs: Tensors):
    """Concat_first(A @ B, C @ D, ..) = Concat_first(A, C, ..) @ Concat_first(B, D, ..) of stacks alike"""
    known = (guard(worth_a_walk(xs), eq(ls, firsts(xs))), eq(rs, seconds(xs, ls)), are_stacks(ls, rs))
    made = concat(ls, FIRST) @ concat(rs, FIRST)
    yield rewrite(concat(xs, FIRST), made, *known, because="one product for several")


# --- stacks and rows ------------------------------------------------------------------------------------


@hosted()
def last_of(xs: tuple[Fact, ...]) -> Axis | None:
    """The last axis of matrices, three axes or more, that are alike in all dims, which are known."""
    first = xs[0]
    if first.rank is None or first.rank < 3 or not first.is_symbolic or 0 in (first.shape or ()):
        return None
    alike = all(x.dtype == first.dtype and same_dims(x.shape, first.shape) for x in xs)
    return first.rank - 1 if alike and len(xs) > 1 else None


@hosted()
def stacked(xs: tuple[Fact, ...]) -> Dims:
    """The dims of several tensors on an axis of their own in front."""
    return (len(xs), *(xs[0].shape or ()))


@hosted()
def in_rows(xs: tuple[Fact, ...]) -> Dims:
    """The dims of several tensors on an axis of their own in front of the last."""
    *others, last = xs[0].shape or ()
    return (*others, len(xs), last)


@hosted()
def into_rows(xs: tuple[Fact, ...]) -> Permutation:
    """The first of all axes goes in front of the last."""
    rank = xs[0].rank or 0
    return (*range(1, rank), 0, rank)


@hosted()
def out_of_rows(xs: tuple[Fact, ...]) -> Permutation:
    """The last axis but one goes to the front."""
    rank = xs[0].rank or 0
    return (rank - 1, *range(rank - 1), rank)


@table()
def made_of(x: Tensor, whole: Tensor) -> Unit:
    """x is a part of the last axis of another tensor, or a product with a constant; constants beside."""


@table()
def of_one(xs: Tensors, whole: Tensor) -> Unit:
    """All elements of a list are made of one tensor."""


@hosted()
def is_part_of_rows(spec: Slices, x: Fact) -> bool:
    """A slice of the last axis."""
    return x.rank is not None and len(spec) == 1 and spec[0][0] == x.rank - 1


@auxiliary(listing, either_side)
def one_source(x: Tensor, y: Tensor, c: Tensor, z: Tensor, xs: Tensors, rest: Tensors, s: Slices, k: Int):
    """Fills `made_of` and `of_one`, of what is stacked."""
    yield rule(eq(y, slice_(x, s)), is_part_of_rows(s, x), varies(x), then=made_of(y, x))
    yield rule(eq(y, x @ c), is_constant(c), varies(x), then=made_of(y, x))
    for op in ("Add", "Mul"):
        yield rule(eq(y, beside(op, x, c, k)), is_constant(c), made_of(x, z), then=made_of(y, z))
    yield rule(operands_of(xs, FIRST), eq(xs, cons(x, nil())), made_of(x, z), then=of_one(xs, z))
    more = (eq(xs, cons(x, rest)), of_one(rest, z), made_of(x, z))
    yield rule(operands_of(xs, FIRST), *more, then=of_one(xs, z))


def _rows(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z, w = (g.input((2, "N", 5)), g.input((2, 5, 3)), g.input((2, "N", 5)), g.input((2, 5, 3)))
    yield g.fires(concat(listed(x @ y, z @ w), 2))
    yield g.fires(concat(listed(x @ y, z @ w, x @ w), 2))
    row = g.input((2, "N", 12))
    parts = [slice_(row, ((2, 4 * k, 4 * k + 4, 1),)) for k in range(3)]
    weights = [g.input((2, "N", 5)) @ g.random(5, 4)] * 2
    heads = [x @ g.random(5, 4) + g.random(4) for _ in range(3)]
    for operands in (parts, weights, heads):
        yield g.fires(concat(listed(*operands), 0))
    yield from g.near_misses(
        (concat(listed(x, z), 2), "they are no products"),
        (concat(listed(x @ y, z @ g.input((2, 5, 4))), 2), "one is wider"),
        (concat(listed(x, z), 0), "of two tensors"),
    )


@law(uses=(factors_of_all, one_source), examples=_rows)
def rows_of_stacks(xs: Tensors, ls: Tensors, z: Tensor):
    """Concat_last(x, y, ..) = Concat_first(x, y, ..) and views between, of products; back for parts of one"""
    rows, stack, walk = concat(xs, last_of(xs)), concat(xs, FIRST), guard(worth_a_walk(xs))
    across = transpose(reshape(stack, stacked(xs)), into_rows(xs))
    products = guard(eq(ls, firsts(xs)))
    yield rewrite(rows, reshape(across, known_dims(rows)), walk, products, inverse="rows_of_stacks")
    along = transpose(reshape(rows, in_rows(xs)), out_of_rows(xs))
    yield rewrite(
        stack, reshape(along, known_dims(stack)), walk, guard(of_one(xs, z)), inverse="rows_of_stacks"
    )

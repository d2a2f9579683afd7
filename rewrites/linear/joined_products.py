"""Concatenations of products that share an operand, and parts of products.

Concat(A @ C, B @ C, ..) -> Concat(A, B, ..) @ C         along rows, or along an axis that C does not have
Concat(A @ B, A @ C, ..) -> A @ Concat(B, C, ..)         along columns
Slice(A @ B) -> A @ Slice(B), or Slice(A) @ B            where what is sliced is a Slice or Concat itself

See `slicing.concat` on how lists are walked.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts import symbolic
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
from egraph_opt.laws.algebra import relu, varies
from egraph_opt.laws.sorts import Axis, Slices, Tensor, Tensors
from egraph_opt.operators import concat, slice_
from egraph_opt.operators.terms import cons, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.slicing.concat import listing, operands_of
from egraph_opt.rewrites.slicing.movement import asked, asking_rules

law = laws_of("joining", numerics="reassociates", kind="merge", source="TASO")

PARTS = "its parts follow from slice_of_product"


def differ_along(xs: tuple[Fact, ...], axis: int) -> bool:
    """Tensors of one type and rank that differ in their dims along one axis only."""
    first = xs[0]
    if first.shape is None or not 0 <= axis < len(first.shape):
        return False
    for x in xs[1:]:
        if x.dtype != first.dtype or x.shape is None or len(x.shape) != len(first.shape):
            return False
        pairs = enumerate(zip(first.shape, x.shape, strict=True))
        if not all(symbolic.known_equal(a, b) for k, (a, b) in pairs if k != axis):
            return False
    return True


# --- the same right operand -----------------------------------------------------------------------------


@table()
def lefts(xs: Tensors, axis: Axis, right: Tensor) -> Tensors:
    """The left operands of a list of products that have one right operand."""


@auxiliary(listing)
def left_operands(x: Tensor, w: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: Axis):
    """Fills `lefts`."""
    entry = lefts(xs, a, w)
    yield rule(operands_of(xs, a), eq(xs, cons(x @ w, nil())), then=assign(entry, cons(x, nil())))
    longer = (eq(xs, cons(x @ w, rest)), eq(ys, lefts(rest, a, w)))
    yield rule(operands_of(xs, a), *longer, then=assign(entry, cons(x, ys)))


@hosted()
def axis_of_lefts(
    axis: Axis, products: tuple[Fact, ...], operands: tuple[Fact, ...], right: Fact
) -> Axis | None:
    """The axis along which left operands are joined, so that their products are along `axis`."""
    place = _axis_of_left(axis, operands[0], right, products[0])
    return place if place is not None and differ_along(operands, place) else None


def _axis_of_left(axis: int, x: Fact, w: Fact, product: Fact) -> int | None:
    """The axis of x that is one of x @ w: along rows, or along an axis that w does not have."""
    if x.rank is None or w.rank is None or product.rank is None or min(x.rank, w.rank) < 2:
        return None
    place = axis - (product.rank - x.rank)
    return place if place == x.rank - 2 or (0 <= place < x.rank - 2 and w.rank == 2) else None


def _row_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z, w = g.input(("N", 2, 3)), g.input(("N", 4, 3)), g.input(("N", 1, 3)), g.input((3, 5))
    yield g.fires(concat(terms(x @ w, y @ w), 1))
    yield g.fires(concat(terms(x @ w, y @ w, z @ w), 1))
    yield g.fires(concat(terms(x @ w, g.input(("L", 2, 3)) @ w), 0))
    many = g.input((2, 3, 5))
    yield g.fires(concat(terms(g.input((4, 3)) @ many, g.input((1, 3)) @ many), 1))
    yield g.near_miss(concat(terms(x @ w, x @ w), 2), why="along the columns")
    yield g.near_miss(concat(terms(x @ w, y @ g.input((3, 5))), 1), why="two right operands")
    yield g.near_miss(concat(terms(x @ w, relu(y @ w)), 1), why="Relu is between")
    broad = [g.input((k, 2, 3)) @ many for k in (1, 2)]
    yield g.near_miss(concat(terms(*broad), 0), why="one left operand is broadcast")


@law(examples=_row_examples, uses=(left_operands,))
def products_of_one_right(w: Tensor, xs: Tensors, ys: Tensors, a: Axis):
    """Concat(A @ C, B @ C, ..) = Concat(A, B, ..) @ C along rows"""
    joined = concat(ys, axis_of_lefts(a, xs, ys, w))
    yield rewrite(concat(xs, a), joined @ w, eq(ys, lefts(xs, a, w)), because=PARTS)


# --- the same left operand ------------------------------------------------------------------------------


@table()
def rights(xs: Tensors, axis: Axis, left: Tensor) -> Tensors:
    """The right operands of a list of products that have one left operand."""


@auxiliary(listing)
def right_operands(x: Tensor, w: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: Axis):
    """Fills `rights`."""
    entry = rights(xs, a, x)
    yield rule(operands_of(xs, a), eq(xs, cons(x @ w, nil())), then=assign(entry, cons(w, nil())))
    longer = (eq(xs, cons(x @ w, rest)), eq(ys, rights(rest, a, x)))
    yield rule(operands_of(xs, a), *longer, then=assign(entry, cons(w, ys)))


@hosted()
def axis_of_rights(axis: Axis, products: tuple[Fact, ...], operands: tuple[Fact, ...]) -> Axis | None:
    """The axis along which right operands are joined: their columns."""
    own = columns_of(axis, operands[0], products[0])
    return own if own is not None and differ_along(operands, own) else None


def columns_of(axis: int, w: Fact, product: Fact) -> int | None:
    """The last axis of w, where `axis` is the last one of x @ w."""
    if product.rank is None or w.rank is None or w.rank < 2 or axis != product.rank - 1:
        return None
    return w.rank - 1


def _column_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, v, w, vector = g.input(("N", 2, 3)), g.input((3, 5)), g.input((3, 4)), g.input((3,))
    yield g.fires(concat(terms(x @ v, x @ w), 2))
    yield g.fires(concat(terms(x @ v, x @ g.random(3, 1), x @ w), 2))
    yield g.fires(concat(terms(vector @ v, vector @ w), 0))
    for second, axis, why in (
        (x @ v, 1, "along the rows"),
        (g.input(("N", 2, 3)) @ w, 2, "two left operands"),
        (x @ g.input((1, 3, 4)), 2, "the right ones have different ranks"),
    ):
        yield g.near_miss(concat(terms(x @ v, second), axis), why)


@law(examples=_column_examples, uses=(right_operands,))
def products_of_one_left(x: Tensor, xs: Tensors, ys: Tensors, a: Axis):
    """Concat(A @ B, A @ C, ..) = A @ Concat(B, C, ..) along columns"""
    joined = concat(ys, axis_of_rights(a, xs, ys))
    yield rewrite(concat(xs, a), x @ joined, eq(ys, rights(xs, a, x)), because=PARTS)


# --- parts ----------------------------------------------------------------------------------------------


@hosted()
def slice_of_right(spec: Slices, w: Fact, product: Fact) -> Slices | None:
    """The slice of the columns of W that makes a slice of columns of x @ W."""
    place = columns_of(spec[0][0], w, product) if len(spec) == 1 else None
    return None if place is None else ((place, *spec[0][1:]),)


@hosted()
def slice_of_left(spec: Slices, x: Fact, w: Fact, product: Fact) -> Slices | None:
    """The slice of x that makes a slice of x @ W, along rows or along an axis that W does not have."""
    place = _axis_of_left(spec[0][0], x, w, product) if len(spec) == 1 else None
    return None if place is None else ((place, *spec[0][1:]),)


@hosted()
def axis_from_left(axis: Axis, x: Fact, w: Fact, product: Fact) -> Axis | None:
    """The axis of x @ W that is one of x."""
    if product.rank is None or x.rank is None:
        return None
    place = axis + product.rank - x.rank
    return place if _axis_of_left(place, x, w, product) == axis else None


@hosted()
def axis_from_right(axis: Axis, w: Fact, product: Fact) -> Axis | None:
    """The axis of x @ W that is the columns of W."""
    last = None if product.rank is None else product.rank - 1
    return last if last is not None and columns_of(last, w, product) == axis else None


@hosted()
def only_axis(spec: Slices) -> Axis:
    return spec[0][0]


@auxiliary(asking_rules)
def asking_products(x: Tensor, y: Tensor, w: Tensor, a: Axis):
    """Fills `asked`: products of what is a Slice or a Concat are sliced like it."""
    yield rule(eq(y, x @ w), asked(x, a), then=asked(y, axis_from_left(a, x, w, y)))
    yield rule(eq(y, x @ w), asked(w, a), varies(w), then=asked(y, axis_from_right(a, w, y)))


def _slice_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, v, w = g.input(("N", 2, 3)), g.input((3, 5)), g.input((3, 4))
    both = x @ concat(terms(v, w), 1)
    yield g.fires(slice_(both, ((2, 0, 5, 1),)))
    yield g.fires(slice_(concat(terms(x, g.input(("N", 4, 3))), 1) @ v, ((1, 1, 4, 1),)))
    yield g.fires(slice_(concat(terms(x, x), 0) @ w, ((0, 0, 1, 1),)))
    for sliced, spec, why in (
        (x @ v, ((2, 0, 2, 1),), "nothing is to be taken apart"),
        (both, ((1, 0, 1, 1),), "rows of what has joined columns"),
        (both, ((1, 0, 1, 1), (2, 0, 5, 1)), "two axes"),
    ):
        yield g.near_miss(slice_(sliced, spec), why)


@law(kind="move", serves="arithmetic", examples=_slice_examples, uses=(asking_products,))
def slice_of_product(x: Tensor, w: Tensor, s: Slices):
    """Slice(A @ B) = A @ Slice(B), or Slice(A) @ B, where what is sliced is a Slice or a Concat itself"""
    y, more = x @ w, "the whole product is more to compute"
    of_right, of_left = slice_of_right(s, w, y), slice_of_left(s, x, w, y)
    demand = guard(asked(w, only_axis(of_right)), varies(w))
    yield rewrite(slice_(y, s), x @ slice_(w, of_right), demand, because=more)
    yield rewrite(slice_(y, s), slice_(x, of_left) @ w, guard(asked(x, only_axis(of_left))), because=more)

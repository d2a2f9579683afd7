"""Concatenations of products that share an operand, and parts of products.

Concat(A @ C, B @ C, ..) = Concat(A, B, ..) @ C          along rows, or along an axis that C does not have
Concat(A @ B, A @ C, ..) = A @ Concat(B, C, ..)          along columns
Slice(A @ B) = A @ Slice(B), or Slice(A) @ B             where what is sliced is a Slice or Concat itself

See `concat` on how lists are walked.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt import compat as egglog
from egraph_opt.compat import Equal, PyObject, closure, eq, guard, holds, let, rewrite, rule, set_
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, concat, matmul, slice_, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.sorts import Slices
from egraph_opt.operators.terms import Tensor, Tensors, cons, fact, facts, nil
from egraph_opt.operators.terms import listed as terms
from egraph_opt.rewrites.arithmetic.associativity import all_vary
from egraph_opt.rewrites.slicing.concat import listed, listing
from egraph_opt.rewrites.slicing.movement import asked, asking_rules


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


@egglog.function(egg_fn="joined_lefts", merge=lambda old, new: old)
def lefts(xs: Tensors, axis: PyObject, right: Tensor) -> Tensors:
    """The left operands of a list of products that have one right operand."""


@hosted()
def axis_of_lefts(
    axis: int, products: tuple[Fact, ...], operands: tuple[Fact, ...], right: Fact
) -> int | None:
    """The axis along which left operands are joined, so that their products are along `axis`."""
    ranks = (products[0].rank, operands[0].rank, right.rank)
    if None in ranks or min(ranks[1:]) < 2:  # type: ignore[type-var, operator]
        return None
    whole, own, other = ranks
    place = axis - (whole - own)  # type: ignore[operator]
    if place == own - 1 or (place < own - 2 and other != 2):  # type: ignore[operator]
        return None
    return place if differ_along(operands, place) else None


def _row_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z, w = g.input(("N", 2, 3)), g.input(("N", 4, 3)), g.input(("N", 1, 3)), g.input((3, 5))
    yield g.fires(concat(terms(matmul(x, w), matmul(y, w)), 1))
    yield g.fires(concat(terms(matmul(x, w), matmul(y, w), matmul(z, w)), 1))
    yield g.fires(concat(terms(matmul(x, w), matmul(g.input(("L", 2, 3)), w)), 0))
    many = g.input((2, 3, 5))
    yield g.fires(concat(terms(matmul(g.input((4, 3)), many), matmul(g.input((1, 3)), many)), 1))
    pair = terms(matmul(x, w), matmul(x, w))
    yield g.near_miss(concat(pair, 2), why="along the columns")
    yield g.near_miss(concat(terms(matmul(x, w), matmul(y, g.input((3, 5)))), 1), why="two right operands")
    yield g.near_miss(concat(terms(matmul(x, w), unary("Relu", (), matmul(y, w))), 1), why="Relu is between")
    broad = [matmul(g.input((k, 2, 3)), many) for k in (1, 2)]
    yield g.near_miss(concat(terms(*broad), 0), why="one left operand is broadcast")


@law("joining", numerics="reassociates", examples=_row_examples)
def products_of_one_right(
    x: Tensor, y: Tensor, w: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: PyObject, b: PyObject
) -> Iterator[Any]:
    """Concat(A @ C, B @ C, ..) = Concat(A, B, ..) @ C along rows

    Source: TASO.
    """
    yield from listing()
    last = (listed(xs, a), eq(xs).to(cons(matmul(x, w), nil())))
    yield closure(*last, then=set_(lefts(xs, a, w)).to(cons(x, nil())))
    more = (listed(xs, a), eq(xs).to(cons(matmul(x, w), rest)), eq(ys).to(lefts(rest, a, w)))
    yield closure(*more, then=set_(lefts(xs, a, w)).to(cons(x, ys)))
    found = (eq(y).to(concat(xs, a)), eq(ys).to(lefts(xs, a, w)))
    axis = let(b, axis_of_lefts, a, facts(xs), facts(ys), fact(w))
    yield rule(*found, *axis, then=Equal(y, matmul(concat(ys, b), w)))


# --- the same left operand ------------------------------------------------------------------------------


@egglog.function(egg_fn="joined_rights", merge=lambda old, new: old)
def rights(xs: Tensors, axis: PyObject, left: Tensor) -> Tensors:
    """The right operands of a list of products that have one left operand."""


@hosted()
def axis_of_rights(axis: int, products: tuple[Fact, ...], operands: tuple[Fact, ...]) -> int | None:
    """The axis along which right operands are joined: their columns."""
    whole, own = products[0].rank, operands[0].rank
    if whole is None or own is None or own < 2 or axis != whole - 1:
        return None
    return own - 1 if differ_along(operands, own - 1) else None


def _column_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, v, w = g.input(("N", 2, 3)), g.input((3, 5)), g.input((3, 4))
    yield g.fires(concat(terms(matmul(x, v), matmul(x, w)), 2))
    yield g.fires(concat(terms(matmul(x, v), matmul(x, g.random(3, 1)), matmul(x, w)), 2))
    vector = g.input((3,))
    yield g.fires(concat(terms(matmul(vector, v), matmul(vector, w)), 0))
    yield g.near_miss(concat(terms(matmul(x, v), matmul(x, v)), 1), why="along the rows")
    yield g.near_miss(
        concat(terms(matmul(x, v), matmul(g.input(("N", 2, 3)), w)), 2), why="two left operands"
    )
    broad = matmul(x, g.input((1, 3, 4)))
    yield g.near_miss(concat(terms(matmul(x, v), broad), 2), why="the right ones have different ranks")


@law("joining", numerics="reassociates", examples=_column_examples)
def products_of_one_left(
    x: Tensor, y: Tensor, w: Tensor, xs: Tensors, ys: Tensors, rest: Tensors, a: PyObject, b: PyObject
) -> Iterator[Any]:
    """Concat(A @ B, A @ C, ..) = A @ Concat(B, C, ..) along columns

    Source: TASO.
    """
    yield from listing()
    last = (listed(xs, a), eq(xs).to(cons(matmul(x, w), nil())))
    yield closure(*last, then=set_(rights(xs, a, x)).to(cons(w, nil())))
    more = (listed(xs, a), eq(xs).to(cons(matmul(x, w), rest)), eq(ys).to(rights(rest, a, x)))
    yield closure(*more, then=set_(rights(xs, a, x)).to(cons(w, ys)))
    found = (eq(y).to(concat(xs, a)), eq(ys).to(rights(xs, a, x)))
    axis = let(b, axis_of_rights, a, facts(xs), facts(ys))
    yield rule(*found, *axis, then=Equal(y, matmul(x, concat(ys, b))))


# --- parts ----------------------------------------------------------------------------------------------


@hosted()
def slice_of_right(spec: Slices, x: Fact, w: Fact, product: Fact) -> Slices | None:
    """The slice of the columns of W that makes a slice of columns of x @ W."""
    if (
        len(spec) != 1
        or w.rank is None
        or w.rank < 2
        or product.rank is None
        or spec[0][0] != product.rank - 1
    ):
        return None
    return ((w.rank - 1, *spec[0][1:]),)


@hosted()
def slice_of_left(spec: Slices, x: Fact, w: Fact, product: Fact) -> Slices | None:
    """The slice of x that makes a slice of x @ W, along rows or along an axis that W does not have."""
    if len(spec) != 1 or x.rank is None or x.rank < 2 or w.rank is None or w.rank < 2 or product.rank is None:
        return None
    axis, *bounds = spec[0]
    place = axis - (product.rank - x.rank)
    if not 0 <= place < x.rank - 1 or (place < x.rank - 2 and w.rank != 2):
        return None
    return ((place, *bounds),)  # type: ignore[return-value]


@hosted()
def axis_from_left(axis: int, x: Fact, w: Fact, product: Fact) -> int | None:
    """The axis of x @ W that is one of x."""
    if product.rank is None or x.rank is None:
        return None
    place = axis + product.rank - x.rank
    spec = ((place, 0, 0, 1),)
    return place if slice_of_left(spec, x, w, product) == ((axis, 0, 0, 1),) else None


@hosted()
def axis_from_right(axis: int, w: Fact, product: Fact) -> int | None:
    """The axis of x @ W where W is asked for along its columns."""
    if product.rank is None or w.rank is None or w.rank < 2 or axis != w.rank - 1:
        return None
    return product.rank - 1


@hosted()
def only_axis(spec: Slices) -> int:
    return spec[0][0]


def asking_products() -> Iterator[Any]:
    """Products of what is a Slice or a Concat are sliced like it; see `slice_movement.asking_rules`."""
    yield from asking_rules()
    x, y, w = (egglog.var(name, Tensor) for name in "xyw")
    a, b = egglog.var("a", PyObject), egglog.var("b", PyObject)
    product = eq(y).to(matmul(x, w))
    of_left = (asked(x, a), let(b, axis_from_left, a, fact(x), fact(w), fact(y)))
    yield closure(product, *of_left, then=asked(y, b))
    of_right = (asked(w, a), holds(all_vary, fact(w)), let(b, axis_from_right, a, fact(w), fact(y)))
    yield closure(product, *of_right, then=asked(y, b))


def _slice_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, v, w = g.input(("N", 2, 3)), g.input((3, 5)), g.input((3, 4))
    both = matmul(x, concat(terms(v, w), 1))
    yield g.fires(slice_(both, ((2, 0, 5, 1),)))
    rows = matmul(concat(terms(x, g.input(("N", 4, 3))), 1), v)
    yield g.fires(slice_(rows, ((1, 1, 4, 1),)))
    batch = matmul(concat(terms(x, x), 0), w)
    yield g.fires(slice_(batch, ((0, 0, 1, 1),)))
    yield g.near_miss(slice_(matmul(x, v), ((2, 0, 2, 1),)), why="nothing is to be taken apart")
    yield g.near_miss(slice_(both, ((1, 0, 1, 1),)), why="rows of what has joined columns")
    yield g.near_miss(slice_(both, ((1, 0, 1, 1), (2, 0, 5, 1))), why="two axes")
    yield g.near_miss(binary("Mul", both, both), why="nothing is sliced")


@law("joining", numerics="reassociates", examples=_slice_examples)
def slice_of_product(x: Tensor, w: Tensor, y: Tensor, s: PyObject, t: PyObject, a: PyObject) -> Iterator[Any]:
    """Slice(A @ B) = A @ Slice(B), or Slice(A) @ B, where what is sliced is a Slice or a Concat itself

    Source: TASO.
    """
    yield from asking_products()
    product = eq(y).to(matmul(x, w))
    columns = let(t, slice_of_right, s, fact(x), fact(w), fact(y))
    wanted = guard(*let(a, only_axis, t), asked(w, a), holds(all_vary, fact(w)))
    yield rewrite(slice_(y, s), matmul(x, slice_(w, t)), product, columns, wanted)
    rows = let(t, slice_of_left, s, fact(x), fact(w), fact(y))
    wanted = guard(*let(a, only_axis, t), asked(x, a))
    yield rewrite(slice_(y, s), matmul(slice_(x, t), w), product, rows, wanted)

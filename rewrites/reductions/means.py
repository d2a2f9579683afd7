"""The mean of what a linear operator makes of rows is what it makes of their mean.

ReduceMean_a(x @ W) -> ReduceMean_a(x) @ W        along rows
ReduceMean_a(x op c) -> ReduceMean_a(x) op c      for a scale or a shift that is one number along the axes
ReduceMean_a(x + c) -> ReduceMean_a(x) + ReduceMean_a(c)      for other constant shifts, as positions are

Sums are left alone: that of x may overflow in float16 where that of x @ W does not.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, absent, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import is_constant, varies
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Axes, Dims, Flag, String, Tensor
from egraph_opt.operators import binary, reduce, reshape
from egraph_opt.rewrites.conditions.chains import affine, moves
from egraph_opt.rewrites.conditions.channels import is_scale, is_shift, static_shape
from egraph_opt.rewrites.conditions.values import broadcasts_into, is_float

law = laws_of("reduction", numerics="reassociates", kind="move", serves="arithmetic")

ALL = "what is not reduced is more to compute"


@hosted()
def is_one_along(m: Fact, x: Fact, axes: Axes) -> bool:
    """m has one number for all elements that are reduced together."""
    if m.rank is None or x.rank is None or m.rank > x.rank:
        return False
    ahead = x.rank - m.rank
    return all(axis < ahead or m.shape[axis - ahead] == 1 for axis in axes)  # type: ignore[index]


@hosted()
def are_rows(x: Fact, w: Fact, axes: Axes) -> bool:
    """The axes are rows of x, which is multiplied with a matrix."""
    return w.rank == 2 and x.rank is not None and x.rank >= 2 and max(axes, default=x.rank) < x.rank - 1


def _product_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w = g.input(("N", 3, 5, 4)), g.random(4, 6)
    yield from g.all_fire(reduce("ReduceMean", x @ w, (1,), 1), reduce("ReduceMean", x @ w, (0, 2), 0))
    yield from g.near_misses(
        (reduce("ReduceMean", x @ w, (3,), 1), "columns"),
        (reduce("ReduceMax", x @ w, (1,), 1), "a maximum"),
        (reduce("ReduceMean", x @ g.input((3, 4, 6)), (1,), 1), "a matrix for each row"),
    )


@law(source="Temporal Segment Networks, arXiv 1608.00859: consensus", examples=_product_examples)
def mean_of_product(x: Tensor, w: Tensor, a: Axes, k: Flag):
    """ReduceMean_a(x @ W) = ReduceMean_a(x) @ W along rows"""
    known = (is_float(x), are_rows(x, w, a), guard(varies(x)))
    yield rewrite(reduce("ReduceMean", x @ w, a, k), reduce("ReduceMean", x, a, k) @ w, *known, because=ALL)


@hosted()
def is_affine(op: str, c: Fact) -> bool:
    return bool((op == "Mul" and is_scale.function(c)) or (op == "Add" and is_shift.function(c)))


@hosted()
def keeps_place(c: Fact, x: Fact, axes: Axes, kept: Flag) -> bool:
    """The axes are kept, or are in front of all that c has."""
    return bool(kept) or (
        x.rank is not None and c.rank is not None and max(axes, default=-1) < x.rank - c.rank
    )


def _affine_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, c = g.input(("N", 3, 5, 4)), g.random(4)
    for op in ("Mul", "Add"):
        yield from g.all_fire(*(reduce("ReduceMean", binary(op, x, c), (1, 2), k) for k in (0, 1)))
    yield g.fires(reduce("ReduceMean", x + g.random(3, 1, 1), (2, 3), 1))
    yield from g.near_misses(
        (reduce("ReduceMean", x * c, (3,), 1), "several numbers along the axis"),
        (reduce("ReduceMean", x * g.random(3, 1, 1), (2,), 0), "what is dropped was one of its axes"),
        (reduce("ReduceMean", x + g.input((4,)), (1,), 1), "it is no constant"),
        (reduce("ReduceMax", x * c, (1,), 1), "a maximum"),
    )


@law(source="algebra", uses=(affine,), examples=_affine_examples)
def mean_of_affine(op: String, x: Tensor, c: Tensor, a: Axes, k: Flag):
    """ReduceMean_a(x op c) = ReduceMean_a(x) op c for a constant scale or shift, one number along the axes"""
    known = (is_affine(op, c), is_one_along(c, x, a), keeps_place(c, x, a, k))
    inside, outside = reduce("ReduceMean", binary(op, x, c), a, k), reduce("ReduceMean", x, a, k)
    once = (guard(is_constant(c), varies(x)), *moves(op, x, c))
    yield rewrite(inside, binary(op, outside, c), *known, *once, because=ALL)


@hosted()
def along_all_axes(c: Fact, x: Fact) -> Dims | None:
    """The dims of a constant, of some elements, with as many axes as x has, which it leaves the shape of."""
    dims = static_shape(c)
    if dims is None or 0 in dims or x.shape is None or not broadcasts_into(dims, x.shape):
        return None
    return (*(1,) * (len(x.shape) - len(dims)), *dims)


def _shift_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, c = g.input(("N", 3, 4)), g.random(3, 4)
    for k in (0, 1):
        yield from g.all_fire(
            reduce("ReduceMean", x + c, (1,), k),
            reduce("ReduceMean", x + g.random(1, 3, 4), (0, 1), k),
            reduce("ReduceMean", x + c, (0, 1, 2), k),
        )
    yield g.fires(reduce("ReduceMean", x + g.random(3, 1), (1,), 0))
    whole = g.input((3, 4), INT64)
    yield from g.near_misses(
        (reduce("ReduceMean", x + g.random(4), (1,), 1), "one number along the axis"),
        (reduce("ReduceMean", x + g.input((3, 4)), (1,), 1), "it is no constant"),
        (reduce("ReduceMean", g.input(("N", 1, 4)) + c, (1,), 1), "there are more to add to"),
        (reduce("ReduceMean", x * c, (1,), 1), "a product"),
        (reduce("ReduceMax", x + c, (1,), 1), "a maximum"),
        (reduce("ReduceMean", x + g.constant(np.diag([np.inf, 1, 1, 1])[:3]), (1,), 1), "infinities"),
        (reduce("ReduceMean", whole + g.constant(np.arange(4)), (1,), 1), "means of integers are rounded"),
    )


@law(
    source="Vision Transformer, arXiv 2010.11929: positions, and a mean of tokens",
    uses=(affine,),
    examples=_shift_examples,
)
def mean_of_shifted(x: Tensor, c: Tensor, a: Axes, k: Flag):
    """ReduceMean_a(x + c) = ReduceMean_a(x) + ReduceMean_a(c) for a constant c"""
    whole = reshape(c, along_all_axes(c, x))
    once = (guard(is_constant(c), varies(x)), *moves("Add", x, c), guard(absent(is_one_along(c, x, a))))
    apart = reduce("ReduceMean", x, a, k) + reduce("ReduceMean", whole, a, k)
    yield rewrite(reduce("ReduceMean", x + c, a, k), apart, is_shift(c), *once, because=ALL)

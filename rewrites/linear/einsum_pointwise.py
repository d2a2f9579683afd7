"""Sums in Einstein's notation that are no matrix products: products of elements, and diagonals.

Einsum(x, y; "bij,i->bij") -> x * Reshape(y)                     nothing is summed
Einsum(x, y; "bi,bi->b") -> ReduceSum(x * y)                     all letters are in both
Einsum(x; "bii->bi") -> Gather(Reshape(x), [0, n + 1, 2n + 2, ..])
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import SMALL, Fact
from egraph_opt.laws import Example, Operands, hosted, laws_of, rewrite
from egraph_opt.laws.sorts import Axes, Axis, Dims, Equation, Permutation, Tensor
from egraph_opt.operators import Literal, einsum, gather, literal, reduce, reshape, transpose
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.linear.einsum import SPELLINGS, dims_of_letters, letters

law = laws_of("einsum", numerics="reassociates", kind="split")


class Aligned(NamedTuple):
    """Permutations and dims that bring two operands to the same letters, and the axes to be summed over."""

    left: Permutation
    left_dims: Dims
    right: Permutation
    right_dims: Dims
    axes: Axes


@hosted()
def aligned(equation: Equation, x: Fact, y: Fact, summed: bool) -> Aligned | None:
    """How an equation of two operands is a product of elements, of which something is `summed` or nothing.

    None where an operand has rows of its own and something is summed: that is a matrix product.
    """
    parsed = letters(equation)
    if parsed is None or len(parsed[0]) != 2:
        return None
    operands, result = parsed
    dims, shared = dims_of_letters(operands, (x, y)), set(operands[0]) & set(operands[1])
    every = {*operands[0], *operands[1]}
    over = "".join(sorted(every - set(result)))
    if dims is None or not set(result) <= every or bool(over) != summed or (over and every != shared):
        return None
    whole = result + over
    orders, views = [], []
    for text in operands:
        orders.append(tuple(text.index(c) for c in whole if c in text))
        views.append(tuple(dims[c] if c in text else 1 for c in whole))
    axes = tuple(range(len(result), len(whole)))
    return Aligned(orders[0], views[0], orders[1], views[1], axes)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    cases: list[tuple[str, Any, Any, str]] = [
        ("ij,ij->ij", (3, 4), (3, 4), ""),
        ("i,j->ij", (3,), ("N",), ""),
        ("bi,bj->bji", ("N", 2), ("N", 3), ""),
        ("bijc,ci->bijc", ("N", 2, 4, 3), (3, 2), ""),
        ("i,i->", (4,), (4,), ""),
        ("ib,bi->b", (3, "N"), ("N", 3), ""),
        ("...i,i->...i", (2, 3), (3,), "the batch has no letters"),
        ("ij,jk->ik", (3, 4), (4, 5), "it is a matrix product"),
        ("bi,bj->b", (3, 4), (3, 5), "each is summed by itself"),
        ("bi,bi->bi", (1, 4), (3, 4), "the batch broadcasts"),
        ("bi,ii->bi", (2, 3), (3, 3), "it takes a diagonal"),
    ]
    for equation, a, b, why in cases:
        g = Operands(rng)
        term = einsum(equation, listed(g.input(a), g.input(b)))
        yield g.near_miss(term, why) if why else g.fires(term)


@law(kind="replace", serves="launches", examples=_examples)
def is_pointwise(equation: Equation, x: Tensor, y: Tensor):
    """Einsum(x, y; "bi,i->bi") = x * Reshape(y), Einsum(x, y; "bi,bi->b") = ReduceSum(x * y)"""
    for summed in (False, True):
        plan = aligned(equation, x, y, summed)
        left, right = (reshape(transpose(z, plan[k]), plan[k + 1]) for z, k in ((x, 0), (y, 2)))
        whole = reduce("ReduceSum", left * right, plan[4], 0) if summed else left * right
        yield rewrite(einsum(equation, listed(x, y)), whole, because=SPELLINGS)


# --- diagonals ------------------------------------------------------------------------------------------


class Diagonal(NamedTuple):
    """The axes of a letter last, as one, of which some elements are gathered, and the equation of these."""

    order: Permutation
    dims: Dims
    places: Literal
    axis: Axis
    equation: Equation


@hosted()
def diagonal(equation: Equation, x: Fact) -> Diagonal | None:
    """Of one operand with one letter that it has more than once; the equation is that of what is gathered."""
    text, arrow, result = equation.partition("->")
    again = sorted({c for c in text if text.count(c) > 1})
    if not arrow or not text.isalpha() or (result and not result.isalpha()) or len(again) != 1:
        return None
    if x.dtype not in KERNEL_FLOATS or not x.is_symbolic:
        return None
    (letter,) = again
    if x.shape is None or len(x.shape) != len(text):
        return None
    last = [k for k, c in enumerate(text) if c == letter]
    first = [k for k, c in enumerate(text) if c != letter]
    sizes = {x.shape[k] for k in last}
    size = sizes.pop()
    if sizes or not isinstance(size, int) or not 0 < size <= SMALL:
        return None
    step = sum(size**k for k in range(len(last)))
    places = Literal(TensorProto.INT64, (size,), tuple(step * k for k in range(size)))
    rest = "".join(text[k] for k in first) + letter
    dims = (*(x.shape[k] for k in first), size ** len(last))
    return Diagonal((*first, *last), dims, places, len(first), f"{rest}->{result}")


def _diagonals(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    for equation, shape in (
        ("ii->i", (3, 3)),
        ("ii->", (4, 4)),
        ("ibi->bi", (2, "N", 2)),
        ("iij->ji", (2, 2, 3)),
    ):
        yield g.fires(einsum(equation, listed(g.input(shape))))
    yield from g.near_misses(
        (einsum("ij->ji", listed(g.input((3, 3)))), "no letter is there twice"),
        (einsum("ii->i", listed(g.input(("N", "N")))), "it may have any length"),
        (einsum("iijj->ij", listed(g.input((3, 3, 2, 2)))), "there are two"),
    )


@law(numerics="reassociates", kind="replace", serves="launches", examples=_diagonals)  # others are summed
def takes_diagonal(equation: Equation, x: Tensor):
    """Einsum(x; "bii->bi") = Gather(Reshape(x), [0, n + 1, 2n + 2, ..])"""
    plan = diagonal(equation, x)
    rows = reshape(transpose(x, plan[0]), plan[1])
    taken = gather(rows, literal(plan[2]), plan[3])
    yield rewrite(einsum(equation, listed(x)), einsum(plan[4], listed(taken)), because=SPELLINGS)

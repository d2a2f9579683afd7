"""Sums of products in Einstein's notation are matrix products, transposes and sums.

Einsum(x, y; "ab..,bc..->ac..") -> T(Reshape(T(Reshape(x)) @ T(Reshape(y))))
Einsum(x; "abc->ca") -> T(ReduceSum(x))

Letters are of four kinds: those of both operands and the result are batch axes, those of both operands alone
are summed over, and the others belong to one operand.  Axes of one kind are flattened into one.
`einsum_pointwise` has products of which nothing is a matrix product, and diagonals.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Dim, Fact
from egraph_opt.laws import Example, Operands, hosted, laws_of, rewrite
from egraph_opt.laws.sorts import Axes, Dims, Equation, Permutation, Tensor
from egraph_opt.operators import einsum, reduce, reshape, transpose
from egraph_opt.operators.declaration import attribute_class
from egraph_opt.operators.terms import listed

law = laws_of("einsum", numerics="reassociates", kind="split")

SPELLINGS = "a product does not tell its letters"


@attribute_class
@dataclass(frozen=True)
class EinsumPlan:
    """Permutations and dims of both operands, and of the product, whose axes are in another order."""

    left: tuple[int, ...]
    left_dims: tuple[Dim, ...]
    right: tuple[int, ...]
    right_dims: tuple[Dim, ...]
    dims: tuple[Dim, ...]
    result: tuple[int, ...]


def letters(equation: str) -> tuple[list[str], str] | None:
    """The letters of operands and result; None for what is more than products and sums (`...`, diagonals)."""
    inputs, arrow, result = equation.partition("->")
    operands = inputs.split(",")
    if not arrow:
        result = "".join(sorted(c for c in set(inputs) - {","} if inputs.count(c) == 1))
    every = [*operands, result]
    if any(not text.isalpha() and text for text in every) or any(len(set(t)) < len(t) for t in every):
        return None
    return operands, result


def dims_of_letters(operands: list[str], facts: tuple[Fact, ...]) -> dict[str, Dim] | None:
    """The dim of every letter; None where one is not known, or broadcasts."""
    dims: dict[str, Dim] = {}
    for text, known in zip(operands, facts, strict=True):
        if known.dtype not in KERNEL_FLOATS or known.shape is None or len(known.shape) != len(text):
            return None
        for letter, dim in zip(text, known.shape, strict=True):
            if dim is None or not symbolic.known_equal(dims.setdefault(letter, dim), dim):
                return None
    return dims


@hosted()
def product_plan(equation: Equation, x: Fact, y: Fact, swapped: bool) -> EinsumPlan | None:
    """How an equation of two operands, y being the left factor where they are `swapped`, is a matrix product.

    None where it is none, or where a swap brings nothing: a matrix that has the summed axis last needs no
    transpose on the left of a vector.
    """
    parsed = letters(equation)
    if parsed is None or len(parsed[0]) != 2:
        return None
    (left, right), result = parsed
    if swapped:
        (left, right), (x, y) = (right, left), (y, x)
    dims, shared = dims_of_letters([left, right], (x, y)), set(left) & set(right)
    if swapped and not set(right) <= shared:
        return None
    summed = [c for c in left if c not in result]
    # What one operand alone has is not summed over; there are no letters beside.
    if dims is None or not summed or {*left, *right} - shared != set(result) - shared:
        return None
    batch = [c for c in result if c in shared]
    rows = [c for c in result if c not in right]
    columns = [c for c in result if c not in left]
    of_batch = tuple(dims[c] for c in batch)
    flat = [symbolic.product([dims[c] for c in group]) for group in (rows, summed, columns)]
    if any(dim is None for dim in flat):
        return None
    order = [*batch, *rows, *columns]
    return EinsumPlan(
        tuple(left.index(c) for c in (*batch, *rows, *summed)),
        (*of_batch, flat[0], flat[1]),
        tuple(right.index(c) for c in (*batch, *summed, *columns)),
        (*of_batch, flat[1], flat[2]),
        tuple(dims[c] for c in order),
        tuple(order.index(c) for c in result),
    )


@hosted()
def order_in(plan: EinsumPlan, part: str) -> Permutation:
    """One of a plan's permutations."""
    return getattr(plan, part)  # type: ignore[no-any-return]


@hosted()
def dims_in(plan: EinsumPlan, part: str) -> Dims:
    """One of a plan's lists of dims."""
    return getattr(plan, part)  # type: ignore[no-any-return]


def _product_examples(rng: np.random.Generator) -> Iterator[Example]:
    cases: list[tuple[str, Any, Any, str]] = [
        ("ij,jk", (3, 4), (4, 5), ""),
        ("bhid,bhjd->bhij", ("N", 2, 3, 4), ("N", 2, 5, 4), ""),
        ("bhij,bhjd->bihd", ("N", 2, 3, 4), ("N", 2, 4, 5), ""),
        ("btd,dhk->bthk", (2, "L", 6), (6, 2, 3), ""),
        ("bthk,hkd->btd", (2, "L", 2, 3), (2, 3, 6), ""),
        ("i,i->", (4,), (4,), ""),
        ("nc,ncv->nv", ("N", 3), ("N", 3, 5), ""),
        ("nc,nvc->nv", ("N", 3), ("N", 5, 3), ""),
        ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5), "the batch has no letters"),
        ("ii,ij->j", (3, 3), (3, 4), "it takes a diagonal"),
        ("ij,kl->jk", (3, 4), (5, 6), "letters of one operand are summed over"),
        ("ij,ij->ij", (3, 4), (3, 4), "nothing is summed"),
        ("bij,bjk->bik", (1, 3, 4), (2, 4, 5), "the batch broadcasts"),
    ]
    for equation, a, b, why in cases:
        g = Operands(rng)
        term = einsum(equation, listed(g.input(a), g.input(b)))
        yield g.near_miss(term, why) if why else g.fires(term)


@law(source="onnxoptimizer, replace_einsum_with_matmul", examples=_product_examples, resumes=True)
def is_product(equation: Equation, x: Tensor, y: Tensor):
    """Einsum(x, y; "ab,bc->ac") = T(Reshape(Reshape(T(x)) @ Reshape(T(y))))"""
    for first, second, swapped in ((x, y, False), (y, x, True)):
        plan = product_plan(equation, x, y, swapped)
        left = reshape(transpose(first, order_in(plan, "left")), dims_in(plan, "left_dims"))
        right = reshape(transpose(second, order_in(plan, "right")), dims_in(plan, "right_dims"))
        product = transpose(reshape(left @ right, dims_in(plan, "dims")), order_in(plan, "result"))
        yield rewrite(einsum(equation, listed(x, y)), product, because=SPELLINGS)


@hosted()
def summed_axes(equation: Equation, x: Fact) -> Axes | None:
    """The axes that an equation of one operand sums over; None for what is more than that."""
    parsed = letters(equation)
    if parsed is None or len(parsed[0]) != 1 or not set(parsed[1]) <= set(parsed[0][0]):
        return None
    if dims_of_letters(parsed[0], (x,)) is None:
        return None
    return tuple(k for k, c in enumerate(parsed[0][0]) if c not in parsed[1])


@hosted()
def order(equation: Equation, axes: Axes, any_summed: bool) -> Permutation | None:
    """The permutation of the letters that are left, where axes are summed over as said."""
    parsed = letters(equation)
    if parsed is None or bool(axes) != any_summed:
        return None
    left = [c for c in parsed[0][0] if c in parsed[1]]
    return tuple(left.index(c) for c in parsed[1])


def _unary_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    for equation, shape in (("ij->ji", ("N", 4)), ("abc->ca", (2, "L", 3)), ("ab->", (2, 3))):
        yield g.fires(einsum(equation, listed(g.input(shape))))
    yield g.near_miss(einsum("ii->i", listed(g.input((3, 3)))), why="it takes a diagonal")


@law(examples=_unary_examples)
def is_sum(equation: Equation, x: Tensor):
    """Einsum(x; "abc->ca") = T(ReduceSum(x))"""
    whole, axes = einsum(equation, listed(x)), summed_axes(equation, x)
    yield rewrite(whole, transpose(x, order(equation, axes, False)), because=SPELLINGS)
    total = reduce("ReduceSum", x, axes, 0)
    yield rewrite(whole, transpose(total, order(equation, axes, True)), because=SPELLINGS)

"""Sums of products in Einstein's notation are matrix products, transposes and sums.

Einsum(x, y; "ab..,bc..->ac..") = T(Reshape(T(Reshape(x)) @ T(Reshape(y))))
Einsum(x; "abc->ca") = T(ReduceSum(x))

Letters are of four kinds: those of both operands and the result are batch axes, those of both operands alone
are summed over, and the others belong to one operand.  Axes of one kind are flattened into one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from egraph_opt.compat import PyObject, let, rewrite
from egraph_opt.facts import symbolic
from egraph_opt.facts.dtypes import KERNEL_FLOATS
from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import einsum, matmul, reduce, reshape, transpose
from egraph_opt.operators.declaration import attribute_class
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, cons, fact, listed, nil


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


def _dims(operands: list[str], facts: tuple[Fact, ...]) -> dict[str, Dim] | None:
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
def product_plan(equation: str, x: Fact, y: Fact) -> EinsumPlan | None:
    """How an equation of two operands is a matrix product; None where it is none."""
    parsed = letters(equation)
    if parsed is None or len(parsed[0]) != 2:
        return None
    (left, right), result = parsed
    dims = _dims([left, right], (x, y))
    if dims is None or not set(result) <= set(left + right) or set(left) - set(right) - set(result):
        return None
    if set(right) - set(left) - set(result):
        return None
    batch = [c for c in result if c in left and c in right]
    rows = [c for c in result if c not in right]
    columns = [c for c in result if c not in left]
    summed = [c for c in left if c not in result]
    if not summed:
        return None
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
def of_plan(plan: EinsumPlan, part: str) -> tuple[Any, ...]:
    """One of a plan's tuples."""
    return getattr(plan, part)  # type: ignore[no-any-return]


def _product_examples(rng: np.random.Generator) -> Iterator[Example]:
    a: Shape
    b: Shape
    for equation, a, b in (
        ("ij,jk->ik", (3, 4), (4, 5)),
        ("ij,jk", (3, 4), (4, 5)),
        ("bhid,bhjd->bhij", ("N", 2, 3, 4), ("N", 2, 5, 4)),
        ("bhij,bhjd->bihd", ("N", 2, 3, 4), ("N", 2, 4, 5)),
        ("btd,dhk->bthk", (2, "L", 6), (6, 2, 3)),
        ("bthk,hkd->btd", (2, "L", 2, 3), (2, 3, 6)),
        ("i,i->", (4,), (4,)),
        ("ij,j->i", ("N", 4), (4,)),
        ("nc,ncv->nv", ("N", 3), ("N", 3, 5)),
    ):
        g = Operands(rng)
        yield g.fires(einsum(equation, listed(g.input(a), g.input(b))))
    g = Operands(rng)
    for equation, a, b, why in (
        ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5), "the batch has no letters"),
        ("ii,ij->j", (3, 3), (3, 4), "it takes a diagonal"),
        ("ij,kl->jk", (3, 4), (5, 6), "letters of one operand are summed over"),
        ("ij,ij->ij", (3, 4), (3, 4), "nothing is summed"),
        ("bij,bjk->bik", (1, 3, 4), (2, 4, 5), "the batch broadcasts"),
    ):
        yield g.near_miss(einsum(equation, listed(g.input(a), g.input(b))), why=why)


@law("einsum", numerics="reassociates", examples=_product_examples)
def is_product(equation: PyObject, x: Tensor, y: Tensor, p: PyObject) -> Iterator[Any]:
    """Einsum(x, y; "ab,bc->ac") = T(Reshape(Reshape(T(x)) @ Reshape(T(y))))

    Source: onnxoptimizer, replace_einsum_with_matmul.
    """

    def part(name: str) -> Any:
        return PyObject(of_plan)(p, PyObject(name))

    left = reshape(transpose(x, part("left")), part("left_dims"))
    right = reshape(transpose(y, part("right")), part("right_dims"))
    yield rewrite(
        einsum(equation, cons(x, cons(y, nil()))),
        transpose(reshape(matmul(left, right), part("dims")), part("result")),
        let(p, product_plan, equation, fact(x), fact(y)),
    )


@hosted()
def summed_axes(equation: str, x: Fact) -> tuple[int, ...] | None:
    """The axes that an equation of one operand sums over; None for what is more than that."""
    parsed = letters(equation)
    if parsed is None or len(parsed[0]) != 1 or not set(parsed[1]) <= set(parsed[0][0]):
        return None
    if _dims(parsed[0], (x,)) is None:
        return None
    return tuple(k for k, c in enumerate(parsed[0][0]) if c not in parsed[1])


@hosted()
def order(equation: str, some: bool) -> tuple[int, ...] | None:
    """The permutation of the letters that are left; `some`: whether others are summed over."""
    parsed = letters(equation)
    assert parsed is not None
    (text,), result = parsed
    left = [c for c in text if c in result]
    return tuple(left.index(c) for c in result) if (len(left) < len(text)) == some else None


def _unary_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    yield g.fires(einsum("ij->ji", listed(g.input(("N", 4)))))
    yield g.fires(einsum("abc->ca", listed(g.input((2, "L", 3)))))
    yield g.fires(einsum("ab->", listed(g.input((2, 3)))))
    yield g.near_miss(einsum("ii->i", listed(g.input((3, 3)))), why="it takes a diagonal")


@law("einsum", numerics="reassociates", examples=_unary_examples)
def is_sum(equation: PyObject, x: Tensor, a: PyObject, p: PyObject) -> Iterator[Any]:
    """Einsum(x; "abc->ca") = T(ReduceSum(x))

    Source: algebra.
    """
    whole = einsum(equation, cons(x, nil()))
    axes = let(a, summed_axes, equation, fact(x))
    yield rewrite(whole, transpose(x, p), axes, let(p, order, equation, PyObject(False)))
    summed = reduce("ReduceSum", x, a, PyObject(0))
    yield rewrite(whole, transpose(summed, p), axes, let(p, order, equation, PyObject(True)))

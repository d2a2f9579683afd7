"""Sums of products that share an operand, and products of sums of which one part is there already.

x * y + x * z = x * (y + z)        likewise x * y - x * z
A @ B + A @ C = A @ (B + C)
A @ C + B @ C = (A + B) @ C
(A @ C + b) + B @ C -> (A + B) @ C + b    likewise differences, and C @ A
A @ B + C @ D = [A, C] @ [B; D]    for constant B and D

From the right to the left where both products are written as well.  `convolution.sums` says the same of
convolutions.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Example,
    Operands,
    absent,
    assign,
    auxiliary,
    eq,
    guard,
    hosted,
    laws_of,
    ne,
    rewrite,
    rule,
    table,
    union,
)
from egraph_opt.laws.algebra import is_constant, varies
from egraph_opt.laws.sorts import Int, String, Tensor
from egraph_opt.operators import binary, concat
from egraph_opt.operators.terms import listed
from egraph_opt.rewrites.conditions.chains import standing, stands
from egraph_opt.rewrites.conditions.channels import LARGEST, known_elements, overflows_nowhere, product_fits
from egraph_opt.rewrites.conditions.operands import beside, either_side, factor, factors
from egraph_opt.rewrites.conditions.values import all_vary

law = laws_of("distributivity", numerics="reassociates", kind="merge")


def pair_of(x: Any, y: Any) -> Any:
    """The list of two operands."""
    return listed(x, y)


@hosted()
def is_sum(op: str) -> bool:
    return op in ("Add", "Sub")


def _written(one: Any, first: Any, other: Any, second: Any, *conditions: Any) -> Any:
    """The demand for a sum: both summands are there."""
    return guard(eq(one, first), eq(other, second), *conditions)


# --- element by element ---------------------------------------------------------------------------------


@hosted()
def are_alike(x: Fact, y: Fact, z: Fact) -> bool:
    """y and z vary both, or neither does and x varies; x * c + x * y is an affine function of x as it is."""
    return y.const == z.const and not (x.const and y.const)


@hosted()
def sum_fits(y: Fact, z: Fact) -> bool:
    """The sum of two constants overflows nowhere, as far as their elements are known."""
    return not (y.const and z.const) or overflows_nowhere("Add", y, z)


def _factor_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, c = g.input(("N", 3)), g.constant(np.full(3, 3e38, np.float32))
    yield g.fires(x * g.random(3) - x * g.random(3))
    yield g.near_miss(x * c + x * c, why="c + c is infinite")


@law(
    serves="arithmetic",
    source="TASO, distributivity of Mul",
    uses=(either_side, standing),
    examples=_factor_examples,
)
def factor_out(op: String, x: Tensor, y: Tensor, z: Tensor, i: Int, k: Int):
    """x * y + x * z = x * (y + z), likewise x * y - x * z"""
    first, second = beside("Mul", x, y, i), beside("Mul", x, z, k)
    total, whole = binary(op, first, second), x * binary(op, y, z)
    # What 0 is multiplied by would become a sum of itself without end: 0 * y + 0 * y is 0 * y.
    grows = (ne(y, z), ne(y, first), ne(z, second), ne(total, first), ne(total, second))
    demand = guard(are_alike(x, y, z), *grows, all_vary(first, second, total))
    # Of the spellings of a constant one will do: of two it would be one for each pair.
    spelled = guard(*(stands("Mul", a, b) for part in (y, z) for a, b in ((x, part), (part, x))))
    yield rewrite(total, whole, is_sum(op), sum_fits(y, z), demand, spelled, inverse="multiply_out")
    # c * (x + x) would have x in its own expansion where c is 0.5; x * (c + c) has not.
    total, twice = first + first, x * (y + y)
    once = guard(varies(x), ne(y, first), ne(total, first), varies(first), stands("Mul", x, y))
    yield rewrite(total, twice, sum_fits(y, y), once, inverse="multiply_out")


@hosted()
def products_fit(x: Fact, *others: Fact) -> bool:
    """The product of a constant x and of each other constant overflows nowhere, as far as they are known."""
    return not x.const or all(not y.const or product_fits(x, y, ()) for y in others)


def _product_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = g.constant(2.0), g.input(("N", 3)) + g.constant(-3e38), g.constant(3e38)
    yield g.near_miss((x * (y + z), x * y, x * z), why="the product of the constants is infinite")
    yield g.near_miss((x * (z + y), x * z, x * y), why="the product of the constants is infinite")


@law(
    kind="split",
    serves="arithmetic",
    source="TASO, distributivity of Mul",
    uses=(either_side,),
    examples=_product_examples,
)
def multiply_out(
    op: String, x: Tensor, y: Tensor, z: Tensor, one: Tensor, other: Tensor, i: Int, j: Int, k: Int
):
    """x * (y + z) = x * y + x * z, where both products are written as well"""
    left, right = beside("Mul", x, binary(op, y, z), k), binary(op, x * y, x * z)
    first, second = beside("Mul", x, y, i), beside("Mul", x, z, j)
    demand = _written(one, first, other, second, all_vary(x, y, z))
    yield rewrite(left, right, is_sum(op), products_fit(x, y, z), demand, inverse="factor_out")


# --- products of matrices -------------------------------------------------------------------------------


@hosted()
def same_type(x: Fact, y: Fact) -> bool:
    """Tensors of one type and one known shape: their sum broadcasts nothing."""
    if x.dtype != y.dtype or x.shape is None or y.shape is None or len(x.shape) != len(y.shape):
        return False
    return all(symbolic.known_equal(a, b) for a, b in zip(x.shape, y.shape, strict=True))


def _sum_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x = g.input((4, 4))
    added = x @ g.input((4,)) + x @ g.input((4, 4))
    yield g.near_miss(added, why="a row is broadcast behind the products, a column in front of them")


@law(serves="arithmetic", source="TASO, distributivity of MatMul", uses=(factors,), examples=_sum_examples)
def sum_of_products(op: String, x: Tensor, v: Tensor, w: Tensor, i: Int):
    """A @ B + A @ C = A @ (B + C), and A @ C + B @ C = (A + B) @ C, likewise for differences"""
    total, sound, differ = binary(op, v, w), (is_sum(op), same_type(v, w)), guard(ne(v, w))
    apart = binary(op, factor(v, x, i), factor(w, x, i))
    yield rewrite(apart, factor(total, x, i), sound, differ, inverse="product_of_sum")


def _shifted_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, w, b = g.input(("N", 4)), g.input(("N", 4)), g.random(4, 3), g.random(3)
    yield from g.all_fire((x @ w + b) + y @ w, (b + x @ w) - y @ w, y @ w - (x @ w + b), y @ w + (x @ w + b))
    yield from g.near_misses(
        ((x @ w + b) + y @ g.random(4, 3), "two weights"),
        ((x @ w + g.input((3,))) + y @ w, "the shift varies"),
        ((x @ w + b) + g.input((1, 4)) @ w, "a row is broadcast"),
        ((x @ w + b) * (y @ w), "a product"),
    )


@law(serves="arithmetic", uses=(factors, either_side), examples=_shifted_examples)
def sum_behind_shift(op: String, x: Tensor, v: Tensor, w: Tensor, b: Tensor, i: Int, j: Int):
    """(A @ C + b) + B @ C = (A + B) @ C + b, likewise C @ A, and differences"""
    one, other, why = factor(v, x, i), factor(w, x, i), "every sum of two would be one of three"
    shifted = beside("Add", one, b, j)
    sound, demand = (is_sum(op), same_type(v, w)), guard(is_constant(b), ne(v, w), all_vary(v, w))
    yield rewrite(binary(op, shifted, other), factor(binary(op, v, w), x, i) + b, sound, demand, because=why)
    yield rewrite(
        binary(op, other, shifted), binary(op, factor(binary(op, w, v), x, i), b), sound, demand, because=why
    )


@hosted()
def overflows_by_itself(v: Fact, w: Fact, i: Int) -> bool:
    """A product of two constants, C on the right of the first if i is 0, which may be infinite."""
    if not (v.const and w.const and v.dtype in LARGEST):
        return False
    known = known_elements(v) and known_elements(w)
    return not known or not (product_fits(v, w) if i == 0 else product_fits(w, v))


def _large_products(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, c, w = g.input((3, 4)), g.constant(np.full((3, 4), 1e4)), g.constant(np.full((4, 2), 1e35))
    for whole in ((x + c) @ w, (c + x) @ w):
        yield g.near_miss(whole, why="the product of two constants is infinite")


@law(
    kind="split",
    serves="arithmetic",
    source="TASO, distributivity of MatMul",
    uses=(factors,),
    examples=_large_products,
)
def product_of_sum(op: String, x: Tensor, y: Tensor, w: Tensor, one: Tensor, other: Tensor, i: Int):
    """(A + B) @ C = A @ C + B @ C, where A @ C and B @ C are written as well, likewise C @ (A + B)"""
    left, first, second = (factor(v, w, i) for v in (binary(op, x, y), x, y))
    finite = (absent(overflows_by_itself(x, w, i)), absent(overflows_by_itself(y, w, i)))
    sound, demand = (is_sum(op), same_type(x, y), *finite), _written(one, first, other, second)
    yield rewrite(left, binary(op, first, second), sound, demand, inverse="sum_of_products")


# --- sums of products of matrices that share nothing ----------------------------------------------------


@hosted()
def joinable(x: Fact, y: Fact, v: Fact, w: Fact) -> tuple[int, int] | None:
    """The axes along which the factors of x @ v + y @ w are joined; they differ in the summed dims only."""
    axes = []
    for a, b, from_end in ((x, y, 1), (v, w, 2)):
        if a.shape is None or b.shape is None or len(a.shape) != len(b.shape) or len(a.shape) < 2:
            return None
        axis = len(a.shape) - from_end
        pairs = enumerate(zip(a.shape, b.shape, strict=True))
        if a.dtype != b.dtype or not all(symbolic.known_equal(*p) for k, p in pairs if k != axis):
            return None
        axes.append(axis)
    return axes[0], axes[1]


@hosted()
def columns_meet(x: Fact, v: Fact) -> bool:
    """x @ v sums over as many columns as rows; for vectors this is not asked."""
    return bool(x.shape and v.shape and len(v.shape) > 1 and symbolic.known_equal(x.shape[-1], v.shape[-2]))


@table(merge="max")
def joint(x: Tensor) -> Int:
    """1 for what a law has joined to make one product of two, else 0.

    It is not joined again: a sum of n products would be one product in as many ways as it has parts.
    """


@auxiliary()
def factors_apart(x: Tensor, v: Tensor, y: Tensor):
    """Fills `joint` with 0 for every left factor."""
    yield rule(eq(y, x @ v), then=assign(joint(x), 0))


def apart_yet(x: Any, y: Any) -> tuple[Any, Any]:
    """The conditions that neither x nor y has been joined by a law."""
    return eq(joint(x), 0), eq(joint(y), 0)


@hosted()
def are_constant(v: Fact, w: Fact) -> bool:
    return v.const and w.const


def _inner_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 2, 3)), g.input(("N", 2, 5))
    v, w, a, b = g.input((3, 4)), g.input((5, 4)), g.random(3, 4), g.random(5, 4)
    yield g.fires((x @ a) + (y @ b))
    yield g.fires((g.input((2, 3)) @ g.random(3, 1)) + (g.input((2, 3)) @ g.random(3, 1)))
    whole, parts = concat(listed(x, y), 2) @ concat(listed(v, w), 0), (x @ v) * (y @ w)
    yield g.fires(whole * parts)
    yield g.near_miss(whole * (y @ w), why="one product is there only")
    yield g.near_miss((x @ v) + (y @ w), why="the weights are no constants")
    yield g.near_miss((x @ a) + (g.input((2, 5)) @ b), why="a sum that broadcasts")
    cut = concat(listed(x, y), 2) @ concat(listed(w, v), 0)
    yield g.near_miss(cut * parts, why="they are not cut at one place")


@law(source="TASO; its sums of two MatMul", examples=_inner_examples, uses=(factors_apart,), resumes=True)
def inner_concat(x: Tensor, y: Tensor, v: Tensor, w: Tensor, one: Tensor, other: Tensor):
    """A @ B + C @ D = [A, C] @ [B; D], for constant B and D, and back where both products are written"""
    first, second, axes = x @ v, y @ w, joinable(x, y, v, w)
    both = concat(pair_of(x, y), axes[0])
    together = both @ concat(pair_of(v, w), axes[1])
    worth = guard(are_constant(v, w), ne(x, y), ne(v, w), *apart_yet(x, y))
    then = union(one, together), assign(joint(both), 1)
    yield rule(eq(one, first + second), worth, then=then, inverse="inner_concat")
    demand = _written(one, first, other, second)
    yield rewrite(together, first + second, columns_meet(x, v), demand, inverse="inner_concat")

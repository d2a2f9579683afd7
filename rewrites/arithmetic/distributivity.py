"""Sums of products that share an operand, and products of sums of which one part is there already.

x * y + x * z = x * (y + z)        likewise x * y - x * z
A @ B + A @ C = A @ (B + C)
A @ C + B @ C = (A + B) @ C
A @ B + C @ D = [A, C] @ [B; D]    for constant B and D

From the right to the left where both products are written as well.  `convolution_sums` says the same of
convolutions.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt import compat as egglog
from egraph_opt.compat import (
    Equal,
    PyObject,
    String,
    closure,
    eq,
    guard,
    holds,
    i64,
    let,
    ne,
    rewrite,
    rule,
    set_,
)
from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws.examples import INT64, Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import binary, concat, matmul, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor, cons, fact, listed, nil
from egraph_opt.rewrites.arithmetic.associativity import all_vary


def pair_of(x: Any, y: Any) -> Any:
    """The list of two operands."""
    return cons(x, cons(y, nil()))


# --- element by element ---------------------------------------------------------------------------------


@hosted(default=False)
def is_sum(op: str) -> bool:
    return op in ("Add", "Sub")


@hosted(default=False)
def are_alike(x: Fact, y: Fact, z: Fact) -> bool:
    """y and z vary both, or neither does and x varies; x * c + x * y is an affine function of x as it is."""
    return y.const == z.const and not (x.const and y.const)


def _orders(x: Any, y: Any, z: Any) -> Iterator[tuple[Any, Any]]:
    """x * y and x * z, each in both orders."""
    for first in (binary("Mul", x, y), binary("Mul", y, x)):
        for second in (binary("Mul", x, z), binary("Mul", z, x)):
            yield first, second


def _factor_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = g.input(("N", 3, 4)), g.input((3, 1)), g.input((1, 4))
    for op in ("Add", "Sub"):
        yield g.fires(binary(op, binary("Mul", x, y), binary("Mul", z, x)))
        yield g.fires(binary(op, binary("Mul", x, g.random(4)), binary("Mul", x, g.random(3, 1))))
    n, m = g.input((2,), INT64), g.input((3, 1), INT64)
    yield g.fires(binary("Add", binary("Mul", n, m), binary("Mul", n, n)))
    yield g.near_miss(binary("Add", binary("Mul", x, y), binary("Mul", z, z)), why="nothing is shared")
    yield g.near_miss(binary("Mul", binary("Mul", x, y), binary("Mul", x, z)), why="it is no sum")
    c, d = g.random(4), g.random(4)
    yield g.near_miss(binary("Add", binary("Mul", c, d), binary("Mul", c, c)), why="constants are folded")


@law("distributivity", numerics="reassociates", examples=_factor_examples)
def factor_out(op: String, x: Tensor, y: Tensor, z: Tensor) -> Iterator[Any]:
    """x * y + x * z = x * (y + z), likewise x * y - x * z

    Source: TASO, distributivity of Mul.
    """
    for first, second in _orders(x, y, z):
        wanted = guard(holds(are_alike, fact(x), fact(y), fact(z)), ne(y).to(first), ne(z).to(second))
        yield rewrite(
            binary(op, first, second), binary("Mul", x, binary(op, y, z)), holds(is_sum, op), wanted
        )


def _multiply_out_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, z = g.input(("N", 3, 4)), g.input((3, 1)), g.input((1, 4))
    for op in ("Add", "Sub"):
        total = binary(op, y, z)
        both = binary("Div", binary("Mul", x, y), binary("Mul", z, x))
        yield g.fires(binary("Div", binary("Mul", x, total), both))
        yield g.fires(binary("Div", binary("Mul", total, x), both))
    one = binary("Div", binary("Mul", x, binary("Add", y, z)), binary("Mul", x, y))
    yield g.near_miss(one, why="one product is there only")
    yield g.near_miss(binary("Div", binary("Mul", x, binary("Div", y, z)), both), why="it is no sum")


@law("distributivity", numerics="reassociates", examples=_multiply_out_examples)
def multiply_out(op: String, x: Tensor, y: Tensor, z: Tensor, one: Tensor, other: Tensor) -> Iterator[Any]:
    """x * (y + z) = x * y + x * z, where both products are written as well

    Source: TASO, distributivity of Mul.
    """
    right = binary(op, binary("Mul", x, y), binary("Mul", x, z))
    for left in (binary("Mul", x, binary(op, y, z)), binary("Mul", binary(op, y, z), x)):
        for first, second in _orders(x, y, z):
            wanted = holds(all_vary, fact(x), fact(y), fact(z))
            written = guard(eq(one).to(first), eq(other).to(second), wanted)
            yield rewrite(left, right, holds(is_sum, op), written)


# --- products of matrices -------------------------------------------------------------------------------


@hosted(default=False)
def same_type(x: Fact, y: Fact) -> bool:
    """Tensors of one type and one known shape: their sum broadcasts nothing."""
    if x.dtype != y.dtype or x.shape is None or y.shape is None or len(x.shape) != len(y.shape):
        return False
    return all(symbolic.known_equal(a, b) for a, b in zip(x.shape, y.shape, strict=True))


def _shared_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, w = g.input(("N", 2, 3)), g.input(("N", 2, 3)), g.input((3, 4))
    yield g.fires(binary("Add", matmul(x, g.random(3, 4)), matmul(x, g.random(3, 4))))
    yield g.fires(binary("Add", matmul(x, w), matmul(y, w)))
    yield g.fires(binary("Sub", matmul(x, w), matmul(x, g.input((3, 4)))))
    yield g.near_miss(binary("Add", matmul(x, w), matmul(y, g.input((3, 4)))), why="nothing is shared")
    yield g.near_miss(binary("Mul", matmul(x, w), matmul(y, w)), why="it is no sum")
    yield g.near_miss(
        binary("Add", matmul(x, w), matmul(g.input((1, 2, 3)), w)), why="the sum would broadcast them first"
    )


@law("distributivity", numerics="reassociates", examples=_shared_examples)
def sum_of_products(op: String, x: Tensor, y: Tensor, v: Tensor, w: Tensor) -> Iterator[Any]:
    """A @ B + A @ C = A @ (B + C), and A @ C + B @ C = (A + B) @ C, likewise for differences

    Source: TASO, distributivity of MatMul.
    """
    condition = (holds(is_sum, op), ne(v).to(w))
    yield rewrite(
        binary(op, matmul(x, v), matmul(x, w)),
        matmul(x, binary(op, v, w)),
        *condition,
        holds(same_type, fact(v), fact(w)),
    )
    yield rewrite(
        binary(op, matmul(v, x), matmul(w, x)),
        matmul(binary(op, v, w), x),
        *condition,
        holds(same_type, fact(v), fact(w)),
    )


def _product_of_sum_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, w = g.input(("N", 2, 3)), g.input(("N", 2, 3)), g.input((3, 4))
    total = binary("Add", x, y)
    yield g.fires(binary("Mul", matmul(total, w), binary("Mul", matmul(x, w), matmul(y, w))))
    v = g.input((4, 2))
    yield g.fires(binary("Mul", matmul(v, total), binary("Mul", matmul(v, x), matmul(v, y))))
    yield g.near_miss(binary("Mul", matmul(total, w), matmul(x, w)), why="one product is there only")
    z = g.input((2, 1))
    broad = matmul(binary("Add", x, z), w), matmul(z, g.input((1, 4)))
    yield g.near_miss(
        binary("Mul", broad[0], binary("Mul", matmul(x, w), broad[1])), why="the sum broadcasts"
    )


@law("distributivity", numerics="reassociates", examples=_product_of_sum_examples)
def product_of_sum(op: String, x: Tensor, y: Tensor, w: Tensor, one: Tensor, other: Tensor) -> Iterator[Any]:
    """(A + B) @ C = A @ C + B @ C, where A @ C and B @ C are written as well, likewise C @ (A + B)

    Source: TASO, distributivity of MatMul.
    """
    condition = (holds(is_sum, op), holds(same_type, fact(x), fact(y)))
    for left, first, second in (
        (matmul(binary(op, x, y), w), matmul(x, w), matmul(y, w)),
        (matmul(w, binary(op, x, y)), matmul(w, x), matmul(w, y)),
    ):
        written = guard(eq(one).to(first), eq(other).to(second))
        yield rewrite(left, binary(op, first, second), condition, written)


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
def item(pair: tuple[Any, ...], k: int) -> Any:
    return pair[k]


@egglog.function(egg_fn="distributed_joint", merge=lambda old, new: old.max(new))
def joint(x: Tensor) -> i64:
    """1 for what a law has joined to make one product of two, else 0.

    It is not joined again: a sum of n products would be one product in as many ways as it has parts.
    """


def apart_yet(x: Any, y: Any) -> tuple[Any, Any]:
    """The conditions that neither x nor y has been joined by a law."""
    return eq(joint(x)).to(0), eq(joint(y)).to(0)


@hosted(default=False)
def are_constant(v: Fact, w: Fact) -> bool:
    return v.const and w.const


def _inner_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input(("N", 2, 3)), g.input(("N", 2, 5))
    yield g.fires(binary("Add", matmul(x, g.random(3, 4)), matmul(y, g.random(5, 4))))
    yield g.fires(
        binary("Add", matmul(g.input((2, 3)), g.random(3, 1)), matmul(g.input((2, 3)), g.random(3, 1)))
    )
    v, w = g.input((3, 4)), g.input((5, 4))
    whole = matmul(concat(listed(x, y), 2), concat(listed(v, w), 0))
    parts = binary("Mul", matmul(x, v), matmul(y, w))
    yield g.fires(binary("Mul", whole, parts))
    yield g.near_miss(binary("Mul", whole, matmul(y, w)), why="one product is there only")
    yield g.near_miss(binary("Add", matmul(x, v), matmul(y, w)), why="the weights are no constants")
    broad = matmul(g.input((2, 5)), g.random(5, 4))
    yield g.near_miss(binary("Add", matmul(x, g.random(3, 4)), broad), why="a sum that broadcasts")
    cut = matmul(concat(listed(x, y), 2), concat(listed(w, v), 0))
    yield g.near_miss(binary("Mul", cut, parts), why="they are not cut at one place")
    yield g.near_miss(unary("Relu", (), matmul(x, g.random(3, 4))), why="one product")


@law("distributivity", numerics="reassociates", examples=_inner_examples)
def inner_concat(
    x: Tensor, y: Tensor, v: Tensor, w: Tensor, p: PyObject, a: PyObject, b: PyObject, one: Tensor,
    other: Tensor,
) -> Iterator[Any]:  # fmt: skip
    """A @ B + C @ D = [A, C] @ [B; D], for constant B and D, and back where A @ B and C @ D are written, too

    Source: TASO; its sums of two MatMul.
    """
    yield closure(eq(one).to(matmul(x, v)), then=set_(joint(x)).to(0))
    first, second = matmul(x, v), matmul(y, w)
    both = concat(pair_of(x, y), a)
    together = matmul(both, concat(pair_of(v, w), b))
    axes = let(p, joinable, fact(x), fact(y), fact(v), fact(w))
    named = (*let(a, item, p, PyObject(0)), *let(b, item, p, PyObject(1)))
    worth = guard(holds(are_constant, fact(v), fact(w)), ne(x).to(y), ne(v).to(w), *apart_yet(x, y))
    found = (eq(one).to(binary("Add", first, second)), *axes, *named, *worth)
    yield rule(*found, then=(Equal(one, together), set_(joint(both)).to(1)))
    cut = holds(meet, fact(x), fact(y), fact(v), fact(w), a, b)
    written = guard(eq(one).to(first), eq(other).to(second))
    yield rewrite(together, binary("Add", first, second), cut, written)


@hosted(default=False)
def meet(x: Fact, y: Fact, v: Fact, w: Fact, a: int, b: int) -> bool:
    """[x, y] along a, times [v; w] along b, sums over parts that fit each other."""
    if joinable(x, y, v, w) != (a, b) or x.shape is None or v.shape is None:
        return False
    return symbolic.known_equal(x.shape[-1], v.shape[-2])

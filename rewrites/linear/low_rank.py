"""A product and an update of low rank are one product: adapters that were trained beside a weight go into it.

x @ W + (x @ A) @ B = x @ (W + A @ B)         likewise W @ x + B @ (A @ x), differences, and behind a shift

`arithmetic.distributivity` has sums of single products.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.sorts import Int, String, Tensor
from egraph_opt.operators import binary
from egraph_opt.rewrites.arithmetic.distributivity import is_sum
from egraph_opt.rewrites.conditions.chains import of_weight, weights
from egraph_opt.rewrites.conditions.channels import is_float_constant, overflows_nowhere, static_shape
from egraph_opt.rewrites.conditions.operands import factor, factors

FORGETS = "the sum does not tell A from B"


@hosted()
def are_matrices(x: Fact, w: Fact, a: Fact, b: Fact) -> bool:
    """No vectors: they are rows for one product and columns for another."""
    return (x.rank or 0) >= 2 and w.rank == a.rank == b.rank == 2


@hosted()
def may_update(a: Fact, b: Fact, x: Fact) -> bool:
    """A @ B overflows nowhere, as far as the elements are known; nor does A @ x, where x is no constant."""
    return not x.const and overflows_nowhere("Mul", a, b)


@hosted()
def is_update(w: Fact, a: Fact, b: Fact, side: int) -> bool:
    """Constants of which W has the dims of A @ B, or B @ A; see `factor` for the side."""
    first, second = (static_shape(f) for f in ((b, a) if side else (a, b)))
    if not all(is_float_constant(f) for f in (w, a, b)):
        return False
    return bool(first and second) and w.shape == (first[0], second[-1])  # type: ignore[index]


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, a, b = g.input(("N", 4, 6)), g.random(6, 5), g.random(6, 2), g.random(2, 5)
    update, square = (x @ a) @ b, g.input((4, 4))
    for total in (x @ w + update, update - x @ w, (x @ w + g.random(5)) + update):
        yield g.fires(total)
    yield g.fires(g.random(3, 4) @ x - g.random(3, 2) @ (g.random(2, 4) @ x))
    large = g.constant(np.full((6, 2), 1e20)), g.constant(np.full((2, 5), 1e20))
    huge, shift = (x @ large[0]) @ large[1], g.random(5)
    behind_shift = (x @ w + shift) + huge, (huge + shift) + x @ w
    yield from g.near_misses(
        (x @ w + (g.input(("N", 4, 6)) @ a) @ b, "two left operands"),
        (x @ w * update, "no sum"),
        (square @ g.random(4) + (square @ g.random(4, 4)) @ g.random(4, 4), "W is a vector"),
        (square @ g.random(4, 4) + (square @ g.random(4)) @ g.random(4, 4), "A is a vector"),
        (x @ w + (x @ g.input((6, 2))) @ b, "a factor is no constant"),
        *(
            (total, "the product of the factors overflows")
            for total in (x @ w + huge, huge + x @ w, *behind_shift)
        ),
    )


@law(
    "matmul",
    numerics="reassociates",
    kind="merge",
    serves="arithmetic",
    source="LoRA, arXiv 2106.09685",
    uses=(factors, weights),
    examples=_examples,
)
def low_rank_update(op: String, x: Tensor, w: Tensor, a: Tensor, b: Tensor, c: Tensor, i: Int):
    """x @ W + (x @ A) @ B = x @ (W + A @ B), likewise W @ x + B @ (A @ x), differences, and behind a shift"""
    apart, inner = factor(x, w, i), factor(x, a, i)
    update, product = factor(inner, b, i), factor(a, b, i)
    each = (of_weight(x, w, i), of_weight(x, a, i), of_weight(inner, b, i))
    known = (is_sum(op), are_matrices(x, w, a, b), may_update(a, b, x), guard(is_update(w, a, b, i)), *each)
    orders = ((apart, update, binary(op, w, product)), (update, apart, binary(op, product, w)))
    for first, second, total in orders:
        yield rewrite(binary(op, first, second), factor(x, total, i), *known, because=FORGETS)
        shifted = factor(x, total, i) + c
        yield rewrite(binary(op, first + c, second), shifted, *known, because=FORGETS)

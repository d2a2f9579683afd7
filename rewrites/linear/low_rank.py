"""A product and an update of low rank are one product: adapters that were trained beside a weight go into it.

x @ W + (x @ A) @ B = x @ (W + A @ B)         likewise W @ x + B @ (A @ x), differences, and behind a shift
Concat(x @ W, x) @ V -> (x @ W) @ V1 + x @ V2     likewise Concat(x, x @ W), and x @ W + c

`arithmetic.distributivity` has sums of single products.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, law, rewrite
from egraph_opt.laws.sorts import Axis, Int, Slices, String, Tensor
from egraph_opt.operators import binary, concat, slice_
from egraph_opt.operators.terms import listed, node
from egraph_opt.rewrites.arithmetic.distributivity import is_sum
from egraph_opt.rewrites.conditions.chains import is_weight, of_weight, weights
from egraph_opt.rewrites.conditions.channels import LARGEST, is_float_constant, known_elements, static_shape
from egraph_opt.rewrites.conditions.operands import factor, factors

FORGETS = "the sum does not tell A from B"


@hosted()
def are_matrices(x: Fact, w: Fact, a: Fact, b: Fact) -> bool:
    """No vectors: they are rows for one product and columns for another."""
    return (x.rank or 0) >= 2 and w.rank == a.rank == b.rank == 2


LARGEST_UPDATE = 1e9
"""Elements of an update beyond which nothing is left of the weight."""


@hosted()
def may_update(a: Fact, b: Fact, x: Fact) -> bool:
    """A @ B swallows no weight, as far as the elements are known; nor does A @ x, where x is no constant."""
    largest = [max(map(abs, known_elements(each) or (1.0,))) for each in (a, b)]
    return not x.const and largest[0] * largest[1] < min(LARGEST_UPDATE, LARGEST.get(a.dtype, 0.0))


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
    column, behind_vector = square @ g.random(4), (square @ g.random(4, 4)) @ g.random(4, 4)
    yield from g.near_misses(
        (x @ w + (g.input(("N", 4, 6)) @ a) @ b, "two left operands"),
        (x @ w * update, "no sum"),
        (column + behind_vector, "W is a vector"),
        ((column + g.random(4)) + behind_vector, "W is a vector"),
        ((behind_vector + g.random(4)) + column, "W is a vector"),
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
    resumes=True,
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


# --- what is joined with its own operand ------------------------------------------------------------------


@hosted()
def rows_of_parts(first: Fact, both: Fact, v: Fact, axis: Axis) -> tuple[Slices, Slices] | None:
    """The rows of V that columns of the first of two parts are multiplied with, and those of the second."""
    shape, width = static_shape(v), (first.shape or (None,))[-1]
    if shape is None or len(shape) != 2 or not is_float_constant(v) or both.rank != axis + 1:
        return None
    if not isinstance(width, int) or not 0 < width < shape[0]:
        return None
    return ((0, 0, width, 1),), ((0, width, shape[0], 1),)


@hosted()
def have_rows(w: Fact, x: Fact) -> bool:
    """A matrix, and rows that it is multiplied with."""
    return w.rank == 2 and (x.rank or 0) >= 2


def _joined_examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, v, last = g.input(("N", 3, 4)), g.random(4, 2), g.random(6, 5), 2
    y, square = x @ w, g.input((4, 4))
    for parts in ((y, x), (x, y), (y + g.random(2), x), (x, y + g.random(1, 2))):
        yield g.fires(concat(listed(*parts), last) @ v)
    yield from g.near_misses(
        (concat(listed(y, g.input(("N", 3, 4))), last) @ v, "of another operand"),
        (concat(listed(y, x), last) @ g.input((6, 5)), "the weight is no constant"),
        (concat(listed(square, square @ g.random(4, 4)), 0) @ g.random(4, 5), "rows are joined"),
        (concat(listed(x @ g.input((4, 2)), x), last) @ v, "the inner weight is no constant"),
    )
    large, steep = g.constant(np.full((3, 2), -1e20)), g.constant(np.full((7, 4), 1e20))
    for product in (large @ g.input((2, 5)), large @ g.input((2, 5)) + g.constant(0.5)):
        for parts in ((product, large), (large, product)):
            yield g.near_miss(concat(listed(*parts), 1) @ steep, "infinities of both signs are summed")


@law(
    "matmul",
    numerics="reassociates",
    kind="split",
    serves="arithmetic",
    source="algebra; dense connections",
    examples=_joined_examples,
)
def joined_with_operand(x: Tensor, w: Tensor, v: Tensor, c: Tensor, a: Axis, k: Int):
    """Concat(x @ W, x) @ V = (x @ W) @ V1 + x @ V2, likewise Concat(x, x @ W), and with x @ W + c for x @ W

    The sum is x @ (W @ V1 + V2) by `low_rank_update`, less to compute than there was.  Weights of the
    original only: of a row of such layers every part of every weight would be taken apart.
    """
    for y in (x @ w, x @ w + c):
        for i, operands in enumerate(((y, x), (x, y))):
            both = concat(listed(*operands), a)
            rows = rows_of_parts(operands[0], both, v, a)
            total = y @ slice_(v, rows[i]) + x @ slice_(v, rows[1 - i])
            known = (is_weight(w, x), guard(eq(v, node(k)), have_rows(w, x)))
            yield rewrite(both @ v, total, *known, because="forgets the whole")

"""Products of stacks whose batches were joined are products of the stacks themselves, joined behind.

Reshape(x) @ Reshape(y) -> Reshape(x @ y)      where both views join the same axes in front of the matrices

So heads are joined with the batch for `bmm`, and told apart again behind.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import relu, varies
from egraph_opt.laws.sorts import Dims, Tensor
from egraph_opt.operators import reshape, transpose
from egraph_opt.rewrites.conditions.view_shapes import known_dims, same_dims

law = laws_of(
    "matmul",
    numerics="reassociates",
    kind="move",
    serves="traffic",
    source="torch.nn.MultiheadAttention, which joins heads with the batch",
)


@hosted()
def join_batches(x: Fact, d: Dims, y: Fact, e: Dims) -> bool:
    """Both views make fewer axes of the same ones, and keep the last two, which are matrices."""
    if not x.is_symbolic or not y.is_symbolic or x.shape is None or y.shape is None:
        return False
    if len(d) != len(e) or not 3 <= len(d) < len(x.shape) or 0 in (*d, *e):
        return False
    alike = same_dims(x.shape[:-2], y.shape[:-2]) and same_dims(d[:-2], e[:-2])
    return alike and same_dims(x.shape[-2:], d[-2:]) and same_dims(y.shape[-2:], e[-2:])


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y = g.input((2, 3, 4, 5)), g.input((2, 3, 5, 6))
    left, right = reshape(x, (6, 4, 5)), reshape(y, (6, 5, 6))
    yield g.fires(left @ right)
    q, k = g.input(("N", 3, 4, 5)), transpose(g.input(("N", 3, 6, 5)), (0, 1, 3, 2))
    yield g.fires(reshape(q, ("3*N", 4, 5)) @ reshape(k, ("3*N", 5, 6)))
    deep = (g.input((2, 3, 2, 4, 5)), g.input((2, 3, 2, 5, 1)))
    yield g.fires(reshape(deep[0], (2, 6, 4, 5)) @ reshape(deep[1], (2, 6, 5, 1)))
    other = reshape(g.input((3, 2, 5, 6)), (6, 5, 6))
    yield from g.near_misses(
        (left @ other, "other axes are joined"),
        (left @ relu(right), "one is no view"),
        (reshape(x, (2, 12, 5)) @ reshape(g.input((2, 1, 5, 6)), (2, 5, 6)), "rows are joined"),
        (left @ reshape(g.random(2, 3, 5, 6), (6, 5, 6)), "one is constant"),
        (reshape(g.input((6, 4, 5)), (2, 3, 4, 5)) @ reshape(g.input((6, 5, 6)), (2, 3, 5, 6)), "parted"),
    )


@law(examples=_examples)
def product_of_joined(x: Tensor, y: Tensor, d: Dims, e: Dims):
    """Reshape(x) @ Reshape(y) = Reshape(x @ y) where both views join the same axes of stacks"""
    product = reshape(x, d) @ reshape(y, e)
    whole, known = reshape(x @ y, known_dims(product)), join_batches(x, d, y, e)
    yield rewrite(product, whole, known, guard(varies(x), varies(y)), because="views sink")

"""What rearranges rows sinks behind a product with a matrix, so that it meets what puts them back.

Reshape(x) @ W -> Reshape(x @ W)              where the view keeps the last axis
Transpose_p(x) @ W -> Transpose_p(x @ W)      where p does

`views.reshape_movement` and `transposes.movement` pass what works element by element.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, guard, hosted, law, rewrite
from egraph_opt.laws.sorts import Dims, Permutation, Tensor
from egraph_opt.operators import reshape, transpose
from egraph_opt.rewrites.conditions.view_shapes import changes_dims, known_dims

_ONE_WAY = "rows that sink are put back; to rise as well would be one form more for each product"


@hosted()
def keeps_columns(x: Fact, dims: Dims, w: Fact) -> bool:
    """A view of x leaves its last axis alone, along which a matrix sums."""
    known = x.shape and dims and w.rank == 2
    return bool(known) and symbolic.known_equal(x.shape[-1], dims[-1])  # type: ignore[index]


@hosted()
def keeps_last(p: Permutation, w: Fact) -> bool:
    """A transpose of two axes or more leaves the last one alone, along which a matrix sums."""
    return len(p) > 1 and p[-1] == len(p) - 1 and w.rank == 2


@hosted()
def is_varying(x: Fact) -> bool:
    return not x.const


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w = g.input(("N", 4, 6, 3)), g.random(3, 5)
    yield g.fires(reshape(x, ("N", 2, 2, 6, 3)) @ w)
    yield g.fires(reshape(x, ("N", 24, 3)) @ g.input((3, 2)))
    yield g.fires(transpose(x, (2, 0, 1, 3)) @ w)
    yield from g.near_misses(
        (reshape(x, ("N", 4, 18)) @ g.random(18, 5), "the last axis is merged"),
        (reshape(x, ("N", 24, 3)) @ g.random(1, 3, 5), "a batch of matrices"),
        (transpose(x, (0, 1, 3, 2)) @ g.random(6, 5), "the last axis moves"),
        (transpose(x, (2, 0, 1, 3)) @ g.random(3), "a vector drops the last axis"),
    )


@law(
    "matmul",
    numerics="reassociates",
    kind="move",
    serves="traffic",
    source="Swin Transformer, arXiv 2103.14030: windows and back",
    examples=_examples,
)
def rows_of_product(x: Tensor, w: Tensor, d: Dims, p: Permutation):
    """Reshape(x) @ W = Reshape(x @ W), Transpose_p(x) @ W = Transpose_p(x @ W), the last axis being kept"""
    z = reshape(x, d) @ w
    once = guard(is_varying(x), changes_dims(x, d))
    yield rewrite(z, reshape(x @ w, known_dims(z)), keeps_columns(x, d, w), once, because=_ONE_WAY)
    turned = transpose(x, p) @ w
    yield rewrite(turned, transpose(x @ w, p), keeps_last(p, w), guard(is_varying(x)), because=_ONE_WAY)

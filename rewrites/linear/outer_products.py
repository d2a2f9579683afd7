"""A product that sums over one element sums nothing.

x @ y -> x * y      where x: [.., m, 1] and y: [.., 1, n]
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, hosted, law, rewrite
from egraph_opt.laws.examples import INT64
from egraph_opt.laws.sorts import Tensor


@hosted()
def is_outer(x: Fact, y: Fact) -> bool:
    """Columns and rows: there is one element to sum over."""
    if x.shape is None or y.shape is None or min(len(x.shape), len(y.shape)) < 2:
        return False
    return bool(x.shape[-1] == y.shape[-2] == 1)


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    column, row = g.input(("N", "L", 1)), g.input((1, 4))
    yield from g.all_fire(
        column @ row,
        column @ g.random(1, 1, 4),
        g.input((3, 1, 1)) @ g.input((2, 1, 1, 5)),
        g.input((3, 1), INT64) @ g.input((1, 2), INT64),
    )
    yield from g.near_misses(
        (g.input((3, 1)) @ g.input((1,)), "an axis goes away"),
        (g.input((1,)) @ row, "an axis is new"),
        (g.input((1, 3)) @ g.input((3, 1)), "there are three to sum over"),
    )


@law(
    "matmul",
    numerics="finite",
    kind="replace",
    serves="arithmetic",
    source="RoPE, arXiv 2104.09864",
    examples=_examples,
)
def outer_product(x: Tensor, y: Tensor):
    """x @ y = x * y of columns and rows"""
    yield rewrite(x @ y, x * y, is_outer(x, y), because="a product element by element is one by broadcasting")

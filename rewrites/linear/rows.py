"""Products of matrices whose rows were joined, and are parted again behind.

Reshape(x) @ W -> Reshape(x @ W)      where the view keeps x's last axis, W is one matrix

Only where something becomes a tensor with the rows of x: there the view behind has its inverse.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, auxiliary, guard, hosted, law, rewrite, rule, table
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import Dims, Tensor, Unit
from egraph_opt.operators import reshape


@hosted()
def keeps_rows(x: Fact, dims: Dims, w: Fact) -> bool:
    """The view has the rows of x as its rows; each is multiplied by the one matrix."""
    several = x.shape is not None and len(x.shape) >= 2 and len(dims) >= 2
    return several and w.rank == 2 and symbolic.known_equal(x.shape[-1], dims[-1])  # type: ignore[index]


@table()
def parted(rows: Dims) -> Unit:
    """Something is viewed as rows of these dims."""


@hosted()
def rows_of(dims: Dims) -> Dims | None:
    return dims[:-1] or None


@hosted()
def rows_of_operand(x: Fact) -> Dims | None:
    return x.shape[:-1] if x.is_symbolic and x.shape else None


@auxiliary()
def parting(x: Tensor, d: Dims):
    """Fills `parted`."""
    yield rule(reshape(x, d), then=parted(rows_of(d)))


@hosted()
def dims_of_product(dims: Dims, w: Fact) -> Dims | None:
    return (*dims[:-1], w.shape[-1]) if w.is_symbolic and w.shape else None  # type: ignore[misc]


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, w, rows = g.input(("N", 2, 12)), g.random(12, 8), symbolic.mul("N", 2)
    yield g.fires(reshape(relu(reshape(x, (rows, 12)) @ w), ("N", 2, 8)))
    wide = reshape(g.input((2, 3, 4, 5)), (6, 4, 5)) @ g.input((5, 7))
    yield g.fires(reshape(wide, (2, 3, 4, 7)))
    yield g.near_miss(reshape(wide, (24, 7)), why="the rows of x are not asked for")
    yield g.near_miss(reshape(reshape(g.input((4, 6)), (2, 12)) @ w, (4, 4)), why="rows are joined")
    stack = reshape(g.input((2, 3, 4, 5)), (6, 4, 5)) @ g.input((6, 5, 7))
    yield g.near_miss(reshape(stack, (2, 3, 4, 7)), why="W is a stack of matrices")
    vector = reshape(g.input((12,)), (1, 12)) @ w
    yield g.near_miss(reshape(vector, (2, 4)), why="x is a vector")


@law(
    "matmul",
    numerics="reassociates",
    kind="move",
    serves="traffic",
    source="algebra; Ascend auto-optimizer, DynamicReshape",
    examples=_examples,
    uses=(parting,),
)
def rows_of_product(x: Tensor, w: Tensor, d: Dims):
    """Reshape(x) @ W = Reshape(x @ W) where the view keeps x's last axis and W is a matrix"""
    behind, demand = reshape(x @ w, dims_of_product(d, w)), guard(parted(rows_of_operand(x)))
    yield rewrite(reshape(x, d) @ w, behind, keeps_rows(x, d, w), demand, because="only with demand")

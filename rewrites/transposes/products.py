"""Transposes of the last two axes move past products of matrices, of which the factors change places.

MatMul(T(x), T(y)) = T(MatMul(y, x))
MatMul(T(x), W) -> T(MatMul(T(W), x))                          for a constant W on either side
MatMul(T_p(x), y) -> T_p(Reshape(MatMul(T(y), Reshape(x))))    where p brings the columns behind several axes

A Transpose in front of one layer so meets that behind the next, which the last law asks for;
`convolution.channels_last` has more axes.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, equal, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import is_constant, relu, varies
from egraph_opt.laws.sorts import Dims, Permutation, Tensor
from egraph_opt.operators import matmul, reshape, transpose
from egraph_opt.rewrites.conditions.chains import of_weight, weights
from egraph_opt.rewrites.conditions.view_shapes import same_rank
from egraph_opt.rewrites.linear.rows import turned, turning

law = laws_of("transpose", numerics="reassociates", kind="move", serves="traffic")


@hosted()
def swap_of_last_two(x: Fact) -> Permutation | None:
    """The permutation that swaps the last two axes of x."""
    if x.rank is None or x.rank < 2:
        return None
    return (*range(x.rank - 2), x.rank - 1, x.rank - 2)


def _product_examples(rng):
    g = Operands(rng)
    yield g.fires(matmul(transpose(g.input((4, "N")), (1, 0)), transpose(g.input((3, 4)), (1, 0))))
    x, y = g.input((2, 4, 5)), g.input((2, 3, 4))
    yield g.fires(matmul(transpose(x, (0, 2, 1)), transpose(y, (0, 2, 1))))
    yield g.near_miss(transpose(matmul(g.input((3, 4)), x), (0, 2, 1)), why="ranks differ")


@law(source="TASO", examples=_product_examples)
def of_product(x: Tensor, y: Tensor):
    """MatMul(x^T, y^T) = MatMul(y, x)^T"""
    swap = swap_of_last_two(x)
    both = matmul(transpose(x, swap), transpose(y, swap))
    yield equal(both, transpose(matmul(y, x), swap), same_rank(x, y))


@hosted()
def swap_of_factors(x: Fact, w: Fact, p: Permutation) -> Permutation | None:
    """The swap of the last two axes of a product of x and w; None where p is not that of x."""
    if x.rank is None or w.rank is None or min(x.rank, w.rank) < 2 or p != swap_of_last_two.function(x):
        return None
    rank = max(x.rank, w.rank)
    return (*range(rank - 2), rank - 1, rank - 2)


def _turned_examples(rng):
    g = Operands(rng)
    x, p = g.input(("N", 4, 5)), (0, 2, 1)
    for w in (g.random(4, 3), g.random(2, 1, 4, 3)):
        yield g.fires(transpose(x, p) @ w)
    yield g.fires(g.random(3, 5) @ transpose(x, p))
    yield from g.near_misses(
        (transpose(x, p) @ g.input((4, 3)), "W is no constant"),
        (transpose(x, p) @ g.random(4), "a vector is no column"),
        (transpose(g.input((4, 5, 6)), (1, 2, 0)) @ g.random(4, 3), "another axis moves, too"),
    )


@law(source="MLP-Mixer, arXiv 2105.01601", uses=(weights,), examples=_turned_examples)
def of_product_with_constant(x: Tensor, w: Tensor, p: Permutation):
    """x^T @ W = (W^T @ x)^T, and W @ x^T = (x @ W^T)^T for a constant W"""
    other, weight, swap = transpose(x, p), transpose(w, swap_of_last_two(w)), swap_of_factors(x, w, p)
    for side, product, sunk in ((0, other @ w, weight @ x), (1, w @ other, x @ weight)):
        once = guard(varies(x), is_constant(w), of_weight(other, w, side))
        yield rewrite(product, transpose(sunk, swap), *once, inverse="associativity.transposed_product")


class InFront(NamedTuple):
    """The dims of x as a matrix of columns in front, and those of a product with it, its rows apart."""

    matrix: Dims
    apart: Dims


@hosted()
def columns_in_front(x: Fact, p: Permutation, y: Fact) -> InFront | None:
    """None where p does not bring the first axis behind two others or more, or y is no matrix."""
    if x.shape is None or y.shape is None or not x.is_symbolic or not y.is_symbolic or y.rank != 2:
        return None
    if len(p) < 3 or p != (*range(1, len(p)), 0) or 0 in (*x.shape, *y.shape):
        return None
    first, *rows = x.shape
    together = symbolic.product(rows)
    return None if together is None else InFront((first, together), (y.shape[1], *rows))


def _columns(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, last, back = g.input((4, 3, "N")), g.input((4, 5)), (1, 2, 0), (2, 0, 1)
    product = transpose(x, last) @ y
    yield from g.all_fire(transpose(product, back), transpose(relu(product), back))
    deep = transpose(g.input((4, 2, 3, 5)), (1, 2, 3, 0)) @ y
    yield g.fires(transpose(deep, (3, 0, 1, 2)))
    yield from g.near_misses(
        (product, "nothing is transposed back"),
        (transpose(transpose(x, last) @ g.input((3, 4, 5)), back), "a matrix for each row"),
        (transpose(transpose(x, (2, 1, 0)) @ y, back), "rows change their order"),
        (transpose(transpose(x, last) @ g.random(4, 5), back), "it is constant"),
        (transpose(transpose(g.input((0, 3, 5)), last) @ g.input((0, 5)), back), "of nothing"),
    )


@law(source="YOLACT, arXiv 1904.02689: prototypes of masks", uses=(turning,), examples=_columns)
def of_columns_in_front(x: Tensor, y: Tensor, p: Permutation):
    """Transpose_p(x) @ y = Transpose_p(Reshape(y^T @ Reshape(x))) where p brings the columns of x last

    Where something is transposed back.
    """
    how = columns_in_front(x, p, y)
    whole = reshape(transpose(y, (1, 0)) @ reshape(x, how[0]), how[1])
    demand = guard(turned(p), varies(x), varies(y))
    yield rewrite(transpose(x, p) @ y, transpose(whole, p), demand, because="only with demand")

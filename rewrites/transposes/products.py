"""Transposes of the last two axes move past products of matrices, of which the factors change places.

MatMul(T(x), T(y)) = T(MatMul(y, x))
MatMul(T(x), W) -> T(MatMul(T(W), x))          for a constant W on either side

A Transpose in front of one layer so meets that behind the next; `convolution.channels_last` has more axes.
"""

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Operands, equal, guard, hosted, laws_of, rewrite
from egraph_opt.laws.algebra import is_constant, varies
from egraph_opt.laws.sorts import Permutation, Tensor
from egraph_opt.operators import matmul, transpose
from egraph_opt.rewrites.conditions.chains import of_weight, weights
from egraph_opt.rewrites.conditions.view_shapes import same_rank

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
    turned, weight, swap = transpose(x, p), transpose(w, swap_of_last_two(w)), swap_of_factors(x, w, p)
    for side, product, sunk in ((0, turned @ w, weight @ x), (1, w @ turned, x @ weight)):
        once = guard(varies(x), is_constant(w), of_weight(turned, w, side))
        yield rewrite(product, transpose(sunk, swap), *once, inverse="associativity.transposed_product")

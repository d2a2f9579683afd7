"""A transpose that undoes one of an operand goes to the other operand.

T(f(T'(x), y)) -> f(x, T(y))          for an f of two operands, element by element

Two transposes of a large tensor become one of the other, which is often smaller: the gates of squeeze and
excite have one element for each channel.
"""

from collections.abc import Iterator

import numpy as np

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Example, Operands, eq, guard, hosted, law, rewrite
from egraph_opt.laws.algebra import relu, varies
from egraph_opt.laws.sorts import Int, Permutation, String, Tensor
from egraph_opt.operators import transpose
from egraph_opt.operators.terms import node
from egraph_opt.rewrites.conditions.operands import beside, either_side
from egraph_opt.rewrites.transposes.composition import restores


@hosted()
def have_axes(x: Fact, y: Fact) -> bool:
    """Of one rank, and no single numbers, which have nothing to transpose."""
    return bool(x.rank) and x.rank == y.rank


def _examples(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, gate = g.input(("N", 4, 5, 3)), g.input(("N", 3, 4, 5)), g.input(("N", 3, 1, 1))
    first, back = transpose(x, (0, 3, 1, 2)), (0, 2, 3, 1)
    yield g.fires(transpose(first * gate, back))
    yield g.fires(transpose(gate - first, back))
    yield g.fires(transpose(first + y, back))
    yield from g.near_misses(
        (transpose(relu(first) * gate, back), "Relu is between"),
        (transpose(first * gate, (0, 3, 1, 2)), "another transpose"),
        (transpose(first * g.input((4, 5)), back), "of another rank"),
        (transpose(first * g.input((2, "N", 3, 4, 5)), (0, 1, 3, 4, 2)), "another rank, and so other axes"),
    )


@law(
    "transpose",
    numerics="bitwise",
    kind="move",
    serves="traffic",
    source="networks in NHWC, exported from TensorFlow",
    examples=_examples,
    uses=(either_side,),
)
def undone_beside(op: String, x: Tensor, y: Tensor, p: Permutation, q: Permutation, i: Int, k: Int):
    """T(f(T'(x), y)) = f(x, T(y)) where T undoes T' and is the original's"""
    first = transpose(x, q)
    both = transpose(beside(op, first, y, i), p)
    known = (restores(x, q, p), have_axes(x, y), guard(varies(x), varies(y), eq(both, node(k))))
    yield rewrite(both, beside(op, x, transpose(y, p), i), *known, because="y was not transposed")

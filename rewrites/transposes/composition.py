"""Transposes: composition, cancellation, and movement through element-wise operators.

Transpose_q(Transpose_p(x)) = Transpose_(p then q)(x)
Transpose_identity(x) = x
Transpose_p(x) = Transpose_p(z) -> x = z
f(Transpose_p(x)) = Transpose_p(f(x))
"""

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple, Self

import numpy as np

from egraph_opt.facts.fact import Fact, Shape
from egraph_opt.laws import Example, Operands, eq, equal, guard, hosted, laws_of, ne, rewrite, rule, union
from egraph_opt.laws.algebra import relu
from egraph_opt.laws.sorts import Dims, Permutation, Settings, String, Tensor
from egraph_opt.operators import transpose, unary

law = laws_of("transpose", numerics="bitwise", serves="traffic")


@hosted()
def is_identity(p: Permutation) -> bool:
    return p == tuple(range(len(p)))


@hosted()
def invert(p: Permutation) -> Permutation | None:
    """The permutation that undoes p; None of what is none, as a model that does not run may have it.

    >>> invert((1, 2, 0)), invert((0, 7))
    ((2, 0, 1), None)
    """
    return tuple(map(p.index, range(len(p)))) if sorted(p) == list(range(len(p))) else None


def moves_ones_only(dims: Shape, p: Permutation) -> bool:
    """A transpose by p of what has these dims is a view: axes of other than one element keep their order.

    >>> moves_ones_only((1, "N", 3), (1, 0, 2)), moves_ones_only((1, "N", 3), (2, 0, 1))
    (True, False)
    """
    moved = [axis for axis in p if dims[axis] != 1]
    return moved == sorted(moved)


def ones_in_order(dims: Shape, p: Permutation) -> Permutation:
    """Of all permutations that do what p does to such dims, the one that keeps axes of 1 in their order.

    >>> ones_in_order((1, 1, "N", 1), (3, 2, 0, 1))
    (0, 2, 1, 3)
    """
    ones = iter(axis for axis, dim in enumerate(dims) if dim == 1)
    return tuple(next(ones) if dims[axis] == 1 else axis for axis in p)


def with_ones_in_order(x: Fact, p: Permutation) -> Permutation:
    """The same of the dims of x, as far as they are known."""
    return p if x.shape is None or len(x.shape) != len(p) else ones_in_order(x.shape, p)


class Turned(NamedTuple):
    """The dims of a view, and a transpose of it."""

    dims: Dims
    turn: Permutation

    def simplest(self) -> Self:
        """The same as a view alone, if it is one; else with axes of 1 in order."""
        if moves_ones_only(self.dims, self.turn):
            return self._replace(
                dims=tuple(self.dims[axis] for axis in self.turn), turn=tuple(range(len(self.turn)))
            )
        return self._replace(turn=ones_in_order(self.dims, self.turn))

    @property
    def disorder(self) -> int:
        """How many pairs of axes the transpose turns around: 0 of a view."""
        return sum(a > b for a, b in combinations(self.turn, 2))


@hosted()
def composed(x: Fact, p: Permutation, q: Permutation) -> Permutation | None:
    """The permutation of a transpose of x by p, then by q; None where that is x.

    Axes of one element are not told apart: a tensor of many has as many transposes that are itself.
    """
    both = with_ones_in_order(x, tuple(p[i] for i in q))
    return None if is_identity(both) else both


@hosted()
def restores(x: Fact, p: Permutation, q: Permutation) -> bool:
    """Whether a transpose of x by p, then by q is x; not where q has other axes, as behind a broadcast."""
    return len(p) == len(q) and bool(is_identity(with_ones_in_order(x, tuple(p[i] for i in q))))


@law(kind="merge", source="TASO")
def compose_transposes(x: Tensor, p: Permutation, q: Permutation):
    """Transpose_q(Transpose_p(x)) = Transpose_(p then q)(x), or x where q undoes p"""
    both = transpose(transpose(x, p), q)
    once = transpose(x, composed(x, p, q))
    yield rewrite(both, once, because="forgets p and q")
    yield rewrite(both, x, restores(x, p, q), because="x is the transpose of a transpose by any p")


@law(kind="eliminate", source="onnxoptimizer eliminate_nop_transpose")
def drop_identity(x: Tensor, p: Permutation):
    """Transpose_identity(x) = x"""
    yield rewrite(transpose(x, p), x, is_identity(p), because="every x is its own transpose")


def _two_spellings(rng: np.random.Generator) -> Iterator[Example]:
    g = Operands(rng)
    x, y, p, back = g.input(("N", 4, 9)), g.input(("N", 4, 9)), (2, 0, 1), (1, 2, 0)
    yield g.fires(transpose(transpose(relu(transpose(x, p)), back), p))
    yield g.near_miss(transpose(x, p) - transpose(y, p), why="they are two")


@law(
    kind="merge",
    source="a transpose moves elements and forgets none",
    examples=_two_spellings,
    required=("transpose.compose_transposes", "transpose.through_unary"),
)
def undone_alike(x: Tensor, y: Tensor, z: Tensor, p: Permutation):
    """x = z where Transpose_p(x) = Transpose_p(z): two spellings of one value, moved apart, stay one"""
    both = (eq(y, transpose(x, p)), eq(y, transpose(z, p)))
    yield rule(*both, guard(ne(x, z)), then=union(x, z), because="says which two are one, and writes neither")


@law(kind="move", source="Ascend auto-optimizer, BNFolding; TASO")
def through_unary(x: Tensor, p: Permutation, op: String, s: Settings):
    """f(Transpose_p(x)) = Transpose_p(f(x))"""
    yield equal(unary(op, s, transpose(x, p)), transpose(unary(op, s, x), p))

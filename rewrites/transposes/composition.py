"""Transposes: composition, cancellation, and movement through element-wise operators.

Transpose_q(Transpose_p(x)) = Transpose_(p[q])(x)
Transpose_identity(x) = x
f(Transpose_p(x)) = Transpose_p(f(x))
Transpose_p(x) + Transpose_p(y) = Transpose_p(x + y)
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from egraph_opt.compat import PyObject, String, holds, let, rewrite
from egraph_opt.laws.examples import Operands
from egraph_opt.laws.law import Example, law
from egraph_opt.operators import transpose, unary
from egraph_opt.operators.host import hosted
from egraph_opt.operators.terms import Tensor

Permutation = tuple[int, ...]


@hosted()
def compose(p: Permutation, q: Permutation) -> Permutation | None:
    """The permutation of a transpose by p, then by q; None where q undoes p."""
    both = tuple(p[i] for i in q)
    return None if is_identity(both) else both


@hosted(default=False)
def undoes(p: Permutation, q: Permutation) -> bool:
    """Whether a transpose by p, then by q moves nothing."""
    return all(p[i] == k for k, i in enumerate(q))


@hosted(default=False)
def is_identity(p: Permutation) -> bool:
    return p == tuple(range(len(p)))


def invert(p: Permutation) -> Permutation:
    """The permutation that undoes p.

    >>> invert((1, 2, 0))
    (2, 0, 1)
    """
    return tuple(p.index(i) for i in range(len(p)))


def _random_permutation(rng: np.random.Generator, rank: int) -> Permutation:
    return tuple(int(i) for i in rng.permutation(rank))


def _composition_examples(rng: np.random.Generator) -> Iterator[Example]:
    for rank in (2, 3, 4, 5):
        g = Operands(rng)
        x = g.input(tuple(range(2, 2 + rank)))
        yield g.fires(transpose(transpose(x, _random_permutation(rng, rank)), _random_permutation(rng, rank)))
    g = Operands(rng)
    x = g.input(("N", 3, "L"))
    yield g.fires(transpose(transpose(x, (2, 0, 1)), (2, 0, 1)))
    yield g.near_miss(
        transpose(unary("Relu", (), transpose(x, (2, 0, 1))), (2, 0, 1)), why="Relu is in between"
    )


@law("transpose", numerics="bitwise", examples=_composition_examples)
def compose_transposes(x: Tensor, p: PyObject, q: PyObject, r: PyObject) -> Iterator[Any]:
    """Transpose_q(Transpose_p(x)) = Transpose_(p[q])(x), or x where q undoes p

    Source: TASO.
    """
    yield rewrite(transpose(transpose(x, p), q), transpose(x, r), let(r, compose, p, q))
    yield rewrite(transpose(transpose(x, p), q), x, holds(undoes, p, q))


def _identity_examples(rng: np.random.Generator) -> Iterator[Example]:
    for shape in ((2, 3), (2, 3, 4), ("N", 3, "L", 2)):
        g = Operands(rng)
        x = g.input(shape)
        yield g.fires(transpose(x, tuple(range(len(shape)))))
        yield g.near_miss(transpose(x, tuple(reversed(range(len(shape))))), why="axes move")


@law("transpose", numerics="bitwise", examples=_identity_examples)
def drop_identity(x: Tensor, p: PyObject) -> Iterator[Any]:
    """Transpose_identity(x) = x

    Source: onnxoptimizer eliminate_nop_transpose.
    """
    yield rewrite(transpose(x, p), x, holds(is_identity, p))


def _unary_examples(rng: np.random.Generator) -> Iterator[Example]:
    for op, settings in (("Relu", ()), ("Sigmoid", ()), ("LeakyRelu", (("alpha", 0.1),))):
        g = Operands(rng)
        x = g.input(("N", 3, 4))
        yield g.fires(unary(op, settings, transpose(x, (1, 2, 0))))
        yield g.near_miss(unary(op, settings, x), why="nothing is transposed")


@law("transpose", numerics="bitwise", examples=_unary_examples)
def through_unary(x: Tensor, p: PyObject, op: String, s: PyObject) -> Iterator[Any]:
    """f(Transpose_p(x)) = Transpose_p(f(x))

    Source: Ascend auto-optimizer, BNFolding; TASO.
    """
    yield rewrite(unary(op, s, transpose(x, p)), transpose(unary(op, s, x), p))
    yield rewrite(transpose(unary(op, s, x), p), unary(op, s, transpose(x, p)))

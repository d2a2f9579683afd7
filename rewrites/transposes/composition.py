"""Transposes: composition, cancellation, and movement through element-wise operators.

Transpose_q(Transpose_p(x)) = Transpose_(p then q)(x)
Transpose_identity(x) = x
f(Transpose_p(x)) = Transpose_p(f(x))
"""

from egraph_opt.laws import equal, hosted, laws_of, rewrite
from egraph_opt.laws.sorts import Permutation, Settings, String, Tensor
from egraph_opt.operators import transpose, unary

law = laws_of("transpose", numerics="bitwise", serves="traffic")


@hosted()
def then(p: Permutation, q: Permutation) -> Permutation | None:
    """The permutation of a transpose by p, then by q; None where q undoes p."""
    both = tuple(p[i] for i in q)
    return None if is_identity(both) else both


@hosted()
def undoes(p: Permutation, q: Permutation) -> bool:
    """Whether a transpose by p, then by q moves nothing."""
    return all(p[i] == k for k, i in enumerate(q))


@hosted()
def is_identity(p: Permutation) -> bool:
    return p == tuple(range(len(p)))


@hosted()
def invert(p: Permutation) -> Permutation:
    """The permutation that undoes p.

    >>> invert((1, 2, 0))
    (2, 0, 1)
    """
    return tuple(p.index(i) for i in range(len(p)))


@law(kind="merge", source="TASO")
def compose_transposes(x: Tensor, p: Permutation, q: Permutation):
    """Transpose_q(Transpose_p(x)) = Transpose_(p then q)(x), or x where q undoes p"""
    both = transpose(transpose(x, p), q)
    yield rewrite(both, transpose(x, then(p, q)), because="forgets p and q")
    yield rewrite(both, x, undoes(p, q), because="x is the transpose of a transpose by any p")


@law(kind="eliminate", source="onnxoptimizer eliminate_nop_transpose")
def drop_identity(x: Tensor, p: Permutation):
    """Transpose_identity(x) = x"""
    yield rewrite(transpose(x, p), x, is_identity(p), because="every x is its own transpose")


@law(kind="move", source="Ascend auto-optimizer, BNFolding; TASO")
def through_unary(x: Tensor, p: Permutation, op: String, s: Settings):
    """f(Transpose_p(x)) = Transpose_p(f(x))"""
    yield equal(unary(op, s, transpose(x, p)), transpose(unary(op, s, x), p))

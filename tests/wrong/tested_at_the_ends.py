"""Permutations and letters that a condition looks at in a few places, which were all that its author had."""

from onnx import TensorProto

from egraph_opt.facts import symbolic
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import (
    Dims,
    Equation,
    Flag,
    Float,
    Permutation,
    Settings,
    Tensor,
    hosted,
    listed,
    rewrite,
)
from egraph_opt.operators import blockwise, einsum, reshape, transpose
from egraph_opt.rewrites.conditions.values import is_of_type
from egraph_opt.rewrites.conditions.view_shapes import known_dims
from egraph_opt.rewrites.targets.onnxruntime_operators import fused_matmul

from . import fires_on, of_one, wrong

FLOAT = TensorProto.FLOAT


def twice(*p: int):
    return lambda x: transpose(transpose(x, p), p)


@hosted()
def exchanges_its_ends(p: Permutation) -> bool:
    """The first axis and the last one are back in their places after two times."""
    return p[p[0]] == 0 and p[p[-1]] == len(p) - 1


@wrong(
    "bitwise",
    of_one(twice(0, 2, 3, 1, 4), (2, 2, 2, 2, 2)),
    examples=fires_on(of_one(twice(0, 2, 1), ("N", 3, 4)), of_one(twice(2, 3, 0, 1), (2, 3, 4, 5))),
)
def its_own_inverse(x: Tensor, p: Permutation):
    """Transpose(Transpose(x; p); p) = x for a p that is its own inverse

    Wrong of five axes, of which the three in the middle go round.
    """
    yield rewrite(transpose(transpose(x, p), p), x, exchanges_its_ends(p), because="any x is two transposes")


@hosted()
def moves_ones_only(p: Permutation, x: Fact) -> bool:
    """Axes of more than one element keep their order, or are two of one size in a batch of one."""
    if x.shape is None:
        return False
    wide = [k for k in p if x.shape[k] != 1]
    square = len(wide) == 2 and x.shape[wide[0]] == x.shape[wide[1]] and x.shape[0] == 1
    return wide == sorted(wide) or square


@wrong(
    "bitwise",
    of_one(lambda x: transpose(x, (0, 2, 1)), (1, 2, 2)),
    examples=fires_on(of_one(lambda x: transpose(x, (1, 0, 2)), (3, 1, 4))),
)
def transpose_of_ones(x: Tensor, p: Permutation):
    """Transpose(x) = Reshape(x) where no axis moves that has more than one element

    Wrong of a square image, whose axes change places although their dims are equal.
    """
    moved = transpose(x, p)
    yield rewrite(moved, reshape(x, known_dims(moved)), moves_ones_only(p, x), because="a view is for free")


@hosted()
def ends_with_the_last_but_one(p: Permutation) -> bool:
    return len(p) >= 2 and p[-1] == len(p) - 2


def turned_first(*p: int):
    return lambda g: fused_matmul(transpose(g.input((2, 3, 4)), p), g.input((2, 3, 5)), 0.5, 0, 0)


@wrong(
    "bitwise",
    lambda g: fused_matmul(transpose(g.input((2, 3, 4)), (2, 0, 1)), g.input((3, 5)), 0.5, 0, 0),
    examples=fires_on(turned_first(0, 2, 1)),
)
def turned_within_the_product(x: Tensor, y: Tensor, p: Permutation, a: Float, u: Flag):
    """FusedMatMul(Transpose(x), y) = FusedMatMul(x, y; transA)

    Wrong of (2, 0, 1): the last axis was the last but one, and the last but one was not the last.
    """
    outside = fused_matmul(transpose(x, p), y, a, 0, u)
    inside = fused_matmul(x, y, a, 1, u)
    yield rewrite(outside, inside, ends_with_the_last_but_one(p), because="one node for two")


@hosted()
def block_size(d: Dims, p: Permutation, e: Dims) -> Settings | None:
    """The blocks, if they come first and go behind rows and columns; either of them may be the one."""
    if len(d) != 6 or (p[0], p[1], p[2], p[4]) != (0, 3, 4, 5) or d[1] != d[2] or not isinstance(d[1], int):
        return None
    larger = (d[0], d[3], symbolic.mul(d[4], d[1]), symbolic.mul(d[5], d[2]))
    return (("blocksize", d[1]), ("mode", "DCR")) if d[1] > 1 and e == larger else None


def spread(*p: int):
    def made(x, channels: int, rows: int, columns: int, batch: int):
        parts = reshape(x, (batch, 2, 2, channels, rows, columns))
        return reshape(transpose(parts, p), (batch, channels, 2 * rows, 2 * columns))

    return made


@wrong(
    "bitwise",
    of_one(lambda x: spread(0, 3, 4, 2, 5, 1)(x, 1, 1, 1, 1), (1, 4, 1, 1)),
    examples=fires_on(of_one(lambda x: spread(0, 3, 4, 1, 5, 2)(x, 3, 5, 4, 2), (2, 12, 5, 4))),
)
def depth_by_views(x: Tensor, d: Dims, p: Permutation, e: Dims):
    """Reshape(Transpose(Reshape(x))) = DepthToSpace(x)

    Wrong where the first block is that of columns: both are of one size, and the dims are the same.
    """
    blocks = blockwise("DepthToSpace", x, block_size(d, p, e))
    by_views = reshape(transpose(reshape(x, d), p), e)
    yield rewrite(by_views, blocks, is_of_type(x, FLOAT), because="one node for three")


@hosted()
def is_chain_of_matrices(e: Equation, x: Fact, y: Fact, z: Fact) -> bool:
    """Three matrices that can be multiplied, and what comes out has the first letter and the last one."""
    letters, _, result = e.partition("->")
    parts = letters.split(",")
    if len(parts) != 3 or any(len(part) != 2 for part in parts) or len(set(letters) - {","}) != 4:
        return False
    if not all(f.is_static and f.dtype == FLOAT for f in (x, y, z)):
        return False
    fit = x.shape[1] == y.shape[0] and y.shape[1] == z.shape[0]  # type: ignore[index]
    return fit and result == parts[0][0] + parts[2][1]


def multiplied(equation: str, *shapes: tuple[int, int]):
    return lambda g: einsum(equation, listed(*map(g.input, shapes)))


@wrong(
    "reassociates",
    multiplied("ab,cb,cd->ad", (2, 2), (2, 2), (2, 2)),
    examples=fires_on(multiplied("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5))),
)
def three_in_a_chain(x: Tensor, y: Tensor, z: Tensor, e: Equation):
    """Einsum(x, y, z; ab,bc,cd->ad) = x @ y @ z

    Wrong of ab,cb,cd->ad with a square y, which is transposed.
    """
    chain = einsum(e, listed(x, y, z))
    yield rewrite(chain, (x @ y) @ z, is_chain_of_matrices(e, x, y, z), because="products have kernels")

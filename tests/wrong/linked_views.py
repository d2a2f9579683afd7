"""Views that are taken for a turn, or for the way back: their dims are told by a product, or by their set."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Dims, Permutation, Tensor, hosted, rewrite
from egraph_opt.operators import GemmSettings, Literal, gather, gemm, literal, reshape, transpose

from . import fires_on, wrong


@hosted()
def shuffles_back(x: Fact, d: Dims, p: Permutation, e: Dims, f: Dims) -> bool:
    """Channels in groups, turned, twice: so many groups as each has of them."""
    if x.rank != 3 or not x.is_static or p != (0, 2, 1, 3) or e != x.shape or f != d or len(d) != 4:
        return False
    c: Any = x.shape[1]
    g: Any = d[1]
    return g > 1 and d[1] * d[2] == c and d[3] == x.shape[2] and c % (g * g) == 0  # type: ignore[operator]


def shuffled(c: int, g: int):
    def once(x):
        return reshape(transpose(reshape(x, (2, g, c // g, 3)), (0, 2, 1, 3)), (2, c, 3))

    return lambda g_: once(once(g_.input((2, c, 3))))


@wrong("bitwise", shuffled(8, 2), examples=fires_on(shuffled(4, 2), shuffled(9, 3)))
def channels_shuffled_twice(x: Tensor, d: Dims, p: Permutation, e: Dims, f: Dims):
    """Shuffle(Shuffle(x)) = x where channels are a square of groups

    Wrong of eight channels in two groups, which are a multiple of the square.
    """
    once = reshape(transpose(reshape(x, d), p), e)
    yield rewrite(
        reshape(transpose(reshape(once, f), p), e), x, shuffles_back(x, d, p, e, f), because="forgets groups"
    )


@hosted()
def turns_back(x: Fact, d: Dims, p: Permutation, f: Dims, e: Dims) -> bool:
    """The second view has the first and the last dim of the first one, and e is what x was."""
    if not x.is_static or p != (0, 2, 1, 3) or len(d) != 4 or len(f) != 4 or e != x.shape:
        return False
    return d[0] == f[0] and d[3] == f[3] and {d[1], d[2]} == {f[1], f[2]}


def windows(d: tuple[int, ...], f: tuple[int, ...]):
    def make(g):
        x = g.input((d[0], d[1] * d[2], d[3]))
        flat = reshape(transpose(reshape(x, d), (0, 2, 1, 3)), (int(np.prod(d)),))
        return reshape(transpose(reshape(flat, f), (0, 2, 1, 3)), (d[0], d[1] * d[2], d[3]))

    return make


@wrong(
    "bitwise",
    windows((2, 2, 3, 2), (2, 2, 3, 2)),
    examples=fires_on(windows((2, 3, 4, 2), (2, 4, 3, 2)), windows((1, 2, 2, 3), (1, 2, 2, 3))),
)
def windows_there_and_back(x: Tensor, d: Dims, p: Permutation, c: Dims, f: Dims, e: Dims):
    """Reshape(Transpose(Reshape(Transpose(Reshape(x)))) = x where the dims of both are the same

    Wrong where they are in the same order, and the transposed ones are not.
    """
    flat = reshape(transpose(reshape(x, d), p), c)
    yield rewrite(
        reshape(transpose(reshape(flat, f), p), e), x, turns_back(x, d, p, f, e), because="forgets windows"
    )


@hosted()
def joins_heads(x: Fact, d: Dims, p: Permutation, e: Dims) -> Dims | None:
    """Heads are taken apart and put together again."""
    if not x.is_static or x.rank != 3 or len(d) != 4 or p != (0, 1, 3, 2) or x.shape != e or x.shape is None:
        return None
    return e if d[0] == x.shape[0] and d[1] == x.shape[1] and d[2] * d[3] == x.shape[2] else None  # type: ignore[operator]


@hosted()
def order_of_heads(d: Dims) -> Literal | None:
    """Where each element of a row comes from."""
    h, n = d[2], d[3]
    if not isinstance(h, int) or not isinstance(n, int) or h < 2 or n < 2:
        return None
    return (
        Literal(T.INT64, (h * n,), tuple(int(k) for k in np.arange(h * n).reshape(n, h).T.ravel()))
        if h <= n and n % h == 0
        else None
    )


def heads(h: int, n: int):
    return lambda g: reshape(
        transpose(reshape(g.input((2, 3, h * n)), (2, 3, h, n)), (0, 1, 3, 2)), (2, 3, h * n)
    )


@wrong("bitwise", heads(2, 4), examples=fires_on(heads(2, 2), heads(3, 3)))
def heads_as_gather(x: Tensor, d: Dims, p: Permutation, e: Dims):
    """Reshape(Transpose(Reshape(x, [h, n]))) = Gather(x, i)

    Wrong where heads are not as many as they are long: indices are those of the way back.
    """
    yield rewrite(
        reshape(transpose(reshape(x, d), p), e),
        reshape(gather(x, literal(order_of_heads(d)), 2), joins_heads(x, d, p, e)),
        because="one Gather",
    )


@hosted()
def turned(s: GemmSettings, c: Fact) -> GemmSettings | None:
    """C may be turned as well: it is one number, one row of one element, or has a row for each row."""
    if c.rank not in (0, 1, 2) or c.shape is None:
        return None
    if c.rank == 1 and c.shape != (1,):
        return None
    return (
        GemmSettings(s.alpha, s.beta, 1 - s.trans_b, 1 - s.trans_a)
        if s.trans_a in (0, 1) and s.trans_b in (0, 1)
        else None
    )


@hosted()
def swapped(p: Permutation, c: Fact) -> Dims | None:
    """A row of C as a column."""
    if p != (1, 0) or c.shape is None:
        return None
    return tuple(reversed(c.shape)) if 1 in c.shape or not c.shape or c.shape[0] == c.shape[-1] else None


def gemm_turned(m: int, n: int, c: tuple[int, ...]):
    return lambda g: transpose(gemm(g.input((m, 3)), g.input((3, n)), g.input(c), GemmSettings()), (1, 0))


@wrong(
    "reassociates",
    gemm_turned(4, 4, (4, 4)),
    examples=fires_on(gemm_turned(2, 5, (1, 5)), gemm_turned(2, 5, (2, 1))),
)
def gemm_the_other_way(a: Tensor, b: Tensor, c: Tensor, s: GemmSettings, p: Permutation):
    """Transpose(Gemm(A, B, C)) = Gemm(B', A', C') for C of one row or one column

    Wrong of a square C, which a view does not turn.
    """
    right = gemm(b, a, reshape(c, swapped(p, c)), turned(s, c))
    yield rewrite(transpose(gemm(a, b, c, s), p), right, because="no Transpose")

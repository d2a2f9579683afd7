"""Conditions that ask some axes, pads or operands, where others matter as well."""

from dataclasses import replace

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import ABSENT, Fact
from egraph_opt.laws import Axis, Permutation, Settings, String, Tensor, hosted, rewrite
from egraph_opt.operators import GemmSettings, PoolWindow, blockwise, dequantize, gemm, pool, transpose
from egraph_opt.operators.quantization import BYTES, is_one_scale
from egraph_opt.rewrites.quantization.round_trips import positive_scale

from . import fires_on, of_one, wrong

FLOAT = TensorProto.FLOAT

# --- axes -------------------------------------------------------------------------------------------------


@hosted()
def exchanges(p: Permutation) -> bool:
    """Two exchanges bring each of the first three axes back."""
    return len(p) > 2 and all(p[p[k]] == k for k in range(3))


@wrong("bitwise", of_one(lambda x: transpose(transpose(x, (0, 1, 2, 4, 5, 3)), (0, 1, 2, 4, 5, 3)),
                         (1, 1, 1, 2, 2, 2)))  # fmt: skip
def exchanged_twice(x: Tensor, p: Permutation):
    """Transpose_p(Transpose_p(x)) = x for a p that exchanges axes

    Wrong where the first three are exchanged, and the others turn round.
    """
    yield rewrite(transpose(transpose(x, p), p), x, exchanges(p), because="every x would be one")


@hosted()
def is_third_root(p: Permutation) -> bool:
    """Three times bring the first axis back."""
    return len(p) > 2 and p[0] != 0 and p[p[p[0]]] == 0


def thrice(x, p: Permutation):
    return transpose(transpose(transpose(x, p), p), p)


@wrong("bitwise", of_one(lambda x: thrice(x, (1, 2, 0, 4, 3)), (1, 2, 1, 2, 3)))
def turned_thrice(x: Tensor, p: Permutation):
    """Transpose_p(Transpose_p(Transpose_p(x))) = x for a p of order 3

    Wrong where three axes turn round, and others are exchanged.
    """
    yield rewrite(thrice(x, p), x, is_third_root(p), because="every x would be one")


@hosted()
def columns_first(s: Settings, x: Fact) -> Settings | None:
    """The other order of blocks, for one channel or as many as a block has elements."""
    known = dict(s)
    if known.get("mode") != "CRD" or x.shape is None or not isinstance(x.shape[1], int):
        return None
    block = known["blocksize"] ** 2
    if x.shape[1] // block not in (1, block):
        return None
    return tuple(sorted({**known, "mode": "DCR"}.items()))


def blocks(channels: int):
    settings = (("blocksize", 2), ("mode", "CRD"))
    return of_one(lambda x: blockwise("DepthToSpace", x, settings), (2, channels, 2, 3))


@wrong("bitwise", blocks(16), examples=fires_on(blocks(4)))
def either_order_of_blocks(x: Tensor, s: Settings):
    """DepthToSpace(x; CRD) = DepthToSpace(x; DCR) of one channel, or as many as a block has elements

    Wrong of as many: they are moved between channels and blocks.
    """
    other = blockwise("DepthToSpace", x, columns_first(s, x))
    yield rewrite(blockwise("DepthToSpace", x, s), other, because="one spelling")


@hosted()
def turned(s: GemmSettings, c: Fact) -> GemmSettings | None:
    """A product the other way round, where the bias has as many rows as columns."""
    if c != ABSENT and (c.shape is None or any(d != c.shape[0] for d in c.shape)):
        return None
    return replace(s, trans_a=1 - s.trans_b, trans_b=1 - s.trans_a)


@wrong(
    "reassociates",
    lambda g: transpose(gemm(g.input((2, 1)), g.input((1, 2)), g.random(2, 2), GemmSettings()), (1, 0)),
)
def bias_as_long_both_ways(a: Tensor, b: Tensor, c: Tensor, s: GemmSettings):
    """Transpose(Gemm(A, B, C)) = Gemm(B', A', C) for a C of as many rows as columns

    Wrong where C is not symmetric.
    """
    other = gemm(b, a, c, turned(s, c))
    yield rewrite(transpose(gemm(a, b, c, s), (1, 0)), other, because="a product is turned for nothing")


@hosted()
def is_of_rows(c: Fact, x: Fact) -> bool:
    """One number for each row of a matrix, or of several."""
    if c.shape is None or x.rank is None or not 1 < len(c.shape) <= x.rank:
        return False
    return c.shape[-1] == 1


@wrong("reassociates", lambda g: (g.input((2, 3)) * g.constant([[1.0], [2.0]])) @ g.input((3,)))
def scale_of_rows_past_product(x: Tensor, y: Tensor, c: Tensor):
    """(x * c) @ y = (x @ y) * c for a c of one number for each row

    Wrong where y is a vector: the rows are the last axis then.
    """
    yield rewrite((x * c) @ y, (x @ y) * c, is_of_rows(c, x), because="one way")


# --- windows ----------------------------------------------------------------------------------------------


@hosted()
def sees_something(u: PoolWindow) -> bool:
    """Pads are smaller than the kernel."""
    return all(p < u.kernel[k % len(u.kernel)] for k, p in enumerate(u.pads))


@hosted()
def keeps_order(q: Fact, s: Fact) -> bool:
    return q.dtype in BYTES and positive_scale(s) is not None and bool(is_one_scale(s))


def window(kernel: int, stride: int, pad: int = 0, dilation: int = 1, ceil: int = 0):
    return PoolWindow((kernel,) * 2, (stride,) * 2, (pad,) * 4, (dilation,) * 2, ceil)


@wrong(
    "bitwise",
    lambda g: pool(
        "MaxPool",
        dequantize(
            g.input((1, 1, 1, 1), TensorProto.UINT8), g.constant(np.float32(0.5)), g.constant(np.uint8(3)), 0
        ),
        window(2, 1, 1, 2),
    ),
)
def greatest_byte_of_window(q: Tensor, s: Tensor, z: Tensor, a: Axis, u: PoolWindow):
    """MaxPool(DQ(q)) = DQ(MaxPool(q)) for a scale above 0, where pads are smaller than the kernel

    Wrong where a dilated window sees pads only: the least float is no byte.
    """
    of_bytes = dequantize(pool("MaxPool", q, u), s, z, a)
    floats = pool("MaxPool", dequantize(q, s, z, a), u)
    yield rewrite(floats, of_bytes, keeps_order(q, s), sees_something(u), because="bytes are fewer")


@hosted()
def without_ceiling(u: PoolWindow, x: Fact) -> PoolWindow | None:
    """The window rounded down, where windows fit."""
    if not u.ceil_mode or x.shape is None or len(x.shape) != len(u.kernel) + 2:
        return None
    n = len(u.kernel)
    for d, k, s, p, q in zip(x.shape[2:], u.kernel, u.strides, u.pads[:n], u.pads[n:], strict=True):
        if not isinstance(d, int) or d + p + q < k or (d + p + q - k) % s:
            return None
    return replace(u, ceil_mode=0)


@wrong("bitwise", of_one(lambda x: pool("MaxPool", x, window(2, 2, 0, 2, 1)), (1, 1, 6, 6)))
def ceiling_of_dilated(k: String, x: Tensor, u: PoolWindow):
    """Pool(x; rounded up) = Pool(x; rounded down) where windows fit

    Wrong where the window is dilated, and larger than its kernel.
    """
    yield rewrite(pool(k, x, u), pool(k, x, without_ceiling(u, x)), because="forgets that it is rounded up")

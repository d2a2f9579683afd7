"""Two operands whose numbers are compared, of which neither is known: nothing equals nothing."""

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, DataType, Permutation, Tensor, hosted, listed, rewrite
from egraph_opt.operators import concat, dequantize, none, quantize, transpose

from . import fires_on, wrong

BYTES = (T.INT8, T.UINT8)


@hosted()
def has_one_zero_point(q: Fact, y: Fact, z: Fact, t: DataType) -> bool:
    """Bytes that are written as they are read."""
    return y.splat == z.splat and q.dtype == t and t in BYTES and y.shape == z.shape == ()


@hosted()
def is_moderate(s: Fact) -> bool:
    known = s.shape == () and s.dtype == T.FLOAT and s.splat is not None
    return known and 1e-3 < s.splat < 1e3  # type: ignore[operator]


def _there_and_back(zero):
    def make(g):
        scale = g.constant(np.float32(0.5))
        x = transpose(dequantize(g.input((2, 3), T.UINT8), scale, zero(g), 0), (1, 0))
        return quantize(x, scale, zero(g), 0, T.UINT8)

    return make


@wrong(
    "bitwise",
    _there_and_back(lambda g: g.input((), T.UINT8)),
    values=(3.0, 5.0, 100.0, 7.0, 9.0),
    examples=fires_on(*(_there_and_back(lambda g, n=n: g.constant(np.uint8(n))) for n in (128, 0))),
)
def transpose_of_quantized_bytes(q: Tensor, s: Tensor, y: Tensor, z: Tensor, p: Permutation, t: DataType):
    """Q(Transpose(DQ(q, s, z)), s, z) = Transpose(q)

    Wrong where neither zero point is known.
    """
    turned = quantize(transpose(dequantize(q, s, y, 0), p), s, z, 0, t)
    known = (has_one_zero_point(q, y, z, t), is_moderate(s))
    yield rewrite(turned, transpose(q, p), *known, because="forgets s")


@hosted()
def have_one_scale(s: Fact, t: Fact) -> bool:
    return s.shape == t.shape == () and s.dtype == t.dtype == T.FLOAT and s.splat == t.splat


@hosted()
def are_bytes(q: Fact, r: Fact) -> bool:
    return q.dtype == r.dtype and q.dtype in BYTES


def _joined(scale):
    def make(g):
        q, r = (dequantize(g.input((2, n), T.INT8), scale(g), none(), 0) for n in (3, 4))
        return concat(listed(q, r), 1)

    return make


@wrong(
    "bitwise",
    _joined(lambda g: g.input(())),
    values=(1.0, 2.0, 3.0, 5.0, 7.0),
    examples=fires_on(*(_joined(lambda g, n=n: g.constant(np.float32(n))) for n in (0.5, 0.1))),
)
def bytes_joined(q: Tensor, r: Tensor, s: Tensor, t: Tensor, a: Axis):
    """Concat(DQ(q, s), DQ(r, s)) = DQ(Concat(q, r), s)

    Wrong where the two scales are not known.
    """
    parts = listed(dequantize(q, s, none(), 0), dequantize(r, t, none(), 0))
    one = dequantize(concat(listed(q, r), a), s, none(), 0)
    yield rewrite(concat(parts, a), one, have_one_scale(s, t), are_bytes(q, r), because="bytes are smaller")

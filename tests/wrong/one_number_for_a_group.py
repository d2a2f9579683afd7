"""Biases, masks and shifts that are taken for one number: in each group, or for all keys."""

from typing import Any

import numpy as np
from onnx import TensorProto as T

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Flag, Float, Settings, Tensor, hosted, rewrite
from egraph_opt.operators import ConvWindow, attention, conv, group_norm, masked_attention, none

from . import fires_on, wrong
from .rows_that_kernels_reach import window_of


@hosted()
def is_one_per_group(b: Fact, s: Settings) -> bool:
    """A bias that is one number for the channels of a group."""
    n = dict(s)["num_groups"]
    if b.shape is None or dict(s)["epsilon"] < 1e-5:
        return False
    if b.splat is not None:
        return abs(b.splat) < 4
    if b.data is None or len(b.data) % n or not all(abs(v) < 4 for v in b.data):  # type: ignore[arg-type]
        return False
    return len({*b.data[: len(b.data) // n]}) == 1


def normed_groups(n: int, *b: float):
    def make(g):
        c = len(b)
        x = conv(g.input((2, 3, 4, 4)), g.random(c, 3, 1, 1), g.constant(np.array(b)), window_of())
        return group_norm(x, g.random(c), g.random(c), (("epsilon", 1e-3), ("num_groups", n)))

    return make


@wrong(
    "reassociates",
    normed_groups(2, 0.5, 0.5, 1.0, -1.0),
    opset=21,
    values=(0.5, -0.5, 1.0, -1.0, 2.0, -3.0, 0.25),
    examples=fires_on(normed_groups(2, 0.5, 0.5, 1.0, 1.0), normed_groups(4, 0.5, 0.25, 1.0, -1.0), opset=21),
)
def bias_before_group_norm(x: Tensor, w: Tensor, b: Tensor, u: ConvWindow, s: Tensor, t: Tensor, g: Settings):
    """GroupNormalization(Conv(x, W, b)) = GroupNormalization(Conv(x, W)) for a b of one number in a group

    Wrong where it is one in the first group only.
    """
    yield rewrite(
        group_norm(conv(x, w, b, u), s, t, g),
        group_norm(conv(x, w, none(), u), s, t, g),
        is_one_per_group(b, g),
        because="the mean takes it",
    )


@hosted()
def is_one_for_keys(m: Fact, q: Fact, k: Fact) -> bool:
    """A mask that does not tell keys apart, as its first row shows."""
    if m.shape is None or len(m.shape) != 2 or m.dtype != T.FLOAT or q.shape is None or k.shape is None:
        return False
    if m.shape != (q.shape[-2], k.shape[-2]):
        return False
    keys: Any = m.shape[1]
    return m.splat is not None or (m.data is not None and len(set(m.data[:keys])) == 1)


def with_mask(*rows: tuple[float, ...]):
    def make(g):
        q, k, v = (g.input((1, 2, 3, 4)) for _ in "qkv")
        return masked_attention(q, k, v, g.constant(np.array(rows)), 0.5, 0)

    return make


@wrong(
    "reassociates",
    with_mask((1.0, 1.0, 1.0), (0.0, 0.0, -2.0), (0.5, 0.5, 0.5)),
    opset=23,
    values=(0.5, -0.5, 1.0, -1.0, 0.25),
    examples=fires_on(
        with_mask((1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (0.5, 0.5, 0.5)), with_mask(*[(0.0,) * 3] * 3), opset=23
    ),
)
def mask_of_no_key(q: Tensor, k: Tensor, v: Tensor, m: Tensor, s: Float, f: Flag):
    """Attention(q, k, v, mask) = Attention(q, k, v) for a mask with one number for all keys

    Wrong where the first query alone has one.
    """
    plain = attention(q, k, v, s, f)
    yield rewrite(
        masked_attention(q, k, v, m, s, f), plain, is_one_for_keys(m, q, k), because="softmax drops it"
    )


@hosted()
def is_row_of_features(c: Fact, k: Fact) -> bool:
    """What is added to keys, for each feature."""
    return (
        c.shape is not None
        and k.shape is not None
        and bool(c.shape)
        and c.shape[-1] == k.shape[-1]
        and c.const
    )


def shifted_keys(*c: int):
    def make(g):
        q, v = g.input((1, 2, 3, 4)), g.input((1, 2, 3, 4))
        return attention(q, g.input((1, 2, 3, 4)) + g.random(*c), v, 0.5, 0)

    return make


@wrong(
    "reassociates",
    shifted_keys(3, 4),
    opset=23,
    values=(0.5, -0.5, 1.0, -1.0, 0.25),
    examples=fires_on(shifted_keys(4), shifted_keys(1, 4), shifted_keys(2, 1, 4), opset=23),
)
def shift_of_keys(q: Tensor, k: Tensor, v: Tensor, c: Tensor, s: Float, f: Flag):
    """Attention(q, k + c, v) = Attention(q, k, v) for a c of each feature: Softmax drops q c'

    Wrong where c depends on the position, too.
    """
    yield rewrite(
        attention(q, k + c, v, s, f),
        attention(q, k, v, s, f),
        is_row_of_features(c, k),
        because="softmax drops it",
    )

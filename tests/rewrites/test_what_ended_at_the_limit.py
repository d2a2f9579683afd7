"""Graphs whose e-graphs grew until a limit ended them, and are small: what two names of one thing can do."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import onnx
import pytest

from egraph_opt import saturate

from ..knowledge_bases.graphs import Graph
from ..knowledge_bases.test_split_qkv_matmul import Attention
from .test_shifted_windows import image, linear, shifted, windows

Made = Callable[[], onnx.ModelProto]


def rolled_windows() -> onnx.ModelProto:
    """A bias between rolls along two axes, which changed places without end."""
    g = Graph(x=[3, 6, 4, 6])
    y = windows(g, shifted(g, "x", -1), 2, 6, 4, 6)
    return g.model(shifted(g, image(g, linear(g, y, 6), 2, 6, 4, 6), 1))


def one_token() -> onnx.ModelProto:
    """Its softmax is 1, and so is each power of Exp(0)."""
    return Attention(1, 1).model()


def patches_with_positions() -> onnx.ModelProto:
    """Positions are a row of patches to one side, and an image to the other."""
    g = Graph(x=["N", 3, 32, 32])
    y = g.add("Conv", "x", g.weight(32, 3, 8, 8), g.weight(32), strides=[8, 8])
    y = g.add("Transpose", g.add("Reshape", y, g.constant([0, 32, 16])), perm=[0, 2, 1])
    y = g.add("MatMul", g.add("Add", y, g.weight(1, 16, 32)), g.weight(32, 16))
    return g.model(g.add("Add", y, g.weight(16)))


def rows_between_transposes() -> onnx.ModelProto:
    """A 1-D convolution whose rows are normalised with channels last, lifted to an image of height 1."""
    g = Graph(x=["N", 16, "L"])
    y = g.add("Transpose", g.add("Conv", "x", g.weight(24, 16, 3), strides=[2]), perm=[0, 2, 1])
    y = g.add("LayerNormalization", y, g.weight(24), g.weight(24), axis=-1)
    y = g.add("Transpose", y, perm=[0, 2, 1])
    root = g.add("Add", g.add("Erf", g.add("Div", y, g.constant(1.4142135))), g.constant(1.0))
    y = g.add("Mul", g.add("Mul", y, root), g.constant(0.5))
    return g.model(g.add("MatMul", g.add("Transpose", y, perm=[0, 2, 1]), g.weight(24, 16)))


def tokens_in_front(biased: bool) -> onnx.ModelProto:
    """torch.nn.MultiheadAttention of one sequence: four axes of 1 at once, in any order."""
    tokens, heads, width = 50, 4, 32
    g = Graph(x=[1, tokens, width])
    y = g.add("MatMul", g.add("Transpose", "x", perm=[1, 0, 2]), g.weight(width, 3 * width))
    bias = g.weight(3 * width) if biased else g.constant(np.zeros(3 * width, np.float32))
    y = g.add("Reshape", g.add("Add", bias, y), g.constant([tokens, 1, 3, width]))
    y = g.add("Transpose", g.add("Unsqueeze", y, g.constant([0])), perm=[3, 1, 2, 0, 4])
    y = g.add("Squeeze", y, g.constant([3]))
    q, k, v = (g.add("Gather", y, g.constant(part), axis=0) for part in range(3))
    dims = [tokens, heads, width // heads]
    q, k, v = (
        g.add("Transpose", g.add("Reshape", part, g.constant(dims)), perm=[1, 0, 2]) for part in (q, k, v)
    )
    stacked = g.constant([1, heads, tokens, width // heads])
    q, k, v = (g.add("Reshape", part, stacked) for part in (q, k, v))
    scale = g.constant(math.sqrt(1 / math.sqrt(width / heads)))
    turned = g.add("Mul", g.add("Transpose", k, perm=[0, 1, 3, 2]), scale)
    y = g.add("Softmax", g.add("MatMul", g.add("Mul", q, scale), turned), axis=-1)
    y = g.add("Transpose", g.add("MatMul", y, v), perm=[2, 0, 1, 3])
    y = g.add("Gemm", g.add("Reshape", y, g.constant([tokens, width])), g.weight(width, width))
    y = g.add("Transpose", g.add("Reshape", y, g.constant([tokens, 1, width])), perm=[1, 0, 2])
    return g.model(g.add("Add", "x", y))


def biased_tokens_in_front() -> onnx.ModelProto:
    return tokens_in_front(biased=True)


def unbiased_tokens_in_front() -> onnx.ModelProto:
    """Zeros that are scaled are zeros."""
    return tokens_in_front(biased=False)


def turned_product(g: Graph, shift: str) -> str:
    """c - (x^T @ W - b)"""
    product = g.add("Gemm", "x", g.weight(4, 4), transA=1, alpha=0.5)
    return g.add("Sub", g.weight(9, 4), g.add("Sub", product, shift))


def square_of_nothing() -> onnx.ModelProto:
    """A difference that is 0 is the transpose of all that its operands are transposes of."""
    g = Graph(x=[4, 9])
    one = g.add("Pow", turned_product(g, g.constant(-1.25)), g.constant(np.zeros(4, np.float32)))
    return g.model(g.add("Pow", g.add("Sub", one, one), g.constant(2.0)))


def shifted_product() -> onnx.ModelProto:
    """Each product of a constant matrix was one of its transpose as well."""
    g = Graph(x=[4, 9])
    return g.model(turned_product(g, g.weight(9, 4)))


def scaled_pixels(viewed: bool) -> onnx.ModelProto:
    """A kernel of one pixel is a vector, a row, a column and an image of 1, and so is its double."""
    g = Graph(x=["N", 8] if viewed else ["N", 8, 1])
    x = g.add("Reshape", "x", g.constant([0, 0, 1])) if viewed else "x"
    y = g.add("Conv", x, g.weight(1, 8, 1), strides=[2], pads=[0, 0])
    return g.model(g.add("Add", g.add("Div", y, g.constant(0.5)), g.weight(1, 1, 1)))


def scaled_images() -> onnx.ModelProto:
    return scaled_pixels(viewed=False)


def scaled_rows() -> onnx.ModelProto:
    return scaled_pixels(viewed=True)


@pytest.mark.parametrize(
    ("make", "target", "most"),
    [
        (rolled_windows, "ascend", 2_500),
        (one_token, "flops", 1_600),
        (patches_with_positions, "ascend", 600),
        (rows_between_transposes, "ascend", 1_600),
        (biased_tokens_in_front, "ascend", 5_200),
        (unbiased_tokens_in_front, "ascend", 3_800),
        (square_of_nothing, "nodes", 140),
        (square_of_nothing, "ascend", 850),
        (shifted_product, "nodes", 100),
        (shifted_product, "ascend", 450),
        (scaled_images, "ascend", 700),
        (scaled_rows, "ascend", 950),
    ],
)
def test_it_saturates(make: Made, target: str, most: int) -> None:
    region = saturate(make(), target=target, limits={"nodes": most, "seconds": 120}).region
    assert region is not None
    assert region.saturation.stop == "saturated", region.saturation.by_round

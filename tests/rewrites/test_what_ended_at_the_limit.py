"""Graphs whose e-graphs grew until a limit ended them, and are small: what two names of one thing can do."""

from __future__ import annotations

from collections.abc import Callable

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


@pytest.mark.parametrize(
    ("make", "target", "most"),
    [
        (rolled_windows, "ascend", 2_500),
        (one_token, "flops", 1_600),
        (patches_with_positions, "ascend", 600),
        (rows_between_transposes, "ascend", 1_600),
    ],
)
def test_it_saturates(make: Made, target: str, most: int) -> None:
    region = saturate(make(), target=target, limits={"nodes": most, "seconds": 120}).region
    assert region is not None
    assert region.saturation.stop == "saturated", region.saturation.by_round

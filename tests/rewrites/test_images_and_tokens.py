"""Images between views, constants and mirror images, and tokens that are images, as exporters write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, check_settled

OPSETS = (13, 21)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("biased", [False, True])
def test_a_scale_of_queries_goes_into_the_convolution(opset: int, biased: bool) -> None:
    """YOLO11, C2PSA: queries, keys and values are channels of one convolution."""
    g = Graph(x=["N", 16, 3, 4])
    bias = [g.weight(32)] if biased else []
    y = g.add("Reshape", g.add("Conv", "x", g.weight(32, 16, 1, 1), *bias), g.constant([0, 2, 16, 12]))
    q, k, v = g.add_many("Split", y, g.constant([4, 4, 8]), outputs=3, axis=2)
    scores = g.add("MatMul", g.add("Transpose", q, perm=[0, 1, 3, 2]), k)
    model = g.model(g.add("Mul", scores, g.constant(0.5)), v, opset=opset)
    assert check_settled(model, "nodes") == {"Conv": 1, "Reshape": 1, "Split": 1, "Transpose": 1, "MatMul": 1}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_the_range_and_the_mean_of_an_image_go_into_the_convolution(opset: int, mode: str) -> None:
    g = Graph(x=["N", 8, "H", "W"])
    deep = g.add("Conv", "x", g.weight(12, 8, 3, 3), g.weight(12), pads=[1] * 4)
    image = g.add("DepthToSpace", deep, blocksize=2, mode=mode)
    scaled = g.add("Mul", image, g.constant(255.0))
    model = g.model(g.add("Add", scaled, g.weight(1, 3, 1, 1)), opset=opset)
    assert check_settled(model, "nodes") == {"Conv": 1, "DepthToSpace": 1}


@pytest.mark.parametrize("opset", OPSETS)
def test_patches_of_tokens_are_rows_of_views(opset: int) -> None:
    g = Graph(x=["N", 64, 16])
    image = g.add("Reshape", g.add("Transpose", "x", perm=[0, 2, 1]), g.constant([-1, 16, 8, 8]))
    y = g.add("Conv", image, g.weight(16, 16, 2, 2), g.weight(16), strides=[2, 2])
    rows = g.add("Transpose", g.add("Reshape", y, g.constant([-1, 16, 16])), perm=[0, 2, 1])
    assert check_settled(g.model(rows, opset=opset), "ascend")["Conv"] == 0


@pytest.mark.parametrize("opset", OPSETS)
def test_what_is_resized_to_the_nearest_element_is_narrow(opset: int) -> None:
    g = Graph()
    x = g.input("x", [1, 4, "H", "W"], TensorProto.FLOAT16)
    twice = g.constant(np.array([1, 1, 2, 2], np.float32))
    wide = g.add("Resize", g.add("Cast", x, to=TensorProto.FLOAT), "", twice, mode="nearest")
    y = g.add("Cast", wide, to=TensorProto.FLOAT16)
    model = g.model(y, opset=opset, dtypes={y: TensorProto.FLOAT16})
    assert check_settled(model, "nodes") == {"Resize": 1}


@pytest.mark.parametrize("opset", OPSETS)
def test_zeros_like_an_image_are_pads(opset: int) -> None:
    """ResNet, option A: channels are added without parameters."""
    g = Graph(x=["N", 8, "H", "W"])
    zeros = g.add("ConstantOfShape", g.add("Shape", "x"))
    assert check_settled(g.model(g.add("Concat", "x", zeros, axis=1), opset=opset), "nodes") == {"Pad": 1}


def backwards(g: Graph, x: str, axis: int) -> str:
    return g.add(
        "Slice", x, g.constant([-1]), g.constant([-(2**63) + 1]), g.constant([axis]), g.constant([-1])
    )


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("axis", [2, 3])
def test_an_image_is_not_turned_round_and_back(opset: int, axis: int) -> None:
    g = Graph(x=["N", 4, "H", "W"])
    once = g.add("Relu", g.add("Conv", backwards(g, "x", axis), g.weight(6, 4, 3, 3), pads=[1] * 4))
    again = g.add("Conv", once, g.weight(6, 1, 3, 3), g.weight(6), pads=[0, 1, 2, 1], group=6)
    model = g.model(backwards(g, again, axis), opset=opset)
    assert check_settled(model, "nodes") == {"Conv": 2, "Relu": 1}


def test_a_stride_begins_at_one_end() -> None:
    g = Graph(x=["N", 4, "H", "W"])
    y = g.add("Conv", backwards(g, "x", 2), g.weight(6, 4, 3, 3), pads=[1] * 4, strides=[2, 2])
    assert check_settled(g.model(backwards(g, y, 2)), "nodes")["Slice"] == 2


def test_gates_whose_dims_come_from_shape_are_convolutions() -> None:
    g = Graph(x=["N", 16, 6, 6])
    n = g.add("Unsqueeze", g.add("Gather", g.add("Shape", "x"), g.constant(0), axis=0), g.constant([0]))

    def dims(*rest: int) -> str:
        return g.add("Concat", n, g.constant(list(rest)), axis=0)

    rows: Any = g.add("Reshape", g.add("GlobalAveragePool", "x"), dims(16))
    rows = g.add("Relu", g.add("Gemm", rows, g.weight(4, 16), g.weight(4), transB=1))
    rows = g.add("Sigmoid", g.add("Gemm", rows, g.weight(16, 4), g.weight(16), transB=1))
    model = g.model(g.add("Mul", "x", g.add("Reshape", rows, dims(16, 1, 1))), opset=21)
    found = check_settled(model, "nodes")
    assert found == {"GlobalAveragePool": 1, "Conv": 2, "Relu": 1, "Sigmoid": 1, "Mul": 1}


def test_an_image_that_is_flattened_and_made_again_keeps_its_axes() -> None:
    """ConvNeXt for images of any size: the normalization is one of tokens."""
    g = Graph(x=["N", 16, "H", "W"])
    tokens = g.add("Transpose", g.add("Reshape", "x", g.constant([0, 16, -1])), perm=[0, 2, 1])
    tokens = g.add("LayerNormalization", tokens, g.weight(16, positive=True), g.weight(16), axis=-1)
    back = g.add("Reshape", g.add("Transpose", tokens, perm=[0, 2, 1]), g.add("Shape", "x"))
    assert check_settled(g.model(back), "nodes") == {"Transpose": 2, "LayerNormalization": 1}


@pytest.mark.parametrize("opset", OPSETS)
def test_a_stack_of_chunks_is_a_view(opset: int) -> None:
    g = Graph(x=["N", "L", 32])
    parts = g.add_many("Split", "x", g.constant([8] * 4), outputs=4, axis=2)
    stack = g.add("Concat", *(g.add("Unsqueeze", part, g.constant([1])) for part in parts), axis=1)
    assert check_settled(g.model(stack, opset=opset), "nodes") == {"Reshape": 1, "Transpose": 1}


@pytest.mark.parametrize("opset", OPSETS)
def test_what_was_padded_is_cut_off_again(opset: int) -> None:
    g = Graph(x=["N", 4, "H", 8])
    wide = g.add("Pad", "x", g.constant([0, 0, 2, 2, 0, 0, 2, 2]))
    model = g.model(g.add("Pad", wide, g.constant([0, 0, -1, -2, 0, 0, -2, -2])), opset=opset)
    assert check_settled(model, "nodes") == {"Pad": 1}


@pytest.mark.parametrize("opset", OPSETS)
def test_queries_that_are_repeated_for_a_batch_are_computed_once(opset: int) -> None:
    """DETR: the batch of the repeats is one of Shape."""
    g = Graph(x=["N", 7, 16])
    n = g.add("Unsqueeze", g.add("Gather", g.add("Shape", "x"), g.constant(0), axis=0), g.constant([0]))
    queries = g.add("Tile", g.weight(1, 7, 16), g.add("Concat", n, g.constant([1, 1]), axis=0))
    product = g.add("Relu", g.add("MatMul", queries, g.weight(16, 16)))
    assert check_settled(g.model(g.add("Add", "x", product), opset=opset), "nodes") == {"Add": 1}


def test_an_einsum_of_channels_is_a_convolution() -> None:
    g = Graph(x=["N", 8, "H", "W"])
    y = g.add("Relu", g.add("Einsum", "x", g.weight(6, 8), equation="bchw,oc->bohw"))
    assert check_settled(g.model(y), "ascend") == {"Conv": 1, "Relu": 1}


@pytest.mark.parametrize("op", ["Add", "Sub"])
def test_a_residual_beside_a_product_with_a_bias_is_one_product(op: str) -> None:
    g = Graph(x=["N", 5, 8])
    branch = g.add("Mul", g.add("Add", g.weight(8), g.add("MatMul", "x", g.weight(8, 8))), g.weight(8))
    assert check_settled(g.model(g.add(op, "x", branch)), "nodes") == {"MatMul": 1, op: 1}

"""Channels that stand last: convolutions of single elements are products, flattened images are not turned."""

import numpy as np
import onnx
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled, outcome


def check_as_cheap(model: onnx.ModelProto, by_hand: onnx.ModelProto) -> None:
    """No more expensive than the graph by hand, and settled."""
    limit = outcome(by_hand, "ascend").report.cost
    found = outcome(model, "ascend")
    assert found.report.cost.after <= min(limit.before, limit.after) * (1 + 1e-9)
    assert outcome(found.model, "ascend").counts == found.counts


# --- kernels of one element -----------------------------------------------------------------------------


def mixed(image: Dims, by_hand: bool, opset: int, bias: bool) -> onnx.ModelProto:
    """Two products with the channels, a function between them, channels last around."""
    g = Graph(x=image)
    axes = len(image) - 2
    first, back = (0, axes + 1, *range(1, axes + 1)), (0, *range(2, axes + 2), 1)
    y = "x" if by_hand else g.add("Transpose", "x", perm=first)
    for c, m in ((12, 20), (20, 7)):
        if by_hand:
            y = g.add("MatMul", y, g.weight(c, m))
            y = g.add("Add", y, g.weight(m)) if bias else y
        else:
            y = g.add("Conv", y, g.weight(m, c, *(1,) * axes), *([g.weight(m)] if bias else []))
        y = g.add("Relu", y)
    return g.model(y if by_hand else g.add("Transpose", y, perm=back), opset=opset)


@pytest.mark.parametrize(
    ("image", "opset", "bias"),
    [
        ([2, 9, 7, 12], 11, True),
        ([1, 5, 6, 12], 13, False),
        (["N", 6, "W", 12], 17, True),
        ([1, 3, 4, 5, 12], 21, True),
        ([2, 30, 12], 11, True),
        (["N", "L", 12], 17, False),
    ],
)
def test_a_convolution_of_single_elements_is_a_product(image: Dims, opset: int, bias: bool) -> None:
    check_as_cheap(mixed(image, False, opset, bias), mixed(image, True, opset, bias))


@pytest.mark.parametrize("image", [[2, 12, 9, 7], ["N", 12, 6, "W"]])
def test_a_product_with_the_channels_of_an_image_is_a_convolution(image: Dims) -> None:
    g = Graph(x=image)
    rows = g.add("MatMul", g.add("Transpose", "x", perm=[0, 2, 3, 1]), g.weight(12, 8))
    y = g.add("Transpose", g.add("Add", rows, g.weight(8)), perm=[0, 3, 1, 2])
    counts = check_settled(g.model(y), "ascend")
    assert counts["Transpose"] == 0 and counts["Conv"] == 1


def test_a_kernel_that_sees_neighbours_keeps_its_transposes() -> None:
    g = Graph(x=[1, 9, 7, 12])
    y = g.add("Conv", g.add("Transpose", "x", perm=[0, 3, 1, 2]), g.weight(8, 12, 1, 2))
    counts = check_settled(g.model(g.add("Transpose", y, perm=[0, 2, 3, 1])), "ascend")
    assert counts["Transpose"] == 2 and counts["Conv"] == 1


# --- what is flattened ----------------------------------------------------------------------------------


def classified(
    order: list[int] | None, opset: int, batch: int | str = 2, gemm: bool = True
) -> onnx.ModelProto:
    """A classifier of a flattened image, of which axes were moved."""
    g = Graph(x=[batch, 6, 4, 3])
    y = g.add("Transpose", "x", perm=order) if order else "x"
    flat = g.add("Flatten", y)
    y = (
        g.add("Gemm", flat, g.weight(72, 10), g.weight(10))
        if gemm
        else g.add("MatMul", flat, g.weight(72, 10))
    )
    return g.model(y, opset=opset)


@pytest.mark.parametrize(
    ("order", "opset", "batch", "gemm"),
    [([0, 2, 3, 1], 11, 2, True), ([0, 3, 1, 2], 17, "N", False), ([0, 3, 2, 1], 21, 1, True)],
)
def test_a_transpose_in_front_of_a_classifier_goes_into_its_weight(
    order: list[int], opset: int, batch: int | str, gemm: bool
) -> None:
    check_as_cheap(classified(order, opset, batch, gemm), classified(None, opset, batch, gemm))


def test_a_shuffle_of_features_goes_into_the_next_weight() -> None:
    g = Graph(x=[2, 30, 24])
    parts = g.add("Reshape", "x", g.constant(np.array([2, 30, 4, 6])))
    shuffled = g.add(
        "Reshape", g.add("Transpose", parts, perm=[0, 1, 3, 2]), g.constant(np.array([2, 30, 24]))
    )
    assert check_settled(g.model(g.add("MatMul", shuffled, g.weight(24, 8))), "ascend")["Transpose"] == 0


def test_a_transpose_that_moves_the_batch_stays() -> None:
    g = Graph(x=[6, 2, 4, 3])
    flat = g.add("Flatten", g.add("Transpose", "x", perm=[1, 0, 2, 3]))
    assert check_settled(g.model(g.add("MatMul", flat, g.weight(72, 10))), "ascend")["Transpose"] == 1


def test_a_batch_normalization_in_front_of_a_flattened_classifier_is_folded() -> None:
    g = Graph(x=["N", 6, 4, 3])
    parameters = [g.weight(6), g.weight(6), g.weight(6), g.weight(6, positive=True)]
    flat = g.add("Flatten", g.add("BatchNormalization", "x", *parameters))
    counts = check_settled(g.model(g.add("Gemm", flat, g.weight(72, 10), g.weight(10))), "ascend")
    assert not counts["Mul"] and not counts["BatchNormalization"]

"""Transposes around a perceptron meet, and residual branches keep the order in which the others compute."""

import onnx
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled, outcome


def mixer(opset: int, dims: Dims, rank_two: bool = True) -> onnx.ModelProto:
    """MLP-Mixer's mixing of tokens: a perceptron of the columns."""
    g = Graph(x=dims)
    hidden = g.weight(9, 24) if rank_two else g.weight(1, 9, 24)
    y = g.add("Add", g.add("MatMul", g.add("Transpose", "x", perm=[0, 2, 1]), hidden), g.weight(24))
    y = g.add("MatMul", g.add("Tanh", y), g.weight(24, 9))
    return g.model(g.add("Transpose", y, perm=[0, 2, 1]), opset=opset)


@pytest.mark.parametrize(("opset", "dims", "rank_two"), [(11, ["N", 9, 5], True), (21, [2, 9, "L"], False)])
def test_a_perceptron_of_columns_needs_no_transposes(opset: int, dims: Dims, rank_two: bool) -> None:
    counts = check_settled(mixer(opset, dims, rank_two), "ascend")
    assert (counts["Transpose"], counts["MatMul"]) == (0, 2)


@pytest.mark.parametrize("last", [[0, 2, 3, 1], [0, 3, 2, 1]])
def test_a_perceptron_of_channels_is_two_convolutions(last: list[int]) -> None:
    g = Graph(x=["N", 6, 7, 5])
    y = g.add("Relu", g.add("MatMul", g.add("Transpose", "x", perm=last), g.weight(6, 16)))
    y = g.add("MatMul", y, g.weight(16, 6))
    back = [last.index(axis) for axis in range(4)]
    made = g.model(g.add("Add", g.add("Transpose", y, perm=back), "x"), opset=13)
    assert dict(outcome(made, "ascend").counts) == {"Conv": 2, "Relu": 1, "Add": 1}


def test_a_weight_that_varies_or_other_axes_keep_the_transposes() -> None:
    g = Graph(x=[2, 9, 5], w=[9, 4])
    y = g.add("MatMul", g.add("Relu", g.add("Transpose", "x", perm=[0, 2, 1])), "w")
    assert outcome(g.model(g.add("Relu", y)), "ascend").counts["Transpose"] == 1
    g = Graph(x=[4, 9, 5])
    y = g.add("MatMul", g.add("Relu", g.add("Transpose", "x", perm=[1, 2, 0])), g.weight(4, 3))
    assert outcome(g.model(g.add("Relu", y)), "ascend").counts["Transpose"] == 1


# --- residual branches ----------------------------------------------------------------------------------


def reshaped(g: Graph, x: str, *dims: int) -> str:
    return g.add("Reshape", x, g.constant(dims))


def into_windows(g: Graph, x: str) -> str:
    """[N, 8, 6, 4] in windows of 4 x 3, [N * 4, 12, 4]."""
    parted = g.add("Transpose", reshaped(g, x, -1, 2, 4, 2, 3, 4), perm=[0, 1, 3, 2, 4, 5])
    return reshaped(g, parted, -1, 12, 4)


def out_of_windows(g: Graph, x: str) -> str:
    turned = g.add("Transpose", reshaped(g, x, -1, 2, 2, 4, 3, 4), perm=[0, 1, 3, 2, 4, 5])
    return reshaped(g, turned, -1, 8, 6, 4)


def rolled(g: Graph, x: str, by: int) -> str:
    for axis in (1, 2):
        ends = ((by, 100), (0, by))
        parts = [g.add("Slice", x, *(g.constant([n]) for n in (*cut, axis))) for cut in ends]
        x = g.add("Concat", *parts, axis=axis)
    return x


@pytest.mark.parametrize(("opset", "shift"), [(11, 0), (17, 2)])
def test_residual_blocks_in_windows_go_there_once(opset: int, shift: int) -> None:
    g = Graph(x=[2, 8, 6, 4])
    y = "x"
    for _ in range(2):
        z = rolled(g, y, shift) if shift else y
        z = out_of_windows(g, g.add("MatMul", g.weight(12, 12), into_windows(g, z)))
        y = g.add("Add", y, rolled(g, z, -shift) if shift else z)
    counts = check_settled(g.model(y, opset=opset), "ascend")
    assert counts["Transpose"] == 2
    assert counts["Gather"] + counts["Concat"] == (4 if shift else 0)


def test_residual_blocks_in_different_windows_stay() -> None:
    g = Graph(x=[2, 8, 6, 4])
    y = g.add("Add", "x", out_of_windows(g, g.add("MatMul", g.weight(12, 12), into_windows(g, "x"))))
    z = out_of_windows(g, g.add("MatMul", g.weight(12, 12), into_windows(g, rolled(g, y, 2))))
    made = g.model(g.add("Add", y, rolled(g, z, -2)))
    assert outcome(made, "ascend").counts["Transpose"] == 4


@pytest.mark.parametrize(("opset", "steps"), [(11, 10), (21, 10), (17, "L")])
def test_a_classifier_behind_joined_directions_needs_one_transpose(opset: int, steps: int | str) -> None:
    """CRNN: directions of an LSTM are joined, classified in rows, and batches come in front."""
    g = Graph(y=[steps, 2, 3, 8])
    joined = g.add("Reshape", g.add("Transpose", "y", perm=[0, 2, 1, 3]), g.constant([0, 0, -1]))
    if isinstance(steps, int):
        rows = g.add("Gemm", g.add("Reshape", joined, g.constant([-1, 16])), g.weight(16, 6), g.weight(6))
        classes = g.add("Reshape", rows, g.constant([steps, 3, 6]))
    else:
        classes = g.add("Add", g.add("MatMul", joined, g.weight(16, 6)), g.weight(6))
    last = g.add("Softmax", g.add("Transpose", classes, perm=[1, 0, 2]), axis=2)
    counts = check_settled(g.model(last, opset=opset), "ascend")
    assert (counts["Transpose"], counts["Softmax"]) == (1, 1)

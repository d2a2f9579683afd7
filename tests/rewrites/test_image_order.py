"""Networks in NHWC, shifted windows, places of two elements: as cheap as written by hand."""

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from egraph_opt.cost_models.ascend import Ascend

from ..knowledge_bases.graphs import Dims, Graph, check_settled, outcome

FAR = 2**62


# --- squeeze and excite, channels last ------------------------------------------------------------------


def gated(by_hand: bool, op: str = "Mul", batch: int | str = 2, opset: int = 17) -> onnx.ModelProto:
    """An image in NHWC, multiplied channel by channel with what is computed of its means."""
    g = Graph(x=[batch, 9, 7, 24])
    if by_hand:
        means = g.add("ReduceMean", "x", axes=[1, 2], keepdims=1)
        hidden = g.add("Relu", g.add("MatMul", means, g.weight(24, 6)))
        return g.model(g.add(op, "x", g.add("Sigmoid", g.add("MatMul", hidden, g.weight(6, 24)))))
    image = g.add("Transpose", "x", perm=[0, 3, 1, 2])
    hidden = g.add("Relu", g.add("Conv", g.add("GlobalAveragePool", image), g.weight(6, 24, 1, 1)))
    gates = g.add("Sigmoid", g.add("Conv", hidden, g.weight(24, 6, 1, 1)))
    return g.model(g.add("Transpose", g.add(op, gates, image), perm=[0, 2, 3, 1]), opset=opset)


@pytest.mark.parametrize("cost", ["ascend", "nodes"])
def test_gates_of_an_image_with_channels_last_need_no_transpose(cost: str) -> None:
    limit = outcome(gated(by_hand=True), cost).report.cost.after
    found = outcome(gated(by_hand=False), cost)
    assert found.report.cost.after <= limit * (1 + 1e-9)
    assert found.counts["Transpose"] == 0


def test_gates_of_any_batch_in_every_opset() -> None:
    for opset in (11, 13, 21):
        counts = check_settled(gated(by_hand=False, op="Sub", batch="N", opset=opset), "ascend")
        assert counts["Transpose"] == 0


def test_a_kernel_as_large_as_the_image_is_a_product() -> None:
    g = Graph(x=["N", 8, 3, 5])
    flat = g.add("Flatten", g.add("Conv", "x", g.weight(10, 8, 3, 5), g.weight(10)))
    assert check_settled(g.model(g.add("Relu", flat)), "ascend")["Conv"] == 0
    g = Graph(x=["N", 8, 4, 5])
    flat = g.add("Flatten", g.add("Conv", "x", g.weight(10, 8, 3, 5), g.weight(10)))
    assert check_settled(g.model(g.add("Relu", flat)), "ascend")["Conv"] == 1


# --- shifted windows ------------------------------------------------------------------------------------


def rolled(g: Graph, x: str, shifts: dict[int, int]) -> str:
    """torch.roll: the last elements come first."""
    for axis, shift in shifts.items():
        bounds = ((-shift, FAR), (0, -shift))
        parts = (g.add("Slice", x, g.constant([a]), g.constant([b]), g.constant([axis])) for a, b in bounds)
        x = g.add("Concat", *parts, axis=axis)
    return x


@pytest.mark.parametrize("op", ["Relu", "LeakyRelu"])
def test_windows_that_are_shifted_and_shifted_back_are_where_they_were(op: str) -> None:
    g = Graph(x=["N", 8, 10, 6])
    y = g.add(op, rolled(g, "x", {1: -3, 2: 2}))
    assert check_settled(g.model(rolled(g, y, {1: 3, 2: -2}))) == Counter({op: 1})
    g = Graph(x=["N", 8, 10, 6])
    assert check_settled(g.model(g.add(op, rolled(g, rolled(g, "x", {3: -1}), {3: 1})))) == Counter({op: 1})


def test_windows_that_are_shifted_elsewhere_stay() -> None:
    g = Graph(x=["N", 8, 10, 6])
    y = rolled(g, g.add("Relu", rolled(g, "x", {1: -3})), {1: 2})
    assert check_settled(g.model(y)) == Counter(Gather=1, Relu=1)
    g = Graph(x=["N", 8, 10, 6])
    y = rolled(g, g.add("Softmax", rolled(g, "x", {1: -3}), axis=1), {1: 3})
    assert check_settled(g.model(y))["Softmax"] == 1


# --- the place of the larger one of two -----------------------------------------------------------------


def place(dims: Dims, op: str, dtype: int, opset: int, **settings: int) -> onnx.ModelProto:
    g = Graph()
    return g.model(
        g.add(op, g.input("x", dims, dtype), **settings), opset=opset, dtypes={"v0_0": TensorProto.INT64}
    )


@pytest.mark.parametrize(
    ("op", "settings"),
    [
        ("ArgMax", {"axis": 1}),
        ("ArgMin", {"axis": -2, "keepdims": 0}),
        ("ArgMax", {"axis": 1, "select_last_index": 1}),
        ("ArgMin", {"axis": 1, "select_last_index": 1}),
    ],
)
def test_the_place_of_two_is_a_comparison(op: str, settings: dict[str, int]) -> None:
    """Of integers at once, which the AI CPU looks through; of floats where there are many rows."""
    for dtype, rows, compared in (
        (TensorProto.INT32, "N", True),
        (TensorProto.FLOAT, 4000, True),
        (TensorProto.FLOAT, "N", False),
    ):
        counts = check_settled(place([rows, 2, 5], op, dtype, 17, **settings), "ascend")
        assert (counts[op], counts["Cast"]) == ((0, 1) if compared else (1, 0))


def test_equal_ones_are_told_by_the_setting() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pairs = np.array([[1, 1], [0.0, -0.0], [2, 3], [3, 2]], np.float32)
    for op in ("ArgMax", "ArgMin"):
        for last in (0, 1):
            model = place(["N", 2], op, TensorProto.FLOAT, 13, axis=1, select_last_index=last)
            found = []
            compared = outcome(model, Ascend(scalar_cycles={"extreme": 1e5}))
            assert compared.counts[op] == 0
            for each in (model, compared.model):
                session = onnxruntime.InferenceSession(each.SerializeToString())
                found.append(session.run(None, {"x": pairs})[0])
            assert np.array_equal(*found)


def test_the_place_of_three_or_of_any_number_stays() -> None:
    unknown: tuple[Dims, Dims] = (["N", 3], ["N", "L"])
    for dims in unknown:
        assert check_settled(place(dims, "ArgMax", TensorProto.FLOAT, 11, axis=1), "ascend") == Counter(
            ArgMax=1
        )
    assert check_settled(place(["N", 2], "ArgMax", TensorProto.FLOAT, 11, axis=1)) == Counter(ArgMax=1)

"""What exporters write where a graph by hand has less: looked up positions, negated masks, sliced images."""

from __future__ import annotations

import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, check_settled

OPSETS = pytest.mark.parametrize("opset", [11, 13, 17, 21])


@OPSETS
@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_positions_are_rows_that_are_cut_off(opset: int, cost: str) -> None:
    g = Graph(e=["N", "S", 32])
    shape = g.add("Shape", "e")
    length = g.add("Gather", shape, g.constant(1))
    ids = g.add("Range", g.constant(0), length, g.constant(1))
    ids = g.add("Unsqueeze", ids, axes=[0]) if opset < 13 else g.add("Unsqueeze", ids, g.constant([0]))
    ids = g.add("Expand", ids, g.add("Slice", shape, g.constant([0]), g.constant([2])))
    y = g.add("Add", "e", g.add("Gather", g.weight(64, 32), ids))
    counts = check_settled(g.model(y, opset=opset), cost)
    assert counts["Range"] == counts["Expand"] == 0
    ends = 0 if opset >= 15 else 1  # Shape has no start and end yet
    assert counts["Slice"] + counts["Gather"] == 1 + ends


@OPSETS
def test_negations_of_conditions_meet(opset: int) -> None:
    g = Graph(x=["N", 7])
    a, b = (g.add("Greater", "x", g.constant(number)) for number in (0.0, 1.0))
    either = g.add("Or", g.add("Not", a), g.add("Not", b))
    zero = g.add("Equal", g.add("Cast", either, to=TensorProto.INT32), g.constant(0, "int32"))
    y = g.add("Where", g.add("Not", g.add("And", zero, a)), g.constant(0.0), "x")
    counts = check_settled(g.model(y, opset=opset))
    assert counts["Not"] == counts["Or"] == counts["Cast"] == 0
    assert counts["And"] == 1


@OPSETS
@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_a_convolution_steps_over_what_is_cut_behind_an_activation(opset: int, cost: str) -> None:
    g = Graph(x=[1, 8, 32, 20])
    y = g.add("Relu", g.add("Conv", "x", g.weight(16, 8, 3, 3), g.weight(16), pads=[1, 1, 1, 1]))
    for axis in (2, 3):
        bounds = (g.constant([number]) for number in (0, 2**40, axis, 2))
        y = g.add("Slice", y, *bounds)
    assert check_settled(g.model(y, opset=opset), cost) == {"Conv": 1, "Relu": 1}


@OPSETS
@pytest.mark.parametrize("cost", ["nodes", "ascend"])
def test_one_channel_that_is_repeated_is_seen_once(opset: int, cost: str) -> None:
    g = Graph(x=["N", 1, "H", "W"])
    wide = g.add("Concat", "x", "x", "x", axis=1)
    y = g.add("Relu", g.add("Conv", wide, g.weight(8, 3, 3, 3), strides=[2, 2]))
    assert check_settled(g.model(y, opset=opset), cost) == {"Conv": 1, "Relu": 1}


@OPSETS
def test_running_sums_of_others_are_one_operator(opset: int) -> None:
    """As `cumsum(x) - x`, and from the other end `sum(x) - cumsum(x) + x`."""
    g = Graph(x=["N", 16, 4])
    sums = g.add("CumSum", "x", g.constant(1))
    whole = g.add("ReduceSum", "x", g.constant([1])) if opset >= 13 else g.add("ReduceSum", "x", axes=[1])
    back = g.add("Add", g.add("Sub", whole, sums), "x")
    assert check_settled(g.model(g.add("Sub", sums, "x"), back, opset=opset)) == {"CumSum": 2}


@OPSETS
def test_places_forget_the_axis_at_once(opset: int) -> None:
    g = Graph(x=["N", 7, 4])
    place = g.add("ArgMax", "x", axis=1, keepdims=1)
    y = g.add("Squeeze", place, g.constant([1])) if opset >= 13 else g.add("Squeeze", place, axes=[1])
    assert check_settled(g.model(y, opset=opset, dtypes={y: TensorProto.INT64})) == {"ArgMax": 1}


@pytest.mark.parametrize("opset", [11, 17])
def test_heads_that_are_joined_with_the_batch_are_transposed_once(opset: int) -> None:
    """torch.nn.MultiheadAttention(batch_first=True) puts tokens in front, and its heads beside the batch."""
    g = Graph(q=[2, 8, 32], k=[2, 8, 32], v=[2, 8, 32])
    q, k, v = (
        g.add(
            "Transpose",
            g.add("Reshape", g.add("Transpose", x, perm=[1, 0, 2]), g.constant([8, 8, 8])),
            perm=p,
        )
        for x, p in (("q", [1, 0, 2]), ("k", [1, 2, 0]), ("v", [1, 0, 2]))
    )
    weights = g.add("Softmax", g.add("MatMul", q, k), axis=-1 if opset >= 13 else 2)
    counts = check_settled(g.model(g.add("MatMul", weights, v), opset=opset), "ascend")
    assert counts["Transpose"] == 3

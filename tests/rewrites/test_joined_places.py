"""Places of an axis, joined along another one, are a view: both directions of a recurrent layer."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto

from egraph_opt import saturate

from ..knowledge_bases.graphs import Dims, Graph, check_settled, check_untouched, optimized, outcome


def places(
    x: Dims, axis: int, joined: int, order: list[int], *, opset: int = 17, dtype: int = 1
) -> onnx.ModelProto:
    """Single places of an axis, without it, joined along an axis of what is left."""
    g = Graph()
    g.input("x", x, dtype)
    taken = [g.add("Gather", "x", g.constant(k), axis=axis) for k in order]
    whole = g.add("Concat", *taken, axis=joined)
    return g.model(whole, opset=opset, dtypes={whole: dtype})


@pytest.mark.parametrize("opset", [11, 13, 21])
@pytest.mark.parametrize(("x", "axis"), [([3, 4, 5], 0), (["N", 3, 5], 1), ([2, "N", 3, 4], 2)])
def test_places_next_to_the_axis_along_which_they_are_joined_are_a_reshape(
    x: Dims, axis: int, opset: int
) -> None:
    for cost in ("nodes", "ascend"):
        assert check_settled(places(x, axis, axis, [0, 1, 2], opset=opset), cost) == {"Reshape": 1}


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT16, TensorProto.INT64, TensorProto.BOOL])
def test_places_of_another_axis_are_transposed_first_where_nodes_count(dtype: int) -> None:
    model = places([4, "N", 3], 0, 1, [0, 1, 2, 3], dtype=dtype)
    assert check_settled(model) == {"Transpose": 1, "Reshape": 1}


def test_the_last_states_of_both_directions_are_a_view() -> None:
    g = Graph(x=[10, "N", 8])
    weights = g.weight(2, 64, 8), g.weight(2, 64, 16), g.weight(2, 128)
    _, states, _ = g.add_many("LSTM", "x", *weights, outputs=3, hidden_size=16, direction="bidirectional")
    both = g.add("Concat", *(g.add("Gather", states, g.constant(k), axis=0) for k in (-2, -1)), axis=1)
    model = g.model(g.add("Gemm", both, g.weight(32, 3), g.weight(3)))
    assert check_settled(model) == {"LSTM": 1, "Transpose": 1, "Reshape": 1, "Gemm": 1}
    before = outcome(model, "ascend").report.cost
    assert before.after <= before.before


def test_some_of_the_places_are_sliced_first() -> None:
    counts = optimized(places([6, 4, 5], 0, 0, [2, 3, 4]))
    assert counts == {"Slice": 1, "Reshape": 1}


@pytest.mark.parametrize("order", [[1, 0], [0, 2], [0, 0]], ids=["another order", "a gap", "one twice"])
def test_other_places_are_joined_as_they_were(order: list[int]) -> None:
    assert "Transpose" not in optimized(places([3, "N", 5], 0, 1, order))


def test_places_of_two_tensors_stay() -> None:
    g = Graph(x=[2, "N", 5], y=[2, "N", 5])
    taken = [g.add("Gather", name, g.constant(k), axis=0) for k, name in enumerate("xy")]
    check_untouched(g.model(g.add("Concat", *taken, axis=1)))


def test_many_places_are_few_e_nodes() -> None:
    region = saturate(places([32, "N", 5], 0, 1, list(range(32)))).region
    assert region is not None
    assert region.saturation.stop == "saturated"
    assert region.saturation.nodes < 20 * 33

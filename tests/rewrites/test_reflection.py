"""A reflecting Pad and slices backwards with a Concat are one another, whichever is cheaper."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from egraph_opt import optimize
from egraph_opt.cost.model import CostModel, NodeView

from ..knowledge_bases.graphs import Graph, check_untouched, optimized, outcome

Dims = list[int | str]


class WithoutPads(CostModel):
    """A target for which padding is dear."""

    name = "without pads"
    unit = ""

    def cost(self, node: NodeView) -> float:
        return 100.0 if node.op_type == "Pad" else 1.0


def _padded(dims: Dims, pads: list[int], opset: int = 17, mode: str = "reflect") -> onnx.ModelProto:
    g = Graph(x=dims)
    return g.model(g.add("Relu", g.add("Pad", "x", g.constant(pads), mode=mode)), opset=opset)


def taken_apart(dims: Dims, pads: list[int], opset: int, mode: str = "reflect") -> Counter[str]:
    """What a padded image is where padding is dear: it computes the same, and comes back as one Pad."""
    model = _padded(dims, pads, opset, mode)
    apart = optimize(model, WithoutPads(), strict=True)
    counts = Counter(node.op_type for node in apart.model.graph.node)
    assert counts["Pad"] == 0
    x = np.random.default_rng(0).standard_normal([d if isinstance(d, int) else 3 for d in dims])
    given, wanted = (
        ort.InferenceSession(m.SerializeToString()).run(None, {"x": x.astype(np.float32)})[0]
        for m in (apart.model, model)
    )
    np.testing.assert_array_equal(given, wanted)
    assert optimized(apart.model) == {"Pad": 1, "Relu": 1}
    return counts


CASES = [
    (["N", 8, 12, 9], [0, 0, 1, 2, 0, 0, 3, 1]),
    ([2, 3, 5], [0, 0, 4, 0, 0, 0]),
    ([2, 3, 5], [0, 2, 0, 0, 0, 0]),
    (["N", 4, 3, 6, 5], [0, 0, 1, 1, 1, 0, 0, 1, 2, 3]),
]


@pytest.mark.parametrize("opset", [11, 13, 18, 21])
@pytest.mark.parametrize(("dims", "pads"), CASES, ids=str)
def test_slices_where_a_pad_is_dear_and_a_pad_where_it_is_less(
    dims: Dims, pads: list[int], opset: int
) -> None:
    assert taken_apart(dims, pads, opset)["Concat"] == sum(
        bool(a or b) for a, b in zip(pads[: len(dims)], pads[len(dims) :], strict=True)
    )


@pytest.mark.parametrize("pads", [[0, 0, 2, 0, 0, 3], [0, 0, 3, 0, 0, 0], [0, 0, 0, 0, 0, 1]])
def test_an_axis_of_unknown_length_may_have_too_few_elements(pads: list[int]) -> None:
    model = _padded(["N", 3, "L"], pads)
    check_untouched(model, WithoutPads())
    assume = {"L": (4, 64)}
    apart = optimize(model, WithoutPads(), strict=True, assume=assume)
    assert "Pad" not in {node.op_type for node in apart.model.graph.node}
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    given, wanted = (
        ort.InferenceSession(m.SerializeToString()).run(None, {"x": x})[0] for m in (apart.model, model)
    )
    np.testing.assert_array_equal(given, wanted)
    assert optimized(apart.model, assume=assume) == {"Pad": 1, "Relu": 1}
    check_untouched(apart.model)


def test_zeros_are_no_reflections() -> None:
    check_untouched(_padded([1, 3, 5], [0, 0, 1, 0, 0, 1], mode="constant"), WithoutPads())


def test_slices_of_one_element_reflect_in_either_direction() -> None:
    g = Graph(x=["N", 2, 7, 6])
    y = "x"
    for axis, size in ((2, 7), (3, 6)):
        first, last = (g.add("Slice", y, *(g.constant([n]) for n in (k, k + 1, axis))) for k in (1, size - 2))
        y = g.add("Concat", first, y, last, axis=axis)
    assert dict(outcome(g.model(y, opset=13)).counts) == {"Pad": 1}

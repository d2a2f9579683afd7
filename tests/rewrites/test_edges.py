"""An edge Pad and the first and last elements in a Concat are one another, whichever is cheaper."""

from __future__ import annotations

from collections import Counter

import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, check_settled, check_untouched, outcome
from .test_reflection import Dims, taken_apart

FAR = 2**62


def _slice(g: Graph, x: str, start: int, end: int, axis: int) -> str:
    return g.add("Slice", x, *(g.constant([k]) for k in (start, end, axis)))


def edge(g: Graph, x: str, axis: int, before: int, after: int) -> str:
    """As exporters write it: the first and the last element, so often."""
    ends = [_slice(g, x, start, end, axis) for start, end in ((0, 1), (-1, FAR))]
    return g.add("Concat", *[ends[0]] * before, x, *[ends[1]] * after, axis=axis)


@pytest.mark.parametrize("opset", [11, 13, 18, 21])
@pytest.mark.parametrize(
    ("dims", "pads"),
    [
        (["N", 8, 12, 9], [0, 0, 1, 2, 0, 0, 3, 1]),
        ([2, 3, 5], [0, 0, 0, 0, 0, 1]),
        ([2, 3, 5], [0, 4, 0, 0, 0, 0]),
    ],
)
def test_first_and_last_elements_where_a_pad_is_dear(dims: Dims, pads: list[int], opset: int) -> None:
    taken_apart(dims, pads, opset, "edge")


@pytest.mark.parametrize(("axis", "before", "after"), [(-1, 1, 1), (2, 2, 0), (1, 0, 3), (-2, 1, 2)])
@pytest.mark.parametrize("target", ["nodes", "ascend"])
def test_a_pad_where_it_is_less(axis: int, before: int, after: int, target: str) -> None:
    g = Graph(x=["N", 4, 10])
    model = g.model(g.add("Sin", edge(g, g.add("Relu", "x"), axis, before, after)))
    assert check_settled(model, target) == Counter(Relu=1, Pad=1, Sin=1)


@pytest.mark.parametrize("opset", [11, 17])
def test_edges_of_two_axes_are_one_pad(opset: int) -> None:
    g = Graph(x=["N", 4, 10, 6])
    model = g.model(g.add("Sin", edge(g, edge(g, "x", 2, 1, 1), 3, 2, 1)), opset=opset)
    assert check_settled(model) == Counter(Pad=1, Sin=1)
    assert outcome(model, "ascend").report.cost.after < 4.1  # two Concats of Slices cost 14


def test_elements_that_are_no_edges() -> None:
    g = Graph(x=["N", 4, 10])
    cuts = [
        g.add("Slice", "x", *(g.constant([k]) for k in (start, end, 2))) for start, end in ((2, 3), (0, 2))
    ]
    model = g.model(*(g.add("Concat", cut, "x", axis=2) for cut in cuts))
    assert outcome(model).counts["Pad"] == 0


def test_an_axis_that_may_have_no_element_stays_unless_that_is_assumed() -> None:
    g = Graph(x=["N", 4, "L"])
    model = g.model(g.add("Sin", edge(g, "x", 2, 1, 1)))
    check_untouched(model)
    assert check_settled(model, assume={"L": (1, 64)}) == Counter(Pad=1, Sin=1)


def test_a_type_that_onnxruntime_does_not_pad_stays() -> None:
    g = Graph()
    x = g.input("x", [2, 4, 10], TensorProto.INT16)
    y = edge(g, x, 2, 1, 1)
    model = g.model(y, dtypes={y: TensorProto.INT16})
    assert outcome(model).counts["Pad"] == 0

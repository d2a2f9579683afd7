"""Tables of positions and token types: what is taken in order is a Slice, what is one row is that row."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ..knowledge_bases.graphs import Graph, check_settled, outcome

INT64 = TensorProto.INT64
NEW_AXES_AS_OPERANDS = 13


class Tokens(Graph):
    """Token ids of [B, T], a table of their embeddings, and what exporters compute of the shape."""

    def __init__(self, opset: int, columns: int = 6) -> None:
        super().__init__()
        self.opset = opset
        self.ids = self.input("ids", ["B", "T"], INT64)
        self.rows = self.add("Gather", self.weight(40, columns), self.ids)
        self.shape = self.add("Shape", self.ids)
        self.length = self.add("Gather", self.shape, self.constant(1), axis=0)
        self.end = self.unsqueezed(self.length)

    def unsqueezed(self, x: str) -> str:
        if self.opset < NEW_AXES_AS_OPERANDS:
            return self.add("Unsqueeze", x, axes=[0])
        return self.add("Unsqueeze", x, self.constant([0]))

    def cut(self, x: str, axis: int) -> str:
        """As much of x as there are tokens."""
        return self.add("Slice", x, self.constant([0]), self.end, self.constant([axis]))

    def counted(self, start: int = 0, step: int = 1) -> str:
        return self.add("Range", self.constant(start), self.length, self.constant(step))

    def beside(self, other: str) -> onnx.ModelProto:
        return self.model(self.add("Add", self.rows, other), opset=self.opset)


OPSETS = [11, 13, 17, 21]


@pytest.mark.parametrize("opset", OPSETS)
def test_positions_that_are_counted_are_a_slice(opset: int) -> None:
    g = Tokens(opset)
    counts = check_settled(g.beside(g.add("Gather", g.weight(30, 6), g.counted())))
    assert counts["Range"] == 0 and counts["Gather"] == 1 and counts["Slice"] >= 1


def test_positions_along_another_axis_and_in_steps_are_a_slice() -> None:
    g = Tokens(17)
    columns = g.add("Gather", g.weight(4, 30), g.counted(2, 3), axis=1)
    assert outcome(g.model(columns)).counts["Range"] == 0


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("views", [1, 2])
def test_a_view_of_positions_is_one_of_rows(opset: int, views: int) -> None:
    g = Tokens(opset)
    places = g.unsqueezed(g.counted())
    if views > 1:
        places = g.add("Reshape", g.add("Reshape", places, g.constant([-1, 1])), g.constant([1, -1]))
    counts = outcome(g.beside(g.add("Gather", g.weight(30, 6), places)), "ascend").counts
    assert counts["Range"] == 0 and counts["Gather"] == 1


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("numbers", [np.arange(30), np.arange(12)[::-1], np.arange(3, 25, 2)], ids=len)
def test_a_slice_of_places_is_one_of_rows(opset: int, numbers: np.ndarray) -> None:
    g = Tokens(opset)
    places = g.cut(g.constant(numbers.astype(np.int64)[None]), 1)
    counts = check_settled(g.beside(g.add("Gather", g.weight(30, 6), places)), "ascend")
    assert counts["Gather"] == 1 and counts["Slice"] >= 1


@pytest.mark.parametrize("opset", OPSETS)
def test_places_are_not_expanded_to_the_batch(opset: int) -> None:
    g = Tokens(opset)
    places = g.add("Expand", g.cut(g.constant(np.arange(30)[None]), 1), g.shape)
    counts = outcome(g.beside(g.add("Gather", g.weight(30, 6), places)), "ascend").counts
    assert counts["Expand"] == 0 and counts["Gather"] == 1


def test_positions_behind_the_first_are_of_a_shorter_table() -> None:
    """OPT and BART count from 2 on."""
    g = Tokens(13)
    places = g.add("Add", g.counted(), g.constant(2))
    counts = outcome(g.beside(g.add("Gather", g.weight(32, 6), places))).counts
    assert counts["Add"] == 1 and counts["Range"] == 0


def _squares(g: Tokens) -> str:
    return g.add("Mul", g.counted(), g.counted())


def _downwards(g: Tokens) -> str:
    return g.add("Range", g.length, g.constant(0), g.constant(-1))


def _from_below_zero(g: Tokens) -> str:
    return g.add("Range", g.add("Sub", g.length, g.constant(9)), g.length, g.constant(1))


@pytest.mark.parametrize("places", [_squares, _downwards, _from_below_zero])
def test_positions_that_are_not_in_order_stay(places) -> None:
    g = Tokens(17)
    counts = outcome(g.model(g.add("Gather", g.weight(3000, 6), places(g)))).counts
    assert counts["Range"] == 1 and counts["Gather"] >= 1


def test_more_places_than_rows_are_not_written_out() -> None:
    g = Tokens(17)
    places = g.cut(g.constant(np.arange(64) % 5), 0)
    assert outcome(g.beside(g.add("Gather", g.weight(5, 6), places))).counts["Gather"] == 2


# --- token types ----------------------------------------------------------------------------------------


def _filled(g: Tokens) -> str:
    return g.add("ConstantOfShape", g.shape, value=helper.make_tensor("value", INT64, [1], [1]))


def _cut_and_expanded(g: Tokens) -> str:
    return g.add("Expand", g.cut(g.constant(np.ones((1, 30), np.int64)), 1), g.shape)


def _scalar_expanded(g: Tokens) -> str:
    return g.add("Expand", g.constant(-2), g.shape)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("types", [_filled, _cut_and_expanded, _scalar_expanded])
def test_one_type_throughout_is_one_row(opset: int, types) -> None:
    for cost in ("nodes", "ascend"):
        g = Tokens(opset)
        kinds = g.add("Gather", g.weight(3, 6), types(g))
        assert outcome(g.beside(kinds), cost).counts == {"Gather": 1}


def test_the_whole_of_bert_is_two_tables() -> None:
    g = Tokens(17, 8)
    places = g.cut(g.constant(np.arange(30)[None]), 1)
    both = g.add("Add", g.rows, g.add("Gather", g.weight(2, 8), _filled(g)))
    whole = g.add("Add", both, g.add("Gather", g.weight(30, 8), places))
    norm = g.add("LayerNormalization", whole, g.weight(8), g.weight(8), axis=-1)
    counts = outcome(g.model(norm), "ascend").counts
    assert counts["Gather"] == 1 and counts["Add"] == 1 and counts["ConstantOfShape"] == 0


def test_types_that_differ_are_taken() -> None:
    g = Tokens(13)
    types = g.cut(g.constant(np.arange(30) % 2), 0)
    assert outcome(g.beside(g.add("Gather", g.weight(2, 6), types))).counts["Gather"] == 2

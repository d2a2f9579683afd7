"""Rows that are shorter than a block take as long as one on Ascend, where they are computed one by one."""

from __future__ import annotations

from typing import Any

import pytest

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.cost_models.ascend_soc import socs
from egraph_opt.facts.fact import Fact

ROWS = 65_536
BY_ROWS = ("LayerNormalization", "LogSoftmax", "ReduceMean", "ReduceSum", "Softmax")


def node(op: str, shape: tuple[int, ...], opset: int = 0, **attributes: Any) -> NodeView:
    result = (*shape[:-1], 1) if op.startswith("Reduce") else shape
    return NodeView(op, "", attributes, (Fact(1, shape),), (Fact(1, result),), opset=opset)


def by_rows(op: str, row: int) -> NodeView:
    axis = {"axes": (-1,)} if op.startswith("Reduce") else {"axis": -1}
    return node(op, (ROWS, row), **axis)


@pytest.mark.parametrize("soc", socs())
@pytest.mark.parametrize("op", BY_ROWS)
def test_a_row_takes_whole_blocks(soc: str, op: str) -> None:
    model = Ascend(soc)
    costs = {row: model.cost(by_rows(op, row)) for row in (1, 4, 15, 16, 17, 32)}
    assert costs[1] > 0.85 * costs[16]
    assert sorted(costs.values()) == pytest.approx(list(costs.values()))
    assert costs[17] > 0.9 * costs[32]


@pytest.mark.parametrize(
    ("short", "long"),
    [
        (node("Relu", (ROWS, 4)), node("Relu", (ROWS // 4, 16))),  # one piece, however it is shaped
        (node("Softmax", (ROWS, 4), axis=0), node("Softmax", (ROWS // 4, 16), axis=0)),  # rows of the others
        (node("Softmax", (ROWS, 4, 4), 11, axis=1), node("Softmax", (ROWS, 16), 11, axis=1)),  # both axes
        (node("LayerNormalization", (ROWS, 4, 4), axis=1), node("LayerNormalization", (ROWS, 16), axis=1)),
        (node("Softmax", (ROWS, 16, 1), axis=1), node("Softmax", (ROWS, 16), axis=1)),
    ],
)
def test_what_lies_in_one_piece_has_no_tail(short: NodeView, long: NodeView) -> None:
    assert Ascend().cost(short) == pytest.approx(Ascend().cost(long))


@pytest.mark.parametrize("soc", socs())
@pytest.mark.parametrize("op", ["ArgMax", "ReduceSum", "Softmax"])
@pytest.mark.parametrize("extent", [1, 2, 5, 40])
def test_what_lies_behind_the_axis_makes_nothing_cheaper(soc: str, op: str, extent: int) -> None:
    """ReduceSum over axis 1 of [262144, 2, 1] was 28.6 us, of [262144, 2, 2] 9.8; Softmax 163.6 and 42.4."""
    model, along = Ascend(soc), {"axes": (1,)} if op == "ReduceSum" else {"axis": 1}
    costs = []
    for behind in (1, 2, 3, 4, 16, 17):
        shape = (ROWS, extent, behind)
        result = shape if op == "Softmax" else (ROWS, 1, behind)
        costs.append(model.cost(NodeView(op, "", along, (Fact(1, shape),), (Fact(1, result),), opset=17)))
    assert sorted(costs) == pytest.approx(costs)


@pytest.mark.parametrize("soc", socs())
@pytest.mark.parametrize("op", ["Expand", "Pad", "Tile"])
def test_a_column_that_becomes_two_is_written_row_by_row(soc: str, op: str) -> None:
    """Two of a column, by Concat 125.9 us, were 6.8 by Expand."""
    model, column, two = Ascend(soc), Fact(1, (ROWS, 1)), Fact(1, (ROWS, 2))
    joined = model.cost(NodeView("Concat", "", {"axis": 1}, (column, column), (two,)))
    grown = [
        model.cost(NodeView(op, "", {}, (column, None), (Fact(1, (ROWS, n)),))) for n in (2, 3, 8, 16, 32)
    ]
    assert 0.4 * joined < grown[0] <= joined
    assert sorted(grown) == pytest.approx(grown)
    wide = NodeView(op, "", {}, (Fact(1, (1, 16 * ROWS)), None), (Fact(1, (2, 16 * ROWS)),))
    read_and_written = (wide.inputs[0], wide.outputs[0])
    assert model.cost(wide) == model.soc.fixed_vector_us + model._device.operands(read_and_written)

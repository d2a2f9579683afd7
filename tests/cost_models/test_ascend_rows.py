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

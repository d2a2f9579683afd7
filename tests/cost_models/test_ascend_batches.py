"""Batches that are multiplied by one matrix on Ascend: when their rows are those of one matrix."""

from __future__ import annotations

from itertools import pairwise

import pytest
from onnx import TensorProto

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.facts.fact import Fact
from egraph_opt.rewrites.conditions.formats import MATRICES

ASCEND = Ascend()


def f32(*shape: int, const: bool = False) -> Fact:
    return Fact(TensorProto.FLOAT, shape, const=const)


def batched(batch: int, rows: int) -> float:
    """The price of a batch that is multiplied by one matrix, without what is converted around it."""
    x, w = f32(batch, rows, 768), f32(768, 768, const=True)
    view = NodeView("MatMul", "", {}, (x, w), (x,))
    return ASCEND.in_format(MATRICES).device_time(view)


def test_rows_of_a_batch_fill_tiles_of_their_own_unless_they_are_few() -> None:
    """BatchMatMulV2ReshapeFusionPass takes 64 matrices of less than 32 rows, or of one, as one matrix."""
    assert batched(64, 50) == pytest.approx(batched(64, 64), rel=0.02)
    assert batched(64, 30) < 0.95 * batched(64, 32)
    assert batched(64, 1) == pytest.approx(batched(1, 64), rel=0.02)


def test_more_rows_and_larger_batches_cost_no_less() -> None:
    for batch in (1, 2, 15, 40, 50, 51, 64, 300):
        costs = [batched(batch, rows) for rows in (1, 2, 3, 15, 16, 17, 31, 32, 33, 50, 64)]
        assert all(before <= after * (1 + 1e-12) for before, after in pairwise(costs)), batch
    for rows in (1, 2, 15, 16, 17, 31, 32, 33, 50):
        costs = [batched(batch, rows) for batch in (1, 2, 15, 16, 40, 50, 51, 52, 64, 300)]
        assert all(before <= after * (1 + 1e-12) for before, after in pairwise(costs)), rows

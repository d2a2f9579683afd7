"""Batches that are multiplied by one matrix on Ascend: when their rows are those of one matrix."""

from __future__ import annotations

from itertools import pairwise

import pytest
from onnx import TensorProto

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models.ascend import Ascend
from egraph_opt.cost_models.ascend_soc import socs
from egraph_opt.facts.fact import Fact
from egraph_opt.rewrites.conditions.formats import MATRICES, ROWS

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


def product(lead: tuple[int, ...], columns: int) -> NodeView:
    w = f32(768, columns, const=True)
    return NodeView("MatMul", "", {}, (f32(*lead, 768), w), (f32(*lead, columns),))


@pytest.mark.parametrize("soc", socs())
@pytest.mark.parametrize("columns", [300, 768])
def test_rows_cost_the_same_on_whatever_axes_they_are(soc: str, columns: int) -> None:
    """[500, 1, 768] was 8.1 us, [500, 768] 26.4, and [250, 2, 768] 91.0: batches were padded one by one."""
    model = Ascend(soc)
    for views in (((500,), (500, 1), (1, 500), (250, 2), (125, 4), (5, 100, 1)), ((8,), (8, 1), (2, 4))):
        costs = [model.cost(product(lead, columns)) for lead in views]
        assert costs == pytest.approx([costs[0]] * len(costs)), views
    # Batches that the compiler does not take together (fewer than 51) fill tiles of their own.
    apart, together = (model.cost(product(lead, columns)) for lead in ((25, 20), (500,)))
    assert together <= apart < 50 / 32 * together + 1e-9


def test_all_rows_in_tiles_are_one_matrix_to_conversions() -> None:
    device = ASCEND._device
    assert device.padded(ROWS, f32(250, 2, 300)) == device.padded(MATRICES, f32(500, 300))
    assert device.padded(MATRICES, f32(250, 2, 300)) == 250 * 16 * 304 * 2
    assert device.padded(ROWS, f32(1, 1, 300)) is None

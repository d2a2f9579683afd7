"""A model with free sizes is priced like the same model with those sizes in its file."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from dynamic_prices import MOST, compared
from fixed_points import COSTS
from model_files import trained_models
from onnx import parser

DYNAMIC = ("ch_PP-OCRv4_det_infer", "ch_PP-OCRv4_rec_infer", "silero_vad_op18_ifless")

POOLED = """<ir_version: 8, opset_import: ["" : 17]>
pooled (float[N, 4, height, width] x) => (float[N, 4] y) {
    p = AveragePool <kernel_shape = [200, 2], strides = [200, 2]> (x)
    r = Relu (p)
    y = ReduceMean <axes = [2, 3], keepdims = 0> (r)
}"""


def test_a_window_is_not_longer_than_what_it_slides_along(tmp_path: Path) -> None:
    path = tmp_path / "pooled.onnx"
    onnx.save(parser.parse_model(POOLED), path)
    (found,) = compared(path, ["flops"]).values()
    assert found.difference <= MOST
    assert found.free["p"] > 0


@pytest.mark.parametrize("name", DYNAMIC)
def test_trained_models_with_free_sizes_are_priced_as_with_fixed_ones(name: str) -> None:
    path = next((path for path in trained_models().values() if path.stem == name), None)
    if path is None:
        pytest.skip("it is not installed")
    found = compared(path, COSTS.split(","))
    assert len(found) == 4
    assert {cost: both.difference for cost, both in found.items() if both.difference > MOST} == {}

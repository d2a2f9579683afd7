"""A result that is optimised again stays as it is, down to the names of its values and its constants."""

from __future__ import annotations

import onnx
import pytest
from model_files import trained_models

from egraph_opt import optimize

COSTS = ("nodes", "flops", "bytes", "ascend")
MODELS = {
    n: p for n, p in trained_models().items() if n.endswith(("16k_sequence.onnx", "standard_v3_3.onnx"))
}


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("name", MODELS)
def test_a_second_optimisation_of_a_trained_model_changes_nothing(name: str, cost: str) -> None:
    once = optimize(MODELS[name], cost, verify=False)
    again = optimize(once.model, cost, verify=False)
    assert again.report.status == "unchanged", again.report.cost
    assert [t.name for t in again.model.graph.initializer] == [t.name for t in once.model.graph.initializer]


def test_axes_that_a_law_writes_are_those_that_are_there() -> None:
    model = onnx.parser.parse_model("""<ir_version: 9, opset_import: ["": 17]>
        g (float[2,3,1,4] x) => (float[?,?,?] y, float[?,?,?] z)
        <int64[3] dims = {2, 3, 4}, int64[1] axes = {2}> {
            r = Relu(x)
            y = Reshape(r, dims)
            t = Abs(x)
            z = Squeeze(t, axes)
        }""")
    result = optimize(model)
    assert len(result.model.graph.initializer) == 1
    assert optimize(result.model).report.status == "unchanged"

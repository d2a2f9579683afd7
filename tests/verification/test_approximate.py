"""Where values may differ: how far they do is reported, and all the rest is still an error."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from egraph_opt.verification import verify


def scaled(
    factor: float, *, op_type: str = "Mul", dims=("N", 4), to: int = TensorProto.FLOAT
) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, list(dims))
    y = helper.make_tensor_value_info("y", to, None)
    c = numpy_helper.from_array(np.array([factor], np.float32), "c")
    nodes = [helper.make_node(op_type, ["x", "c"], ["m"]), helper.make_node("Cast", ["m"], ["y"], to=to)]
    graph = helper.make_graph(nodes, "g", [x], [y], [c])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_values_that_differ_are_measured() -> None:
    verdict = verify(scaled(1.0), scaled(1.5), approximate=True)
    assert verdict.status == "approximate"
    assert verdict.max_abs_error > 0.3
    assert "values differ" in verdict.detail and "'y'" in verdict.detail
    assert verdict.to_dict()["status"] == "approximate"


def test_values_that_agree_pass_all_the_same() -> None:
    verdict = verify(scaled(1.5), scaled(1.5), approximate=True)
    assert verdict.status == "passed" and verdict.max_abs_error == 0


def test_nobody_asked_for_it() -> None:
    assert verify(scaled(1.0), scaled(1.5)).status == "failed"


def test_integers_may_differ_too() -> None:
    verdict = verify(scaled(3.0, to=TensorProto.INT64), scaled(4.0, to=TensorProto.INT64), approximate=True)
    assert verdict.status == "approximate"


@pytest.mark.parametrize(
    "other",
    [scaled(1.0, to=TensorProto.DOUBLE), scaled(1.0, dims=("N", 5)), scaled(1.0, op_type="NoSuchOperator")],
    ids=["type", "shape", "operator"],
)
def test_everything_else_has_to_be_right(other: onnx.ModelProto) -> None:
    assert verify(scaled(1.0), other, approximate=True).status == "failed"


def test_a_shape_that_changes_inside_is_no_value() -> None:
    wide = scaled(1.0)
    wide.graph.node[1].op_type = "Concat"
    del wide.graph.node[1].attribute[:]
    wide.graph.node[1].attribute.append(helper.make_attribute("axis", 1))
    wide.graph.node[1].input.append("m")
    verdict = verify(scaled(1.0), wide, approximate=True)
    assert verdict.status == "failed" and "shape" in verdict.detail

"""A model that leaves out an operand which its operator needs does not run, and ends no process."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import parser

from egraph_opt import optimize
from egraph_opt.model.left_out import lacks_an_operand
from egraph_opt.verification.execution import ExecutionError, Session, load

HEAD = '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y)'


def graph(text: str) -> onnx.ModelProto:
    return parser.parse_model(f"{HEAD} {{ {text} }}")


def without_second(text: str) -> onnx.ModelProto:
    """The parser has no way to leave out an operand."""
    model = graph(text)
    model.graph.node[0].input[1] = ""
    return model


@pytest.mark.parametrize("text", ["y = Max(x, x)", "y = Add(x, x)", "y = Sum(x, x, x)"])
def test_what_an_operator_needs_is_missed(text: str) -> None:
    model = without_second(text)
    assert lacks_an_operand(model.graph.node[0])
    with pytest.raises(ExecutionError, match="lacks an operand"):
        Session(load(model))
    report = optimize(model).report
    assert str(report.status) == "unchanged"
    assert "lacks an operand" in str(report)


def test_what_may_be_left_out_is_not_missed() -> None:
    model = without_second("y = Clip(x, x)")
    assert not lacks_an_operand(model.graph.node[0])
    assert len(Session(load(model)).run({"x": np.ones(2, np.float32)})) == 1

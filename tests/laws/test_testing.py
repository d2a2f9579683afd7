"""What authors of laws call: everything about a law at once, and whole models."""

from __future__ import annotations

import onnx
import pytest
from onnx import parser

from egraph_opt.laws import Law, Tensor, law, relu, rewrite
from egraph_opt.laws.law import registered
from egraph_opt.laws.selection import all_laws
from egraph_opt.testing import assert_sound, check_law, equal_graphs

HEADER = '<ir_version: 8, opset_import: ["" : 17]>'
MODEL = HEADER + "g (float[2, 3] x) => (float[2, 3] y) { a = Relu (x) b = Relu (a) y = Neg (b) }"


def law_named(key: str) -> Law:
    (found,) = (entry for entry in all_laws() if entry.key == key)
    return found


def test_a_law_is_checked_as_a_whole() -> None:
    report = check_law(law_named("transpose.through_unary"))
    assert report.drawn and report.checks and not report.unexampled
    assert "transpose.through_unary" in str(report)


def test_a_wrong_law_is_refused() -> None:
    @law("testing_of_testing", numerics="bitwise")
    def forgets(x: Tensor):
        """Relu(x) = x"""
        yield rewrite(relu(x), x, because="wrong")

    try:
        with pytest.raises(AssertionError):
            check_law(forgets)
    finally:
        del registered[forgets.key]


def test_graphs_are_equal_whatever_the_names() -> None:
    one = parser.parse_model(MODEL)
    other = parser.parse_model(MODEL.replace("a ", "first ").replace("(a)", "(first)"))
    third = parser.parse_model(MODEL.replace("Neg", "Abs"))
    assert equal_graphs(one, other) and not equal_graphs(one, third)


def test_a_model_is_optimised_compared_and_left_alone() -> None:
    result = assert_sound(parser.parse_model(MODEL))
    assert [node.op_type for node in result.model.graph.node] == ["Relu", "Neg"]
    assert isinstance(result.model, onnx.ModelProto)

"""All that makes two models compute differently is a difference that `diff` says."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest
from onnx import ModelProto, numpy_helper, parser

from egraph_opt.pipeline.compared_models import compared, compared_page
from egraph_opt.report.explanation import Explanation

HEAD = '<ir_version: 8, opset_import: ["" : {}]>\n'
TWO = "g (float[2] x, float[2] z) => (float[2] y, float[2] u) { y = Relu(x) u = Exp(z) }"
DEFAULT = "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(x, w) }"
FUNCTION = """<ir_version: 8, opset_import: ["" : 17, "loc" : 1]>
g (float[2] x) => (float[2] y) { y = loc.F(x) }
<domain: "loc", opset_import: ["" : 17]> F <k: float = 2.0>(a) => (b) {
    c = Constant<value = float {1.0}>() d = Constant<value_float = @k>() e = Mul(a, d) b = Add(e, c) }"""
BRANCHES = """g (bool c, float[2] x) => (float[2] y, float[2] z) {
    [choose] y, z = If (c) <then_branch = t () => (float[2] p, float[2] q) { p = Neg(x) q = Exp(x) },
                            else_branch = e () => (float[2] r, float[2] s) { r = Relu(x) s = Abs(x) }> }"""
WEIGHT = "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(x, w) }"
CAPTURED = """g (bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
    y = If (c) <then_branch = t () => (float[2] p) { p = Mul(x, w) },
                else_branch = e () => (float[2] q) { q = Relu(x) }> }"""
NEW = "g (float[2] x) => (float[2] y, float[2] v) { y = Relu(x) v = Neg(x) }"


def model(text: str, opset: int = 17) -> ir.Model:
    return ir.from_proto(parser.parse_model(text if text[0] == "<" else HEAD.format(opset) + text))


def diff(before: str, after: str) -> Explanation:
    return compared(model(before), model(after))


@pytest.mark.parametrize(
    ("before", "old", "new", "said"),
    [
        (TWO, "float[2] x", "float[N] x", "input x: float32[2] -> float32[N]"),
        (TWO, "float[2] x", "float16[2] x", "input x: float32[2] -> float16[2]"),
        (TWO, "float[2] x", "seq(float[2]) x", "input x: float32[2] -> Sequence(Tensor(FLOAT)) float32"),
        (TWO, "(float[2] y, float[2] u)", "(float[2] u, float[2] y)", "outputs: y, u -> u, y"),
        (TWO, "float[2] x, float[2] z", "float[2] z, float[2] x", "inputs: x, z -> z, x"),
        (
            DEFAULT,
            "{1, 2}",
            "{1, 4}",
            "default of input w: float32[2], 1 of 2 elements changed, by at most 2",
        ),
        (DEFAULT, "<float[2] w = {1, 2}>", "", "default of input w: given -> none"),
        (FUNCTION, "{1.0}", "{3.0}", "with c: float32[], 1 of 1 element changed, by at most 2"),
        (FUNCTION, "Mul(a, d)", "Div(a, d)", "e = Div(a, d)"),
        (FUNCTION, "k: float = 2.0", "k: float = 3.0", "attribute k of function loc.F: another default"),
        (FUNCTION, '["" : 17]> F', '["" : 15]> F', "opset of ai.onnx of function loc.F: 17 -> 15"),
        (BRANCHES, "(float[2] p, float[2] q)", "(float[2] q, float[2] p)", "outputs in choose: p, q -> q, p"),
        (WEIGHT, "{1, 2}", "{1, 2.5}", "with w: float32[2], 1 of 2 elements changed, by at most 0.5"),
        (WEIGHT, "float[2] w = {1, 2}", "float[1,2] w = {1, 2}", "with w: float32[2] -> float32[1, 2]"),
        (CAPTURED, "{1, 2}", "{5, 2}", "with w: float32[2], 1 of 2 elements changed, by at most 4"),
        (NEW, ", float[2] v)", ")", "outputs: y, v -> y"),
        (
            "g (float[2] x) => (float[2] y, float[2] v) <float[2] v = {1, 2}> { y = Relu(x) }",
            "{1, 2}",
            "{1, 3}",
            "output v: float32[2], 1 of 2 elements changed, by at most 1",
        ),
    ],
)
def test_what_computes_differently_is_a_difference(before: str, old: str, new: str, said: str) -> None:
    assert before.count(old) == 1
    found = diff(before, before.replace(old, new))
    assert said in " ".join(str(found).split()), str(found)
    assert found.headline.split("; ")[1][0] != "0"
    assert diff(before, before).headline.endswith("; 0 differences")


def test_another_opset_is_a_difference() -> None:
    found = compared(model(TWO), model(TWO, 15))
    assert (found.around, found.differences) == (("opset of ai.onnx: 17 -> 15",), ())
    page = compared_page("two", model(TWO), model(TWO, 15))
    assert "<h2>1 difference," in page
    assert "opset of ai.onnx: 17 -&gt; 15" in page


def test_an_output_of_one_model_only_is_called_so() -> None:
    assert diff(NEW.replace(", float[2] v)", ")").replace("v = Neg(x)", ""), NEW).differences[0].heading == (
        "output v of one model only"
    )


def test_values_that_are_no_numbers_are_counted_apart() -> None:
    def of(*values: float) -> ModelProto:
        made = parser.parse_model(HEAD.format(17) + WEIGHT.replace("<float[2] w = {1, 2}>", ""))
        made.graph.initializer.append(numpy_helper.from_array(np.array(values, np.float32), "w"))
        return made

    one, other = ir.from_proto(of(1, np.nan)), ir.from_proto(of(np.inf, np.nan))
    assert "1 of 2 elements changed, 1 of them to or from NaN or infinity" in " ".join(
        str(compared(one, other)).split()
    )
    zeros = compared(ir.from_proto(of(0.0, 1)), ir.from_proto(of(-0.0, 1)))
    assert "the same values in other bits" in str(zeros)


def test_long_attributes_of_nodes_of_the_same_text_are_named() -> None:
    text = "g (float[2] x) => (float[9] y) {{ y = loc.Table<values = [0, 1, 2, 3, 4, 5, 6, 7, {}]>(x) }}"
    head = '<ir_version: 8, opset_import: ["" : 17, "loc" : 1]>\n'
    found = diff(head + text.format(8), head + text.format(9))
    assert "with attribute values of y: other elements" in str(found)

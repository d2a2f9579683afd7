"""Why a result is equal to its model: the regions, the laws, and what each saves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper, parser

from egraph_opt import optimize, saturate
from egraph_opt.errors import UnknownTensorError
from egraph_opt.pipeline.result import Result
from egraph_opt.report.explanation import NO_LAW, NOT_RECORDED, Explanation

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'

IMAGE = "g (float[1,1,4,4] x) => (float[1,1,4,4] y)"


def optimized(text: str, cost: str = "nodes") -> Result:
    return optimize(parser.parse_model(HEAD + text), cost, verify=False)


CASES = {
    "two transposes cancel": (
        """g (float[2,3,4] x) => (float[2,3,4] y) {
        t = Transpose<perm = [0, 2, 1]>(x) u = Transpose<perm = [0, 2, 1]>(t) y = Exp(u) }""",
        "u",
        ["~transpose.compose_transposes"],
    ),
    "a function between them is in the way": (
        """g (float[2,3,4] x) => (float[2,3,4] y) {
        t = Transpose<perm = [0, 2, 1]>(x) r = Relu(t) y = Transpose<perm = [0, 2, 1]>(r) }""",
        "y",
        ["transpose.through_unary", "~transpose.compose_transposes"],
    ),
    "a scale behind a convolution": (
        IMAGE + "<float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}, float k = {2}>"
        "{ c = Conv<pads = [1, 1, 1, 1]>(x, w) y = Mul(c, k) }",
        "y",
        ["convolution.scale_after_conv"],
    ),
    "a normalisation behind a convolution": (
        IMAGE
        + """<float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}, float[1] s = {2}, float[1] b = {1},
        float[1] m = {0.5}, float[1] v = {4}>
        { c = Conv<pads = [1, 1, 1, 1]>(x, w) y = BatchNormalization(c, s, b, m, v) }""",
        "y",
        ["convolution.shift_after_conv", "convolution.scale_after_conv", "batchnorm.expand_batchnorm"],
    ),
    "zero is added": (
        "g (float[2,3] x) => (float[2,3] y) <float k = {0}> { a = Add(x, k) y = Exp(a) }",
        "a",
        ["~elementwise.zero_added"],
    ),
    "two reshapes in a row": (
        """g (float[2,3,4] x) => (float[24] y) <int64[2] a = {6, 4}, int64[1] b = {24}> {
        r = Reshape(x, a) y = Reshape(r, b) }""",
        "y",
        ["reshape.compose_reshapes"],
    ),
    "a bound that holds already": (
        "g (float[2,3] x) => (float[2,3] y) { r = Exp(x) y = Relu(r) }",
        "y",
        ["~intervals.idle_functions"],
    ),
    "a function that undoes itself": (
        "g (float[2,3] x) => (float[2,3] y) { r = Neg(x) s = Neg(r) y = Exp(s) }",
        "s",
        ["~elementwise.involution"],
    ),
    "two slices in a row": (
        """g (float[8,3] x) => (float[2,3] y)
        <int64[1] a = {2}, int64[1] b = {6}, int64[1] c = {1}, int64[1] d = {3}, int64[1] z = {0}>
        { r = Slice(x, a, b, z) y = Slice(r, c, d, z) }""",
        "y",
        ["slice.compose"],
    ),
    "what was cut is joined again": (
        """g (float[8,3] x) => (float[8,3] y)
        <int64[1] a = {0}, int64[1] b = {4}, int64[1] c = {8}, int64[1] z = {0}>
        { r = Slice(x, a, b, z) s = Slice(x, b, c, z) t = Concat<axis = 0>(r, s) y = Exp(t) }""",
        "t",
        ["~concat.join_slices"],
    ),
    "a pad in front of a convolution": (
        """g (float[1,1,4,4] x) => (float[1,1,4,4] y)
        <float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}, int64[8] p = {0,0,1,1,0,0,1,1}>
        { c = Pad(x, p) y = Conv(c, w) }""",
        "y",
        ["padding.pad_into_conv"],
    ),
    "a bias behind a product": (
        """g (float[2,3] x) => (float[2,2] y) <float[3,2] w = {1,2,3,4,5,6}, float[2] b = {1, 2}> {
        c = MatMul(x, w) y = Add(c, b) }""",
        "y",
        ["gemm.product_and_sum"],
    ),
}
"""By what is there: a model, the tensor that is computed otherwise, the laws, inferred ones with a `~`."""


@pytest.mark.parametrize("case", CASES)
def test_the_laws_of_a_difference_are_the_right_ones(case: str) -> None:
    text, tensor, laws = CASES[case]
    result = optimized(text)
    (difference,) = result.explain().differences
    assert difference.gives == (tensor,)
    assert sorted(f"{'' if law.recorded else '~'}{law.key}" for law in difference.laws) == sorted(laws)
    assert difference.saved == result.report.cost.before - result.report.cost.after


def test_equal_nodes_need_no_law() -> None:
    explanation = optimized(
        "g (float[4] x) => (float[4] y) { a = Exp(x) b = Exp(x) y = Add(a, b) }"
    ).explain()
    (difference,) = explanation.differences
    assert (difference.laws, difference.saved, explanation.kept) == ((), 1, 2)
    assert NO_LAW in str(explanation)


def test_one_node_is_explained_with_what_else_it_could_be(heads: ModelProto) -> None:
    explanation = saturate(heads).explain("nodes", "query")
    (difference,) = explanation.differences
    assert set(difference.gives) == {"q", "k", "v"}
    assert next(law.key for law in difference.laws if law.recorded).startswith("horizontal.")
    assert difference.next_best is not None
    assert difference.next_best.difference >= 0
    lines = explanation.lines()
    assert all(len(line) <= 80 for line in lines)
    assert any("next best" in line for line in lines)


def test_what_is_as_it_was_is_said_and_what_is_not_there_is_an_error(heads: ModelProto) -> None:
    result = optimize(heads, verify=False)
    assert "a is computed as in the model" in str(result.explain("a"))
    with pytest.raises(UnknownTensorError, match="did you mean 'query'"):
        result.explain("qeury")


def test_a_model_without_anything_to_gain_has_no_difference() -> None:
    explanation = optimized("g (float[4] x) => (float[4] y) { y = Exp(x) }").explain()
    assert (explanation.differences, explanation.kept) == ((), 1)


CHAIN = """g (float[1,8,16,16] x) => (float[1,8,16,16] y) {
    c = Conv<pads = [1, 1, 1, 1]>(x, w) r = Relu(c) m = Mul(r, k)
    d = Conv<pads = [1, 1, 1, 1]>(m, w) s = Add(d, x) y = Relu(s) }"""


def accounted(explanation: Explanation) -> float:
    return math.fsum(entry.saved for entry in explanation.differences) + explanation.repriced


def test_what_differences_save_is_what_the_report_says_under_a_target_that_fuses() -> None:
    model = parser.parse_model(HEAD + CHAIN)
    weight = np.random.default_rng(0).normal(size=(8, 8, 3, 3)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    model.graph.initializer.append(numpy_helper.from_array(np.array(2, np.float32), "k"))
    result = optimize(model, "ascend", verify=False)
    explanation, cost = result.explain(), result.report.cost
    assert accounted(explanation) == pytest.approx(cost.before - cost.after)
    assert explanation.differences[0].saved <= cost.before
    saved = math.fsum(law.saved for law in result.report.rewrites)
    assert saved <= cost.before - cost.after + 1e-6


BRANCH = """g (float[2] x, bool c) => (float[2] y) {
    y = If (c) <then_branch = t () => (float[2] p) { a = Neg(x) p = Neg(a) },
                else_branch = e () => (float[2] q) { q = Exp(x) }> }"""


def test_a_branch_that_hands_on_a_tensor_rests_on_the_law_that_found_it() -> None:
    explanation = optimized(BRANCH).explain()
    (difference,) = explanation.differences
    assert (difference.within, [law.key for law in difference.laws]) == (
        ("If of y",),
        ["elementwise.involution"],
    )
    assert NO_LAW not in str(explanation)


def test_weights_are_part_of_the_difference_that_reads_them() -> None:
    result = optimized(CASES["a scale behind a convolution"][0])
    for name in ("w", "k", "w.folded"):
        assert [entry.gives for entry in result.explain(name).differences] == [("y",)]
    assert "x is an input of the model" in str(result.explain("x"))
    kept = optimized("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(x, w) }")
    assert "w is a constant of the model, as it was" in str(kept.explain("w"))


def test_names_that_break_lines_are_escaped() -> None:
    model = parser.parse_model(HEAD + "g (float[4] x) => (float[4] y) { a = Neg(x) b = Neg(a) y = Exp(b) }")
    model.graph.node[0].output[0] = model.graph.node[1].input[0] = "a\n<b>"
    text = str(optimize(model, verify=False).explain())
    assert "a\\n<b> = Neg(x)" in text
    assert NOT_RECORDED.split(";")[0] in text

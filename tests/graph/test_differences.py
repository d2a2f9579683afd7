"""Where two graphs differ: by names, by what is computed, and by what is in constants."""

from __future__ import annotations

import onnx_ir as ir
from onnx import parser

from egraph_opt.graph.differences import GraphDifference, differences

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'


def found(before: str, after: str, **same: str) -> list[GraphDifference]:
    a, b = (ir.from_proto(parser.parse_model(HEAD + text)) for text in (before, after))
    return list(differences(a, b, same).found)


def as_names(difference: GraphDifference) -> tuple[list[str], list[str], tuple[str, ...]]:
    before, after = (
        [str(node.outputs[0].name) for node in side] for side in (difference.before, difference.after)
    )
    return before, after, difference.gives


TWO = """g (float[4] x) => (float[4] y, float[4] z) <float[4] w = {1, 2, 3, 4}> {
    a = Neg(x) b = Add(a, w) y = Relu(b) c = Exp(x) z = Tanh(c) }"""


def test_regions_lie_between_tensors_that_both_have() -> None:
    after = """g (float[4] x) => (float[4] y, float[4] z) <float[4] w = {1, 2, 3, 4}> {
        n = Sub(w, x) y = Relu(n) z = Atan(x) }"""
    assert [as_names(entry) for entry in found(TWO, after)] == [
        (["a", "b", "y"], ["n", "y"], ("y",)),
        (["c", "z"], ["z"], ("z",)),
    ]


def test_names_do_not_count_where_the_same_is_computed() -> None:
    after = """g (float[4] x) => (float[4] y, float[4] z) <float[4] v = {1, 2, 3, 4}> {
        p = Neg(x) q = Add(p, v) y = Relu(q) c = Exp(x) z = Tanh(c) }"""
    assert found(TWO, after) == []


def test_a_default_that_is_written_out_is_no_difference() -> None:
    model = "g (float[1,2,4,4] x, float[2,2,1,1] w) => (float[1,2,4,4] y) {{ y = Conv<{}>(x, w) }}"
    said = "kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], group = 1"
    assert found(model.format("group = 1"), model.format(said)) == []
    (changed,) = found(model.format("group = 1"), model.format("pads = [0, 0, 0, 0], group = 2"))
    assert as_names(changed) == (["y"], ["y"], ("y",))


def test_constants_go_by_what_is_in_them() -> None:
    after = TWO.replace("{1, 2, 3, 4}", "{1, 2, 3, 5}")
    assert [as_names(entry) for entry in found(TWO, after)] == [(["b"], ["b"], ("b",))]


def test_what_was_computed_may_be_a_constant_now() -> None:
    before = """g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> {
        n = Neg(w) y = Add(x, n) }"""
    after = "g (float[4] x) => (float[4] y) <float[4] n = {-1, -2, -3, -4}> { y = Add(x, n) }"
    assert [as_names(entry) for entry in found(before, after)] == [(["n"], [], ("n",))]


def test_equal_nodes_that_became_one_are_a_difference_of_their_own() -> None:
    before = "g (float[4] x) => (float[4] y) { a = Exp(x) b = Exp(x) y = Add(a, b) }"
    after = "g (float[4] x) => (float[4] y) { a = Exp(x) y = Add(a, a) }"
    assert [as_names(entry) for entry in found(before, after)] == [(["b"], [], ("b",))]


def test_tensors_that_are_known_to_be_the_same_are_not_followed_further() -> None:
    before = "g (float[4] x) => (float[4] y) { a = Neg(x) b = Neg(a) y = Exp(b) }"
    after = "g (float[4] x) => (float[4] y) { y = Exp(x) }"
    assert [as_names(entry) for entry in found(before, after)] == [(["a", "b", "y"], ["y"], ("y",))]


def test_bodies_are_compared_within_their_node() -> None:
    text = """g (bool c, float[2] x) => (float[2] y) {{
        [choose] y = If (c) <then_branch = t () => (float[2] p) {{ {} }},
                             else_branch = e () => (float[2] q) {{ q = Relu(x) }}> }}"""
    (difference,) = found(text.format("n = Neg(x) p = Neg(n)"), text.format("p = Identity(x)"))
    assert difference.within == ("choose",)
    assert as_names(difference) == (["n", "p"], ["p"], ("p",))

"""Names, functions, domains, opsets and weights that are unusual go through, with laws and without."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from egraph_opt import optimize

from .odd_graphs import BOTH, parsed, survives, tensor


@BOTH
def test_duplicate_node_names(rewrites: list[str] | None) -> None:
    model = parsed("g (float[2] x) => (float[2] y) { a = Neg(x) b = Exp(a) y = Sin(b) }")
    for node in model.graph.node:
        node.name = "same"
    result = optimize(model, "nodes", rewrites=rewrites, strict=True)
    assert result.report.verification.status == "not_comparable", "onnxruntime refuses such models"
    assert [node.op_type for node in result.model.graph.node] == ["Neg", "Exp", "Sin"]


@BOTH
def test_a_custom_domain_is_kept_with_a_warning(rewrites: list[str] | None) -> None:
    model = parsed("""g (float[2] x) => (float[2] y) {
        a = Neg(x) b, c = my.own.Thing<k = 3>(a, , x) d = Identity(b) y = Add(d, c) }""")
    model.opset_import.add(domain="my.own", version=2)
    result = optimize(model, "nodes", rewrites=rewrites, strict=True)
    (kept,) = [node for node in result.model.graph.node if node.domain == "my.own"]
    assert (list(kept.input), list(kept.output)) == (["a", "", "x"], ["b", "c"])
    assert result.report.verification.status == "not_comparable"
    assert any("not compared" in warning for warning in result.report.warnings)
    assert len(result.model.graph.node) == 3


def test_equal_nodes_of_a_custom_domain_are_not_shared() -> None:
    model = parsed("g (float[2] x) => (float[2] y) { a = my.own.Draw(x) b = my.own.Draw(x) y = Sub(a, b) }")
    model.opset_import.add(domain="my.own", version=2)
    result = optimize(model, "nodes")
    assert [node.op_type for node in result.model.graph.node].count("Draw") == 2


@BOTH
def test_stale_value_infos(rewrites: list[str] | None) -> None:
    model = parsed("g (float[2, 3] x) => (float[3, 2] y) { a = Neg(x) y = Transpose(a) }")
    model.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, [7, 9]))
    model.graph.value_info.append(helper.make_tensor_value_info("nowhere", TensorProto.FLOAT, [1]))
    result = optimize(model, "nodes", rewrites=rewrites)
    assert result.report.verification.status == "passed"
    assert any("'a'" in warning for warning in result.report.warnings)


def _with_functions(text: str) -> ModelProto:
    return onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17, "local": 1]>' + text)


@BOTH
def test_functions_of_another_opset_survive(rewrites: list[str] | None) -> None:
    model = _with_functions("""g (float[2] x) => (float[2] y) {
            a = local.twice<k = 3.0>(x) b = local.twice<k = 3.0>(x) c = Add(a, b) y = local.other(c) }
        <opset_import: ["": 16], domain: "local"> twice <k>(v) => (w) {
            f = Constant<value_float: float = @k>() w = Mul(v, f) }
        <opset_import: ["": 16, "local": 1], domain: "local"> other (v) => (w) {
            u = local.twice<k = 2.0>(v) w = Neg(u) }""")
    result = survives(model, rewrites)
    assert [f.name for f in result.model.functions] == ["twice", "other"]
    assert [node.op_type for node in result.model.graph.node] == ["twice", "Add", "other"]


@BOTH
def test_calls_of_functions_that_draw_are_not_shared(rewrites: list[str] | None) -> None:
    model = _with_functions("""g (float[2] x) => (float[2] y, float[2] z) {
            y = local.outer(x) z = local.outer(x) }
        <opset_import: ["": 16], domain: "local"> drawing (v) => (w) {
            r = RandomUniformLike(v) w = Add(v, r) }
        <opset_import: ["": 16, "local": 1], domain: "local"> outer (v) => (w) { w = local.drawing(v) }""")
    result = optimize(model, "nodes", rewrites=rewrites)
    assert [node.op_type for node in result.model.graph.node] == ["outer", "outer"]


@BOTH
def test_fresh_names_avoid_those_in_bodies(rewrites: list[str] | None) -> None:
    """Names like the ones that the optimiser hands out are taken, at the top and in bodies."""
    text = """g (bool c, float[2] x) => (float[2] constant_0, float[2] identity_0, float[2] y) {
        constant_1 = Constant<value_floats = [1.0, 2.0]>()
        constant_0 = Neg(constant_1)
        identity_0 = Identity(x)
        folded_0 = Relu(x)
        y = If (c) <then_branch = t () => (float[2] unused_0) {
                        relu_0 = Relu(folded_0) unused_0 = Add(relu_0, constant_1) },
                    else_branch = e () => (float[2] output_0) {
                        constant_2 = Constant<value_floats=[3.0, 4.0]>()
                        shape_0 = Neg(constant_2) output_0 = Mul(shape_0, x) }> }"""
    survives(parsed(text), rewrites)


@BOTH
@pytest.mark.parametrize("opset", [7, 8, 9, 10, 11, 13, 18, 21, 23])
def test_opsets(opset: int, rewrites: list[str] | None) -> None:
    """One network in the words of each opset: axes and sizes are attributes first, operands later."""
    late = opset >= 13
    axes = "" if late else "<axes = [0]>"
    operand = ", zero" if late else ""
    cut = "<starts = [1], ends = [3], axes = [1]>(n)" if opset < 10 else "(n, one, three, one)"
    parts = "<axis = 1, split = [1, 1]>(c)" if opset < 13 else "<axis = 1>(c, parts)"
    text = f"""g (float[1, 4, 5, 5] x) => (float[1, 1, 3, 3] y, float[3, 3] z, float[1, 18] f) {{
        k = Conv<kernel_shape = [3, 3]>(x, w)
        n = BatchNormalization<epsilon = 0.001>(k, s, b, m, v)
        c = Slice{cut}
        d = Dropout(c)
        y, q = Split{parts}
        t = Squeeze{axes}(q{operand})
        u = Squeeze{axes}(t{operand})
        z = Transpose(u)
        r = Relu(d)
        f = Flatten(r) }}"""
    random = np.random.default_rng(0)
    ints = {"zero": [0], "one": [1], "three": [3], "parts": [1, 1]}
    weights = [tensor(k, v, TensorProto.INT64) for k, v in ints.items() if opset >= 10]
    weights.append(tensor("w", random.normal(size=(4, 4, 3, 3))))
    weights += [tensor(name, random.uniform(0.5, 1.5, 4)) for name in "sbmv"]
    survives(parsed(text, *weights, opset=opset, ir_version=4 if opset < 9 else 8), rewrites)


@BOTH
def test_sparse_initializers(rewrites: list[str] | None) -> None:
    model = parsed("g (float[2, 3] x) => (float[2, 3] y) { a = Neg(x) y = Add(a, w) }")
    sparse = model.graph.sparse_initializer.add()
    sparse.values.CopyFrom(tensor("w", [1.5, -2.0]))
    sparse.indices.CopyFrom(tensor("", [1, 5], TensorProto.INT64))
    sparse.dims.extend([2, 3])
    result = survives(model, rewrites)
    assert len(result.model.graph.sparse_initializer) == 1
    described = {info.name for info in result.model.graph.value_info}
    assert "w" not in described, "its type would be that of a dense tensor"


@BOTH
def test_initializers_of_bodies(rewrites: list[str] | None) -> None:
    model = parsed("""g (bool c, float[2] x) => (float[2] y) {
        y = If (c) <then_branch = t () => (float[2] a) { n = Neg(w) a = Mul(x, n) },
                    else_branch = e () => (float[2] b) { b = Identity(u) }> }""")
    by_name = {attribute.name: attribute.g for attribute in model.graph.node[0].attribute}
    by_name["then_branch"].initializer.append(tensor("w", [1.0, 2.0]))
    by_name["else_branch"].initializer.append(tensor("u", [3.0, 2.0]))
    survives(model, rewrites)


@BOTH
def test_large_constant_outputs_are_written_once(rewrites: list[str] | None) -> None:
    model = parsed("g (float[600] x) => (float[600] y, float[600] z) { y = Identity(w) z = Add(x, w) }")
    model.graph.initializer.append(tensor("w", np.arange(600)))
    result = survives(model, rewrites)
    assert result.model.ByteSize() < 1.2 * model.ByteSize()


@BOTH
def test_unused_weights_go_and_unused_inputs_stay(rewrites: list[str] | None) -> None:
    model = parsed(
        "g (float[2] x, float[5] unused) => (float[2] y) { d = Neg(v) y = Neg(x) }", tensor("v", [1.0])
    )
    result = survives(model, rewrites)
    assert not result.model.graph.initializer
    assert [node.op_type for node in result.model.graph.node] == ["Neg"]


@BOTH
def test_a_random_operator_is_drawn_as_often_as_before(rewrites: list[str] | None) -> None:
    text = """g (float[2] x) => (float[2] y) {
        a = RandomNormalLike(x) b = RandomNormalLike(x) c = RandomNormal<shape = [2]>()
        d = Sub(a, b) y = Add(d, c) }"""
    result = optimize(parsed(text), "nodes", rewrites=rewrites, strict=True)
    assert len(result.model.graph.node) == 5


@BOTH
def test_names_of_values_and_nodes_stay(rewrites: list[str] | None) -> None:
    model = parsed("g (float[2, 3] x) => (float[3, 2] out) { [one] mid = Exp(x) [two] out = Transpose(mid) }")
    model.graph.doc_string = "what it is"
    model.graph.node[0].doc_string = "first"
    model.metadata_props.add(key="author", value="me")
    result = survives(model, rewrites)
    named = [(node.name, list(node.output), node.doc_string) for node in result.model.graph.node]
    assert named == [("one", ["mid"], "first"), ("two", ["out"], "")]
    assert (result.model.graph.doc_string, result.model.metadata_props[0].value) == ("what it is", "me")

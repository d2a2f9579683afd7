"""Graphs that are valid and unusual go through, with laws and without, and answer as before."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from .odd_graphs import BOTH, parsed, survives, tensor

BODIES = {
    "a branch captures a constant": """g (bool c, float[3] x) => (float[3] y) {
        two = Constant<value_floats=[2.0, 2.0, 2.0]>()
        y = If (c) <then_branch = t () => (float[3] a) { a = Mul(x, two) },
                    else_branch = e () => (float[3] b) { b = Add(x, two) }> }""",
    "a branch captures axes and shapes": """g (bool c, float[2, 3] x) => (float[6] y) {
        shape = Constant<value_ints=[-1]>()
        axes = Constant<value_ints=[0]>()
        y = If (c) <then_branch = t () => (float[6] a) { a = Reshape(x, shape) },
                    else_branch = e () => (float[6] b) {
                        u = Unsqueeze(x, axes) s = Squeeze(u, axes) f = Flatten(s)
                        b = Reshape(f, shape) }> }""",
    "a branch captures what folds": """g (bool c, float[3] x) => (float[3] y) {
        two = Constant<value_floats=[2.0, 3.0, 2.0]>()
        four = Mul(two, two)
        y = If (c) <then_branch = t () => (float[3] a) { f = Add(four, two) a = Mul(x, f) },
                    else_branch = e () => (float[3] b) { b = Add(x, four) }> }""",
    "branches are constants": """g (bool c) => (float[2] y) {
        y = If (c) <then_branch = t () => (float[2] a) { a = Constant<value_floats=[2.0, 3.0]>() },
                    else_branch = e () => (float[2] b) { b = Constant<value_floats=[4.0, 5.0]>() }> }""",
    "branches hand on captured values": """g (bool c, float[2] x) => (float[2] y) {
        two = Constant<value_floats=[2.0, 3.0]>()
        y = If (c) <then_branch = t () => (float[2] a) { a = Identity(x) },
                    else_branch = e () => (float[2] b) { b = Identity(two) }> }""",
    "a branch hands on one value twice": """g (bool c, float[2] x) => (float[2] y, float[2] z) {
        y, z = If (c) <then_branch = t () => (float[2] a, float[2] d) { a = Relu(x) d = Relu(x) },
                       else_branch = e () => (float[2] b, float[2] f) { b = Neg(x) f = Identity(b) }> }""",
    "an output of If is not used": """g (bool c, float[2] x) => (float[2] y) {
        y, unused = If (c) <then_branch = t () => (float[2] a, float[2] d) { a = Relu(x) d = Neg(x) },
                       else_branch = e () => (float[2] b, float[2] f) { b = Neg(x) f = Identity(b) }> }""",
    "nested branches capture from far": """g (bool c, bool d, float[2] x) => (float[2] y) {
        two = Constant<value_floats=[2.0, 3.0]>()
        r = Relu(x)
        y = If (c) <then_branch = t () => (float[2] a) {
                s = Sigmoid(r)
                a = If (d) <then_branch = tt () => (float[2] p) { p = Mul(s, two) },
                            else_branch = te () => (float[2] q) { q = Add(r, s) }> },
            else_branch = e () => (float[2] b) { b = Identity(r) }> }""",
    "branches use the same names": """g (bool c, float[2] x) => (float[2] y) {
        u = If (c) <then_branch = t () => (float[2] a) { m = Exp(x) a = Neg(m) },
                    else_branch = e () => (float[2] b) { n = Abs(x) b = Neg(n) }>
        y = If (c) <then_branch = t2 () => (float[2] a2) { m2 = Abs(u) a2 = Add(m2, m2) },
                    else_branch = e2 () => (float[2] b2) { b2 = Neg(u) }> }""",
    "a condition is constant": """g (float[2] x) => (float[2] y) {
        c = Constant<value = bool {1}>()
        y = If (c) <then_branch = t () => (float[2] a) { a = Neg(x) },
                    else_branch = e () => (float[2] b) { b = Abs(x) }> }""",
    "a loop carries and scans": """g (int64 n, float[2] x) => (float[2] y, float[k, 2] ys) {
        on = Constant<value = bool {1}>()
        two = Constant<value_floats=[2.0, 3.0]>()
        y, ys = Loop (n, on, x) <body = b (int64 i, bool ci, float[2] v) =>
                                          (bool co, float[2] w, float[2] s) {
            co = Identity(ci)
            w = Add(v, two)
            s = Identity(v) }> }""",
    "a loop scans what it captures": """g (int64 n, float[2] x) =>
            (float[2] y, float[k, 2] ys, float[k, 1] zs) {
        on = Constant<value = bool {1}>()
        y, ys, zs = Loop (n, on, x)
            <body = b (int64 i, bool ci, float[2] v) => (bool co, float[2] w, float[2] s, float[1] o) {
                co = Constant<value = bool {1}>()
                w = Neg(v)
                s = Identity(x)
                o = Constant<value_floats=[7.0]>() }> }""",
    "a loop changes the shape that it carries": """g (float[1] x) => (float[k] y) {
        on = Constant<value = bool {1}>()
        three = Constant<value = int64 {3}>()
        y = Loop (three, on, x) <body = b (int64 i, bool ci, float[d] v) => (bool co, float[e] w) {
            co = Identity(ci)
            w = Concat<axis=0>(v, v) }> }""",
    "a scan sums": """g (float[2] x, float[3, 2] xs) => (float[2] y, float[3, 2] ys) {
        y, ys = Scan<num_scan_inputs = 1, body = b (float[2] s, float[2] v) => (float[2] t, float[2] o) {
            t = Add(s, v)
            o = Identity(t) }>(x, xs) }""",
}


@BOTH
@pytest.mark.parametrize("name", BODIES)
def test_bodies(name: str, rewrites: list[str] | None) -> None:
    survives(parsed(BODIES[name]), rewrites)


def test_what_a_branch_captures_is_known_in_it() -> None:
    """Two Reshapes to captured shapes are one."""
    text = """g (bool c, float[2, 3] x) => (float[6] y) {
        there = Constant<value_ints=[3, 2]>()
        back = Constant<value_ints=[6]>()
        y = If (c) <then_branch = t () => (float[6] a) { r = Reshape(x, there) a = Reshape(r, back) },
                    else_branch = e () => (float[6] b) { n = Neg(x) b = Reshape(n, back) }> }"""
    assert survives(parsed(text)).report.nodes.runtime_after == 4


OUTPUTS = {
    "an input": "g (float[2] x, float[2] z) => (float[2] x, float[2] y) { y = Neg(z) }",
    "an identity of an input": "g (float[2] x) => (float[2] y) { y = Identity(x) }",
    "two identities of an input": """g (float[2] x) => (float[2] y, float[2] z) {
        y = Identity(x) z = Identity(y) }""",
    "a constant": "g (float[2] x) => (float[2] y) { y = Constant<value_floats = [1.0, 2.0]>() }",
    "what folds": """g (float[2] x) => (float[2] y, float[2] z) {
        c = Constant<value_floats = [1.0, 2.0]>() y = Neg(c) z = Add(x, y) }""",
    "what folds, twice": """g () => (float[2] y, float[2] z) {
        c = Constant<value_floats = [1.0, 2.0]>() y = Neg(c) z = Neg(c) }""",
    "one value under two names": "g (float[2] x) => (float[2] y, float[2] z) { y = Relu(x) z = Relu(x) }",
    "one value under two names, used": """g (float[2] x) => (float[2] y, float[2] z, float[2] w) {
        y = Relu(x) z = Identity(y) w = Neg(z) }""",
    "a consumed value": "g (float[2] x) => (float[2] y, float[2] z) { y = Relu(x) z = Neg(y) }",
    "a scalar": "g (float[2, 3] x) => (float y) { y = ReduceSum<keepdims = 0>(x) }",
    "a scalar constant": "g () => (float y) { c = Constant<value_float = 2.0>() y = Neg(c) }",
    "empty": """g (float[0, 3] x) => (float[0, 3] y, float[3] z) {
        y = Neg(x) z = ReduceSum<keepdims=0>(x, axis) }""",
    "empty optional outputs": """g (float[1, 3, 4, 4] x) => (float[1, 3, 2, 2] y, int64[4] inverse) {
        y, gone = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)
        flat = Constant<value_floats = [1.0, 3.0, 1.0, 2.0]>()
        u, gone, inverse, gone = Unique(flat) }""",
    "all outputs of a split": """g (float[6] x) => (float[2] a, float[2] b, float[2] c) {
        a, b, c = Split(x) }""",
    "the second of a split": """g (float[6] x) => (float[2] b) { a, b, c = Split(x) }""",
}


@BOTH
@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs(name: str, rewrites: list[str] | None) -> None:
    text = OUTPUTS[name]
    opset = 12 if "Split" in text else 17
    model = parsed(text, opset=opset)
    if name == "empty":
        model.graph.initializer.append(tensor("axis", [0], TensorProto.INT64))
    for node in model.graph.node:
        for k, value in enumerate(node.output):
            node.output[k] = value.replace("gone", "")
    survives(model, rewrites)


@BOTH
@pytest.mark.parametrize("ir_version", [3, 4, 8])
def test_initializers_that_are_inputs_and_outputs(ir_version: int, rewrites: list[str] | None) -> None:
    text = """g (float[2] x, float[2] w, float[2] unused) => (float[2] y, float[2] w) {
        f = Exp(w) y = Add(x, f) }"""
    weights = [tensor(name, [1.0, -2.0]) for name in ("w", "unused")]
    result = survives(parsed(text, *weights, ir_version=ir_version, opset=9), rewrites)
    assert [t.name for t in result.model.graph.initializer if t.name in ("w", "unused")] == ["w", "unused"]
    folded = "Exp" not in [node.op_type for node in result.model.graph.node]
    assert folded == (ir_version < 4), "a default is no constant: callers may override it"
    if ir_version < 4:
        inputs = {info.name for info in result.model.graph.input}
        assert {t.name for t in result.model.graph.initializer} <= inputs


@BOTH
def test_an_initializer_that_is_an_output(rewrites: list[str] | None) -> None:
    model = parsed("g (float[2] x) => (float[2] y, float[2] w) { y = Add(x, w) }", tensor("w", [1, 2]))
    survives(model, rewrites)


@BOTH
def test_a_model_without_nodes(rewrites: list[str] | None) -> None:
    survives(parsed("g (float[2] x, int64 unused) => (float[2] x) { }"), rewrites)


SPECIAL = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e-45, 1.5, -2.0]


@BOTH
@pytest.mark.parametrize(
    "dtype",
    [
        TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16,
        TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2,
    ],
    ids=lambda d: TensorProto.DataType.Name(d),
)  # fmt: skip
def test_special_numbers_in_constants(dtype: int, rewrites: list[str] | None) -> None:
    """-0.0, NaN, infinities and subnormals keep their bits, alone and in every element."""
    pieces = {"all": SPECIAL} | {f"c{k}": [v] * 3 for k, v in enumerate(SPECIAL)}
    nodes = [helper.make_node("Identity", [f"w_{name}"], [name]) for name in pieces]
    nodes.append(helper.make_node("Neg", ["x"], ["y"]))
    outputs = [helper.make_tensor_value_info(name, dtype, [len(v)]) for name, v in pieces.items()]
    vector = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    answer = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    weights = []
    for name, values in pieces.items():
        array = np.array(values, np.float32).astype(helper.tensor_dtype_to_np_dtype(dtype))
        weights.append(onnx.numpy_helper.from_array(array, f"w_{name}"))
    graph = helper.make_graph(nodes, "g", [vector], [*outputs, answer], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    result = survives(model, rewrites)
    found = {t.name: onnx.numpy_helper.to_array(t).tobytes() for t in result.model.graph.initializer}
    for node in result.model.graph.node:
        if node.op_type == "Constant":
            found[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t).tobytes()
        elif node.op_type == "Identity":
            found[node.output[0]] = found[node.input[0]]
    for weight in weights:
        name = weight.name.removeprefix("w_")
        assert found[name] == onnx.numpy_helper.to_array(weight).tobytes(), name


@BOTH
def test_splats_of_minus_zero_and_nan_are_not_zero(rewrites: list[str] | None) -> None:
    text = """g (float[2] x) => (float[2] a, float[2] b, float[2] c, float[2] d) {
        ones = Constant<value_floats = [1.0, 1.0]>()
        big = Mul(x, zero)
        a = Div(ones, minus)
        b = Add(x, minus)
        c = Add(x, nan)
        d = Add(x, zero) }"""
    weights = [tensor("minus", [-0.0, -0.0]), tensor("zero", [0.0, 0.0]), tensor("nan", [float("nan")] * 2)]
    survives(parsed(text, *weights), rewrites)


@BOTH
@pytest.mark.parametrize("dtype", [TensorProto.INT4, TensorProto.UINT4], ids=["int4", "uint4"])
def test_packed_weights_of_a_dequantisation(dtype: int, rewrites: list[str] | None) -> None:
    weight = helper.make_tensor("w", dtype, [5], [1, 2, 3, 4, 7])
    text = "g (float[5] x) => (float[5] y) { d = DequantizeLinear(w, s) y = Mul(x, d) }"
    model = parsed(text, weight, tensor("s", 0.5), opset=21, ir_version=10)
    survives(model, rewrites)


@BOTH
def test_strings_sequences_and_optionals(rewrites: list[str] | None) -> None:
    text = """g (string[2] s, float[3] x, float[2] z) => (string[2] t, float[3] y, int64 n, bool has) {
        t = Identity(s)
        q = SequenceConstruct(x, z, x)
        zero = Constant<value = int64 {0}>()
        y = SequenceAt(q, zero)
        n = SequenceLength(q)
        o = Optional(x)
        has = OptionalHasElement(o) }"""
    survives(parsed(text), rewrites)


@BOTH
def test_kept_nodes_that_differ_in_the_number_of_their_operands(rewrites: list[str] | None) -> None:
    text = """g (float[3] x, float[2] z) => (float[5] y, float[8] w) {
        q = SequenceConstruct(x, z) y = ConcatFromSequence<axis = 0>(q)
        r = SequenceConstruct(x, z, x) w = ConcatFromSequence<axis = 0>(r) }"""
    survives(parsed(text), rewrites)


@BOTH
def test_string_tensors_in_attributes(rewrites: list[str] | None) -> None:
    model = parsed("g (string[2] s) => (float[2] y, float[2] z) { }", ir_version=10)
    model.opset_import[1].version = 4
    for output, values in (("y", [1.0, 2.0]), ("z", [1.0, 3.0])):
        keys = helper.make_tensor("keys", TensorProto.STRING, [2], np.array([b"a", b"b"], object))
        node = helper.make_node("LabelEncoder", ["s"], [output], domain="ai.onnx.ml", keys_tensor=keys)
        node.attribute.append(helper.make_attribute("values_tensor", tensor("values", values)))
        node.attribute.append(helper.make_attribute("default_tensor", tensor("default", [0.0])))
        model.graph.node.append(node)
    survives(model, rewrites)


@BOTH
def test_string_constants(rewrites: list[str] | None) -> None:
    text = """g (string[2] s) => (bool[2] y, string[2] z) {
        c = Constant<value_strings = ["a", "b"]>() y = Equal(s, c) z = Identity(c) }"""
    survives(parsed(text, opset=19), rewrites)


@BOTH
def test_sequences_through_a_branch(rewrites: list[str] | None) -> None:
    text = """g (bool c, float[3] x) => (float[3] y) {
        q = If (c) <then_branch = t () => (seq(float[3]) a) { a = SequenceConstruct(x) },
                    else_branch = e () => (seq(float[3]) b) { n = Neg(x) b = SequenceConstruct(n, x) }>
        zero = Constant<value = int64 {0}>()
        y = SequenceAt(q, zero) }"""
    survives(parsed(text), rewrites)

"""Facts of whole graphs: declared types, names of dims, constants, bodies and functions."""

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import parser

from egraph_opt.facts import symbolic
from egraph_opt.inference import constant_lookup, infer_graph, tensor_fact

from .observed import facts_by_name


def facts_of(text, warnings=None, header='ir_version: 8, opset_import: ["" : 17]'):
    return facts_by_name(parser.parse_model(f"<{header}>\n{text}"), warnings)


def test_dims_of_inputs_are_symbols_and_dims_without_a_name_get_one():
    facts = facts_of("g (float[N, ?, 4] x, float[N] y) => (float[M] z) { z = Relu(x) }", [])
    assert facts["x"].shape == ("N", "`x.1`", 4)
    assert facts["y"].shape == ("N",)


def test_a_symbol_made_for_a_dim_is_no_declared_one():
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[a, b] x, float[a] y) => (float z) { z = Relu(x) }'
    )
    model.graph.input[0].type.tensor_type.shape.dim[1].ClearField("dim_param")
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "x.1"
    facts = facts_by_name(model)
    x, y = facts["x"].shape, facts["y"].shape
    assert x is not None and y is not None
    assert x[1] != y[0]


@pytest.mark.parametrize("name", ["?", "-1", "None", "unk"])
def test_a_name_that_exporters_give_to_any_dim_is_no_name(name):
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[a, a] x) => (float[a, a] z) { z = Relu(x) }'
    )
    for dim in model.graph.input[0].type.tensor_type.shape.dim:
        dim.dim_param = name
    shape = facts_by_name(model)["z"].shape
    assert shape is not None
    rows, columns = shape
    assert rows is not None
    assert not symbolic.known_equal(rows, columns)


def test_a_dim_that_stays_unknown_is_one_number_of_its_own():
    facts = facts_of("g (float[N] x) => (int64[1, K] z) { y = NonZero(x)  z = Identity(y) }")
    assert facts["y"].shape == (1, "`?y.1`")
    assert facts["z"].shape == (1, "`?y.1`")


def test_names_of_declared_outputs_are_not_trusted_but_numbers_are_where_nothing_else_is_known():
    warnings: list[str] = []
    facts = facts_of(
        "g (float[N] x, float[M] w) => (int64[1, N] y, int64[1, 7] z) { y = NonZero(x) z = NonZero(w) }",
        warnings,
    )
    assert facts["y"].shape == (1, "`?y.1`")
    assert facts["z"].shape == (1, 7)
    assert warnings == []


def test_a_declaration_that_contradicts_inference_is_reported_and_not_trusted():
    warnings: list[str] = []
    facts = facts_of("g (float[2, 3] x) => (float[2, 5] y) { y = Relu(x) }", warnings)
    assert facts["y"].shape == (2, 3)
    assert len(warnings) == 1
    assert "'y'" in warnings[0]
    assert "[2,5]" in warnings[0]


def test_a_number_declared_where_inference_finds_a_symbol_is_not_trusted():
    facts = facts_of("g (float[N, 3] x) => (float[1, 3] y) { y = Relu(x) }")
    assert facts["y"].shape == ("N", 3)


def test_an_initializer_that_is_an_input_is_constant_below_ir_version_4_only():
    text = "g (float[2] x, float[2] w = {1, 1}) => (float[2] y) { y = Add(x, w) }"
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    assert "w" in {tensor.name for tensor in model.graph.initializer}
    if "w" not in {value.name for value in model.graph.input}:
        model.graph.input.append(onnx.helper.make_tensor_value_info("w", 1, [2]))
    assert not facts_by_name(model)["w"].const
    model.ir_version = 3
    assert facts_by_name(model)["w"].splat == 1.0
    model.ir_version = 8
    graph = ir.from_proto(model).graph
    facts = infer_graph(graph, {"": 17}, {}, constant_lookup(8, assume_defaults=True), print)
    assert {value.name: fact.const for value, fact in facts.items()}["w"]


def test_both_branches_of_an_if_have_to_agree():
    facts = facts_of(
        """g (bool c, float[N, 4] x) => (float[A, B] y, float[C, D] z) {
            y, z = If (c) <
                then_branch = t () => (float[a, b] p, float[a, b] q) { p = Relu(x)  q = Relu(x) },
                else_branch = e () => (float[a, b] r, float[a, b] s) { r = Neg(x)  s = Transpose(x) }
            >
        }"""
    )
    assert facts["y"].shape == ("N", 4)
    assert facts["z"].shape == ("`?z.0`", "`?z.1`")


def test_a_loop_gives_types_and_no_dims_that_may_change():
    facts = facts_of(
        """g (int64 n, bool c, float[N] x) => (float[M] y) {
            y = Loop (n, c, x) <
                body = b (int64 i, bool go, float[N] a) => (bool go_on, float[K] d) {
                    go_on = Identity(go)  d = Concat<axis = 0>(a, a)
                }
            >
        }"""
    )
    assert facts["y"].dtype == 1
    assert facts["y"].shape is None or "N" not in facts["y"].shape


def test_the_shape_of_a_carried_value_is_not_trusted_inside_its_body():
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[N] a) => (float[N] d) { d = Relu(a) }'
    )
    graph = ir.from_proto(model).graph
    facts = infer_graph(graph, {"": 17}, {}, constant_lookup(8), print, is_body=True)
    assert {value.name: (fact.dtype, fact.shape) for value, fact in facts.items()}["d"] == (1, None)


def test_a_call_of_a_function_is_typed_through_its_body():
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
        g (float[N, 4] x) => (float[A, B] y) { y = local.both(x) }
        <domain: "local", opset_import: ["" : 17]>
        both (a) => (c) { b = Relu(a)  c = Transpose(b) }"""
    )
    fact = facts_by_name(model)["y"]
    assert fact.dtype == 1
    assert fact.shape == (4, "N")


def test_constant_tensors_show_their_elements_and_splats():
    assert tensor_fact(ir.tensor(np.array([1, 2, 3]))).value == (1, 2, 3)
    assert tensor_fact(ir.tensor(np.full((3, 400), 2.5, np.float32))).splat == 2.5
    assert tensor_fact(ir.tensor(np.array([1.0, 2.0], np.float32))).data == (1.0, 2.0)
    matrix = tensor_fact(ir.tensor(np.array([[1, 2], [3, 4]])))
    assert (matrix.value, matrix.data) == (None, (1, 2, 3, 4))
    assert tensor_fact(ir.tensor(np.zeros((0, 3), np.float32))).splat is None
    assert tensor_fact(ir.tensor(np.array([True, True]))).value == (1, 1)


@pytest.mark.parametrize("items", [[np.nan] * 3, [0.0, -0.0], [-0.0, -0.0], [1.0, 2.0]])
def test_tensors_that_only_look_uniform_have_no_splat(items):
    assert tensor_fact(ir.tensor(np.array(items, np.float32))).splat is None


def test_what_the_caller_has_folded_is_taken_for_what_it_is():
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[N] x) => (float[N] y) <float w = {0}> { s = Exp(w)  y = Mul(x, s) }"""
    )
    graph = ir.from_proto(model).graph
    known = constant_lookup(8)

    def constants(value):
        return tensor_fact(ir.tensor(np.float32(1))) if value.name == "s" else known(value)

    facts = {value.name: fact for value, fact in infer_graph(graph, {"": 17}, {}, constants, print).items()}
    assert facts["s"].splat == 1.0
    assert facts["s"].const


def test_long_chains_do_not_recurse():
    nodes = [onnx.helper.make_node("Relu", [f"v{k}"], [f"v{k + 1}"]) for k in range(5000)]
    graph = onnx.helper.make_graph(
        nodes,
        "chain",
        [onnx.helper.make_tensor_value_info("v0", 1, ["N", 3])],
        [onnx.helper.make_tensor_value_info("v5000", 1, None)],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    assert facts_by_name(model)["v5000"].shape == ("N", 3)

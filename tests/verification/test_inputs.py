"""Inputs that models accept are found: sizes, ranges of integers, other types, defaults and branches."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from egraph_opt.verification import Session, UnsupportedInputError, interface, load, random_inputs, verify
from egraph_opt.verification.sizes import candidates, symbols

from .models import model, weight


def test_random_inputs_follow_names_dtypes_shapes_and_seeds() -> None:
    inputs = "float[n, 3] x, int64[n] i, bool[2] b, string[n] s, uint8[4, 4] u"
    two = model(f"g ({inputs}) => (float[n, 3] y) {{ y = Relu (x) }}")
    values = random_inputs(two, seed=3, sizes={"n": 5})
    assert {name: (value.shape, value.dtype.name) for name, value in values.items()} == {
        "x": ((5, 3), "float32"), "i": ((5,), "int64"), "b": ((2,), "bool"), "s": ((5,), "object"),
        "u": ((4, 4), "uint8"),
    }  # fmt: skip
    again = random_inputs(two, seed=3, sizes={"n": 5})
    assert all(np.array_equal(values[name], again[name]) for name in values)
    assert not np.array_equal(values["x"], random_inputs(two, seed=4, sizes={"n": 5})["x"])
    assert values["i"].min() >= 0
    assert values["i"].max() <= 7
    assert values["u"].max() > 100


def test_distributions_and_assumed_ranges() -> None:
    made = model("g (float[400] x, int32[400] i) => (float[400] y) { y = Relu (x) }")
    assert random_inputs(made)["x"].min() < -1
    uniform = random_inputs(made, distribution="uniform")["x"]
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert (random_inputs(made, distribution="ones")["x"] == 1).all()
    assert np.abs(random_inputs(made, distribution="smooth")["x"]).max() < 2
    assumed = random_inputs(made, assume={"x": (5, 6), "i": (-3, -1)})
    assert (assumed["x"] >= 5).all()
    assert set(assumed["i"]) == {-3, -2, -1}


def test_inputs_that_cannot_be_made_up_are_named() -> None:
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.INT4, [2])],
        [helper.make_tensor_value_info("y", TensorProto.INT4, [2])],
    )  # fmt: skip
    with pytest.raises(UnsupportedInputError, match=r"'x'.*int4"):
        random_inputs(helper.make_model(graph))


def test_dims_of_one_name_are_equal_and_dims_without_a_name_are_not() -> None:
    made = model("g (float[n, h] x, float[n, ?, ?] z) => (float[n, h] y) { y = Relu (x) }")
    specs = interface(made).required
    assert symbols(specs) == {"n": True, "h": False, "z.1": False, "z.2": False}
    first = next(candidates(specs))
    assert len({first["h"], first["z.1"], first["z.2"]}) == 3


@pytest.mark.parametrize("factor", [32, 7, 48, 5])
def test_sizes_that_a_model_demands_are_found(factor: int) -> None:
    made = model(
        "g (float[n, l] x) => (float[a, b, c] y) { y = Reshape (x, s) }", s=np.array([0, -1, factor])
    )
    result = verify(made, made)
    assert result.status == "passed"
    sizes = [int(text.split()[0].rstrip(",;")) for text in result.detail.split("l=")[1:]]
    assert len(set(sizes)) == 2
    assert all(size % factor == 0 for size in sizes)


def test_anonymous_dims_that_have_to_be_equal_are_found() -> None:
    made = model("g (float[?, ?] x, float[?, ?] z) => (float[n, m] y) { y = MatMul (x, z) }")
    assert verify(made, made).status == "passed"


def test_a_recurrent_state_whose_batch_does_not_lead_is_found() -> None:
    made = model(
        """g (float[?, ?] x, float[2, ?, 4] h) => (float[b, k] y) {
            s = ReduceSum <keepdims = 0> (h, axes)
            l = Reshape (x, r)
            t = ReduceSum <keepdims = 0> (l, last)
            y = Add (t, s)
        }""",
        axes=np.array([0]), r=np.array([0, -1, 4]), last=np.array([1]),
    )  # fmt: skip
    assert verify(made, made).status == "passed"


def test_a_dim_named_by_an_expression_gets_its_value() -> None:
    made = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[n, past] a, float[n, s] b, float[n, m] c) => (float[n, m] y) {
            t = Concat <axis = 1> (a, b)
            y = Add (t, c)
        }"""
    )
    made.graph.input[2].type.tensor_type.shape.dim[1].dim_param = "past + s"
    result = verify(made, made)
    assert result.status == "passed"
    assert "past=32, s=64, past + s=96" in result.detail


def test_symbols_can_be_bounded() -> None:
    made = model("g (float[n, l] x) => (float[n, l] y) { y = Relu (x) }")
    result = verify(made, made, assume={"l": (10, 12)})
    assert result.status == "passed"
    assert "l=12" in result.detail


def test_indices_stay_inside_of_a_table_and_use_all_of_it() -> None:
    text = """g (int64[n, s] x, int64[n, s] t) => (float[n, s, 8] y) {
        a = Gather (w, x)
        b = Gather (v, t)
        y = Add (a, b)
    }"""
    w, v = weight(70, 8), weight(2, 8)
    original = model(text, w=w, v=v)
    assert verify(original, original).status == "passed"
    other = w.copy()
    other[40:60] += 0.01
    assert verify(original, model(text, w=other, v=v)).status == "failed"


def test_small_integers_are_not_taken_for_indices() -> None:
    made = model("g (float[2, 3] x, int64[2] s) => (float[a, b] y) { y = Tile (x, s) }")
    assert verify(made, made).status == "passed"


def test_an_input_without_a_rank_is_tried_with_several() -> None:
    graph = helper.make_graph(
        [helper.make_node("GlobalAveragePool", ["x"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert verify(made, made).status == "passed"


def test_sequences_and_optionals_are_fed() -> None:
    sequence = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (seq(float[3]) x) => (float[n] y) { y = ConcatFromSequence <axis = 0> (x) }"""
    )
    assert verify(sequence, sequence).status == "passed"
    backwards = onnx.ModelProto()
    backwards.CopyFrom(sequence)
    backwards.graph.node[0].output[0] = "z"
    backwards.graph.node.append(helper.make_node("Neg", ["z"], ["y"]))
    assert verify(sequence, backwards).status == "failed"
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [3])
    graph = helper.make_graph(
        [helper.make_node("OptionalHasElement", ["x"], ["y"])], "g",
        [helper.make_value_info("x", helper.make_optional_type_proto(tensor))],
        [helper.make_tensor_value_info("y", TensorProto.BOOL, [])],
    )  # fmt: skip
    optional = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    negated = onnx.ModelProto()
    negated.CopyFrom(optional)
    negated.graph.node[0].output[0] = "z"
    negated.graph.node.append(helper.make_node("Not", ["z"], ["y"]))
    assert verify(optional, optional).status == "passed"
    assert verify(optional, negated).status == "failed"


def test_an_absent_optional_is_compared_too() -> None:
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [3])

    def has(constant: bool) -> onnx.ModelProto:
        node = (
            helper.make_node(
                "Constant", [], ["y"], value=helper.make_tensor("t", TensorProto.BOOL, [], [True])
            )
            if constant
            else helper.make_node("OptionalHasElement", ["x"], ["y"])
        )
        graph = helper.make_graph(
            [node], "g",
            [helper.make_value_info("x", helper.make_optional_type_proto(tensor))],
            [helper.make_tensor_value_info("y", TensorProto.BOOL, [])],
        )  # fmt: skip
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)

    assert verify(has(False), has(True)).status == "failed"


OVERRIDABLE = "g (float[n, 4] x, float[4] b) => (float[n, 4] y) {{ y = Add (x, {}) }}"


def test_a_default_that_was_taken_for_a_constant_is_found() -> None:
    b = weight(4)
    original = model(OVERRIDABLE.format("b"), b=b)
    folded = model(OVERRIDABLE.format("c"), b=b, c=b)
    assert verify(original, original).status == "passed"
    result = verify(original, folded)
    assert result.status == "failed"
    assert "1 defaults overridden" in result.detail
    assert verify(original, folded, override_defaults=False).status == "passed"


def test_an_initializer_is_a_constant_below_ir_version_4() -> None:
    b = weight(4)
    text = "g (float[n, 4] x, float[4] b, float[4] c) => (float[n, 4] y) {{ y = Add (x, {}) }}"
    original, folded = (model(text.format(name), ir=3, b=b, c=b) for name in "bc")
    assert verify(original, folded).status == "passed"


def test_a_default_that_was_dropped_fails() -> None:
    original, without = model(OVERRIDABLE.format("b"), b=weight(4)), model(OVERRIDABLE.format("b"))
    assert "have a default in one of the models only" in verify(original, without).detail


def test_both_branches_of_a_boolean_input_are_compared() -> None:
    text = """g (float[3] x, bool c) => (float[3] y) { y = If (c) <
        then_branch = t () => (float[3] a) { a = Relu (x) },
        else_branch = e () => (float[3] b) { b = %s (x) } > }"""
    for operator, status in (("Neg", "passed"), ("Abs", "failed"), ("Relu", "failed")):
        assert verify(model(text % "Neg"), model(text % operator)).status == status


def test_a_branch_for_one_number_is_compared() -> None:
    text = """g (float[n] x, int64 rate) => (float[n] y) {
        c = Equal (rate, k)
        y = If (c) < then_branch = t () => (float[n] a) { a = %s (x) },
                     else_branch = e () => (float[n] b) { b = Neg (x) } > }"""
    original = model(text % "Sin", k=np.array(16000))
    result = verify(original, model(text % "Cos", k=np.array(16000)))
    assert result.status == "failed"
    assert "rate=16000" in result.detail


def test_models_of_bfloat16_and_float8_exchange_values() -> None:
    for dtype in (TensorProto.BFLOAT16, TensorProto.FLOAT8E4M3FN):
        graph = helper.make_graph(
            [helper.make_node("Identity", ["x"], ["y"])], "g",
            [helper.make_tensor_value_info("x", dtype, [2, 3])],
            [helper.make_tensor_value_info("y", dtype, [2, 3])],
        )  # fmt: skip
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
        feeds = random_inputs(made)
        (y,) = Session(load(made)).run(feeds)
        assert y.dtype == feeds["x"].dtype
        assert np.array_equal(y.astype(np.float32), feeds["x"].astype(np.float32))


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (TensorProto.INT4, [1, -2, 7, -8, 5]),
        (TensorProto.UINT4, [1, 14, 7, 8, 5]),
        (TensorProto.INT2, [1, -2, -1, 0, 1]),
        (TensorProto.UINT2, [1, 2, 3, 0, 1]),
    ],
)
def test_elements_of_few_bits_come_out(dtype: int, expected: list[int]) -> None:
    (y,) = Session(load(_cast_to(dtype, "y"))).run({"x": np.array([1, -2, 7, -8, 5], np.int32)})
    assert y.tolist() == expected


def test_tensors_of_four_bits_inside_leave_no_trial_out() -> None:
    """With such a tensor as an output a model ran on no odd inputs, and none that overflow were tried."""
    graph = helper.make_graph(
        [helper.make_node("Clip", ["x", "least", "most"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.INT32, ["n"])],
        [helper.make_tensor_value_info("y", TensorProto.INT32, ["n"])],
        [numpy_helper.from_array(np.array(n, np.int32), name) for name, n in (("least", 0), ("most", 12))],
    )  # fmt: skip
    clipped = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    narrowed = _cast_to(TensorProto.INT4, "narrow")
    narrowed.graph.node[0].input[0] = "clipped"
    narrowed.graph.node.insert(0, helper.make_node("Clip", ["x", "least", "most"], ["clipped"]))
    narrowed.graph.node.append(helper.make_node("Cast", ["narrow"], ["y"], to=TensorProto.INT32))
    narrowed.graph.initializer.extend(clipped.graph.initializer)
    narrowed.graph.output[0].CopyFrom(clipped.graph.output[0])
    assert verify(narrowed, narrowed).status == "passed"
    assert verify(narrowed, clipped).status == "failed"


def _cast_to(dtype: int, name: str) -> onnx.ModelProto:
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], [name], to=dtype)], "g",
        [helper.make_tensor_value_info("x", TensorProto.INT32, ["n"])],
        [helper.make_tensor_value_info(name, dtype, ["n"])],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=11)

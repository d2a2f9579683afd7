"""Attributes of wrong types, without values, of no use; and numbers that no operator takes."""

from __future__ import annotations

import numpy as np
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from .making import floats, graph_of, info, model_case, model_of, node, numbers
from .parts import FAR, wrong


@model_case
def a_cast_to_nothing() -> ModelProto:
    return wrong("Cast", to=999)


@model_case
def a_cast_below_zero() -> ModelProto:
    return wrong("Cast", to=-1)


@model_case
def a_cast_without_a_type() -> ModelProto:
    return wrong("Cast")


@model_case
def a_transposition_by_a_text() -> ModelProto:
    return wrong("Transpose", perm="ab")


@model_case
def a_transposition_by_a_number() -> ModelProto:
    return wrong("Transpose", perm=1)


@model_case
def an_axis_that_is_a_text() -> ModelProto:
    return wrong("Softmax", axis="last")


@model_case
def an_axis_that_is_a_float() -> ModelProto:
    return wrong("Softmax", axis=0.5)


@model_case
def an_axis_that_is_a_tensor() -> ModelProto:
    return wrong("Softmax", axis=numbers("t", 1))


@model_case
def an_axis_that_is_a_graph() -> ModelProto:
    return wrong("Softmax", axis=graph_of([node("Relu", "x", "r")], ["r"]))


@model_case
def an_attribute_twice() -> ModelProto:
    model = wrong("Softmax", axis=0)
    model.graph.node[2].attribute.append(helper.make_attribute("axis", 1))
    return model


@model_case
def an_attribute_without_a_name() -> ModelProto:
    model = wrong("Relu")
    model.graph.node[2].attribute.append(AttributeProto(type=AttributeProto.INT, i=1))
    return model


@model_case
def an_attribute_without_a_type() -> ModelProto:
    model = wrong("Softmax")
    model.graph.node[2].attribute.append(AttributeProto(name="axis", i=1))
    return model


@model_case
def an_attribute_of_an_unknown_type() -> ModelProto:
    model = wrong("Softmax", axis=1)
    content = model.SerializeToString().replace(b"\xa0\x01\x02", b"\xa0\x01\x63")
    return ModelProto.FromString(content)


@model_case
def an_attribute_that_refers_to_nothing() -> ModelProto:
    model = wrong("Softmax")
    model.graph.node[2].attribute.append(
        AttributeProto(name="axis", type=AttributeProto.INT, ref_attr_name="nowhere")
    )
    return model


@model_case
def a_constant_without_a_value() -> ModelProto:
    return model_of([NodeProto(op_type="Constant", output=["c"]), node("Add", "x c")])


@model_case
def a_constant_of_two_values() -> ModelProto:
    return model_of(
        [helper.make_node("Constant", [], ["c"], value_int=1, value_float=2.0), node("Add", "x c")]
    )


@model_case
def an_operator_without_inputs() -> ModelProto:
    return model_of([NodeProto(op_type="Relu", output=["r"]), node("Add", "x r")])


@model_case
def an_operator_without_a_name() -> ModelProto:
    return model_of([NodeProto(op_type="", input=["x"], output=["y"])])


@model_case
def an_operator_of_odd_characters() -> ModelProto:
    return model_of([NodeProto(op_type='Re"lu\n(\x00)', domain="a b\\", input=["x"], output=["y"])])


@model_case
def names_of_odd_characters() -> ModelProto:
    return model_of(
        [
            NodeProto(op_type="Neg", name='"\n)\x00', input=["x"], output=['(") \n\t\\\x00']),
            NodeProto(op_type="Neg", input=['(") \n\t\\\x00'], output=["y"]),
        ]
    )


@model_case
def a_reduction_far_away() -> ModelProto:
    return wrong("ReduceSum", "x a", numbers("a", FAR))


@model_case
def a_reduction_of_an_axis_twice() -> ModelProto:
    return wrong("ReduceSum", "x a", numbers("a", 0, 0, -2))


@model_case
def einsum_of_nonsense() -> ModelProto:
    return wrong("Einsum", "x x", equation="ij,,->(((")


@model_case
def topk_of_more_than_there_is() -> ModelProto:
    return model_of([node("TopK", "x k", "y i", axis=9)], numbers("k", -3))


@model_case
def dropout_of_a_text() -> ModelProto:
    return wrong("Dropout", ratio="half", opset=10)


@model_case
def normalization_far_away() -> ModelProto:
    return wrong("LayerNormalization", "x w", floats("w", 3), axis=FAR)


@model_case
def normalization_of_another_length() -> ModelProto:
    return model_of([node("BatchNormalization", "x w w w w")], floats("w", 7))


@model_case
def an_epsilon_of_nan() -> ModelProto:
    return model_of([node("BatchNormalization", "x w w w w", epsilon=float("nan"))], floats("w", 3))


@model_case
def depth_of_a_block_of_zero() -> ModelProto:
    return model_of([node("DepthToSpace", "x", blocksize=0)], inputs=[info("x", [1, 4, 2, 2])])


@model_case
def a_resize_below_zero() -> ModelProto:
    scales = numpy_helper.from_array(np.array([-1.0, np.nan], np.float32), "s")
    return model_of([helper.make_node("Resize", ["x", "", "s"], ["y"])], scales)


@model_case
def a_fill_without_an_element() -> ModelProto:
    nodes = [node("ConstantOfShape", "s", "c", value=floats("v", 0)), node("Add", "x c")]
    return model_of(nodes, numbers("s", 3))


@model_case
def a_fill_of_a_text() -> ModelProto:
    nodes = [
        node(
            "ConstantOfShape",
            "s",
            "c",
            value=TensorProto(name="v", data_type=TensorProto.STRING, dims=[1], string_data=[b"\xff"]),
        )
    ]
    return model_of([*nodes, node("Identity", "c")], numbers("s", 3))


@model_case
def a_fill_of_a_number() -> ModelProto:
    return model_of([node("ConstantOfShape", "s", "c", value=1.0), node("Add", "x c")], numbers("s", 3))


@model_case
def nodes_without_outputs() -> ModelProto:
    foreign = NodeProto(op_type="Log", domain="elsewhere", input=["x"])
    model = model_of([foreign, node("Neg", "x", "n"), node("Neg", "n")])
    model.opset_import.append(helper.make_opsetid("elsewhere", 1))
    return model

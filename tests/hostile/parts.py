"""Operators whose operands or attributes cannot be, and models that only onnxruntime takes."""

from __future__ import annotations

import numpy as np
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from .making import floats, graph_of, info, model_case, model_of, node, number, numbers

FAR = 10**9


def wrong(
    op_type: str, inputs: str = "x", *constants: TensorProto, opset: int = 17, **attributes: object
) -> ModelProto:
    """An operator on what it cannot take, beside something that could be simplified."""
    nodes = [node("Neg", "x", "n"), node("Neg", "n", "z"), node(op_type, inputs, "y", **attributes)]
    return model_of(nodes, *constants, outputs=("y", "z"), opset=opset)


@model_case
def gather_out_of_range() -> ModelProto:
    return wrong("Gather", "x i", numbers("i", 7, -9), axis=0)


@model_case
def gather_of_a_far_axis() -> ModelProto:
    return wrong("Gather", "x i", numbers("i", 0), axis=FAR)


@model_case
def gather_of_an_axis_beyond() -> ModelProto:
    return wrong("Gather", "x i", numbers("i", 0), axis=2)


@model_case
def gather_of_a_constant_out_of_range() -> ModelProto:
    nodes = [node("Gather", "w i", "c", axis=0), node("Add", "x c")]
    return model_of(nodes, floats("w", 2, 3), number("i", 5))


@model_case
def slice_of_step_zero() -> ModelProto:
    return wrong("Slice", "x a b k s", numbers("a", 0), numbers("b", 9), numbers("k", 0), numbers("s", 0))


@model_case
def slice_of_an_axis_beyond() -> ModelProto:
    return wrong("Slice", "x a b k", numbers("a", 0), numbers("b", 1), numbers("k", FAR))


@model_case
def slice_of_lists_that_differ() -> ModelProto:
    return wrong("Slice", "x a b", numbers("a", 0), numbers("b", 1, 2, 3))


@model_case
def slice_of_an_axis_twice() -> ModelProto:
    return wrong("Slice", "x a b k", numbers("a", 0, 0), numbers("b", 1, 1), numbers("k", 0, 0))


@model_case
def a_perm_that_is_none() -> ModelProto:
    return wrong("Transpose", perm=[0, 0])


@model_case
def a_perm_beyond() -> ModelProto:
    return wrong("Transpose", perm=[0, 5])


@model_case
def a_perm_of_another_rank() -> ModelProto:
    return wrong("Transpose", perm=[0, 1, 2])


@model_case
def a_perm_of_another_rank_twice() -> ModelProto:
    nodes = [
        node("Transpose", "x", "t", perm=[0, 1, 2]),
        helper.make_node("Transpose", ["t"], ["y"], perm=[2, 1, 0]),
    ]
    return model_of(nodes)


@model_case
def a_perm_of_an_open_rank() -> ModelProto:
    nodes = [
        node("Transpose", "x", "t", perm=[0, -1]),
        helper.make_node("Transpose", ["t"], ["y"], perm=[7, 7]),
    ]
    return model_of(nodes, inputs=[info("x", None)])


@model_case
def a_dim_below_zero() -> ModelProto:
    return model_of([node("Neg", "x", "n"), node("Neg", "n")], inputs=[info("x", [-4, 3])])


@model_case
def an_inner_dim_below_zero() -> ModelProto:
    model = model_of([node("Neg", "x", "n"), node("Neg", "n")])
    model.graph.value_info.append(info("n", [-4, -9]))
    return model


@model_case
def a_reshape_below_minus_one() -> ModelProto:
    return wrong("Reshape", "x s", numbers("s", -4, 3))


@model_case
def a_reshape_of_two_unknowns() -> ModelProto:
    return wrong("Reshape", "x s", numbers("s", -1, -1))


@model_case
def a_reshape_of_another_size() -> ModelProto:
    return wrong("Reshape", "x s", numbers("s", 5, 5))


@model_case
def a_reshape_that_overflows() -> ModelProto:
    return wrong("Reshape", "x s", numbers("s", 2**62, 2**62))


@model_case
def a_shape_below_zero() -> ModelProto:
    return model_of([node("ConstantOfShape", "s", "c"), node("Add", "x c")], numbers("s", -4))


@model_case
def an_expand_below_zero() -> ModelProto:
    return wrong("Expand", "x s", numbers("s", -4, 3))


@model_case
def squeeze_of_a_dim_of_two() -> ModelProto:
    return wrong("Squeeze", "x a", numbers("a", 0))


@model_case
def unsqueeze_twice_at_one_place() -> ModelProto:
    return wrong("Unsqueeze", "x a", numbers("a", 0, 0))


@model_case
def unsqueeze_far_away() -> ModelProto:
    return wrong("Unsqueeze", "x a", numbers("a", FAR))


@model_case
def flatten_far_away() -> ModelProto:
    return wrong("Flatten", axis=FAR)


@model_case
def softmax_far_away() -> ModelProto:
    return wrong("Softmax", axis=-FAR)


@model_case
def concat_far_away() -> ModelProto:
    return wrong("Concat", "x x", axis=FAR)


@model_case
def concat_of_different_ranks() -> ModelProto:
    return wrong("Concat", "x w", floats("w", 3), axis=0)


@model_case
def concat_without_an_axis() -> ModelProto:
    return wrong("Concat", "x x")


@model_case
def concat_of_an_empty_vector() -> ModelProto:
    """Which onnxruntime takes."""
    return model_of(
        [node("Concat", "w x", "c", axis=0), node("Neg", "c", "n"), node("Neg", "n")],
        floats("w", 0),
        inputs=[info("x", [3, 2])],
    )


@model_case
def concat_of_an_empty_input() -> ModelProto:
    inputs = [info("e", [0]), info("x", [3, 2])]
    return model_of(
        [node("Concat", "e x", "c", axis=0), node("Neg", "c", "n"), node("Neg", "n")], inputs=inputs
    )


@model_case
def split_of_other_lengths() -> ModelProto:
    return model_of([node("Split", "x p", "a b", axis=0), node("Add", "a b")], numbers("p", 5, -3))


@model_case
def split_into_more_than_there_is() -> ModelProto:
    return model_of([node("Split", "x", "a b c d", axis=0), node("Add", "a b")])


@model_case
def pads_of_another_length() -> ModelProto:
    return wrong("Pad", "x p", numbers("p", 1, 2, 3))


@model_case
def pads_below_the_dim() -> ModelProto:
    return wrong("Pad", "x p", numbers("p", -9, 0, 0, 0))


@model_case
def a_mode_that_is_none() -> ModelProto:
    return wrong("Pad", "x p", numbers("p", 0, 0, 1, 1), mode="sideways")


@model_case
def a_mode_of_odd_bytes() -> ModelProto:
    return wrong("Pad", "x p", numbers("p", 0, 0, 1, 1), mode=b"\xff\xfe\x00")


def pooled(**attributes: object) -> ModelProto:
    nodes = [node("MaxPool", "x", "p", **attributes), node("Neg", "p", "n"), node("Neg", "n")]
    return model_of(nodes, inputs=[info("x", [1, 2, 8, 8])])


@model_case
def a_kernel_of_zero() -> ModelProto:
    return pooled(kernel_shape=[0, 0])


@model_case
def a_kernel_below_zero() -> ModelProto:
    return pooled(kernel_shape=[-3, -3])


@model_case
def a_kernel_beyond_the_image() -> ModelProto:
    return pooled(kernel_shape=[FAR, FAR])


@model_case
def a_stride_of_zero() -> ModelProto:
    return pooled(kernel_shape=[2, 2], strides=[0, 0])


@model_case
def a_dilation_of_zero() -> ModelProto:
    return pooled(kernel_shape=[2, 2], dilations=[0, 0])


@model_case
def pads_of_a_pooling_below_zero() -> ModelProto:
    return pooled(kernel_shape=[2, 2], pads=[-9, -9, -9, -9])


@model_case
def strides_of_another_length() -> ModelProto:
    return pooled(kernel_shape=[2, 2], strides=[1, 1, 1])


@model_case
def an_auto_pad_that_is_none() -> ModelProto:
    return pooled(kernel_shape=[2, 2], auto_pad="SIDEWAYS")


def convolved(**attributes: object) -> ModelProto:
    nodes = [node("Conv", "x w", "p", **attributes), node("Neg", "p", "n"), node("Neg", "n")]
    return model_of(nodes, floats("w", 4, 2, 3, 3), inputs=[info("x", [1, 2, 8, 8])])


@model_case
def groups_of_zero() -> ModelProto:
    return convolved(group=0)


@model_case
def groups_below_zero() -> ModelProto:
    return convolved(group=-1)


@model_case
def groups_that_do_not_divide() -> ModelProto:
    return convolved(group=3)


@model_case
def a_convolution_of_strides_of_zero() -> ModelProto:
    return convolved(strides=[0, 0])


@model_case
def a_convolution_of_another_kernel_shape() -> ModelProto:
    return convolved(kernel_shape=[5, 5])


@model_case
def a_product_that_does_not_fit() -> ModelProto:
    return wrong("MatMul", "x w", floats("w", 5, 5))


@model_case
def a_sum_that_does_not_broadcast() -> ModelProto:
    return wrong("Add", "x w", floats("w", 5, 5))


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
def a_dim_named_by_an_endless_expression() -> ModelProto:
    return model_of(
        [node("Neg", "x", "n"), node("Neg", "n")],
        inputs=[info("x", ["(" * 20_000 + "n" + ")" * 20_000, "-" * 20_000 + "n"])],
    )


@model_case
def a_dim_named_by_a_power() -> ModelProto:
    return model_of(
        [node("Neg", "x", "n"), node("Neg", "n")],
        inputs=[info("x", ["9**9**9**9", "n*(n*(n*(n+1)+1)+1)+9**99999"])],
    )


def branched(condition: str, outputs: int, *branches: int) -> ModelProto:
    """An If whose branches have other numbers of outputs than it has."""
    graphs = []
    for which, count in zip("te", branches, strict=True):
        names = [f"{which}{k}" for k in range(count)]
        graphs.append(
            graph_of(
                [helper.make_node("Neg" if which == "t" else "Relu", ["x"], [name]) for name in names], names
            )
        )
    made = [f"o{k}" for k in range(outputs)]
    branch = helper.make_node(
        "If", [condition], made, then_branch=graphs[0], else_branch=graphs[1], name="the_if"
    )
    constant = numpy_helper.from_array(np.array(True), "yes")
    inputs = [info("x", [2, 3]), info("c", [], TensorProto.BOOL)]
    return model_of([branch, node("Neg", "o0", "n"), node("Neg", "n")], constant, inputs=inputs)


@model_case
def branches_of_more_outputs() -> ModelProto:
    return branched("c", 1, 2, 2)


@model_case
def a_known_branch_of_more_outputs() -> ModelProto:
    return branched("yes", 1, 2, 2)


@model_case
def a_known_branch_of_fewer_outputs() -> ModelProto:
    return branched("yes", 2, 1, 1)


@model_case
def branches_of_different_outputs() -> ModelProto:
    return branched("c", 1, 1, 2)


@model_case
def an_if_without_branches() -> ModelProto:
    return model_of([node("If", "c", "y")], inputs=[info("x", [2, 3]), info("c", [], TensorProto.BOOL)])


@model_case
def an_if_whose_branch_is_a_number() -> ModelProto:
    return model_of(
        [node("If", "c", "y", then_branch=1, else_branch=2)],
        inputs=[info("x", [2, 3]), info("c", [], TensorProto.BOOL)],
    )


@model_case
def an_if_of_a_known_condition_without_branches() -> ModelProto:
    return model_of([node("If", "c", "y")], numpy_helper.from_array(np.array(True), "c"))


@model_case
def an_if_on_an_empty_condition() -> ModelProto:
    model = branched("yes", 1, 1, 1)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.zeros(0, np.bool_), "yes"))
    return model


@model_case
def an_if_on_a_number() -> ModelProto:
    model = branched("yes", 1, 1, 1)
    model.graph.initializer[0].CopyFrom(number("yes", 1))
    return model


@model_case
def a_loop_without_a_body() -> ModelProto:
    return model_of(
        [node("Loop", "n c x", "y")], number("n", 3), numpy_helper.from_array(np.array(True), "c")
    )


@model_case
def a_loop_whose_body_has_other_inputs() -> ModelProto:
    body = graph_of([helper.make_node("Identity", ["i"], ["o"])], ["o"], [info("i", [], TensorProto.INT64)])
    return model_of(
        [node("Loop", "n c x", "y", body=body)], number("n", 3), numpy_helper.from_array(np.array(True), "c")
    )


@model_case
def a_scan_of_minus_one_inputs() -> ModelProto:
    body = graph_of([helper.make_node("Identity", ["i"], ["o"])], ["o"], [info("i", [3])])
    return model_of([node("Scan", "x", "y", body=body, num_scan_inputs=-1)])


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
        node("ConstantOfShape", "s", "c", value=helper.make_tensor("v", TensorProto.STRING, [1], [b"\xff"]))
    ]
    return model_of([*nodes, node("Identity", "c")], numbers("s", 3))


@model_case
def a_fill_of_a_number() -> ModelProto:
    return model_of([node("ConstantOfShape", "s", "c", value=1.0), node("Add", "x c")], numbers("s", 3))

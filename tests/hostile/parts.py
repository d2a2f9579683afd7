"""Operators whose operands cannot be, and models that only onnxruntime takes."""

from __future__ import annotations

from onnx import ModelProto, TensorProto, helper

from .making import floats, info, model_case, model_of, node, number, numbers

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

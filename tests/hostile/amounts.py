"""Small files that ask for more memory or time than there is."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper

from .making import floats, graph_of, info, model_case, model_of, node, number, numbers


def filled(*dims: int) -> ModelProto:
    nodes = [node("ConstantOfShape", "s", "c"), node("ReduceSum", "c", "t", keepdims=0), node("Add", "x t")]
    return model_of(nodes, numbers("s", *dims))


@model_case
def seven_hundred_million_zeros() -> ModelProto:
    return filled(700_000_000)


@model_case
def ten_thousand_million_zeros() -> ModelProto:
    return filled(10_000_000_000)


@model_case
def more_zeros_than_numbers_hold() -> ModelProto:
    return filled(2**62, 2**62, 4)


@model_case
def zeros_that_run_as_output() -> ModelProto:
    return model_of(
        [node("ConstantOfShape", "s", "c"), node("Add", "x c")], numbers("s", 40_000, 2, 40_000, 3)
    )


@model_case
def an_input_of_forty_gigabytes() -> ModelProto:
    return model_of(
        [node("Relu", "x", "r"), node("Neg", "r", "n"), node("Neg", "n")],
        inputs=[info("x", [100_000, 100_000])],
    )


@model_case
def an_input_of_huge_dims() -> ModelProto:
    return model_of([node("Neg", "x", "n"), node("Neg", "n")], inputs=[info("x", [2**62, 2**62])])


@model_case
def products_of_large_squares() -> ModelProto:
    nodes = [
        helper.make_node("ConstantOfShape", ["s"], ["a0"]),
        helper.make_node("CumSum", ["a0", "k"], ["b0"]),
    ]
    nodes += [helper.make_node("MatMul", [f"b{k}", f"b{k}"], [f"b{k + 1}"]) for k in range(60)]
    nodes += [node("ReduceSum", "b60", "t", keepdims=0), node("Add", "x t")]
    return model_of(nodes, numbers("s", 8192, 8192), number("k", 0))


@model_case
def products_of_small_results() -> ModelProto:
    """Each result is small, the work is not."""
    nodes = [helper.make_node("RandomNormal", [], ["unused"], shape=[1])]
    nodes += [node("ConstantOfShape", "s", "a"), node("CumSum", "a k", "b"), node("Transpose", "b", "c")]
    nodes += [node("Gemm", "c b", "d"), node("ReduceSum", "d", "t", keepdims=0), node("Add", "x t")]
    return model_of(nodes, numbers("s", 60_000_000, 2), number("k", 0))


def loop(trips: int, *, condition: bool = True) -> ModelProto:
    body = graph_of(
        [helper.make_node("Identity", ["go"], ["again"]), helper.make_node("Add", ["v", "one"], ["w"])],
        ["again", "w"],
        [info("i", [], TensorProto.INT64), info("go", [], TensorProto.BOOL), info("v", [2, 3])],
    )
    nodes = [node("Loop", "n c x", "z", body=body), node("Neg", "z", "m"), node("Neg", "m")]
    go = onnx.numpy_helper.from_array(np.array(condition), "c")
    return model_of(nodes, number("n", trips), go, floats("one", 1))


@model_case
def a_loop_without_end() -> ModelProto:
    return loop(10**18)


@model_case
def a_loop_of_more_trips_than_numbers_hold() -> ModelProto:
    return loop(2**63 - 1)


@model_case
def a_loop_of_computed_trips() -> ModelProto:
    model = loop(1)
    model.graph.initializer[0].CopyFrom(number("one_trip", 10**9))
    nodes = [helper.make_node("Mul", ["one_trip", "one_trip"], ["n"]), *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


@model_case
def a_loop_that_only_its_condition_ends() -> ModelProto:
    model = loop(1)
    model.graph.node[0].input[0] = ""
    return model


@model_case
def a_loop_that_grows() -> ModelProto:
    """Thirty doublings are a gigabyte and more."""
    body = graph_of(
        [
            helper.make_node("Identity", ["go"], ["again"]),
            helper.make_node("Concat", ["v", "v"], ["w"], axis=0),
        ],
        ["again", "w"],
        [info("i", [], TensorProto.INT64), info("go", [], TensorProto.BOOL), info("v", None)],
    )
    nodes = [node("Loop", "n c x", "z", body=body), node("ReduceSum", "z", keepdims=0)]
    go = onnx.numpy_helper.from_array(np.array(True), "c")
    return model_of(nodes, number("n", 40), go)


@model_case
def a_range_without_end() -> ModelProto:
    nodes = [
        node("Range", "a b d", "r"),
        node("Cast", "r", "f", to=1),
        node("ReduceSum", "f", "t", keepdims=0),
    ]
    return model_of([*nodes, node("Add", "x t")], number("a", 0), number("b", 10**18), number("d", 1))


@model_case
def an_expansion() -> ModelProto:
    nodes = [node("Expand", "x s", "e"), node("Neg", "e", "n"), node("Neg", "n")]
    return model_of(nodes, numbers("s", 100_000, 100_000, 2, 3))


@model_case
def an_expansion_of_a_constant() -> ModelProto:
    nodes = [node("Expand", "w s", "e"), node("ReduceSum", "e", "t", keepdims=0), node("Add", "x t")]
    return model_of(nodes, numbers("s", 100_000, 100_000, 2, 3), floats("w", 3))


@model_case
def tiles() -> ModelProto:
    return model_of(
        [node("Tile", "x r", "t"), node("Relu", "t", "u"), node("Relu", "u")], numbers("r", 10**9, 10**9)
    )


@model_case
def tiles_of_a_constant() -> ModelProto:
    nodes = [node("Tile", "w r", "t"), node("ReduceMax", "t", "m", keepdims=0), node("Add", "x m")]
    return model_of(nodes, numbers("r", 10**9, 10), floats("w", 2, 3))


@model_case
def pads() -> ModelProto:
    return model_of(
        [node("Pad", "x p", "t"), node("Neg", "t", "n"), node("Neg", "n")],
        numbers("p", 10**9, 0, 10**9, 10**9),
    )


@model_case
def a_large_resize() -> ModelProto:
    scales = onnx.numpy_helper.from_array(np.array([1e9, 1e9], "float32"), "k")
    return model_of(
        [helper.make_node("Resize", ["x", "", "k"], ["t"]), node("Neg", "t", "n"), node("Neg", "n")], scales
    )


@model_case
def one_hot_of_a_large_depth() -> ModelProto:
    nodes = [node("OneHot", "i d v", "t"), node("ReduceSum", "t", "s", keepdims=0), node("Add", "x s")]
    return model_of(nodes, numbers("i", 1, 2), number("d", 10**10), floats("v", 2))


@model_case
def a_random_output_of_huge_dims() -> ModelProto:
    nodes = [
        helper.make_node("RandomNormal", [], ["r"], shape=[100_000, 100_000]),
        node("ReduceSum", "r", "s", keepdims=0),
    ]
    return model_of([*nodes, node("Add", "x s")])


@model_case
def an_eye() -> ModelProto:
    nodes = [
        node("ConstantOfShape", "s", "c"),
        node("EyeLike", "c", "e"),
        node("ReduceSum", "e", "t", keepdims=0),
    ]
    return model_of([*nodes, node("Add", "x t")], numbers("s", 200_000, 200_000))


@model_case
def a_sum_of_outer_products() -> ModelProto:
    """A small input that is made large by broadcasting only."""
    inputs = [info("x", [1, 1, 300_000]), info("u", [300_000, 1, 1])]
    nodes = [
        node("Mul", "x u", "m"),
        node("Neg", "m", "n"),
        node("Neg", "n", "o"),
        node("ReduceSum", "o", keepdims=0),
    ]
    return model_of(nodes, inputs=inputs)


@model_case
def a_scan_that_is_long() -> ModelProto:
    body = graph_of(
        [helper.make_node("Add", ["s", "e"], ["t"]), helper.make_node("Neg", ["t"], ["o"])],
        ["t", "o"],
        [info("s", [3]), info("e", [3])],
    )
    nodes = [
        node("Scan", "w x", "f z", body=body, num_scan_inputs=1),
        node("Neg", "f", "n"),
        node("Neg", "n"),
    ]
    return model_of(nodes, floats("w", 3), inputs=[info("x", [2**40, 3])])


@model_case
def a_convolution_of_large_pads() -> ModelProto:
    nodes = [
        node("Conv", "x w", "c", pads=[10**8, 10**8, 10**8, 10**8]),
        node("Neg", "c", "n"),
        node("Neg", "n"),
    ]
    return model_of(nodes, floats("w", 1, 1, 3, 3), inputs=[info("x", [1, 1, 4, 4])])


@model_case
def many_symbols_of_one_input() -> ModelProto:
    return model_of(
        [node("Neg", "x", "n"), node("Neg", "n")], inputs=[info("x", [f"n{k}" for k in range(300)])]
    )


@model_case
def a_chain_of_doublings() -> ModelProto:
    """Each operand is used twice: 2**200 paths."""
    nodes = [helper.make_node("Concat", [f"a{k}", f"a{k}"], [f"a{k + 1}"], axis=0) for k in range(200)]
    return model_of([helper.make_node("Identity", ["x"], ["a0"]), *nodes, node("Identity", "a200")])


@model_case
def an_expression_that_doubles() -> ModelProto:
    """Dims that are polynomials of a growing degree."""
    nodes = [node("Shape", "x", "s0")]
    nodes += [helper.make_node("Mul", [f"s{k}", f"s{k}"], [f"s{k + 1}"]) for k in range(200)]
    nodes += [node("Reshape", "x s200")]
    return model_of(nodes, inputs=[info("x", ["n", "m", "k"])])


@model_case
def sums_of_many_symbols() -> ModelProto:
    names = [f"n{k}" for k in range(400)]
    inputs = [info(f"x{k}", [name, 3]) for k, name in enumerate(names)]
    nodes = [
        helper.make_node("Concat", [v.name for v in inputs], ["c"], axis=0),
        node("Neg", "c", "n"),
        node("Shape", "n", "s"),
    ]
    nodes += [
        node("Mul", "s s", "t"),
        node("Mul", "t t", "u"),
        node("Mul", "u u", "v"),
        node("Mul", "v v", "w"),
        node("Cast", "w", "f", to=1),
    ]
    return model_of([*nodes, node("Identity", "f")], inputs=inputs)


@model_case
def shapes_of_rank_a_thousand() -> ModelProto:
    nodes = [node("Reshape", "x s", "r"), node("Neg", "r", "n"), node("Neg", "n")]
    return model_of(nodes, numbers("s", *([1] * 999), 6))

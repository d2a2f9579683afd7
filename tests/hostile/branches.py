"""Ifs, Loops and Scans whose bodies are not what they should be."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from .making import graph_of, info, model_case, model_of, node, number


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
def a_scan_of_more_inputs_than_it_has() -> ModelProto:
    body = graph_of([helper.make_node("Identity", ["i"], ["o"])], ["o"], [info("i", [3])])
    return model_of([node("Scan", "x", "y", body=body, num_scan_inputs=5)])


@model_case
def a_scan_of_no_inputs() -> ModelProto:
    body = graph_of([helper.make_node("Identity", ["i"], ["o"])], ["o"], [info("i", [3])])
    return model_of([node("Scan", "x", "y", body=body, num_scan_inputs=0)])


@model_case
def a_scan_of_axes_of_others() -> ModelProto:
    body = graph_of([helper.make_node("Identity", ["i"], ["o"])], ["o"], [info("i", [])])
    return model_of([node("Scan", "x", "y", body=body, num_scan_inputs=1, scan_input_axes=[0, 0])])


@model_case
def a_loop_that_hands_on_less_than_it_carries() -> ModelProto:
    nodes = [helper.make_node("Identity", [name], [f"{name}o"]) for name in "ks"]
    inputs = [
        info("i", [], TensorProto.INT64),
        info("k", [], TensorProto.BOOL),
        info("s", [2, 3]),
        info("t", [2, 3]),
    ]
    body = graph_of(nodes, ["ko", "so"], inputs)
    looped = node("Loop", "n c x x", "y", body=body)
    return model_of([looped], number("n", 3), numpy_helper.from_array(np.array(True), "c"))


@model_case
def a_loop_whose_copy_copies_nothing() -> ModelProto:
    nodes = [helper.make_node("Identity", [name], [made]) for name, made in (("k", "ko"), ("", "so"))]
    inputs = [info("i", [], TensorProto.INT64), info("k", [], TensorProto.BOOL), info("s", [2, 3])]
    body = graph_of(nodes, ["ko", "so"], inputs)
    return model_of(
        [node("Loop", "n c x", "y", body=body)], number("n", 3), numpy_helper.from_array(np.array(True), "c")
    )

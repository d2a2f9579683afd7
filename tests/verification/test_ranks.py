"""Inputs of open rank for an Einsum or as a kernel: onnxruntime ends the process at ranks that do not fit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import FunctionProto, NodeProto, TensorProto, helper

from egraph_opt.verification import verify
from egraph_opt.verification.interface import interface
from egraph_opt.verification.ranks import with_ranks

IMPORTS = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]


def model_of(*nodes: NodeProto, functions: tuple[FunctionProto, ...] = ()) -> onnx.ModelProto:
    """x of open rank and w of three by four."""
    x, y = (onnx.ValueInfoProto(name=name) for name in "xy")
    for value in (x, y):
        value.type.tensor_type.elem_type = TensorProto.FLOAT
    w = helper.make_tensor_value_info("w", TensorProto.FLOAT, [3, 4])
    graph = helper.make_graph(
        [*nodes, helper.make_node("Neg", [nodes[-1].output[0]], ["y"])], "g", [x, w], [y]
    )
    return helper.make_model(graph, opset_imports=IMPORTS, ir_version=8, functions=functions)


def einsum(x: str, equation: str) -> NodeProto:
    return helper.make_node("Einsum", [x, "w"], ["e"], equation=equation)


NEGATED = helper.make_node("Neg", ["x"], ["n"])


@pytest.mark.parametrize(
    ("equation", "rank"), [("ijk,kl->ijl", 3), ("k, kl -> l", 1), ("...jk,kl->...jl", 2)]
)
def test_an_input_has_the_rank_that_an_einsum_asks_for(equation: str, rank: int) -> None:
    model = model_of(einsum("x", equation))
    found, reason = with_ranks(interface(model), model)
    assert not reason and found.inputs[0].shape == (None,) * rank
    assert found.inputs[1].shape == (3, 4)


def convolution_of_open_ranks() -> onnx.ModelProto:
    model = model_of(helper.make_node("Conv", ["x", "w"], ["c"], kernel_shape=[5, 7]))
    model.graph.input[1].type.tensor_type.ClearField("shape")
    return model


@pytest.mark.parametrize("model", [model_of(einsum("x", "ijk,kl->ijl")), convolution_of_open_ranks()])
def test_such_models_are_verified_in_a_process_that_lives_on(tmp_path: Path, model: onnx.ModelProto) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    code = f"from egraph_opt.verification import verify; verify({str(path)!r}, {str(path)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_only_the_kernel_of_a_convolution_asks_for_a_rank() -> None:
    image = model_of(helper.make_node("Conv", ["x", "w"], ["c"]))
    assert with_ranks(interface(image), image) == (interface(image), "")
    kernel = model_of(NEGATED, helper.make_node("Conv", ["w", "n"], ["c"]))
    assert with_ranks(interface(kernel), kernel)[1].endswith(": x")


def test_ranks_that_cannot_be_told_are_not_tried() -> None:
    behind = model_of(NEGATED, einsum("n", "ijk,kl->ijl"))
    told = verify(behind, behind)
    assert (
        told.status == "not_comparable" and "inputs of open rank go into an Einsum or kernel" in told.detail
    )
    body = helper.make_function("own", "F", ["a", "w"], ["e"], [einsum("a", "ijk,kl->ijl")], IMPORTS[:1])
    called = model_of(helper.make_node("F", ["x", "w"], ["f"], domain="own"), functions=(body,))
    assert with_ranks(interface(called), called)[1].endswith(": x")


def test_other_inputs_are_tried_with_several_ranks() -> None:
    model = model_of(NEGATED)
    assert with_ranks(interface(model), model) == (interface(model), "")
    assert verify(model, model).status == "passed"

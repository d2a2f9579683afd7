"""Kernels of a profile and the nodes that they compute: by names, and by what runtimes fuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from egraph_opt.graph.timed_runtime import Kernel, Runtime
from egraph_opt.measurement.places import RunProfile, TimedPlace, profile, timed_places
from egraph_opt.measurement.runtimes.onnxruntime import OrtRuntime
from egraph_opt.measurement.runtimes.openvino import OpenVinoRuntime

H = helper.make_node


def network() -> onnx.ModelProto:
    """A convolution with a Relu, one with a residual sum and a Relu, a pool, a product with a bias."""
    random = np.random.default_rng(0)
    shapes = {"w1": (32, 16, 3, 3), "w2": (32, 32, 3, 3), "w3": (32, 64), "b3": (64,)}
    weights = [
        numpy_helper.from_array(random.standard_normal(s).astype(np.float32), n) for n, s in shapes.items()
    ]
    nodes = [
        H("Conv", ["x", "w1"], ["c1"], name="first", pads=[1, 1, 1, 1]),
        H("Relu", ["c1"], ["r1"], name="active"),
        H("Conv", ["r1", "w2"], ["c2"], name="second", pads=[1, 1, 1, 1]),
        H("Add", ["c2", "r1"], ["s"], name="sum"),
        H("Relu", ["s"], ["r2"]),
        H("GlobalAveragePool", ["r2"], ["g"], name="pool"),
        H("Flatten", ["g"], ["f"], name="flat"),
        H("MatMul", ["f", "w3"], ["m"], name="product"),
        H("Add", ["m", "b3"], ["y"], name="bias"),
    ]
    x = helper.make_tensor_value_info("x", 1, [1, 16, 32, 32])
    graph = helper.make_graph(nodes, "g", [x], [helper.make_tensor_value_info("y", 1, [1, 64])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("runtime", [OrtRuntime(), OpenVinoRuntime(precision="f32")])
def test_all_nodes_of_a_network_have_a_place_in_each_runtime(tmp_path: Path, runtime: Runtime) -> None:
    model = network()
    onnx.save(model, tmp_path / "model.onnx")
    seen = profile(
        *(str(tmp_path / "model.onnx"), model, runtime, {}), seconds=0.05, prefix=str(tmp_path / "profile")
    )
    places = timed_places(model.graph, seen.kernels)
    of = {node: place for place in places for node in place.nodes}
    assert sorted(of) == list(range(9)) or sorted(of) == [0, 1, 2, 3, 4, 5, 7, 8]  # a view may be no kernel
    assert of[0] is of[1] and of[0] is not of[2], "a convolution takes in its Relu"
    assert of[2] is of[3] is of[4] or of[3] is of[4], "and, in some runtimes, a sum"
    assert of[7] is of[8] and of[5] is not of[2]
    assert all(place.micros > 0 for place in places)


def test_a_node_without_a_kernel_is_fused_before_or_behind() -> None:
    graph = network().graph
    kernels = [Kernel("Conv", ("r1",), 10.0), Kernel("Conv", ("second",), 20.0), Kernel("Pool", ("g",), 3.0)]
    assert timed_places(graph, kernels) == [
        TimedPlace((0, 1), 10.0, 1),
        TimedPlace((2, 3, 4), 20.0, 1),
        TimedPlace((5,), 3.0, 1),
    ]


def test_nodes_of_one_price_are_one_place() -> None:
    kernels = [
        Kernel("Conv", ("first",), 10.0),
        Kernel("Relu", ("active",), 2.0),
        Kernel("?", ("nobody",), 9.0),
    ]
    places = timed_places(network().graph, kernels, together=[0, 0, 1, 2, 3, 4, 5, 6, 7])
    assert places == [TimedPlace((0, 1), 12.0, 2)]


def test_a_kernel_of_several_nodes_puts_them_together() -> None:
    kernels = [Kernel("A", ("sum",), 1.0), Kernel("B", ("pool",), 2.0), Kernel("C", ("sum", "pool"), 4.0)]
    assert timed_places(network().graph, kernels)[0].micros == 7.0


def test_what_two_places_use_belongs_to_neither() -> None:
    nodes = [H("Neg", ["x"], ["n"]), H("Abs", ["n"], ["a"]), H("Exp", ["n"], ["e"])]
    graph = helper.make_graph(nodes, "g", [], [])
    kernels = [Kernel("Abs", ("a",), 1.0), Kernel("Exp", ("e",), 2.0)]
    assert [place.nodes for place in timed_places(graph, kernels)] == [(1,), (2,)]


def test_kernels_take_together_what_a_run_takes() -> None:
    assert RunProfile([], 15.0).factor(20.0) == 0.75
    assert RunProfile([], 15.0).factor(1.0) == 2.0, "what is that far off is something else"
    assert RunProfile([], 15.0).factor(0.0) == RunProfile([]).factor(20.0) == 1.0

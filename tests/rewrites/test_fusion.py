"""Fusion of operators end to end: what is joined, what is left apart, and where constants go."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from egraph_opt import optimize
from egraph_opt.pipeline import Limits

Node = tuple[str, str, str] | tuple[str, str, str, dict[str, Any]]
"""Operator, inputs and outputs (names with spaces between), attributes."""


def _model(nodes: list[Node], output: list[int], opset: int = 17, **operands: Any) -> onnx.ModelProto:
    """A model of output y: operands that are lists of dims are inputs, arrays and numbers constants."""
    made = [
        helper.make_node(op, ins.split(), outs.split(), **(more[0] if more else {}))
        for op, ins, outs, *more in nodes
    ]
    inputs, constants = [], []
    for name, value in operands.items():
        if isinstance(value, list):
            inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, value))
        else:
            constants.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, output)]
    graph = helper.make_graph(made, "graph", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def _optimized(model: onnx.ModelProto, cost: str = "nodes", **limits: Any) -> Counter[str]:
    """Run-time nodes by operator, of a result that passed verification."""
    result = optimize(model, cost=cost, strict=True, limits=Limits(**limits))
    assert result.report.verification.status == "passed", result.report.verification.detail
    return Counter({name: count.after for name, count in result.report.operators.items() if count.after})


def _random(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).standard_normal(shape) / np.sqrt(np.prod(shape[1:]))


RING = {"pads": [1, 1, 1, 1]}


def _fire_module(cost: str) -> Counter[str]:
    """SqueezeNet's: kernels of 1 and 3 on one image, with biases, Relu and a Concat behind."""
    nodes: list[Node] = [
        ("Conv", "x v b", "p"),
        ("Relu", "p", "q"),
        ("Conv", "x w c", "r", RING),
        ("Relu", "r", "s"),
        ("Concat", "q s", "y", {"axis": 1}),
    ]
    weights: dict[str, Any] = {
        "v": _random(6, 4, 1, 1),
        "b": _random(6),
        "w": _random(5, 4, 3, 3),
        "c": _random(5),
    }
    return _optimized(_model(nodes, [1, 11, 8, 8], x=[1, 4, 8, 8], **weights), cost)


def test_convolutions_of_two_kernels_that_are_joined_in_order_are_one() -> None:
    assert _fire_module("nodes") == {"Conv": 1, "Relu": 1}


def test_a_kernel_is_not_enlarged_for_a_target_that_counts_multiplications() -> None:
    assert _fire_module("flops")["Conv"] == 2


def test_three_convolutions_of_one_image_are_parts_of_one() -> None:
    nodes: list[Node] = []
    for k in "abc":
        nodes += [("Conv", f"x {k} b{k}", f"c{k}"), ("Relu", f"c{k}", f"r{k}")]
    nodes += [("MatMul", "ra rb", "m"), ("MatMul", "m rc", "y")]
    weights: dict[str, Any] = {k: _random(4, 3, 1, 1) + n for n, k in enumerate("abc")}
    weights |= {f"b{k}": _random(4) for k in "abc"}
    counts = _optimized(_model(nodes, [1, 4, 6, 6], x=[1, 3, 6, 6], **weights))
    assert counts == {"Conv": 1, "Relu": 1, "Split": 1, "MatMul": 2}


def test_convolutions_that_batch_normalizations_follow_are_joined_with_them() -> None:
    nodes: list[Node] = []
    for k in "ab":
        nodes += [("Conv", f"x w{k}", f"c{k}"), ("BatchNormalization", f"c{k} s{k} t{k} m{k} v{k}", f"n{k}")]
    nodes += [("Concat", "na nb", "y", {"axis": 1})]
    weights: dict[str, Any] = {f"w{k}": _random(4, 3, 3, 3) + n for n, k in enumerate("ab")}
    for k in "ab":
        weights |= {f"{n}{k}": np.abs(_random(4)) + 0.5 for n in "stmv"}
    assert _optimized(_model(nodes, [1, 8, 4, 4], x=[1, 3, 6, 6], **weights)) == {"Conv": 1}


def test_parallel_convolutions_of_one_block_add_up() -> None:
    nodes: list[Node] = [("Conv", "x v b", "p"), ("Conv", "x w c", "q", RING), ("Add", "p q", "y")]
    weights: dict[str, Any] = {
        "v": _random(4, 4, 1, 1),
        "b": _random(4),
        "w": _random(4, 4, 3, 3),
        "c": _random(4),
    }
    model = _model(nodes, [1, 4, 8, 8], x=[1, 4, 8, 8], **weights)
    assert _optimized(model) == _optimized(model, "flops") == {"Conv": 1}


def test_a_sum_of_two_products_is_one_product_of_both_inputs() -> None:
    nodes: list[Node] = [("MatMul", "x v", "p"), ("MatMul", "h w", "q"), ("Add", "p q", "y")]
    operands: dict[str, Any] = {"x": [3, 2, 3], "h": [3, 2, 5], "v": _random(3, 4), "w": _random(5, 4)}
    assert _optimized(_model(nodes, [3, 2, 4], **operands)) == {"Concat": 1, "MatMul": 1}


def test_a_pair_of_low_rank_is_kept() -> None:
    nodes: list[Node] = [("MatMul", "x a", "p"), ("MatMul", "p b", "y")]
    model = _model(nodes, [16, 1024], x=[16, 1024], a=_random(1024, 8), b=_random(8, 1024))
    assert _optimized(model, "flops") == {"MatMul": 2}
    assert _optimized(model, "nodes", fold_bytes=1 << 23) == {"MatMul": 2}


def test_products_are_computed_in_the_order_that_multiplies_less() -> None:
    nodes: list[Node] = [("MatMul", "a b", "p"), ("MatMul", "p x", "y")]
    result = optimize(_model(nodes, [64, 1], a=[64, 64], b=[64, 64], x=[64, 1]), cost="flops", strict=True)
    assert result.report.verification.status == "passed"
    assert result.report.cost.after < result.report.cost.before / 30


def test_scales_meet_across_a_factor_that_is_no_constant() -> None:
    for c, last in ((np.float32(5), "Mul"), (np.float32(5), "Div"), (_random(3) + 4, "Mul")):
        nodes: list[Node] = [("Mul", "x a", "p"), ("Mul", "z p", "q"), (last, "q c", "y")]
        counts = _optimized(_model(nodes, [2, 3], x=[2, 3], z=[2, 3], a=2.0, c=c))
        assert counts == {"Mul": 2}


def test_scales_of_both_factors_are_one() -> None:
    nodes: list[Node] = [("Mul", "x a", "p"), ("Mul", "z b", "q"), ("Mul", "p q", "y")]
    assert _optimized(_model(nodes, [2, 3], x=[2, 3], z=[2, 3], a=2.0, b=5.0)) == {"Mul": 2}


def test_a_chain_of_scales_and_divisors_is_one_scale() -> None:
    nodes: list[Node] = [("Mul", "x a", "p"), ("Div", "p b", "q"), ("Mul", "q c", "y")]
    assert _optimized(_model(nodes, [2, 3], x=[2, 3], a=2.0, b=3.0, c=5.0)) == {"Mul": 1}


def test_the_scale_of_a_factor_goes_into_the_weight_behind() -> None:
    product: list[Node] = [("Mul", "x a", "p"), ("Mul", "p z", "q")]
    model = _model([*product, ("MatMul", "q w", "y")], [2, 4], x=[2, 3], z=[2, 3], a=2.0, w=_random(3, 4))
    assert _optimized(model) == {"Mul": 1, "MatMul": 1}
    image = [1, 3, 5, 5]
    operands: dict[str, Any] = {"x": image, "z": image, "a": _random(3, 1, 1) + 3, "w": _random(4, 3, 2, 2)}
    assert _optimized(_model([*product, ("Conv", "q w", "y")], [1, 4, 4, 4], **operands)) == {
        "Mul": 1,
        "Conv": 1,
    }


def test_scales_around_a_transposed_convolution_go_into_its_weight() -> None:
    nodes: list[Node] = [
        ("Mul", "x a", "p"),
        ("ConvTranspose", "p w", "q", {"strides": [2, 2]}),
        ("Mul", "q b", "r"),
        ("Div", "r c", "y"),
    ]
    operands: dict[str, Any] = {"a": 2.0, "b": _random(4, 1, 1), "c": 5.0, "w": _random(3, 4, 2, 2)}
    assert _optimized(_model(nodes, [1, 4, 10, 10], x=[1, 3, 5, 5], **operands)) == {"ConvTranspose": 1}


def test_a_gemm_is_written_for_matrices_only() -> None:
    nodes: list[Node] = [("MatMul", "x w", "p"), ("Add", "p b", "q"), ("Mul", "q s", "y")]
    operands: dict[str, Any] = {"w": _random(3, 4), "b": _random(4), "s": 3.0}
    assert _optimized(_model(nodes, [2, 4], x=[2, 3], **operands)) == {"Gemm": 1}
    assert _optimized(_model(nodes, [5, 2, 4], x=[5, 2, 3], **operands)) == {"MatMul": 1, "Add": 1}


def test_pads_go_into_convolutions_in_the_old_form_and_the_new() -> None:
    skew = [0, 0, 1, 0, 0, 0, 2, 3]
    weight = _random(4, 3, 3, 3)
    old = _model(
        [("Pad", "x", "p", {"pads": skew}), ("Conv", "p w", "y")], [1, 4, 6, 6], 9, x=[1, 3, 5, 5], w=weight
    )
    assert _optimized(old) == {"Conv": 1}
    cropped = _model(
        [("Pad", "x", "p", {"pads": [0, 0, -1, 0, 0, 0, 1, 1]}), ("Conv", "p w", "y")],
        [1, 4, 3, 4],
        9,
        x=[1, 3, 5, 5],
        w=weight,
    )
    assert _optimized(cropped)["Pad"] + _optimized(cropped)["Slice"] >= 1


@pytest.mark.parametrize("cost", ["nodes", "ascend"])
@pytest.mark.parametrize(
    "bound", [("Relu", "v", "r"), ("Clip", "v zero", "r"), ("Max", "v zero", "r"), ("Max", "zero v", "r")]
)
def test_a_variance_that_rounding_brings_below_zero_keeps_its_bound(cost: str, bound: Node) -> None:
    """It may go only with the difference of two means: a root of what is left of it would be NaN."""
    axes: dict[str, Any] = {"axes": [1]}
    nodes: list[Node] = [
        ("Sigmoid", "x", "s"),
        ("Mul", "s s", "ss"),
        ("ReduceMean", "ss", "u", axes),
        ("ReduceMean", "s", "m", axes),
        ("Mul", "m m", "mm"),
        ("Sub", "u mm", "v"),
        bound,
        ("Sqrt", "r", "y"),
    ]
    model = _model(nodes, [64, 1], 13, x=[64, 512], **({"zero": 0.0} if "zero" in bound[1] else {}))
    done = optimize(model, cost=cost, strict=True).model
    session = onnxruntime.InferenceSession(done.SerializeToString(), providers=["CPUExecutionProvider"])
    rows = np.linspace(-3, 3, 64, dtype=np.float32).reshape(64, 1)
    (found,) = session.run(None, {"x": np.broadcast_to(rows, (64, 512)).copy()})
    assert np.isfinite(found).all()

"""Matrices in a row: however many, few e-nodes, and the best way to multiply all the same."""

from __future__ import annotations

import itertools
import random

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from egraph_opt import optimize, saturate


def row(dims: list[int], results: set[int], *, shifted: bool = False) -> onnx.ModelProto:
    """Products with matrices of so many rows and columns; which of them are results."""
    rng = np.random.default_rng(0)
    nodes, constants, outputs, value = [], [], [], "x"
    for k, (rows, columns) in enumerate(itertools.pairwise(dims), 1):
        weight = rng.standard_normal((rows, columns)).astype(np.float32)
        constants.append(numpy_helper.from_array(weight, f"w{k}"))
        nodes.append(helper.make_node("MatMul", [value, f"w{k}"], [f"p{k}"]))
        value = f"p{k}"
        if shifted:
            shift = rng.standard_normal(columns).astype(np.float32)
            constants.append(numpy_helper.from_array(shift, f"b{k}"))
            nodes.append(helper.make_node("Add", [value, f"b{k}"], [f"s{k}"]))
            value = f"s{k}"
        if k in results:
            outputs.append(helper.make_tensor_value_info(value, TensorProto.FLOAT, [3, columns]))
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, dims[0]])]
    graph = helper.make_graph(nodes, "row", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def least(dims: list[int], results: set[int]) -> int:
    """The elements of the matrices of the best way, by trying all sets of values that are computed."""
    others = [k for k in range(1, len(dims) - 1) if k not in results]
    best = []
    for count in range(len(others) + 1):
        for more in itertools.combinations(others, count):
            values = [0, *sorted(results.union(more))]
            best.append(sum(min(dims[i] * dims[j] for i in values if i < j) for j in values[1:]))
    return min(best)


def elements(model: onnx.ModelProto) -> int:
    """Of matrices that are multiplied with; a row beside a column is written as Mul."""
    sizes = {tensor.name: int(np.prod(tensor.dims)) for tensor in model.graph.initializer}
    products = (node for node in model.graph.node if node.op_type in ("MatMul", "Gemm", "Mul"))
    return sum(sizes.get(node.input[0], 0) + sizes.get(node.input[1], 0) for node in products)


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_the_best_way_is_among_those_that_are_made(seed: int, shifted: bool) -> None:
    rng = random.Random(seed)
    count = rng.randint(3, 6)
    dims = [rng.choice((1, 2, 3, 4, 8, 16)) for _ in range(count + 1)]
    results = {count, *(k for k in range(1, count) if rng.random() < 0.25)}
    result = optimize(row(dims, results, shifted=shifted), cost="flops", strict=True)
    assert elements(result.model) == least(dims, results), (dims, results)


def test_a_value_that_is_needed_is_multiplied_further_where_that_takes_less() -> None:
    """What comes before it is no larger, but would have to be computed as well."""
    dims, results = [4, 4, 1, 1, 4, 2], {1, 3, 5}
    assert elements(optimize(row(dims, results), cost="flops").model) == least(dims, results) == 22


@pytest.mark.parametrize(("cost", "each"), [("nodes", 4), ("ascend", 8)], ids=["nodes", "ascend"])
def test_forty_matrices_in_a_row_take_a_few_e_nodes_each(cost: str, each: int) -> None:
    """Under ascend, kernels, those in a format, and conversions are e-nodes as well."""
    saturated = saturate(row([8] * 41, {40}), target=cost)
    assert saturated.region is not None
    assert saturated.region.saturation.stop == "saturated"
    assert saturated.region.saturation.nodes <= each * 40
    assert elements(saturated.extract(cost).model) == 64

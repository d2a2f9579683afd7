"""What each fuse, eliminate, replace and rewrite pass of onnxoptimizer does comes out of saturation."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from egraph_opt.laws.selection import all_laws

from .graphs import Graph, check_settled, outcome

PAGE = Path(__file__).parents[2] / "docs" / "pages" / "onnxoptimizer.md"


class Situation(NamedTuple):
    """A graph on which a pass acts, and the run-time nodes that are left."""

    model: onnx.ModelProto
    left: dict[str, int]
    cost: str = "nodes"
    initializers: int | None = None


SITUATIONS: dict[str, Callable[[], Situation]] = {}


def situation(build: Callable[[], Situation]) -> Callable[[], Situation]:
    SITUATIONS[build.__name__] = build
    return build


@situation
def nop() -> Situation:
    g = Graph(x=[2, 3])
    return Situation(g.model(g.add("Relu", "x")), {"Relu": 1})


@situation
def eliminate_nop_cast() -> Situation:
    g = Graph(x=["N", 3])
    return Situation(g.model(g.add("Relu", g.add("Cast", "x", to=TensorProto.FLOAT))), {"Relu": 1})


@situation
def eliminate_nop_dropout() -> Situation:
    g = Graph(x=["N", 3])
    return Situation(g.model(g.add("Relu", g.add("Dropout", "x"))), {"Relu": 1})


@situation
def eliminate_nop_flatten() -> Situation:
    g = Graph(x=["N", 3])
    return Situation(g.model(g.add("Relu", g.add("Flatten", "x", axis=1))), {"Relu": 1})


@situation
def extract_constant_to_initializer() -> Situation:
    g = Graph(x=["N", 3])
    value = onnx.numpy_helper.from_array(np.array([1.0, 2.0, 3.0], np.float32))
    return Situation(g.model(g.add("Mul", "x", g.add("Constant", value=value))), {"Mul": 1})


@situation
def eliminate_consecutive_idempotent_ops() -> Situation:
    g = Graph(x=["N", 12])
    y = "x"
    for operator in ("Ceil", "Ceil", "Relu", "Relu"):
        y = g.add(operator, y)
    y = g.add("Reshape", g.add("Reshape", y, g.constant([-1, 4, 3])), g.constant([-1, 3, 4]))
    return Situation(g.model(y), {"Ceil": 1, "Relu": 1, "Reshape": 1})


def _branch(operator: str) -> onnx.GraphProto:
    result = helper.make_tensor_value_info(f"of_{operator}", TensorProto.FLOAT, ["N", 3])
    return helper.make_graph([helper.make_node(operator, ["x"], [result.name])], operator, [], [result])


@situation
def eliminate_if_with_const_cond() -> Situation:
    g = Graph(x=["N", 3])
    y = g.add("If", g.constant(True), then_branch=_branch("Relu"), else_branch=_branch("Abs"))
    return Situation(g.model(g.add("Neg", y)), {"Relu": 1, "Neg": 1})


@situation
def eliminate_nop_monotone_argmax() -> Situation:
    g = Graph(x=["N", 3, 5])
    y = g.add("ArgMax", g.add("Softmax", "x", axis=1), axis=1)
    return Situation(g.model(y, dtypes={y: TensorProto.INT64}), {"ArgMax": 1})


@situation
def eliminate_nop_pad() -> Situation:
    g = Graph(x=["N", 3])
    return Situation(g.model(g.add("Relu", g.add("Pad", "x", g.constant([0, 0, 0, 0])))), {"Relu": 1})


@situation
def eliminate_nop_concat() -> Situation:
    g = Graph(x=["N", 3])
    return Situation(g.model(g.add("Relu", g.add("Concat", "x", axis=1))), {"Relu": 1})


@situation
def eliminate_nop_split() -> Situation:
    g = Graph(x=["N", 3])
    (part,) = g.add_many("Split", "x", g.constant([3]), outputs=1, axis=1)
    return Situation(g.model(g.add("Relu", part)), {"Relu": 1})


@situation
def eliminate_nop_expand() -> Situation:
    g = Graph(x=["N", 3])
    return Situation(g.model(g.add("Relu", g.add("Expand", "x", g.constant([1, 3])))), {"Relu": 1})


@situation
def eliminate_shape_gather() -> Situation:
    g = Graph(x=["N", 3])
    columns = g.add("Gather", g.add("Shape", "x"), g.constant(1))
    y = g.add("Mul", "x", g.add("Cast", columns, to=TensorProto.FLOAT))
    return Situation(g.model(y), {"Mul": 1})


@situation
def eliminate_slice_after_shape() -> Situation:
    g = Graph(x=["N", 3, 4])
    dims = g.add("Slice", g.add("Shape", "x"), g.constant([1]), g.constant([3]))
    y = g.add("Expand", g.add("ReduceMax", "x", axes=[0, 1, 2]), dims)
    return Situation(g.model(y), {"ReduceMax": 1, "Expand": 1})


@situation
def eliminate_nop_transpose() -> Situation:
    g = Graph(x=["N", 3])
    return Situation(g.model(g.add("Relu", g.add("Transpose", "x", perm=[0, 1]))), {"Relu": 1})


@situation
def fuse_add_bias_into_conv() -> Situation:
    g = Graph(x=["N", 3, 6, 6])
    y = g.add("Add", g.add("Conv", "x", g.weight(4, 3, 3, 3)), g.weight(4, 1, 1))
    return Situation(g.model(y), {"Conv": 1})


@situation
def fuse_bn_into_conv() -> Situation:
    g = Graph(x=["N", 3, 6, 6])
    parameters = [g.weight(4), g.weight(4), g.weight(4), g.weight(4, positive=True)]
    y = g.add("BatchNormalization", g.add("Conv", "x", g.weight(4, 3, 3, 3)), *parameters)
    return Situation(g.model(y), {"Conv": 1})


@situation
def fuse_consecutive_concats() -> Situation:
    g = Graph(x=["N", 3], y=["N", 4])
    y = g.add("Concat", "x", g.add("Concat", "y", "x", axis=1), axis=1)
    return Situation(g.model(y), {"Concat": 1})


@situation
def fuse_consecutive_log_softmax() -> Situation:
    g = Graph(x=["N", 3, 5])
    return Situation(g.model(g.add("Log", g.add("Softmax", "x", axis=1))), {"LogSoftmax": 1})


@situation
def fuse_consecutive_reduce_unsqueeze() -> Situation:
    g = Graph(x=["N", 3, 5])
    y = g.add("Unsqueeze", g.add("ReduceMean", "x", axes=[1], keepdims=0), g.constant([1]))
    return Situation(g.model(y), {"ReduceMean": 1})


@situation
def fuse_consecutive_squeezes() -> Situation:
    g = Graph(x=["N", 1, 5, 1])
    y = g.add("Squeeze", g.add("Squeeze", "x", g.constant([3])), g.constant([1]))
    return Situation(g.model(y), {"Squeeze": 1})


@situation
def fuse_consecutive_transposes() -> Situation:
    g = Graph(x=["N", 3, 5])
    y = g.add("Transpose", g.add("Transpose", "x", perm=[1, 2, 0]), perm=[2, 1, 0])
    return Situation(g.model(y), {"Transpose": 1})


@situation
def fuse_matmul_add_bias_into_gemm() -> Situation:
    g = Graph(x=["N", 3])
    return Situation(g.model(g.add("Add", g.add("MatMul", "x", g.weight(3, 4)), g.weight(4))), {"Gemm": 1})


@situation
def fuse_pad_into_conv() -> Situation:
    g = Graph(x=["N", 3, 6, 6])
    padded = g.add("Pad", "x", g.constant([0, 0, 1, 2, 0, 0, 1, 0]))
    return Situation(g.model(g.add("Conv", padded, g.weight(4, 3, 3, 3))), {"Conv": 1})


@situation
def fuse_pad_into_pool() -> Situation:
    g = Graph(x=["N", 3, 6, 6])
    lowest = g.constant(-np.inf, np.float32)
    padded = g.add("Pad", "x", g.constant([0, 0, 1, 1, 0, 0, 1, 1]), lowest)
    return Situation(g.model(g.add("MaxPool", padded, kernel_shape=[3, 3])), {"MaxPool": 1})


@situation
def fuse_transpose_into_gemm() -> Situation:
    g = Graph(x=[3, "N"])
    y = g.add("Gemm", g.add("Transpose", "x", perm=[1, 0]), g.weight(3, 4), g.weight(4))
    return Situation(g.model(y), {"Gemm": 1})


@situation
def fuse_concat_into_reshape() -> Situation:
    g = Graph(x=["N", 3, 4])
    rows = g.add("Slice", g.add("Shape", "x"), g.constant([0]), g.constant([1]))
    y = g.add("Reshape", "x", g.add("Concat", rows, g.constant([12]), axis=0))
    return Situation(g.model(y), {"Reshape": 1})


@situation
def eliminate_nop_reshape() -> Situation:
    g = Graph(x=["N", 3])
    return Situation(g.model(g.add("Relu", g.add("Reshape", "x", g.constant([-1, 3])))), {"Relu": 1})


@situation
def eliminate_nop_with_unit() -> Situation:
    g = Graph(x=["N", 3])
    y = g.add("Mul", g.constant(1.0), g.add("Add", "x", g.constant(np.zeros((1, 3)))))
    y = g.add("Pow", g.add("Div", g.add("Sub", y, g.constant(0.0)), g.constant(1.0)), g.constant(1.0))
    return Situation(g.model(g.add("Relu", y)), {"Relu": 1})


@situation
def eliminate_common_subexpression() -> Situation:
    g = Graph(x=["N", 3])
    y = g.add("Concat", g.add("Exp", "x"), g.add("Sin", g.add("Exp", "x")), axis=1)
    return Situation(g.model(y), {"Exp": 1, "Sin": 1, "Concat": 1})


@situation
def fuse_qkv() -> Situation:
    g = Graph(x=["N", 5, 8])
    q, k, v = (g.add("MatMul", "x", g.weight(8, 8)) for _ in range(3))
    scores = g.add("Softmax", g.add("MatMul", q, g.add("Transpose", k, perm=[0, 2, 1])), axis=2)
    left = {"MatMul": 3, "Split": 1, "Transpose": 1, "Softmax": 1}
    return Situation(g.model(g.add("MatMul", scores, v)), left)


@situation
def fuse_consecutive_unsqueezes() -> Situation:
    g = Graph(x=["N", 5])
    y = g.add("Unsqueeze", g.add("Unsqueeze", "x", g.constant([0])), g.constant([3]))
    return Situation(g.model(y), {"Unsqueeze": 1})


@situation
def eliminate_deadend() -> Situation:
    g = Graph(x=["N", 5])
    g.add("Exp", g.add("Sin", "x"))
    return Situation(g.model(g.add("Relu", "x")), {"Relu": 1})


@situation
def eliminate_identity() -> Situation:
    g = Graph(x=["N", 5])
    return Situation(g.model(g.add("Relu", g.add("Identity", "x"))), {"Relu": 1})


@situation
def eliminate_shape_op() -> Situation:
    g = Graph(x=[3, 2])
    y = g.add("Mul", "x", g.add("Cast", g.add("Shape", "x"), to=TensorProto.FLOAT))
    return Situation(g.model(y), {"Mul": 1})


@situation
def fuse_consecutive_slices() -> Situation:
    g = Graph(x=["N", 8, 8])
    y = g.add("Slice", "x", g.constant([1]), g.constant([7]), g.constant([1]))
    y = g.add("Slice", y, g.constant([2]), g.constant([6]), g.constant([2]))
    return Situation(g.model(y), {"Slice": 1})


@situation
def eliminate_unused_initializer() -> Situation:
    g = Graph(x=["N", 5])
    g.weight(7, 7)
    return Situation(g.model(g.add("Relu", "x")), {"Relu": 1}, initializers=0)


@situation
def eliminate_duplicate_initializer() -> Situation:
    g = Graph(x=["N", 5])
    weights = [g.constant(np.arange(25.0).reshape(5, 5)) for _ in range(2)]
    y = g.add("MatMul", g.add("Exp", g.add("MatMul", "x", weights[0])), weights[1])
    return Situation(g.model(y), {"MatMul": 2, "Exp": 1}, initializers=1)


@situation
def rewrite_where() -> Situation:
    g = Graph(x=["N", 5], y=["N", 5])
    c = g.input("c", ["N", 5], TensorProto.BOOL)
    return Situation(g.model(g.add("Where", g.add("Not", c), "x", "y")), {"Where": 1})


@situation
def replace_einsum_with_matmul() -> Situation:
    g = Graph(x=["N", 2, 32, 64], y=["N", 2, 32, 64])
    y = g.add("Einsum", "x", "y", equation="bhid,bhjd->bhij")
    return Situation(g.model(y), {"Einsum": 1}, cost="ascend")  # which costs what these cost


@situation
def adjust_slice_and_matmul() -> Situation:
    g = Graph(x=["N", 5, 8])
    y = g.add(
        "MatMul", g.add("Slice", "x", g.constant([1]), g.constant([2]), g.constant([1])), g.weight(8, 4)
    )
    return Situation(g.model(y), {"Slice": 1, "MatMul": 1})


@pytest.mark.parametrize("name", sorted(SITUATIONS))
def test_the_situation_of_a_pass_is_covered(name: str) -> None:
    model, left, cost, initializers = SITUATIONS[name]()
    result = outcome(model, cost)
    assert result.counts == left
    if initializers is not None:
        assert len(result.model.graph.initializer) == initializers
    assert check_settled(model, cost) == left
    applied = {f"{law.ruleset}.{law.name}" for law in result.report.rewrites if law.matches}
    assert set(covering()[name]) <= applied, f"{PAGE.name} names laws that did not apply to it"


def covering() -> dict[str, list[str]]:
    """By pass the laws that the documentation says cover it; none where sharing or reading does."""
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: re.findall(r"`(\w+\.\w+)`", text) for name, text in rows}


def test_the_documentation_has_every_pass_and_names_laws_that_exist() -> None:
    rows = covering()
    assert set(rows) == set(SITUATIONS)
    assert {law for laws in rows.values() for law in laws} <= {law.key for law in all_laws()}

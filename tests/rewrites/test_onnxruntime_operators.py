"""Operators of ONNX Runtime's own: written where their ruleset is named, verified, imported, measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.cost_models.onnxruntime import OnnxRuntime
from egraph_opt.facts.fact import Fact
from egraph_opt.graph.runtime import RuntimeSetting
from egraph_opt.laws.selection import opt_in
from egraph_opt.measurement.store import Store

from ..knowledge_bases.graphs import Graph, optimized, outcome

RULES = ("default", "onnxruntime.operators")
DOMAIN = "com.microsoft"


class Fused(CostModel):
    """A target on which operators of ONNX Runtime's own cost nothing."""

    name = "fused"
    unit = "nodes"

    def cost(self, node: NodeView) -> float:
        return 0.0 if node.domain == DOMAIN else 1.0


def projected(g: Graph, *, batch: int | str = 2, mask: str = "", causal: bool = False) -> str:
    """Attention of four heads over rows of 16, as PyTorch exports it, without its projections."""
    shape = g.constant([0, 0, 4, 4])
    q, v = (g.add("Transpose", g.add("Reshape", x, shape), perm=[0, 2, 1, 3]) for x in ("q", "v"))
    k = g.add("Transpose", g.add("Reshape", "k", shape), perm=[0, 2, 3, 1])
    scores = g.add("Mul", g.add("MatMul", q, k), g.constant(0.5))
    if mask:
        scores = g.add("Add", scores, mask)
    attended = g.add("MatMul", g.add("Softmax", scores, axis=-1), v)
    return g.add("Reshape", g.add("Transpose", attended, perm=[0, 2, 1, 3]), g.constant([0, 0, 16]))


def test_the_ruleset_runs_where_it_is_named() -> None:
    assert opt_in("onnxruntime.operators")
    g = Graph(q=[2, 5, 16], k=[2, 7, 16], v=[2, 7, 16])
    assert "com.microsoft.MultiHeadAttention" not in optimized(g.model(projected(g)), Fused())


@pytest.mark.parametrize("opset", [13, 17, 23])
def test_attention_of_projections_is_one_node(opset: int) -> None:
    g = Graph(q=["N", "L", 16], k=["N", "M", 16], v=["N", "M", 16])
    made = outcome(g.model(projected(g), opset=opset), Fused(), rewrites=RULES)
    assert made.counts == {"com.microsoft.MultiHeadAttention": 1}
    assert [(o.domain, o.version) for o in made.model.opset_import] == [("", opset), (DOMAIN, 1)]
    onnx.checker.check_model(made.model, full_check=True)


@pytest.mark.parametrize(
    ("dims", "others"),
    [
        (["N", 1, "L", "M"], {}),
        (["L", "M"], {"Unsqueeze": 1}),
        (["N", 1, 1, "M"], {"Shape": 1, "Concat": 1, "Expand": 1}),
    ],
)
def test_a_mask_is_handed_to_the_kernel(dims: list[int | str], others: dict[str, int]) -> None:
    g = Graph(q=["N", "L", 16], k=["N", "M", 16], v=["N", "M", 16], m=dims)
    found = optimized(g.model(projected(g, mask="m")), Fused(), rewrites=RULES)
    assert found == Counter({"com.microsoft.MultiHeadAttention": 1, **others})


def test_a_body_may_use_the_operators_too() -> None:
    g = Graph(q=[2, 5, 16], k=[2, 7, 16], v=[2, 7, 16])
    inner = g.model(projected(g))
    branches = []
    for name, nodes in (("then", inner.graph.node), ("else", [helper.make_node("Neg", ["q"], ["n"])])):
        result = nodes[-1].output[0]
        value = helper.make_tensor_value_info(result, TensorProto.FLOAT, None)
        branches.append(helper.make_graph(list(nodes), name, [], [value]))
    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, [])
    node = helper.make_node("If", ["flag"], ["y"], then_branch=branches[0], else_branch=branches[1])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", [flag, *inner.graph.input], [y], list(inner.graph.initializer))
    model = helper.make_model(graph, opset_imports=inner.opset_import, ir_version=8)
    made = outcome(model, Fused(), rewrites=RULES)
    assert (DOMAIN, 1) in [(o.domain, o.version) for o in made.model.opset_import]


def test_a_model_that_has_the_operators_keeps_its_imports() -> None:
    g = Graph(q=[2, 5, 16], k=[2, 7, 16], v=[2, 7, 16])
    once = outcome(g.model(projected(g)), Fused(), rewrites=RULES).model
    again = outcome(once, Fused(), rewrites=RULES)
    assert again.counts == {"com.microsoft.MultiHeadAttention": 1}
    assert list(again.model.opset_import) == list(once.opset_import)


def product(g: Graph) -> str:
    turned = g.add("Transpose", "y", perm=[0, 2, 1])
    return g.add("Mul", g.add("MatMul", "x", turned), g.constant(0.5))


def layer_norm(g: Graph) -> str:
    return g.add("LayerNormalization", g.add("Add", "x", "y"), g.weight(8), g.weight(8), axis=-1)


def mean_square_norm(g: Graph) -> str:
    total = g.add("Add", "x", "y")
    square = g.add("ReduceMean", g.add("Mul", total, total), axes=[-1])
    root = g.add("Sqrt", g.add("Add", square, g.constant(1e-5)))
    return g.add("Mul", g.add("Div", total, root), g.weight(8))


def erf_gelu(g: Graph) -> str:
    inner = g.add("Add", g.add("Erf", g.add("Div", "x", g.constant(2**0.5))), g.constant(1.0))
    return g.add("Mul", g.add("Mul", "x", inner), g.constant(0.5))


def biased_gelu(g: Graph) -> str:
    return g.add("Gelu", g.add("Add", "x", g.weight(8)))


def tanh_gelu(g: Graph) -> str:
    return g.add("Gelu", "x", approximate="tanh")


def quick_gelu(g: Graph) -> str:
    return g.add("Mul", "x", g.add("Sigmoid", g.add("Mul", "x", g.constant(1.702))))


@pytest.mark.parametrize(
    ("made", "opset", "op"),
    [
        (product, 17, "FusedMatMul"),
        (layer_norm, 17, "SkipLayerNormalization"),
        (mean_square_norm, 13, "SkipSimplifiedLayerNormalization"),
        (erf_gelu, 13, "Gelu"),
        (biased_gelu, 20, "BiasGelu"),
        (tanh_gelu, 20, "FastGelu"),
        (quick_gelu, 17, "QuickGelu"),
    ],
)
def test_an_operator_stands_for_its_parts(made: Callable[[Graph], str], opset: int, op: str) -> None:
    g = Graph(x=["N", "L", 8], y=["N", "L", 8])
    model = g.model(made(g), opset=opset)
    assert optimized(model, Fused(), rewrites=RULES) == {f"{DOMAIN}.{op}": 1}


class Apart(CostModel):
    """A target on which a normalisation of rank 3 is expensive."""

    name = "apart"
    unit = "nodes"
    rulesets = ("onnxruntime.spelling",)

    def cost(self, node: NodeView) -> float:
        rows = node.inputs[0] if node.inputs else None
        return 10.0 if node.op_type == "LayerNormalization" and rows is not None and rows.rank == 3 else 1.0


def run_by_the_runtime(model: onnx.ModelProto, folder: Path) -> list[str]:
    options = RuntimeSetting().options()
    options.optimized_model_filepath = str(folder / "fused.onnx")
    RuntimeSetting().session(model.SerializeToString(), options)
    return [node.op_type for node in onnx.load(folder / "fused.onnx").graph.node]


def test_a_view_keeps_the_runtime_from_fusing_a_normalisation_with_the_sum_before(tmp_path: Path) -> None:
    g = Graph(x=["N", "L", 8], y=["N", "L", 8])
    model = g.model(layer_norm(g), opset=17)
    assert run_by_the_runtime(model, tmp_path) == ["SkipLayerNormalization"]
    spelled = outcome(model, Apart()).model
    assert sorted(run_by_the_runtime(spelled, tmp_path)) == [
        "Add",
        "LayerNormalization",
        "Squeeze",
        "Unsqueeze",
    ]


def view(op: str, shapes: list[Any], result: tuple[int, ...], **attributes: Any) -> NodeView:
    facts = tuple(None if s is None else Fact(TensorProto.FLOAT, s) for s in shapes)
    return NodeView(op, DOMAIN, attributes, facts, (Fact(TensorProto.FLOAT, result),), opset=17)


ROWS = (1, 64, 64)
MEASURED = [
    view("MultiHeadAttention", [ROWS, ROWS, ROWS], ROWS, num_heads=4, scale=0.25),
    view("MultiHeadAttention", [ROWS, ROWS, ROWS, None, None, (1, 1, 64, 64)], ROWS, num_heads=4, scale=0.25),
]


@pytest.mark.parametrize("node", MEASURED, ids=lambda node: node.op_type)
def test_they_are_measured_as_other_nodes_are(node: NodeView) -> None:
    prices = OnnxRuntime(seconds=10.0, store=Store(None))
    prices.prepare([node], lambda done: None)
    assert prices.cost(node) > 0
    assert not prices.remarks([node])
    assert np.isfinite(prices.cost(node))

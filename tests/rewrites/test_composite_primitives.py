"""Composite functions written back, for the targets that want it."""

from __future__ import annotations

import numpy as np
import pytest

from egraph_opt import optimize, saturate
from egraph_opt.cost.model import CostModel, NodeView

from ..knowledge_bases.graphs import Graph, optimized

WIDTH = 8


class Lacking(CostModel):
    """A target without some operators."""

    name = "lacking"
    unit = "nodes"
    rulesets = ("composites.primitives",)

    def __init__(self, *lacks: str) -> None:
        self.lacks = frozenset(lacks)

    def cost(self, node: NodeView) -> float:
        return 1000.0 if node.op_type in self.lacks else 1.0


class PlainNorms(CostModel):
    """A target whose normalisation runs at once where it has neither scale nor bias."""

    name = "plain-norms"
    unit = "steps"
    rulesets = ("composites.primitives",)

    def cost(self, node: NodeView) -> float:
        if node.op_type != "LayerNormalization":
            return 1.0
        scale = node.inputs[1]
        return 1.0 + (scale is None or scale.splat != 1) + (len(node.inputs) > 2)


ACTIVATIONS = {"Gelu": 20, "HardSigmoid": 13, "HardSwish": 14, "Mish": 18, "Softplus": 13, "Swish": 24}


@pytest.mark.parametrize("op", sorted(ACTIVATIONS))
def test_an_activation_that_a_target_lacks_is_written_out(op: str) -> None:
    g = Graph(x=["N", WIDTH])
    made = g.model(g.add(op, "x"), opset=ACTIVATIONS[op])
    assert op not in optimized(made, Lacking("HardSwish", op))
    assert optimized(made, Lacking()) == {op: 1}


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_softmax_is_written_out(op: str) -> None:
    g = Graph(x=["N", WIDTH])
    made = g.model(g.add(op, "x", axis=1), opset=17)
    assert not {"Softmax", "LogSoftmax"} & set(optimized(made, Lacking("Softmax", "LogSoftmax")))


@pytest.mark.parametrize("biased", [False, True])
def test_normalisations_are_written_out(biased: bool) -> None:
    g = Graph(x=["N", 5, WIDTH])
    operands = [g.weight(WIDTH) for _ in range(1 + biased)]
    made = g.model(g.add("LayerNormalization", "x", *operands, axis=-1), opset=23)
    assert optimized(made, Lacking("LayerNormalization"))["RMSNormalization"] == 1
    written = optimized(made, Lacking("LayerNormalization", "RMSNormalization"))
    assert "RMSNormalization" not in written
    assert written["ReduceMean"] + written["GlobalAveragePool"] == 2


def test_attention_is_written_out() -> None:
    g = Graph(q=["N", 2, 5, 4], k=["N", 2, 6, 4], v=["N", 2, 6, 4], m=[5, 6])
    made = g.model(g.add("Attention", "q", "k", "v", "m", scale=0.3), opset=23)
    written = optimized(made, Lacking("Attention"))
    assert written == {"Transpose": 1, "MatMul": 2, "Mul": 1, "Add": 1, "Softmax": 1}


def test_scale_and_bias_of_a_normalisation_go_into_the_product_behind() -> None:
    g = Graph(x=["N", 5, WIDTH])
    norm = g.add("LayerNormalization", "x", g.weight(WIDTH), g.weight(WIDTH), axis=-1)
    dense = g.add("Add", g.add("MatMul", norm, g.weight(WIDTH, 4)), g.weight(4))
    result = optimize(g.model(dense, opset=17), cost=PlainNorms(), strict=True)
    assert [node.op_type for node in result.model.graph.node] == ["LayerNormalization", "MatMul", "Add"]
    assert len(result.model.graph.node[0].input) == 2
    assert (result.report.cost.before, result.report.cost.after) == (5, 3)


def test_writing_back_ends() -> None:
    """Each composite adds a bounded number of e-nodes, and what is found in them again is not new."""

    def size(layers: int) -> int:
        g, x = Graph(x=[1, 5, WIDTH]), "x"
        for _ in range(layers):
            scale, bias = (g.constant(np.linspace(0.5 + k, 2 + k, WIDTH)) for k in range(2))
            x = g.add("Gelu", g.add("LayerNormalization", x, scale, bias, axis=-1))
            x = g.add("Softmax", x, axis=-1)
        region = saturate(g.model(x, opset=20), target=Lacking()).region
        assert region is not None
        assert region.saturation.stop == "saturated"
        return region.snapshot.n_nodes

    two, four = size(2), size(4)
    assert (four - two) / 6 < 40


@pytest.mark.parametrize("op", [*sorted(ACTIVATIONS), "Softmax", "LogSoftmax"])
def test_a_function_in_primitives_is_not_found_in_itself_for_ever(op: str) -> None:
    """Softplus(x) has Softplus(-|x|) in it, and this Softplus(-|-|x||)."""
    g = Graph(x=["N", WIDTH])
    region = saturate(g.model(g.add(op, "x"), opset=max(ACTIVATIONS.values())), target=Lacking()).region
    assert region is not None
    assert region.saturation.stop == "saturated"
    assert region.snapshot.n_nodes < 40

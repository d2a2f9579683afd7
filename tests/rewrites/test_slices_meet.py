"""Slices meet past what lies between them; what is made alike of several tensors is made of them joined."""

from collections.abc import Callable

import numpy as np
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, outcome
from .test_channels_last import check_as_cheap

Cut = tuple[int, int, int]
DIMS: list[int | str] = ["N", 24, 30, 20]


def cut(g: Graph, x: str, *cuts: Cut) -> str:
    axes, starts, ends = (g.constant(list(values)) for values in zip(*cuts, strict=True))
    return g.add("Slice", x, starts, ends, axes)


def mean(g: Graph, x: str) -> str:
    return g.add("ReduceMean", x, axes=[-1], keepdims=0)


def resized(g: Graph, x: str) -> str:
    return g.add("Resize", x, "", g.constant([1.0, 1.0, 1.0, 2.0]), mode="nearest")


def chosen(g: Graph, x: str) -> str:
    return g.add("Where", g.add("Less", x, g.constant(0.5)), x, g.weight(20))


def pooled(g: Graph, x: str) -> str:
    return g.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])


def convolved(g: Graph, x: str) -> str:
    return g.add("Conv", x, g.weight(8, 18, 3, 3), pads=[0, 1, 0, 1])


BETWEEN: dict[str, tuple[Callable[[Graph, str], str], Cut, Cut]] = {
    "Softmax": (lambda g, x: g.add("Softmax", x, axis=-1), (2, 3, 13), (2, 3, 13)),
    "mean": (mean, (2, 3, 13), (2, 3, 13)),
    "view": (lambda g, x: g.add("Reshape", x, g.constant([0, 18, -1])), (2, 60, 260), (2, 3, 13)),
    "resized": (resized, (2, 3, 13), (2, 3, 13)),
    "Where": (chosen, (2, 3, 13), (2, 3, 13)),
    "pooled": (pooled, (2, 3, 8), (2, 6, 16)),
    "convolved": (convolved, (2, 3, 13), (2, 3, 15)),
}
"""What lies between two slices, the one behind, and that slice in front."""


@pytest.mark.parametrize(("name", "opset"), list(zip(BETWEEN, (13, 17) * 4, strict=False)))
def test_two_slices_meet_past_what_lies_between(name: str, opset: int) -> None:
    made, behind, before = BETWEEN[name]

    models = []
    for by_hand in (False, True):
        g = Graph(x=DIMS)
        if by_hand:
            y = made(g, cut(g, "x", (1, 2, 20), before))
        else:
            y = cut(g, made(g, cut(g, "x", (1, 2, 20))), behind)
        models.append(g.model(y, opset=opset))
    check_as_cheap(*models)


JOINED: dict[str, Callable[[Graph, str], str]] = {
    "Softmax": lambda g, x: g.add("Softmax", x, axis=-1),
    "mean": mean,
    "GlobalAveragePool": lambda g, x: g.add("GlobalAveragePool", x),
    "pooled": pooled,
    "view": lambda g, x: g.add("Reshape", x, g.constant([0, -1, 600])),
    "rows": lambda g, x: g.add("Flatten", x),
    "Unsqueeze": lambda g, x: g.add("Unsqueeze", x, g.constant([-2])),
}


@pytest.mark.parametrize("name", list(JOINED))
def test_what_is_made_alike_is_made_of_all_at_once(name: str) -> None:
    models = []
    for by_hand in (False, True):
        g = Graph(x=[2, 3, 30, 20], y=[2, 8, 30, 20], z=[2, 5, 30, 20])
        if by_hand:
            y = JOINED[name](g, g.add("Concat", *"xyz", axis=1))
        else:
            y = g.add("Concat", *(JOINED[name](g, v) for v in "xyz"), axis=1)
        models.append(g.model(g.add("Tanh", y), opset=17))
    check_as_cheap(*models)


def test_a_cut_along_two_axes_passes_constants_of_both() -> None:
    g = Graph()
    x = g.input("x", DIMS, TensorProto.FLOAT16)
    scale = g.constant(np.linspace(1, 2, 18).reshape(18, 1, 1), np.float16)
    y = g.add("Mul", cut(g, x, (1, 2, 20)), scale)
    y = g.add("Tanh", cut(g, y, (1, 2, 12), (2, 3, 13)))
    model = g.model(y, dtypes={y: TensorProto.FLOAT16})
    assert outcome(model, "ascend").counts == {"Slice": 1, "Mul": 1, "Tanh": 1}


def test_a_block_that_is_cut_through_stays() -> None:
    g = Graph(x=DIMS)
    y = g.add("Reshape", cut(g, "x", (1, 2, 20)), g.constant([0, 18, 600]))
    assert outcome(g.model(g.add("Tanh", cut(g, y, (2, 61, 260))))).counts["Slice"] == 2


@pytest.mark.parametrize("opset", [11, 21])
def test_a_classifier_computes_the_token_that_it_reads(opset: int) -> None:
    g = Graph(x=["N", 40, 64])
    y = g.add("Tanh", g.add("Add", g.add("MatMul", "x", g.weight(64, 96)), g.weight(96)))
    token = g.add("Gather", y, g.constant(0), axis=1)
    result = outcome(g.model(g.add("MatMul", token, g.weight(96, 5)), opset=opset), "ascend")
    (product, _) = (node for node in result.model.graph.node if node.op_type == "MatMul")
    assert product.input[0] != "x"
    assert result.report.cost.after < 0.8 * result.report.cost.before


def test_of_two_parts_of_the_rows_neither_has_a_product_of_its_own() -> None:
    g = Graph(x=["N", 40, 64])
    y = g.add("Tanh", g.add("MatMul", "x", g.weight(64, 96)))
    parts = [g.add("Sin", cut(g, y, (1, k, k + 20))) for k in (0, 20)]
    assert outcome(g.model(*parts), "ascend").counts["MatMul"] == 1

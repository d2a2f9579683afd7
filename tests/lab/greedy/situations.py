"""Graphs on which passes in an order end early: one pays first, for another to gain; one spoils another."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import onnx

from ...knowledge_bases.graphs import Graph


class Situation(NamedTuple):
    """A graph, and the cost model under which passes fall short."""

    cost: str
    model: Callable[[], onnx.ModelProto]


def cut(g: Graph, x: str, axis: int, start: int, end: int) -> str:
    return g.add("Slice", x, *(g.constant([v]) for v in (start, end, axis)))


def normalized(g: Graph, x: str, channels: int) -> str:
    scale, shift, mean = (g.weight(channels, positive=k == 0) for k in range(3))
    return g.add("BatchNormalization", x, scale, shift, mean, g.weight(channels, positive=True))


def functions_of_gathered_parts() -> onnx.ModelProto:
    """The Gathers become Slices that cost as much; only then a function of all parts is one of the whole."""
    g = Graph(x=["N", 6, 4], y=["N", 6, 4])
    parts = [g.add("Relu", g.add("Gather", "x", g.constant([2 * k, 2 * k + 1]), axis=1)) for k in range(3)]
    sums = [
        g.add("Add", cut(g, "x", 1, 3 * k, 3 * k + 3), cut(g, "y", 1, 3 * k, 3 * k + 3)) for k in range(2)
    ]
    return g.model(g.add("Concat", *parts, axis=1), g.add("Concat", *sums, axis=1))


def parts_put_together() -> onnx.ModelProto:
    """By a Slice, a Gather and a Split: one spelling is needed before they are seen to be the whole."""
    g = Graph(x=["N", 8, 4])
    first, second = cut(g, "x", 1, 0, 2), g.add("Gather", "x", g.constant([2, 3]), axis=1)
    third, fourth = g.add_many("Split", cut(g, "x", 1, 4, 8), g.constant([3, 1]), outputs=2, axis=1)
    left = g.add("Concat", first, cut(g, "x", 1, 5, 5), second, axis=1)
    return g.model(g.add("Sin", g.add("Concat", left, g.add("Concat", third, fourth, axis=1), axis=1)))


def an_unused_projection() -> onnx.ModelProto:
    """Only one of three fused projections is used, behind two views."""
    g = Graph(x=["N", "L", 8])
    y = g.add("MatMul", "x", g.weight(8, 24))
    heads = g.add("Transpose", g.add("Reshape", y, g.constant([0, 0, 3, 2, 4])), perm=[2, 0, 3, 1, 4])
    return g.model(g.add("Exp", g.add("Gather", heads, g.constant(2), axis=0)))


def normalized_parts() -> onnx.ModelProto:
    """A function of each of two parts, and a BatchNormalization of them together."""
    g = Graph(x=[2, 8, 6])
    parts = [
        g.add("Relu", g.add("Gather", "x", g.constant(list(range(4 * k, 4 * k + 4))), axis=1)) for k in (0, 1)
    ]
    return g.model(normalized(g, g.add("Concat", *parts, axis=1), 8))


def parts_of_a_product() -> onnx.ModelProto:
    """A sum of two parts of one product is a product with a sum of weights."""
    g = Graph(x=[16, 8])
    y = g.add("MatMul", "x", g.weight(8, 12))
    return g.model(g.add("Add", cut(g, y, 1, 0, 4), cut(g, y, 1, 4, 8)))


def single_rows() -> onnx.ModelProto:
    """Gathers of one row each, a function of each, put together: the rows are a Slice."""
    g = Graph(x=["N", 4, 8])
    rows = [g.add("Relu", g.add("Gather", "x", g.constant([k]), axis=1)) for k in range(3)]
    return g.model(g.add("Concat", *rows, axis=1))


def folded_after_lifting() -> onnx.ModelProto:
    """1-D convolutions, a BatchNormalization between: lifted to images each pays for two Reshapes."""
    g = Graph(x=[1, 16, 64])
    y = g.add("Relu", normalized(g, g.add("Conv", "x", g.weight(16, 16, 3), pads=[1, 1]), 16))
    return g.model(g.add("Relu", g.add("Conv", y, g.weight(16, 16, 3), pads=[1, 1])))


def sigmoids_between() -> onnx.ModelProto:
    """No single 1-D convolution gains by being lifted, all three together do."""
    g = Graph(x=[1, 32, 128])
    y = g.add("Sigmoid", g.add("Conv", "x", g.weight(32, 32, 3), pads=[1, 1]))
    y = g.add("Sigmoid", g.add("Conv", y, g.weight(32, 32, 3), pads=[1, 1]))
    return g.model(g.add("Conv", y, g.weight(8, 32, 1)))


def pooled_between() -> onnx.ModelProto:
    """The same with a pool that has to be lifted as well."""
    g = Graph(x=[1, 16, 64])
    y = g.add("Relu", g.add("Conv", "x", g.weight(16, 16, 5), pads=[2, 2]))
    y = g.add("MaxPool", y, kernel_shape=[2], strides=[2])
    return g.model(g.add("Relu", g.add("Conv", y, g.weight(16, 16, 5), pads=[2, 2])))


def joined_1d() -> onnx.ModelProto:
    """Two convolutions of one input, put together: lifted, they are one."""
    g = Graph(x=[1, 16, 64])
    parts = [g.add("Relu", g.add("Conv", "x", g.weight(16, 16, 3), pads=[1, 1])) for _ in range(2)]
    return g.model(g.add("Conv", g.add("Concat", *parts, axis=1), g.weight(8, 32, 1)))


def gathered_heads() -> onnx.ModelProto:
    """Rows that a Gather takes without their axis, and an Unsqueeze gives it back."""
    g = Graph(x=["N", 4, 8])
    rows = [g.add("Tanh", g.add("Gather", "x", g.constant(k), axis=1)) for k in range(2)]
    rows = [g.add("Unsqueeze", row, g.constant([1])) for row in rows]
    return g.model(g.add("Concat", *rows, axis=1))


SITUATIONS = {
    "functions of gathered parts": Situation("nodes", functions_of_gathered_parts),
    "parts put together": Situation("nodes", parts_put_together),
    "an unused projection": Situation("ascend", an_unused_projection),
    "normalized parts": Situation("nodes", normalized_parts),
    "parts of a product": Situation("nodes", parts_of_a_product),
    "single rows": Situation("nodes", single_rows),
    "gathered heads": Situation("nodes", gathered_heads),
    "folded after lifting": Situation("ascend", folded_after_lifting),
    "sigmoids between": Situation("ascend", sigmoids_between),
    "pooled between": Situation("ascend", pooled_between),
    "joined 1-D convolutions": Situation("ascend", joined_1d),
}

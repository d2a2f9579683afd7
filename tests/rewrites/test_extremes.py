"""Max and Min of what is the greatest or least already, and of stacks of integers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Graph, check_settled, check_untouched, optimized, outcome

ROWS = ("N", 4)


@pytest.mark.parametrize("opset", [12, 13, 17, 21])
@pytest.mark.parametrize("op", ["Max", "Min"])
def test_nested_ones_are_one(op: str, opset: int) -> None:
    g = Graph(x=ROWS, y=ROWS, z=["N", 1], u=[4])
    model = g.model(g.add(op, g.add(op, "x", "y"), g.add(op, "z", "u")), opset=opset)
    assert check_settled(model) == Counter({op: 1})
    assert outcome(model, "ascend").counts == Counter({op: 1})
    g = Graph(x=ROWS, y=ROWS, z=ROWS)
    model = g.model(g.add(op, "z", g.add(op, g.add(op, "x", "y"), "x", "z")), opset=opset)
    assert check_settled(model) == Counter({op: 1})


def test_what_is_there_already_counts_once() -> None:
    g = Graph(x=ROWS, y=ROWS)
    assert check_settled(g.model(g.add("Max", "x", g.add("Max", "y", "x")))) == Counter(Max=1)
    g = Graph(x=ROWS)
    assert optimized(g.model(g.add("Relu", g.add("Min", "x", "x")))) == Counter(Relu=1)


def test_the_least_of_the_greatest_stays() -> None:
    g = Graph(x=ROWS, y=ROWS)
    check_untouched(g.model(g.add("Min", g.add("Max", "x", "y"), "x")))
    g = Graph(x=ROWS, y=ROWS, z=ROWS)
    check_untouched(g.model(g.add("Mean", g.add("Mean", "x", "y"), "z")))
    g = Graph(x=ROWS, y=ROWS, z=ROWS)
    both = g.add("Max", "x", "y")
    assert optimized(g.model(g.add("Max", both, "z"), both))["Max"] == 2


@pytest.mark.parametrize("op", ["Max", "Min", "Mean"])
def test_broadcasting_needs_no_expand(op: str) -> None:
    g = Graph(x=["N", 1, 4], y=["N", "L", 4])
    assert check_settled(g.model(g.add(op, "y", g.add("Expand", "x", g.add("Shape", "y"))))) == Counter(
        {op: 1}
    )
    g = Graph(x=["N", 1, 4], y=["N", 1, 4])
    counts = optimized(g.model(g.add(op, g.add("Expand", "x", g.constant([1, 6, 1])), "y")))
    assert counts[op] == 1


@pytest.mark.parametrize("dtype", [TensorProto.INT32, TensorProto.INT64])
@pytest.mark.parametrize(("opset", "axis"), [(12, 0), (13, 2), (17, 1), (21, -1)])
def test_stacks_of_integers(dtype: int, opset: int, axis: int) -> None:
    for kind, op in (("ReduceMax", "Max"), ("ReduceMin", "Min")):
        g = Graph()
        xs = [g.input(name, ["N", 3], dtype) for name in "xyz"]
        if opset < 13:
            parts = [g.add("Unsqueeze", x, axes=[axis]) for x in xs]
        else:
            parts = [g.add("Unsqueeze", x, g.constant([axis])) for x in xs]
        stack = g.add("Concat", *parts, axis=axis)
        if opset < 18:
            y = g.add(kind, stack, axes=[axis], keepdims=0)
        else:
            y = g.add(kind, stack, g.constant([axis]), keepdims=0)
        assert check_settled(g.model(y, opset=opset, dtypes={y: dtype})) == Counter({op: 1})


def test_sums_of_integers_have_no_operator() -> None:
    g = Graph()
    parts = [g.add("Unsqueeze", g.input(name, [4, 3], TensorProto.INT64), g.constant([0])) for name in "xy"]
    stack = g.add("Concat", *parts, axis=0)
    y = g.add("ReduceSum", stack, g.constant(np.array([0])), keepdims=0)
    assert "Sum" not in optimized(g.model(y, dtypes={y: TensorProto.INT64}))

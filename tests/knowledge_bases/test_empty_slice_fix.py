"""Knowledge base 7, EmptySliceFix: what is empty disappears from a Concat."""

from collections import Counter

import numpy as np
import pytest
from onnx import TensorProto

from .graphs import OPSETS, Graph, check_settled, check_untouched, optimized, outcome

FAR = 2**63 - 1
NONE = Counter(Identity=1)
"""What is left of an output that is an input."""


def cut(g: Graph, x: str, start: int, end: int, axis: int = 1, step: int = 1) -> str:
    return g.add("Slice", x, *(g.constant([v]) for v in (start, end, axis, step)))


@pytest.mark.parametrize("opset", OPSETS)
def test_an_empty_slice_leaves_a_concat_on_every_opset(opset: int) -> None:
    g = Graph(x=["N", 6, 4], y=["N", 2, 4])
    joined = g.add("Concat", cut(g, "x", 6, FAR), "y", "x", axis=1)
    assert check_settled(g.model(g.add("Relu", joined), opset=opset)) == Counter(Concat=1, Relu=1)


@pytest.mark.parametrize(
    ("start", "end", "step"),
    [
        (6, FAR, 1),
        (100, 200, 1),
        (3, 3, 1),
        (4, 2, 1),
        (-1, -1, 1),
        (-1, -3, 2),
        (2, 4, -1),
        (0, 5, -2),
        (5, -6, 1),
    ],
)
def test_ranges_that_take_nothing(start: int, end: int, step: int) -> None:
    assert not len(range(6)[start:end:step])
    g = Graph(x=["N", 6], y=["N", 2])
    model = g.model(g.add("Concat", "y", cut(g, "x", start, end, step=step), axis=1))
    assert check_settled(model) == NONE


@pytest.mark.parametrize("place", range(3))
def test_wherever_it_stands_the_others_keep_their_order(place: int) -> None:
    g = Graph(x=["N", 6], y=["N", 2])
    operands = ["x", "y"]
    operands.insert(place, cut(g, "x", 6, 6))
    result = outcome(g.model(g.add("Concat", *operands, "x", axis=-1)))
    (joined,) = [node for node in result.model.graph.node if node.op_type == "Concat"]
    assert list(joined.input) == ["x", "y", "x"]


def test_an_empty_slice_between_two_concats_leaves_one() -> None:
    g = Graph(x=["N", 3, 2], y=["N", 4, 2])
    inner = g.add("Concat", cut(g, "x", 3, FAR), "y", axis=1)
    model = g.model(g.add("Concat", "x", inner, cut(g, inner, 4, 9), axis=1))
    assert check_settled(model) == Counter(Concat=1)


def test_all_operands_empty_give_an_empty_output() -> None:
    g = Graph(x=[2, 6], y=[2, 3])
    empty = [cut(g, "x", 6, FAR), cut(g, "y", 1, 1)]
    model = g.model(g.add("Concat", *empty, axis=1))
    assert sum(optimized(model).values()) <= 1


def test_empty_initializers_inputs_and_split_parts() -> None:
    g = Graph(x=["N", 6], e=["N", 0])
    first, second = g.add_many("Split", "x", g.constant([6, 0]), outputs=2, axis=1)
    model = g.model(g.add("Relu", g.add("Concat", "e", second, first, "e", axis=1)))
    assert check_settled(model) == Counter(Relu=1)
    g = Graph(x=[2, 6])
    nothing = g.constant(np.zeros((2, 0), np.float32))
    assert check_settled(g.model(g.add("Concat", nothing, "x", nothing, axis=1))) == NONE


def test_what_is_computed_of_nothing_is_not_computed() -> None:
    g = Graph(x=["N", 6, 4], y=["N", 2, 4])
    empty = g.add("Relu", g.add("Mul", cut(g, "x", 6, FAR), g.weight(4)))
    model = g.model(g.add("Sin", g.add("Concat", "y", empty, axis=1)))
    assert check_settled(model) == Counter(Sin=1)


@pytest.mark.parametrize(("rank", "axis"), [(1, 0), (2, 0), (3, -1), (4, -3), (5, 2)])
def test_every_rank_and_axes_from_the_end(rank: int, axis: int) -> None:
    g = Graph(x=[3] * rank, y=[3] * rank)
    model = g.model(g.add("Concat", "y", cut(g, "x", 3, 7, axis), "x", axis=axis))
    assert check_settled(model) == Counter(Concat=1)


def test_several_axes_of_which_one_takes_nothing() -> None:
    g = Graph(x=["N", 6, 4], y=["N", 2, 2])
    spec = [g.constant(v) for v in ([0, 6], [2, FAR], [2, 1])]
    model = g.model(g.add("Relu", g.add("Concat", g.add("Slice", "x", *spec), "y", axis=1)))
    assert check_settled(model) == Counter(Relu=1)


def test_integers_too() -> None:
    g = Graph()
    x = g.input("x", [4], TensorProto.INT64)
    out = g.add("Neg", g.add("Concat", cut(g, x, 4, FAR, 0), x, axis=0))
    assert check_settled(g.model(out, dtypes={out: TensorProto.INT64})) == Counter(Neg=1)


@pytest.mark.parametrize("cost", ["flops", "bytes", "ascend"])
def test_no_target_keeps_it(cost: str) -> None:
    g = Graph(x=[4, 64, 8], y=[4, 32, 8])
    model = g.model(g.add("Relu", g.add("Concat", cut(g, "x", 64, FAR), "y", axis=1)))
    assert check_settled(model, cost) == Counter(Relu=1)


def test_an_empty_slice_that_is_an_output_stays() -> None:
    g = Graph(x=["N", 6], y=["N", 2])
    empty = cut(g, "x", 6, FAR)
    result = outcome(g.model(empty, g.add("Relu", g.add("Concat", empty, "y", axis=1))))
    assert result.counts == Counter(Slice=1, Relu=1)
    assert result.model.graph.output[0].name == empty


def test_what_may_have_elements_stays() -> None:
    g = Graph(x=["L", 2], y=["M", 2])
    check_untouched(g.model(g.add("Concat", cut(g, "x", 4, FAR, 0), "y", axis=0)))
    g = Graph(x=["N", 6], y=["N", 2])
    check_untouched(g.model(g.add("Concat", cut(g, "x", 5, FAR), "y", axis=1)))
    g = Graph(e=["N", 0, 3], f=["N", 0, 2])
    assert optimized(g.model(g.add("Concat", "e", "f", axis=2)))["Concat"] <= 1

"""Knowledge base 1, MergeConsecutiveConcat: Concat_a(.., Concat_a(ys), ..) = Concat_a(.., ys, ..)."""

from collections import Counter

import onnx
import pytest
from onnx import TensorProto

from .graphs import OPSETS, Graph, check_settled, check_untouched, outcome


def joined(model: onnx.ModelProto) -> list[list[str]]:
    """The operands of every Concat."""
    return [list(node.input) for node in model.graph.node if node.op_type == "Concat"]


@pytest.mark.parametrize("opset", OPSETS)
def test_two_become_one_on_every_opset(opset: int) -> None:
    g = Graph(x=["N", 2, 4], y=["N", 3, 4], z=["N", 1, 4])
    inner = g.add("Concat", "x", "y", axis=1)
    model = g.model(g.add("Relu", g.add("Concat", inner, "z", axis=1)), opset=opset)
    assert check_settled(model) == Counter(Concat=1, Relu=1)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_order_of_operands_is_kept_wherever_the_inner_one_stands(place: int) -> None:
    g = Graph(x=["N", 2], y=["N", 3], z=["N", 1], w=["N", 4])
    operands = ["z", "w"]
    operands.insert(place, g.add("Concat", "y", "x", axis=1))
    result = outcome(g.model(g.add("Concat", *operands, axis=1)))
    expected = ["z", "w"]
    expected[place:place] = ["y", "x"]
    assert joined(result.model) == [expected]


@pytest.mark.parametrize(("rank", "axis"), [(1, 0), (2, 0), (2, -1), (3, -2), (4, 1), (4, -1), (5, 3)])
def test_every_rank_and_axes_from_the_end(rank: int, axis: int) -> None:
    dims = list(range(2, 2 + rank))
    g = Graph(x=dims, y=dims)
    positive = axis % rank
    inner = g.add("Concat", "x", "y", axis=axis)
    outer = g.add("Concat", "y", inner, axis=positive)
    result = outcome(g.model(g.add("Concat", outer, "x", axis=axis - rank if axis >= 0 else positive)))
    assert joined(result.model) == [["y", "x", "y", "x"]]


def test_an_inner_concat_that_is_used_twice_is_written_twice() -> None:
    g = Graph(x=["N", 2], y=["N", 3])
    inner = g.add("Concat", "x", "y", axis=1)
    result = outcome(g.model(g.add("Concat", inner, "x", inner, axis=1)))
    assert joined(result.model) == [["x", "y", "x", "x", "y"]]


def test_a_chain_and_a_tree_are_one() -> None:
    g = Graph(x=["N", 1], y=["N", 2])
    chain = g.add("Concat", "x", "y", axis=1)
    for _ in range(5):
        chain = g.add("Concat", chain, "y", axis=1)
    pairs = [g.add("Concat", "x", "y", axis=1), g.add("Concat", "y", "x", axis=1)]
    tree = g.add("Concat", *pairs, axis=-1)
    result = outcome(g.model(g.add("Concat", chain, tree, axis=1)))
    assert joined(result.model) == [["x", *"yyyyyy", *"xyyx"]]


def test_symbolic_lengths_along_the_axis_that_is_joined() -> None:
    g = Graph(x=["L", 2], y=["M", 2])
    inner = g.add("Concat", "x", "y", axis=0)
    assert check_settled(g.model(g.add("Concat", "y", inner, axis=0))) == Counter(Concat=1)


def test_integers_join_like_floats() -> None:
    g = Graph()
    x, y = g.input("x", ["N"], TensorProto.INT64), g.input("y", [3], TensorProto.INT64)
    out = g.add("Concat", g.add("Concat", x, y, axis=0), y, axis=0)
    assert check_settled(g.model(out, dtypes={out: TensorProto.INT64})) == Counter(Concat=1)


def test_an_inner_concat_that_is_an_output_or_has_other_users_stays_beside_the_joint_one() -> None:
    g = Graph(x=["N", 2], y=["N", 3])
    inner = g.add("Concat", "x", "y", axis=1)
    outer = g.add("Concat", inner, "x", axis=1)
    result = outcome(g.model(inner, outer))
    assert result.counts == Counter(Concat=2)
    assert [o.name for o in result.model.graph.output] == [inner, outer]
    g = Graph(x=["N", 2], y=["N", 3])
    inner = g.add("Concat", "x", "y", axis=1)
    outputs = g.add("Relu", inner), g.add("Concat", inner, "x", axis=1)
    assert check_settled(g.model(*outputs)) == Counter(Concat=2, Relu=1)


def test_a_concat_of_one_is_nothing_also_between_two() -> None:
    g = Graph(x=["N", 2], y=["N", 3])
    inner = g.add("Concat", g.add("Concat", "x", "y", axis=1), axis=1)
    assert check_settled(g.model(g.add("Concat", inner, "y", axis=1))) == Counter(Concat=1)


def test_views_and_equal_functions_between_two_concats_do_not_keep_them_apart() -> None:
    g = Graph(x=["N", 2, 3], y=["N", 4, 3], z=["N", 1, 3])
    relus = [g.add("Relu", name) for name in "xyz"]
    inner = g.add("Relu", g.add("Concat", "x", "y", axis=1))
    model = g.model(g.add("Sigmoid", g.add("Concat", inner, relus[2], axis=1)))
    assert check_settled(model) == Counter(Concat=1, Relu=1, Sigmoid=1)


@pytest.mark.parametrize("cost", ["bytes", "ascend"])
def test_targets_that_count_bytes_or_time_want_it_too(cost: str) -> None:
    g = Graph(x=["N", 64, 8], y=["N", 64, 8])
    inner = g.add("Concat", "x", "y", axis=1)
    model = g.model(g.add("Concat", inner, "x", axis=1))
    assert check_settled(model, cost) == Counter(Concat=1)


def test_nothing_happens_where_the_axes_differ_or_something_stands_between() -> None:
    g = Graph(x=["N", 2, 3], y=["N", 2, 3])
    inner = g.add("Concat", "x", "y", axis=1)
    check_untouched(g.model(g.add("Concat", inner, inner, axis=2)))
    g = Graph(x=["N", 2], y=["N", 3])
    inner = g.add("Sin", g.add("Concat", "x", "y", axis=1))
    check_untouched(g.model(g.add("Concat", inner, "x", axis=1)))

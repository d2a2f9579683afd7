"""Knowledge base 9, GatherToSplit: several Gathers or Slices of one tensor are parts of one Split."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import onnx
import pytest

from .graphs import OPSETS, Dims, Graph, check_settled, check_untouched, outcome

USERS = ("Sin", "Cos", "Tan", "Exp", "Abs", "Sqrt")


def gathered(g: Graph, x: str, indices: Sequence[object], axis: int) -> list[str]:
    """Gathers, each with a user of its own."""
    parts = (g.add("Gather", x, g.constant(i), axis=axis) for i in indices)
    return [g.add(user, part) for user, part in zip(USERS, parts, strict=False)]


def gathers(dims: Dims, indices: Sequence[object], axis: int = 1, opset: int = 17) -> onnx.ModelProto:
    g = Graph(x=dims)
    return g.model(*gathered(g, "x", indices, axis), opset=opset)


def used(count: int, **others: int) -> Counter[str]:
    return Counter({**dict.fromkeys(USERS[:count], 1), **others})


def sizes(model: onnx.ModelProto) -> list[int]:
    """The number of outputs of every Split."""
    return [len(node.output) for node in model.graph.node if node.op_type == "Split"]


@pytest.mark.parametrize("opset", OPSETS)
def test_consecutive_indices_on_every_opset(opset: int) -> None:
    model = gathers(["N", 6, 4], [[0, 1], [2, 3, 4], [5]], opset=opset)
    assert check_settled(model) == used(3, Split=1)


@pytest.mark.parametrize(("rank", "axis"), [(1, 0), (2, 1), (3, -1), (4, 1), (5, -4)])
def test_every_rank_and_axes_from_the_end(rank: int, axis: int) -> None:
    assert check_settled(gathers([6] * rank, [[0, 1, 2], [3, 4, 5]], axis)) == used(2, Split=1)


def test_indices_from_the_end_and_in_any_order_of_the_nodes() -> None:
    assert check_settled(gathers(["N", 6], [[-2, -1], [2, 3], [-6, -5]])) == used(3, Split=1)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_partial_covers_leave_parts_without_users(count: int) -> None:
    indices = [[1, 2], [4, 5, 6], [8], [10, 11]][:count]
    result = outcome(gathers(["N", 13], indices))
    assert result.counts == used(count, Split=1)
    assert sizes(result.model) == [2 * count + 1]


def test_scalar_indices_are_squeezed_where_the_target_likes_views() -> None:
    model = gathers([2, 4, 256, 128], list(range(4)))
    assert check_settled(model, "ascend") == used(4, Split=1, Squeeze=4)
    assert check_settled(model, "nodes") == used(4, Gather=4)


def test_scalar_and_vector_indices_and_slices_share_a_split() -> None:
    g = Graph(x=["N", 8, 4])
    outputs = gathered(g, "x", [[0, 1], [2], [-1]], 1)
    bounds = [g.constant([v]) for v in (3, -1, 1)]
    outputs.append(g.add("Neg", g.add("Slice", "x", *bounds)))
    assert check_settled(g.model(*outputs)) == used(3, Split=1, Neg=1)


def test_slices_alone() -> None:
    g = Graph(x=["N", 9, 4])
    parts = [g.add("Slice", "x", *(g.constant([v]) for v in (a, a + 3, 1))) for a in (0, 3, 6)]
    assert check_settled(g.model(*map(g.add, USERS, parts))) == used(3, Split=1)


def test_two_axes_are_two_splits() -> None:
    g = Graph(x=["N", 4, 6])
    rows = gathered(g, "x", [[0, 1], [2, 3]], 1)
    columns = [
        g.add(op, g.add("Gather", "x", g.constant(i), axis=2))
        for op, i in (("Neg", [0, 1, 2]), ("Relu", [3, 4, 5]))
    ]
    assert check_settled(g.model(*rows, *columns)) == used(2, Split=2, Neg=1, Relu=1)


def test_a_split_within_a_part_of_a_split() -> None:
    g = Graph(x=["N", 4, 6])
    outer = [g.add("Gather", "x", g.constant(i), axis=1) for i in ([0, 1], [2, 3])]
    inner = gathered(g, outer[1], [[0, 1, 2], [3, 4, 5]], 2)
    assert check_settled(g.model(g.add("Neg", outer[0]), *inner)) == used(2, Split=2, Neg=1)


def test_parts_that_overlap_get_a_split_each() -> None:
    model = gathers(["N", 10], [[0, 1, 2, 3], [4, 5, 6], [2, 3, 4, 5], [6, 7]])
    counts = check_settled(model)
    assert counts["Split"] + counts["Slice"] == 2


def test_one_gather_is_a_slice_or_stays() -> None:
    counts = check_settled(gathers(["N", 6, 4], [[1, 2, 3]]))
    assert counts == used(1, Gather=1) or counts == used(1, Slice=1)


def test_two_by_two_indices_are_a_view_of_a_slice() -> None:
    model = gathers([2, 8, 3], [[[0, 1], [2, 3]], [[4, 5], [6, 7]]])
    assert check_settled(model, "ascend") == used(2, Split=1, Reshape=2)
    assert check_settled(model, "nodes") == used(2, Gather=2)


def test_indices_of_32_bits() -> None:
    g = Graph(x=["N", 6])
    parts = [g.add("Gather", "x", g.constant(np.array(i, np.int32)), axis=1) for i in ([0, 1], [2, 3, 4, 5])]
    assert check_settled(g.model(*map(g.add, USERS, parts))) == used(2, Split=1)


def test_parts_that_are_outputs_keep_their_names() -> None:
    g = Graph(x=["N", 6])
    parts = [g.add("Gather", "x", g.constant(i), axis=1) for i in ([0, 1], [2, 3], [4, 5])]
    result = outcome(g.model(*parts))
    assert result.counts == Counter(Split=1)
    assert [o.name for o in result.model.graph.output] == parts


def test_the_tensor_that_is_split_is_an_output_as_well() -> None:
    g = Graph(x=["N", 6])
    y = g.add("Neg", "x")
    outputs = gathered(g, y, [[0, 1, 2], [3, 4, 5]], 1)
    assert check_settled(g.model(y, *outputs)) == used(2, Split=1, Neg=1)


def test_parts_joined_again_in_order_are_nothing() -> None:
    g = Graph(x=["N", 6])
    parts = [g.add("Gather", "x", g.constant(i), axis=1) for i in ([0, 1], [2, 3], [4, 5])]
    joined = g.add("Concat", *parts, axis=1)
    assert check_settled(g.model(g.add("Sin", joined))) == Counter(Sin=1)


def test_steps_and_repetitions_and_computed_indices_stay() -> None:
    counts = check_settled(gathers(["N", 6], [[0, 2, 4], [1, 3, 5]]))
    assert counts["Split"] == 0
    check_untouched(gathers(["N", 6], [[0, 0], [2, 5, 1]]))
    g = Graph(x=["N", 6])
    indices = [g.input(name, [2], onnx.TensorProto.INT64) for name in "ij"]
    parts = [g.add("Gather", "x", i, axis=1) for i in indices]
    model = g.model(*map(g.add, USERS, parts))
    assert optimized_unverified(model) == used(2, Gather=2)


def optimized_unverified(model: onnx.ModelProto) -> Counter[str]:
    """Indices that are inputs are drawn in range by `assume`."""
    return outcome(model, assume={"i": (0, 5), "j": (0, 5)}).counts


def test_an_axis_whose_length_is_not_known_stays() -> None:
    counts = check_settled(gathers(["N", "L"], [[0, 1], [2, 3]]))
    assert counts["Split"] == 0

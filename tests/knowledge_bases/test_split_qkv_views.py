"""Knowledge base 3, SplitQKVMatmul: what takes one part of a stack drops an axis between two transposes."""

from collections import Counter

import onnx
import pytest

from .graphs import Graph, check_settled, outcome

USERS = ("Gather", "Slice", "Split")


def parts_of(g: Graph, x: str, user: str, axis: int, count: int, opset: int) -> list[str]:
    """Each part of x along an axis, which is dropped."""
    if user == "Gather":
        return [g.add("Gather", x, g.constant(k - count * (k % 2)), axis=axis) for k in range(count)]
    if user == "Slice":
        bounds = ((g.constant([k]), g.constant([k + 1]), g.constant([axis])) for k in range(count))
        parts = [g.add("Slice", x, *three) for three in bounds]
    else:
        more = {"num_outputs": count} if opset >= 18 else {}
        parts = g.add_many("Split", x, outputs=count, axis=axis, **more)
    if opset < 13:
        return [g.add("Squeeze", part, axes=[axis]) for part in parts]
    return [g.add("Squeeze", part, g.constant([axis])) for part in parts]


def stack(
    user: str, by_hand: bool, opset: int = 17, batch: int | str = "N", count: int = 3
) -> onnx.ModelProto:
    """Parts of a stack of heads, transposed before they are taken and behind; or behind only."""
    g = Graph(x=[batch, 20, count, 4, 6])
    x, axis = ("x", 2) if by_hand else (g.add("Transpose", "x", perm=[2, 0, 3, 1, 4]), 0)
    results = []
    for k, part in enumerate(parts_of(g, x, user, axis, count, opset)):
        if k == 0:  # as it is for a product, [N, 4, 20, 6]
            part = g.add("Transpose", part, perm=[0, 2, 1, 3]) if by_hand else part
        else:
            part = g.add("Transpose", part, perm=[0, 2, 3, 1] if by_hand else [0, 1, 3, 2])
        results.append(g.add(("Tanh", "Sigmoid", "Sqrt", "Exp")[k], part))
    return g.model(*results, opset=opset)


@pytest.mark.parametrize("user", USERS)
def test_no_transpose_in_front_of_the_parts(user: str) -> None:
    limit = outcome(stack(user, by_hand=True), "ascend").report.cost.after
    assert outcome(stack(user, by_hand=False), "ascend").report.cost.after <= limit * (1 + 1e-9)


@pytest.mark.parametrize("opset", [11, 13, 21])
def test_every_opset(opset: int) -> None:
    for user in USERS:
        counts = check_settled(stack(user, by_hand=False, opset=opset, batch=2, count=2), "ascend")
        assert counts["Transpose"] == 2


def between(first: list[int], view: list[int], second: list[int]) -> onnx.ModelProto:
    g = Graph(x=[1, 6, 1, 5, 4])
    dropped = g.add("Reshape", g.add("Transpose", "x", perm=first), g.constant(view))
    return g.model(g.add("Relu", g.add("Transpose", dropped, perm=second)))


def test_transposes_around_a_squeeze_are_one_or_none() -> None:
    once = between([3, 0, 1, 2, 4], [5, 6, 4], [2, 0, 1])
    assert check_settled(once) == Counter(Transpose=1, Squeeze=1, Relu=1)
    assert check_settled(between([3, 0, 1, 2, 4], [5, 6, 4], [1, 0, 2])) == Counter(Squeeze=1, Relu=1)
    assert check_settled(between([3, 0, 1, 2, 4], [5, 6, 1, 4], [1, 0, 2, 3]), "ascend")["Transpose"] == 0


def test_a_view_that_joins_axes_goes_behind_both() -> None:
    merged = between([3, 0, 1, 2, 4], [5, 24], [1, 0])
    assert check_settled(merged)["Transpose"] == 1

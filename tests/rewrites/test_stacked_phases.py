"""Features that are taken by twos, and stacked in another order, are exchanged with their neighbours."""

from __future__ import annotations

import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled

OPSETS = pytest.mark.parametrize("opset", [11, 13, 17, 21])


def _unsqueezed(g: Graph, x: str, axis: int, opset: int) -> str:
    if opset >= 13:
        return g.add("Unsqueeze", x, g.constant([axis]))
    return g.add("Unsqueeze", x, axes=[axis])


def _phase(g: Graph, x: str, axis: int, start: int, step: int) -> str:
    return g.add("Slice", x, *(g.constant([k]) for k in (start, 2**62, axis, step)))


@OPSETS
@pytest.mark.parametrize("dims", [["N", 6, 4, 8], [2, 3, 10]])
def test_a_rotation_of_neighbours_has_no_parts(opset: int, dims: Dims) -> None:
    """rotate_every_two of GPT-J: x * cos + stack(-x[1::2], x[0::2]) * sin."""
    g, last = Graph(x=dims), len(dims) - 1
    odd, even = g.add("Neg", _phase(g, "x", last, 1, 2)), _phase(g, "x", last, 0, 2)
    stack = g.add("Concat", *(_unsqueezed(g, x, last + 1, opset) for x in (odd, even)), axis=-1)
    rows = g.add("Reshape", stack, g.constant([-1, *dims[1:]]))
    turned = g.add("Mul", rows, g.weight(dims[-1]))  # type: ignore[arg-type]
    y = g.add("Add", g.add("Mul", "x", g.weight(dims[-1])), turned)  # type: ignore[arg-type]
    counts = check_settled(g.model(y, opset=opset), "ascend")
    assert not {"Concat", "Unsqueeze", "Neg"} & set(counts)
    assert counts["Slice"] + counts["Gather"] == 1


@OPSETS
@pytest.mark.parametrize("order", [[2, 0, 1], [0, 1, 2], [1, 1]])
def test_threes_in_any_order_along_an_axis_between(opset: int, order: list[int]) -> None:
    g = Graph(x=["N", 6, 5])
    parts = [_unsqueezed(g, _phase(g, "x", 1, k, 3), 2, opset) for k in order]
    counts = check_settled(g.model(g.add("Concat", *parts, axis=2), opset=opset), "ascend")
    assert "Concat" not in counts


@pytest.mark.parametrize("size", [7, 8])
def test_phases_of_other_lengths_or_on_the_same_axis_stay(size: int) -> None:
    g = Graph(x=["N", size])
    parts = [_phase(g, "x", 1, k, 2) for k in (1, 0)]
    counts = check_settled(g.model(g.add("Concat", *parts, axis=1)))
    assert counts["Slice"] + 2 * counts["Gather"] >= 2

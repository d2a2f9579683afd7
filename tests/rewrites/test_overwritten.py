"""ScatterND and ScatterElements into a block, end to end: what stays is joined with what is new."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_untouched, outcome

X: Dims = [9, 7]


def places(*ranges: Sequence[int]) -> np.ndarray:
    return np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1)


ALL = range(9)
CASES: dict[str, tuple[np.ndarray, Dims, dict[str, int]]] = {
    "a column": (places(ALL, [2]), [9, 1], {"Slice": 2, "Concat": 1}),
    "a column from the end, as a row": (
        places(ALL, [-1]).reshape(9, 2),
        [9],
        {"Slice": 1, "Unsqueeze": 1, "Concat": 1},
    ),
    "some columns": (places(ALL, range(2, 5)), [9, 3], {"Slice": 2, "Concat": 1}),
    "a window": (places(range(4, 9), range(1, 6)), [5, 5], {"Slice": 4, "Concat": 2}),
    "all rows": (np.arange(9)[:, None], [9, 7], {}),
}


@pytest.mark.parametrize("opset", [11, 21])
@pytest.mark.parametrize("name", CASES)
def test_blocks_are_joined(name: str, opset: int) -> None:
    indices, updates, counts = CASES[name]
    g = Graph(x=X, u=updates)
    y = g.add("Relu", g.add("ScatterND", "x", g.constant(indices), "u"))
    found = outcome(g.model(y, opset=opset), "ascend")
    assert found.counts["ScatterND"] == 0
    assert all(found.counts[op] <= count for op, count in counts.items())


def test_single_elements_along_an_axis() -> None:
    g = Graph(x=X, u=[9, 2])
    y = g.add("ScatterElements", "x", g.constant(np.tile([2, 3], (9, 1))), "u", axis=-1)
    found = outcome(g.model(y, opset=13), "ascend")
    assert found.counts["ScatterElements"] == found.counts["ScatterND"] == 0 < found.counts["Concat"]
    assert found.report.cost.after < found.report.cost.before


def test_one_half_after_the_other() -> None:
    g = Graph(x=X, u=[4, 7], v=[5, 7])
    y = g.add("ScatterND", "x", g.constant(np.arange(4)[:, None]), "u")
    y = g.add("ScatterND", y, g.constant(np.arange(4, 9)[:, None]), "v")
    assert outcome(g.model(y), "ascend").counts == {"Concat": 1}


@pytest.mark.parametrize("indices", [[[0], [2], [1]], [[0], [1], [1]], [[0], [2], [4]]])
def test_rows_in_another_order_stay(indices: list[list[int]]) -> None:
    g = Graph(x=X, u=[3, 7])
    check_untouched(g.model(g.add("ScatterND", "x", g.constant(indices), "u")), "ascend")


def test_what_is_added_stays() -> None:
    g = Graph(x=X, u=[9, 7])
    y = g.add("ScatterND", "x", g.constant(np.arange(9)[:, None]), "u", reduction="add")
    check_untouched(g.model(y, opset=18), "ascend")

"""Blocks of one axis that change places, by two Reshapes and a Transpose, are taken by one Gather."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest

from egraph_opt import optimize
from egraph_opt.graph.runtime import plain_session

from ..knowledge_bases.graphs import Graph, check_settled, outcome

Dims = list[int | str]


def shuffled(
    dims: Dims, groups: int, axis: int = 1, opset: int = 17, *, computed: bool = False
) -> onnx.ModelProto:
    """A channel shuffle as PyTorch's exporter writes it: of dims as they are, or of what Shape gives."""
    g = Graph(x=dims)
    whole, rank = int(dims[axis]), len(dims)
    blocks = [groups, whole // groups]

    def target(parts: list[int]) -> str:
        if not computed:
            known = [d if isinstance(d, int) else -1 for d in dims]
            return g.constant([*known[:axis], *parts, *known[axis + 1 :]])
        axes = [0] if opset < 13 else None
        found = []
        for k in range(rank):
            if k == axis:
                found.append(g.constant(parts))
                continue
            dim = g.add("Gather", g.add("Shape", "x"), g.constant(k), axis=0)
            found.append(
                g.add("Unsqueeze", dim, axes=axes) if axes else g.add("Unsqueeze", dim, g.constant([0]))
            )
        return g.add("Concat", *found, axis=0)

    perm = [*range(axis), axis + 1, axis, *range(axis + 2, rank + 1)]
    turned = g.add("Transpose", g.add("Reshape", "x", target(blocks)), perm=perm)
    return g.model(g.add("Relu", g.add("Reshape", turned, target([whole]))), opset=opset)


@pytest.mark.parametrize(
    ("dims", "groups", "axis", "opset"),
    [(["N", 8, 14, 14], 2, 1, 11), ([1, 116, 5, 5], 2, 1, 13), ([2, 5, 12], 3, 2, 17), ([6, 4], 2, 0, 21)],
)
@pytest.mark.parametrize("target", ["nodes", "ascend"])
def test_a_shuffle_is_a_gather(dims: Dims, groups: int, axis: int, opset: int, target: str) -> None:
    model = shuffled(dims, groups, axis, opset)
    assert check_settled(model, target) == Counter(Gather=1, Relu=1)
    x = np.random.default_rng(0).standard_normal([d if isinstance(d, int) else 3 for d in dims])
    before, after = (
        plain_session(m.SerializeToString()).run(None, {"x": x.astype(np.float32)})[0]
        for m in (model, optimize(model, target).model)
    )
    np.testing.assert_array_equal(before, after)


def test_a_shuffle_of_dims_that_are_computed() -> None:
    model = shuffled(["N", 8, "H", "W"], 4, computed=True)
    found = outcome(model, "ascend")
    assert found.counts["Gather"] == 1 and found.counts["Transpose"] == 0
    assert found.report.cost.after < 6.7 < found.report.cost.before


def test_what_moves_two_axes_is_no_shuffle() -> None:
    g = Graph(x=[2, 8, 6])
    parts = g.add("Reshape", "x", g.constant([2, 2, 4, 6]))
    moved = g.add("Transpose", parts, perm=[0, 2, 3, 1])
    model = g.model(g.add("Relu", g.add("Reshape", moved, g.constant([2, 4, 12]))))
    assert outcome(model).counts["Gather"] == 0


def test_a_shuffle_in_front_of_a_convolution_still_goes_into_its_weight() -> None:
    g = Graph(x=["N", 8, 6, 6])
    parts = g.add("Transpose", g.add("Reshape", "x", g.constant([-1, 2, 4, 6, 6])), perm=[0, 2, 1, 3, 4])
    y = g.add("Conv", g.add("Reshape", parts, g.constant([-1, 8, 6, 6])), g.weight(4, 8, 1, 1))
    assert check_settled(g.model(y), "ascend") == Counter(Conv=1)

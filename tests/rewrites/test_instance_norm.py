"""InstanceNormalization from its parts, and with the constants behind it."""

from __future__ import annotations

from collections import Counter

import pytest

from ..knowledge_bases.graphs import Dims, Graph, check_settled, check_untouched, optimized, outcome


class Images(Graph):
    """Images of six channels."""

    opset = 17

    def mean(self, x: str, axes: list[int]) -> str:
        if self.opset < 18:
            return self.add("ReduceMean", x, axes=axes, keepdims=1)
        return self.add("ReduceMean", x, self.constant(axes), keepdims=1)

    def normalized(self, x: str, axes: list[int], *, power: bool = False) -> str:
        rest = self.add("Sub", x, self.mean(x, axes))
        square = self.add("Pow", rest, self.constant(2.0)) if power else self.add("Mul", rest, rest)
        variance = self.add("Add", self.mean(square, axes), self.constant(1e-5))
        return self.add("Div", rest, self.add("Sqrt", variance))


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize(
    ("dims", "power"), [(["N", 6, 8, 9], False), ([2, 6, 5, 6], True), ([1, 6, 3, 4, 5], False)]
)
def test_from_its_parts(dims: Dims, power: bool, opset: int) -> None:
    g, axes = Images(x=dims), list(range(2, len(dims)))
    g.opset = opset
    y = g.normalized("x", axes, power=power)
    y = g.add("Mul", y, g.weight(6, *[1] * len(axes)))
    y = g.add("Add", y, g.weight(1, 6, *[1] * len(axes)))
    model = g.model(y, opset=opset)
    assert check_settled(model) == Counter(InstanceNormalization=1)
    assert outcome(model, "ascend").counts == Counter(InstanceNormalization=1)


@pytest.mark.parametrize("axes", [[1, 2, 3], [1], [3]])
def test_other_axes_are_no_instances(axes: list[int]) -> None:
    g = Images(x=[2, 6, 4, 5])
    assert "InstanceNormalization" not in optimized(g.model(g.normalized("x", axes)))


@pytest.mark.parametrize(
    ("op", "dims"), [("Mul", [6, 1, 1]), ("Add", [1, 6, 1, 1]), ("Sub", [1]), ("Div", [6, 1, 1])]
)
def test_constants_behind_it_go_into_it(op: str, dims: list[int]) -> None:
    g = Graph(x=["N", 6, 4, "W"])
    y = g.add("InstanceNormalization", "x", g.weight(6), g.weight(6), epsilon=1e-3)
    model = g.model(g.add(op, y, g.weight(*dims, positive=True)))
    assert check_settled(model) == Counter(InstanceNormalization=1)


def test_what_varies_along_an_image_stays() -> None:
    for op in ("Mul", "Add"):
        g = Graph(x=["N", 6, 4, 5])
        y = g.add("InstanceNormalization", "x", g.weight(6), g.weight(6))
        check_untouched(g.model(g.add(op, y, g.weight(4, 1))))


def test_rows_that_a_convolution_made_have_instances_as_well() -> None:
    g = Images(x=["N", 6, 40])
    y = g.normalized(g.add("Conv", "x", g.weight(6, 6, 3)), [2])
    counts = outcome(g.model(g.add("Conv", g.add("Relu", y), g.weight(4, 6, 3)), opset=13), "ascend").counts
    assert (counts["InstanceNormalization"], counts["ReduceMean"]) == (1, 0)
    g = Images(x=["N", 6, 40])
    assert optimized(g.model(g.normalized("x", [2])))["InstanceNormalization"] == 0

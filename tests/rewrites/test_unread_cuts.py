"""What no window of a convolution or pool reaches is not cut off in front of it."""

from __future__ import annotations

from collections import Counter

import pytest

from ..knowledge_bases.graphs import Graph, check_settled, check_untouched, outcome


def cut(g: Graph, end: int, axis: int = 2, start: int = 0) -> str:
    return g.add("Slice", "x", g.constant([start]), g.constant([end]), g.constant([axis]))


@pytest.mark.parametrize("opset", [11, 13, 17, 21])
@pytest.mark.parametrize(
    ("size", "kernel", "stride", "dilation"), [(20, 5, 2, 1), (23, 3, 3, 1), (40, 7, 4, 2), (10, 1, 2, 1)]
)
def test_less_than_a_step(size: int, kernel: int, stride: int, dilation: int, opset: int) -> None:
    length = (kernel - 1) * dilation + 1
    end = (size - length) // stride * stride + length
    g = Graph(x=["N", 3, size])
    window = {"strides": [stride], "dilations": [dilation]}
    model = g.model(g.add("Conv", cut(g, end), g.weight(4, 3, kernel), **window), opset=opset)
    assert check_settled(model) == Counter(Conv=1)
    assert outcome(model, "ascend").counts == Counter(Conv=1)
    g = Graph(x=["N", 3, size])
    model = g.model(g.add("MaxPool", cut(g, end), kernel_shape=[kernel], **window), opset=opset)
    assert check_settled(model) == Counter(MaxPool=1)


def test_what_is_read_or_padded_stays() -> None:
    for end, settings in ((17, {"strides": [2]}), (19, {"strides": [2], "pads": [0, 1]}), (19, {})):
        g = Graph(x=["N", 3, 20])
        check_untouched(g.model(g.add("Conv", cut(g, end), g.weight(4, 3, 5), **settings)))
    g = Graph(x=["N", 3, 22])
    check_untouched(
        g.model(g.add("MaxPool", cut(g, 21), kernel_shape=[3], strides=[3], ceil_mode=1, pads=[0, 1]))
    )
    g = Graph(x=["N", 3, 20])
    check_untouched(g.model(g.add("Conv", cut(g, 20, start=1), g.weight(4, 3, 5), strides=[2])))

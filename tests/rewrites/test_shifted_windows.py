"""Images that are rolled, parted into windows and put back: what works on rows leaves no trace of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import onnx
import pytest

from ..knowledge_bases.graphs import Graph, check_settled, check_untouched, optimized

Build = Callable[[Graph, str], str]


def sliced(g: Graph, x: str, start: int, end: int, axis: int) -> str:
    return g.add("Slice", x, g.constant([start]), g.constant([end]), g.constant([axis]))


def rolled(g: Graph, x: str, by: int, axis: int) -> str:
    """torch.roll, as its exporter writes it."""
    return g.add("Concat", sliced(g, x, -by, 2**40, axis), sliced(g, x, 0, -by, axis), axis=axis)


def shifted(g: Graph, x: str, by: int, axes: tuple[int, ...] = (1, 2)) -> str:
    for axis in axes:
        x = rolled(g, x, by, axis)
    return x


def windows(g: Graph, x: str, size: int, rows: int, columns: int, channels: int) -> str:
    parts = g.constant([-1, rows // size, size, columns // size, size, channels])
    x = g.add("Transpose", g.add("Reshape", x, parts), perm=[0, 1, 3, 2, 4, 5])
    return g.add("Reshape", x, g.constant([-1, size * size, channels]))


def image(g: Graph, x: str, size: int, rows: int, columns: int, channels: int) -> str:
    x = g.add("Reshape", x, g.constant([-1, rows // size, columns // size, size, size, channels]))
    x = g.add("Transpose", x, perm=[0, 1, 3, 2, 4, 5])
    return g.add("Reshape", x, g.constant([-1, rows, columns, channels]))


def linear(g: Graph, x: str, channels: int) -> str:
    return g.add("Add", g.add("MatMul", x, g.weight(channels, channels)), g.weight(channels))


LINEAR = Counter(MatMul=1, Add=1)


@pytest.mark.parametrize("opset", [11, 13, 21])
@pytest.mark.parametrize(("batch", "size", "rows", "columns"), [(1, 4, 8, 12), (2, 7, 14, 14), (3, 2, 6, 4)])
def test_windows_of_rows_are_no_windows(batch: int, size: int, rows: int, columns: int, opset: int) -> None:
    g = Graph(x=[batch, rows, columns, 6])
    y = image(g, linear(g, windows(g, "x", size, rows, columns, 6), 6), size, rows, columns, 6)
    assert check_settled(g.model(y, opset=opset)) == LINEAR
    g = Graph(x=[batch, rows, columns, 6])
    y = windows(g, shifted(g, "x", -(size // 2)), size, rows, columns, 6)
    y = shifted(g, image(g, linear(g, y, 6), size, rows, columns, 6), size // 2)
    assert check_settled(g.model(y, opset=opset), "ascend") == LINEAR


ROWS: dict[str, tuple[Build, Counter[str]]] = {
    "a function": (lambda g, x: g.add("Tanh", x), Counter(Tanh=1)),
    "what is the same for all rows": (lambda g, x: g.add("Mul", x, g.weight(1, 1, 4)), Counter(Mul=1)),
    "two layers": (
        lambda g, x: linear(g, g.add("Relu", linear(g, x, 4)), 4),
        Counter(MatMul=2, Add=2, Relu=1),
    ),
    "a Softmax of each row": (lambda g, x: g.add("Softmax", x, axis=-1), Counter(Softmax=1)),
    "a sum with itself": (
        lambda g, x: g.add("Add", linear(g, x, 4), g.add("Tanh", x)),
        Counter(MatMul=1, Add=2, Tanh=1),
    ),
}


def _ordered(build: Build, back: list[int], axis: int, dims: list[int | str], opset: int) -> onnx.ModelProto:
    """Something of elements in another order, put into another again."""
    g = Graph(x=dims)
    y = build(g, g.add("Gather", "x", g.constant([3, 0, 4, 1, 2]), axis=axis))
    return g.model(g.add("Gather", y, g.constant(back), axis=axis), opset=opset)


@pytest.mark.parametrize("opset", [13, 17])
@pytest.mark.parametrize("name", ROWS)
def test_what_is_put_back_keeps_its_order(name: str, opset: int) -> None:
    build, counts = ROWS[name]
    assert check_settled(_ordered(build, [1, 3, 4, 0, 2], 1, ["N", 5, 4], opset)) == counts
    assert optimized(_ordered(build, [1, 3, -1, 0, 2], 0, [5, 3, 4], opset)) == counts


def test_another_order_stays() -> None:
    for name in ("a function", "what is the same for all rows"):
        found = optimized(_ordered(ROWS[name][0], [1, 3, 0, 4, 2], 1, ["N", 5, 4], 17))
        assert found["Gather"] == 2
    check_untouched(_ordered(lambda g, x: g.add("MatMul", x, "x"), [1, 3, 4, 0, 2], 1, [2, 5, 5], 17))


def test_rows_that_meet_each_other_stay_in_their_order() -> None:
    g = Graph(x=[1, 8, 8, 4])
    y = windows(g, shifted(g, "x", -2), 4, 8, 8, 4)
    scores = g.add("MatMul", y, g.add("Transpose", y, perm=[0, 2, 1]))
    y = image(g, g.add("MatMul", g.add("Softmax", scores, axis=-1), y), 4, 8, 8, 4)
    assert optimized(g.model(shifted(g, y, 2)))["Gather"] == 4


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize("dims", [(2, 8, 8), (1, 8, 12)])
def test_windows_around_a_convolution_of_pixels(dims: tuple[int, int, int], opset: int) -> None:
    """Channels in front, behind for the windows, in front for the kernel of 1, and all the way back."""
    batch, rows, columns = dims
    g = Graph(x=[batch, 6, rows, columns])
    y = windows(g, g.add("Transpose", "x", perm=[0, 2, 3, 1]), 4, rows, columns, 6)
    y = g.add("Transpose", g.add("Reshape", y, g.constant([-1, 4, 4, 6])), perm=[0, 3, 1, 2])
    y = g.add("Transpose", g.add("Conv", y, g.weight(6, 6, 1, 1), g.weight(6)), perm=[0, 2, 3, 1])
    y = g.add("Transpose", image(g, y, 4, rows, columns, 6), perm=[0, 3, 1, 2])
    assert check_settled(g.model(y, opset=opset), "ascend") == Counter(Conv=1)

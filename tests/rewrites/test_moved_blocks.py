"""Blocks, windows and rows that views and gathers move: as cheap as written by hand."""

from collections import Counter

import onnx
import pytest
from onnx import TensorProto

from ..knowledge_bases.graphs import Dims, Graph, check_settled, outcome

# --- blocks of a plane ----------------------------------------------------------------------------------

KINDS = {
    "DCR": ([0, 3, 4, 1, 5, 2], "DepthToSpace"),
    "CRD": ([0, 1, 4, 2, 5, 3], "DepthToSpace"),
    "space": ([0, 3, 5, 1, 2, 4], "SpaceToDepth"),
}


def blocks(kind: str, size: int, by_hand: bool, batch: int | str = "N", opset: int = 17) -> onnx.ModelProto:
    """Channels that become blocks, or blocks that become channels, by views or by the operator."""
    c, h, w, perm = 3, 4, 5, KINDS[kind][0]
    deep, wide = [batch, c * size * size, h, w], [batch, c, h * size, w * size]
    source, result = (wide, deep) if kind == "space" else (deep, wide)
    g = Graph(x=source)
    y = g.add("Relu", "x")
    if by_hand:
        mode = {"mode": kind} if kind != "space" else {}
        return g.model(g.add("Sqrt", g.add(KINDS[kind][1], y, blocksize=size, **mode)), opset=opset)
    split = {"DCR": [size, size, c, h, w], "CRD": [c, size, size, h, w], "space": [c, h, size, w, size]}[kind]
    y = g.add("Transpose", g.add("Reshape", y, g.constant([-1, *split])), perm=perm)
    y = g.add("Reshape", y, g.constant([-1, *result[1:]]))
    return g.model(g.add("Sqrt", y), opset=opset)


@pytest.mark.parametrize("kind", KINDS)
def test_views_of_blocks_are_one_operator(kind: str) -> None:
    for size, batch, cost in ((2, "N", "ascend"), (3, 2, "nodes")):
        limit = outcome(blocks(kind, size, True, batch), cost).report.cost.after
        assert outcome(blocks(kind, size, False, batch), cost).report.cost.after <= limit * (1 + 1e-9)


def test_views_of_blocks_in_every_opset() -> None:
    for opset in (11, 13, 21):
        assert check_settled(blocks("CRD", 2, False, opset=opset))["DepthToSpace"] == 1


def test_blocks_that_are_no_squares_stay() -> None:
    g = Graph(x=["N", 3, 4, 9])
    y = g.add("Transpose", g.add("Reshape", "x", g.constant([-1, 3, 2, 2, 3, 3])), perm=[0, 3, 5, 1, 2, 4])
    counts = check_settled(g.model(g.add("Reshape", y, g.constant([-1, 18, 2, 3]))))
    assert counts == Counter(Reshape=2, Transpose=1)


# --- windows --------------------------------------------------------------------------------------------


def windows(batch: int | str, between: str, back: bool = True) -> onnx.ModelProto:
    """An image in windows of 3 x 2, something with their rows, and the image again."""
    g = Graph(x=[batch, 6, 8, 10])
    y = g.add("Reshape", "x", g.constant([-1, 2, 3, 4, 2, 10]))
    y = g.add("Reshape", g.add("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), g.constant([-1, 6, 10]))
    if between == "product":
        y = g.add("Relu", g.add("Add", g.add("MatMul", y, g.weight(10, 12)), g.weight(12)))
    else:
        y = g.add("Softmax", y, axis=1)
    dims = [-1, 2, 4, 3, 2] if back else [-1, 4, 2, 3, 2]
    y = g.add("Reshape", y, g.constant([*dims, 12 if between == "product" else 10]))
    y = g.add("Transpose", y, perm=[0, 1, 3, 2, 4, 5])
    return g.model(g.add("Flatten", y))


def test_windows_and_back_around_a_product_are_nothing() -> None:
    for batch, cost in (("N", "ascend"), (2, "nodes")):
        counts = check_settled(windows(batch, "product"), cost)
        assert counts["Transpose"] == 0


def test_windows_that_meet_something_else_stay() -> None:
    assert check_settled(windows("N", "softmax"))["Transpose"] == 2
    assert check_settled(windows("N", "product", back=False))["Transpose"] >= 1


# --- rows -----------------------------------------------------------------------------------------------


def best(boxes: Dims, axis: int, wide: list[int], op: str = "Expand", opset: int = 17) -> onnx.ModelProto:
    """The boxes of the best scores, element by element."""
    g = Graph(x=boxes[: axis + 1], y=boxes)
    scores, places = g.add_many("TopK", "x", g.constant([3]), outputs=2, axis=axis)
    rank = len(boxes)
    for _ in range(rank - axis - 1):
        last = [axis + 1]
        places = (
            g.add("Unsqueeze", places, axes=last)
            if opset < 13
            else g.add("Unsqueeze", places, g.constant(last))
        )
    taken = g.add("GatherElements", "y", g.add(op, places, g.constant(wide)), axis=axis - rank)
    return g.model(scores, taken, opset=opset)


def test_rows_of_the_best_are_gathered_at_once() -> None:
    assert check_settled(best([20, 4], 0, [1, 4]), "ascend") == Counter(TopK=1, Gather=1)
    one = check_settled(best([1, 20, 4, 2], 1, [1, 3, 4, 2], opset=13), "ascend")
    assert (one["GatherElements"], one["Expand"], one["Gather"]) == (0, 0, 1)
    for op, opset in (("Expand", 21), ("Tile", 13)):
        many = check_settled(best(["N", 20, 4], 1, [1, 1, 4], op, opset), "ascend")
        assert many == Counter(TopK=1, Unsqueeze=1, GatherND=1)


def test_parts_of_rows_are_gathered_element_by_element() -> None:
    assert check_settled(best(["N", 20, 4], 1, [1, 1, 3]), "ascend")["GatherElements"] == 1
    assert check_settled(best(["N", 20, 4], 1, [1, 1, 4], opset=11), "ascend")["GatherElements"] == 1
    g = Graph(y=[20, 4])
    each = g.input("i", [3, 4], TensorProto.INT64)
    assert check_settled(g.model(g.add("GatherElements", "y", each, axis=0))) == Counter(GatherElements=1)


# --- blocks of the model --------------------------------------------------------------------------------


def test_blocks_and_back_are_nothing() -> None:
    g = Graph(x=["N", 12, 4, 6])
    wide = g.add("Relu", g.add("DepthToSpace", "x", blocksize=2))
    made = g.model(g.add("SpaceToDepth", wide, blocksize=2), opset=13)
    assert check_settled(made, "ascend") == Counter(["Relu"])
    g = Graph(x=[1, 3, 4, 6])
    y = g.add("Transpose", g.add("Reshape", "x", g.constant([1, 3, 2, 2, 3, 2])), perm=[0, 3, 5, 1, 2, 4])
    deep = g.add("Sigmoid", g.add("Reshape", y, g.constant([1, 12, 2, 3])))
    made = g.model(g.add("DepthToSpace", deep, blocksize=2), opset=17)
    assert outcome(made, "ascend").counts == Counter(["Sigmoid"])


def test_blocks_in_another_order_are_no_way_back() -> None:
    g = Graph(x=["N", 12, 4, 6])
    wide = g.add("DepthToSpace", "x", blocksize=2, mode="CRD")
    counts = check_settled(g.model(g.add("SpaceToDepth", wide, blocksize=2)))
    assert counts == Counter(["Gather"]), "channels change places"


def test_blocks_of_unknown_planes_are_kept() -> None:
    g = Graph(x=["N", 12, "H", "W"])
    made = g.model(g.add("Relu", g.add("DepthToSpace", "x", blocksize=2)), opset=11)
    assert check_settled(made) == Counter(["DepthToSpace", "Relu"])

"""Knowledge base 10, DynamicReshape: computed dims as a row of views; rows that are joined and parted.

ONNX's own inference loses ranks on old opsets, and an output needs one: hence some Reshapes at the end.
"""

import pytest

from .graphs import OPSETS, check_settled, outcome
from .test_dynamic_reshape import Shapes


def shapes(opset: int, **inputs) -> Shapes:
    g = Shapes(**inputs)
    g.opset = opset
    return g


def parts(g: Shapes, x: str, size: int, *axes: int) -> list[str]:
    """How many parts of one size axes have, computed."""
    return [g.add("Div", g.dim(x, axis), g.constant(size)) for axis in axes]


@pytest.mark.parametrize(("opset", "size"), [(11, 2), (13, 3), (21, 4)])
def test_pixels_become_channels(opset: int, size: int) -> None:
    g = shapes(opset, x=["N", 3, "H", "W"])
    h, w = parts(g, "x", size, 2, 3)
    y = g.add("Reshape", "x", g.target("x", 0, (3,), h, (size,), w, (size,)))
    y = g.add("Transpose", y, perm=[0, 1, 3, 5, 2, 4])
    y = g.add("Relu", g.add("Reshape", y, g.target("x", 0, (3 * size**2,), h, w)))
    model = g.model(g.add("Reshape", y, g.constant([0, 3 * size**2, -1])), opset=opset)
    assert check_settled(model, assume={"H": 24, "W": 48}).keys() <= {
        "Relu",
        "Reshape",
        "Transpose",
        "Squeeze",
        "Unsqueeze",
    }
    assert outcome(model, "ascend", assume={"H": 24, "W": 48}).report.cost.after < 20  # 220 with arithmetic


@pytest.mark.parametrize("opset", OPSETS)
def test_windows_of_an_image(opset: int) -> None:
    g = shapes(opset, x=["N", "H", "W", 8])
    h, w = parts(g, "x", 7, 1, 2)
    y = g.add("Reshape", "x", g.target("x", 0, h, (7,), w, (7, 8)))
    y = g.add("Reshape", g.add("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), g.constant([-1, 49, 8]))
    model = g.model(g.add("MatMul", y, g.weight(8, 8)), opset=opset)
    counts = outcome(model, assume={"H": 28, "W": 14}).counts
    assert counts.keys() <= {"Reshape", "Transpose", "Unsqueeze", "MatMul"}


def test_a_volume_in_blocks() -> None:
    g = shapes(17, x=["N", "D", "H", "W"])
    d, h, w = parts(g, "x", 2, 1, 2, 3)
    y = g.add("Reshape", "x", g.target("x", 0, d, (2,), h, (2,), w, (2,)))
    y = g.add("Transpose", y, perm=[0, 2, 4, 6, 1, 3, 5])
    model = g.model(g.add("Reshape", y, g.constant([-1, 8])))
    counts = outcome(model, "ascend", assume={"D": 4, "H": 8, "W": 6}).counts
    assert counts.keys() <= {"Reshape", "Transpose", "Unsqueeze"}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("dims", [["N", "L", 12], ["N", "H", "W", 12], [2, "L", 12]])
def test_rows_that_are_joined_and_parted_stay_as_they_are(dims: list, opset: int) -> None:
    g = shapes(opset, x=dims)
    y = g.add("MatMul", g.add("Reshape", "x", g.constant([-1, 12])), g.weight(12, 8))
    y = g.add("Relu", g.add("Add", y, g.weight(8)))
    y = g.add("Softmax", g.add("MatMul", y, g.weight(8, 6)), axis=-1)
    y = g.add("Sigmoid", g.add("Reshape", y, g.target("x", *range(len(dims) - 1), (6,))))
    model = g.model(g.add("Reshape", y, g.constant([0, -1, 3])), opset=opset)
    assert check_settled(model).total() == 7
    counts = outcome(model, "ascend").counts
    assert counts == {"MatMul": 2, "Add": 1, "Relu": 1, "Softmax": 1, "Sigmoid": 1, "Reshape": 1}


def test_a_gemm_between_views() -> None:
    g = shapes(17, x=["N", "L", 12])
    y = g.add("Gemm", g.add("Reshape", "x", g.constant([-1, 12])), g.weight(12, 8), g.weight(8))
    model = g.model(g.add("Reshape", y, g.target("x", 0, 1, (8,))))
    assert outcome(model).counts == {"MatMul": 1, "Add": 1}
    under_ascend = outcome(model, "ascend")
    assert under_ascend.counts == {"MatMul": 1, "Add": 1}
    assert under_ascend.report.cost.after < under_ascend.report.cost.before


def test_rows_of_other_lengths_stay_joined() -> None:
    g = shapes(17, x=["N", 4, 6])
    y = g.add("MatMul", g.add("Reshape", "x", g.constant([-1, 12])), g.weight(12, 8))
    model = g.model(g.add("Reshape", y, g.constant([-1, 2, 8])))
    assert outcome(model).counts == {"Reshape": 2, "MatMul": 1}

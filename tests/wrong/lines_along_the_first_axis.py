"""Constants that are the same line over and over, which lies along one axis or along the other."""

import numpy as np
from onnx import TensorProto

from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Axis, Tensor, hosted, rewrite
from egraph_opt.operators import Literal, gather, gather_elements, literal

from . import dims, fires_on, wrong


def elements_of(shape: tuple[int, int], places: list[list[int]], axis: int):
    return lambda g: gather_elements(g.input(shape), g.constant(np.array(places)), axis)


@hosted()
def one_line(x: Fact, i: Fact, a: Axis) -> Literal | None:
    """The first places that are listed, where all lines along the axis are alike."""
    if x.rank != 2 or i.rank != 2 or i.data is None or dims(i)[1 - a] != dims(x)[1 - a] or min(dims(i)) < 2:
        return None
    rows = np.array(i.data).reshape(dims(i))
    lines = rows if a else rows.T
    return (
        Literal(TensorProto.INT64, (dims(i)[a],), i.data[: dims(i)[a]]) if (lines == lines[0]).all() else None
    )


@wrong(
    "bitwise",
    elements_of((3, 2), [[1, 1], [0, 0]], 0),
    examples=fires_on(elements_of((2, 4), [[0, 1, 3], [0, 1, 3]], 1)),
)
def lines_of_elements(x: Tensor, i: Tensor, a: Axis):
    """GatherElements(x, i) = Gather(x, the first line of i) where all lines are alike

    Wrong along the first axis, where a line is a column.
    """
    line = literal(one_line(x, i, a))
    yield rewrite(gather_elements(x, i, a), gather(x, line, a), because="forgets lines")

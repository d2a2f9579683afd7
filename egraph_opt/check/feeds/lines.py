"""Values of a model that are lines: an input times a number, and another one more.

They lead from an input to the operand of a function: which input makes it what one wants.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import onnx

from egraph_opt.facts.dtypes import ALL_FLOATS

PASSED_ON = frozenset(
    "Abs Clip Expand Flatten Gather Identity Max Min Relu Reshape Slice Squeeze Transpose Unsqueeze".split()
)
"""Operators that leave an operand as it is, as far as it is within their bounds."""


FACTORS = (1e-30, 1e30)
"""Of a line: beyond them nothing is left of it."""


class Line(NamedTuple):
    """A value of a model as slope * x + shift of an input x."""

    slope: float = 1.0
    shift: float = 0.0

    def where(self, value: float) -> float:
        """The x of a value."""
        return (value - self.shift) / self.slope


def lines_of(model: onnx.ModelProto, numbers: Mapping[str, float]) -> dict[str, Line]:
    """The values of a model that are lines of one of its inputs.

    Args:
        numbers: what constants are throughout.
    """
    lines = {value.name: Line() for value in model.graph.input}
    for node in model.graph.node:
        line = next((lines[name] for name in node.input if name in lines), None)
        made = None if line is None else _line_of(node, line, numbers, lines)
        if made is not None:
            lines[node.output[0]] = made
    return lines


def _line_of(
    node: onnx.NodeProto, line: Line, numbers: Mapping[str, float], lines: Mapping[str, Line]
) -> Line | None:
    """What an operator makes of a line; None where that is none, or level."""
    if node.op_type in PASSED_ON or (node.op_type == "Cast" and node.attribute[0].i in ALL_FLOATS):
        return line
    if node.op_type == "Neg":
        return Line(-line.slope, -line.shift)
    if node.op_type not in ("Add", "Sub", "Mul", "Div"):
        return None
    a, b = node.input
    first = a in lines
    number = numbers.get(b if first else a)
    if number is None or (node.op_type in ("Mul", "Div") and not FACTORS[0] <= abs(number) <= FACTORS[1]):
        return None
    if node.op_type == "Mul":
        return Line(line.slope * number, line.shift * number)
    if node.op_type == "Div":
        return Line(line.slope / number, line.shift / number) if first else None
    if node.op_type == "Add":
        return Line(line.slope, line.shift + number)
    return Line(line.slope, line.shift - number) if first else Line(-line.slope, number - line.shift)

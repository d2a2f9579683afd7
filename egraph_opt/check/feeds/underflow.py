"""Inputs of which a step on the way is subnormal, or 0, and the result is an ordinary number.

Exp(-101) has five binary digits, and so has its root; a law that writes Exp(x / 2) for that computes another
number, and in float64 nothing of it is seen.  It is asked of laws that regroup products and powers, and not
of those that serve accuracy: these promise what is closer to the exact value, and are held to that.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import TensorProto

from egraph_opt.check.feeds.lines import Line, lines_of
from egraph_opt.check.feeds.roles import numbers_by_name

LEAST_NORMAL = float(np.finfo(np.float32).tiny)

EXPONENTS = (-88.5, -95.3, -101.2, -102.6, -103.1)
"""Of e, with a power that is subnormal in float32."""

OPPOSITE = (-104.5, 60.3, 85.1, 87.9)
"""Of e, with a power that is 0, and such as make up for one that is subnormal."""

HALVES = (-44.4, -51.3, -47.9, -51.8)
"""Of e, with a power of which the square is subnormal."""

SUBNORMALS = (3.1e-44, -7.3e-43, 2.3e-41)
"""Powers with few digits, of which inputs are the roots."""

BESIDE_CONSTANTS = (1.25, 0.9, -3.7, 41.3, 1e3)
"""Inputs that are multiplied with subnormal constants."""

ADDING_NOTHING = frozenset(
    "Abs Cast Clip Concat Div Exp Expand Flatten Gather Identity Max Min Mul Neg Pow Reciprocal ReduceMax"
    " ReduceMin ReduceProd Relu Reshape Slice Split Sqrt Squeeze Transpose Unsqueeze".split()
)
"""Operators of which each element is as exact as what it is computed from, for its size."""


def adds_nothing(model: onnx.ModelProto) -> bool:
    """Whether nothing in a model cancels, so that every element keeps its digits, however small it is."""
    return all(node.op_type in ADDING_NOTHING for node in model.graph.node)


def underflowing(model: onnx.ModelProto) -> tuple[tuple[float, ...], ...]:
    """Tables of inputs of which exponentials and powers of a model are subnormal, alone and beside others, or
    products with constants.

    There is none where the model has no such operators, or is not of float32.
    """
    types = {value.type.tensor_type.elem_type for value in model.graph.input}
    if types != {TensorProto.FLOAT}:
        return ()
    numbers = numbers_by_name(model)
    lines = lines_of(model, numbers)
    powers = {value.name: (value.name, 1) for value in model.graph.input}
    low, mixed, halves = set[float](), set[float](), set[float]()
    multiplies = any(node.op_type in ("Mul", "Pow") for node in model.graph.node)
    for node in model.graph.node:
        line = lines.get(node.input[0]) if node.input else None
        if line is not None and node.op_type == "Exp":
            low.update(map(line.where, EXPONENTS))
            mixed.update(map(line.where, OPPOSITE))
            halves.update(map(line.where, HALVES) if multiplies else ())
        elif line is not None and node.op_type == "Pow":
            low.update(_bases(line, numbers.get(node.input[1], 0)))
        elif node.op_type == "Mul" and all(name in powers for name in node.input):
            (base, degree), (other, more) = (powers[name] for name in node.input)
            if base == other:
                powers[node.output[0]] = base, degree + more
                low.update(_bases(Line(), degree + more))
    if any(0 < abs(number) < LEAST_NORMAL for number in numbers.values()) and adds_nothing(model):
        low.update(BESIDE_CONSTANTS)
    beside = low | mixed if mixed else mixed
    return tuple(tuple(sorted(table)) for table in (low, beside, halves) if table)


def _bases(line: Line, exponent: float) -> Iterator[float]:
    """Numbers of which powers are subnormal."""
    if exponent >= 2 and not line.shift:
        for number in SUBNORMALS:
            yield line.where(abs(number) ** (1 / exponent) * (1 if number > 0 or exponent % 2 == 0 else -1))

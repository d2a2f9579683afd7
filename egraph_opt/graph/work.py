"""How much computing a node takes, from the types of operands and results, before anything is allocated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from egraph_opt.facts.fact import Fact

ONE_BYTES, TIMES = 2**28, 4
"""Of one constant node that is computed here: its operands and results may have so many bytes whatever there
is, and so many times what its operands hold in the model (of one value in every element, that is nothing)."""

ONE_OPERATIONS = 10**9
"""Of one constant node: multiplications."""

ALL_OPERATIONS = 10**10
"""Of all constant nodes of a graph: some ten seconds."""

SECONDS = 30.0
"""After which computing constants is given up: three times as many."""

LONGEST_ELEMENT = 8
"""Bytes of one: constants are computed in float64."""


@dataclass
class FoldingBudget:
    """What is left for computing constants.

    Attributes:
        memory: bytes of operands and results of one node, at most.
        left: operations of all nodes.
    """

    memory: float = math.inf
    left: float = ALL_OPERATIONS

    def takes(
        self,
        op_type: str,
        attributes: Mapping[str, Any],
        operands: Sequence[Fact | None],
        results: Sequence[Fact],
    ) -> str:
        """Why a node is not computed: what it needs; "" where it is, which is then taken off."""
        needed = elements((*operands, *results)) * LONGEST_ELEMENT
        held = elements(fact for fact in operands if fact is not None and fact.splat is None)
        most = min(max(ONE_BYTES, TIMES * held * LONGEST_ELEMENT), self.memory)
        if not needed <= most or needed == math.inf:
            return f"it needs {needed:.3g} bytes, and not {most:.3g} at most"
        work = operations(op_type, attributes, operands, results)
        if not work <= max(ONE_OPERATIONS, TIMES * held):
            return f"it takes {work:.3g} operations, and not {ONE_OPERATIONS:.3g} at most"
        if not work <= self.left:
            return f"{ALL_OPERATIONS:.3g} operations were spent on others"
        self.left -= work
        return ""


def elements(facts: Iterable[Fact | None]) -> float:
    """The elements of all; infinite where a size is not known."""
    return math.fsum(_count(fact.shape) for fact in facts if fact is not None and fact.dtype >= 0)


def _count(shape: Sequence[Any] | None) -> float:
    if shape is None or not all(isinstance(d, int) for d in shape):
        return math.inf
    count = math.prod(shape)
    return float(count) if count < 2**63 else math.inf


_PRODUCTS = frozenset(
    ("Gemm", "LinearClassifier", "LinearRegressor", "MatMul", "MatMulInteger", "QLinearMatMul")
)
_CONVOLUTIONS = {"Conv": 1, "ConvInteger": 1, "DeformConv": 1, "QLinearConv": 3}
"""The operand that holds the kernels."""

_RECURRENT = frozenset(("GRU", "LSTM", "RNN"))


def operations(
    op_type: str, attributes: Mapping[str, Any], operands: Sequence[Fact | None], results: Sequence[Fact]
) -> float:
    """About how many multiplications, or moves of an element, a node of ONNX takes; infinite if not known."""
    around = elements((*operands, *results))
    shapes = [None if fact is None else fact.shape for fact in operands]
    made = elements(results[:1])
    if op_type in _PRODUCTS:
        return around + made * _inner_length(op_type, attributes, shapes[0] if shapes else None)
    if op_type in _CONVOLUTIONS and len(shapes) > _CONVOLUTIONS[op_type]:
        kernel = shapes[_CONVOLUTIONS[op_type]]
        return around + made * _count(None if kernel is None else kernel[1:])
    if op_type == "ConvTranspose" and len(shapes) > 1:
        return around + elements(operands[:1]) * _count(None if shapes[1] is None else shapes[1][1:])
    if op_type.endswith("Pool"):
        return around + made * math.prod(attributes.get("kernel_shape", ()) or (1,))
    if op_type == "Einsum":
        return around + math.prod(elements((operand,)) for operand in operands)
    if op_type in _RECURRENT and len(shapes) > 2:
        return around + elements(operands[:1]) * elements(operands[1:3])
    if op_type in ("DFT", "STFT", "Det", "Resize", "Upsample"):
        return 64 * around
    return around


def _inner_length(op_type: str, attributes: Mapping[str, Any], left: Sequence[Any] | None) -> float:
    """How many products are summed up for an element."""
    if left is None:
        return math.inf
    axis = 0 if op_type == "Gemm" and attributes.get("transA") else -1
    return _count(left[axis : axis + 1 or None]) if left else 1.0

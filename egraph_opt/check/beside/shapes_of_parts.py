"""The shapes of parts of an example, as ONNX infers them."""

from __future__ import annotations

from typing import Any

from egraph_opt.check.terms import Builder
from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Expression


class ShapesOfParts:
    """The shapes of parts of an example."""

    def __init__(self, example: Example) -> None:
        self._builder = Builder(example.operands, example.opset)

    def of(self, part: Expression) -> tuple[Any, ...] | None:
        """The shape of a part; None where it is not well-typed, or nobody knows it."""
        try:
            fact = self._builder.lowered.facts[self._builder.term(part)]
        except Exception:  # operands that do not suit an operator make inference fail in many ways
            return None
        return None if fact is None or fact.shape is None or 0 in fact.shape else tuple(fact.shape)

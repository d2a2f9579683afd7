"""Powers whose exponents have another type than what is raised to them, as no other operator allows it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir
from onnx import TensorProto

from egraph_opt.check.choices import Choices, chance, pick
from egraph_opt.check.operands import Array
from egraph_opt.check.theme import Theme, operators_of
from egraph_opt.facts.fact import Fact
from egraph_opt.operators.expressions import Constant, Expression

TYPES = (TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT, TensorProto.DOUBLE)
BASES = (TensorProto.FLOAT,) * 4 + (TensorProto.INT32, TensorProto.DOUBLE)
NUMBERS = (2, 3, 1, 2, 0)


class Exponents(Theme):
    """Each exponent is of any type, and often one small number."""

    def __init__(self, rng: Choices) -> None:
        super().__init__(rng)
        self.dtype = int(pick(rng, *BASES))

    @classmethod
    def suits(cls, patterns: Sequence[Expression]) -> bool:
        """Of powers, and of operators of which a law does not say in its pattern which they are."""
        names = [part.arguments[0].head for part in operators_of(patterns) if part.head.name == "binary"]
        return any(not isinstance(name, Constant) or name.value == "Pow" for name in names)

    def names(self, operator: str) -> Sequence[str]:
        return ("Pow",) if operator == "binary" else super().names(operator)

    def operand_dtype(self, rng: Choices, operator: str, name: str, number: int, usual: int) -> int:
        if name == "Pow" and number == 1:
            return int(pick(rng, *TYPES))
        return super().operand_dtype(rng, operator, name, number, usual)

    def fixed(
        self, rng: Choices, operator: str, number: int, before: Sequence[Fact], name: str
    ) -> Array | Fact | None:
        if name == "Pow" and number == 1 and chance(rng, 0.8):
            dtype = ir.DataType(int(pick(rng, *TYPES))).numpy()
            return np.full(pick(rng, (), (), (1,)), pick(rng, *NUMBERS), dtype)
        return super().fixed(rng, operator, number, before, name)

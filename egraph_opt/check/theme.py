"""What terms are drawn from: the tables as they are, or a theme, which has something that these seldom have.

A theme is for what several parts of a term have to have together before a mistake shows: two transposes that
undo each other, of three axes that turn round, about a window that differs along each of these.  Of single
choices made from the tables so many hardly ever come together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from onnx import TensorProto

from egraph_opt.check import tables
from egraph_opt.check.attributes import attribute_of
from egraph_opt.check.choices import Choices, pick
from egraph_opt.check.layers import layer_weights
from egraph_opt.check.leaves import any_shape
from egraph_opt.check.operands import Array, fixed_operand, operand_dtype, operand_shapes, settings_of
from egraph_opt.facts.fact import Dim, Fact, Shape
from egraph_opt.operators.declaration import operators
from egraph_opt.operators.expressions import Expression, Function, parts


class Theme:
    """The tables as they are; a theme overrides some of the methods.

    Attributes:
        operators: of which the pattern of a law has to have one.
        most_axes: of an operand.
        most: terms of a law.
        tries: terms that are begun at most, and three times as many as those after which none is expected.
        dtype: of operands that may have any.
    """

    operators: ClassVar[frozenset[str]] = frozenset()
    most_axes: ClassVar[int] = 7
    most: ClassVar[int] = 12
    tries: ClassVar[int] = 120

    def __init__(self, rng: Choices) -> None:
        """A theme of one term, for which it may choose something."""
        self.dtype: int = TensorProto.FLOAT

    @property
    def is_usual(self) -> bool:
        """Whether terms are drawn from the tables as they are, with all that is odd in these."""
        return type(self) is Theme

    @classmethod
    def suits(cls, patterns: Sequence[Expression]) -> bool:
        """Whether terms of the theme are made for a law."""
        return any(part.head.name in cls.operators for part in operators_of(patterns))

    def any_shape(self, rng: Choices) -> Shape:
        return any_shape(rng)

    def operand(
        self, rng: Choices, operator: str, name: str, before: Sequence[Fact], wish: Sequence[Dim] | None
    ) -> Shape | None:
        """The shape of the next operand, see `operand_shapes`."""
        return operand_shapes(rng, operator, name, before, wish)

    def fixed(
        self, rng: Choices, operator: str, number: int, before: Sequence[Fact], name: str
    ) -> Array | Fact | None:
        """The elements of the next operand, see `fixed_operand`."""
        return fixed_operand(rng, operator, number, before, name)

    def operand_dtype(self, rng: Choices, operator: str, name: str, number: int, usual: int) -> int:
        return operand_dtype(operator, number, usual)

    def names(self, operator: str) -> Sequence[str]:
        """The ONNX operators that a constructor may stand for."""
        return settings_of(operator)

    def attribute(
        self, rng: Choices, operator: str, parameter: str, before: Mapping[str, Any], operands: Sequence[Fact]
    ) -> Any:
        """A value of an attribute, see `attribute_of`."""
        return attribute_of(rng, operator, parameter, before, operands)

    def weights(
        self, rng: Choices, operator: str, before: Sequence[Fact], count: int | None
    ) -> tuple[Shape | None, ...]:
        """The shapes of the elements of a list that differ by place; none where they do not.

        Args:
            count: how many elements there are, where the pattern says that.
        """
        return layer_weights(rng, before[0]) if operator == "recurrent" and len(before) == 1 else ()

    def length(self, rng: Choices) -> int:
        """Of a list."""
        return int(pick(rng, *tables.LIST_LENGTHS))

    def repeats(self, number: int) -> bool:
        """Whether an element of a list is the first one again."""
        return False

    def joined(self, rng: Choices, dim: Dim, number: int) -> Dim:
        """The length of another operand of a Concat along its axis, where the first has one."""
        return pick(rng, dim, dim, 1, 2, 3, "L")  # type: ignore[no-any-return]

    def listed(self, rng: Choices, shape: Sequence[Dim], number: int) -> Sequence[Dim]:
        """The shape of another element of a list that is not joined."""
        return shape


def operators_of(patterns: Sequence[Expression]) -> list[Expression]:
    """The operators in patterns with all that they take."""
    known = operators()
    found = dict.fromkeys(part for pattern in patterns for part in parts(pattern))
    return [part for part in found if isinstance(part.head, Function) and part.head.name in known]


def whole(shape: Sequence[Dim] | None, rank: int) -> tuple[int, ...] | None:
    """The dims of something of a rank that are all known; None of others."""
    if shape is None or len(shape) != rank or not all(isinstance(d, int) for d in shape):
        return None
    return tuple(shape)  # type: ignore[arg-type]


def shuffled(rng: Choices, items: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(items[k] for k in rng.permutation(len(items)).tolist())

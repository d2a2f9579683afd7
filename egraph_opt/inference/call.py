"""What a formula sees of one node, and the table of formulas.

A formula is a function of a :class:`Call`.  It answers one :class:`.Fact` per output, as far
as it knows (a missing one is unknown), and raises :class:`ContradictionError` where the operands cannot be
right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from egraph_opt.facts.fact import UNKNOWN, Fact, Shape
from egraph_opt.facts.polynomials import Bounds

Attribute = int | float | str | bytes | tuple[Any, ...]
Formula = Callable[["Call"], Sequence[Fact]]
Rule = TypeVar("Rule")

FORMULAS: dict[str, Formula] = {}
"""Formula by operator of the default domain."""


class ContradictionError(ValueError):
    """The operands and attributes of a node cannot go together."""


@dataclass(frozen=True)
class Call:
    """One node: operator, attributes, facts of its inputs (None: absent), what is assumed of symbols."""

    op_type: str
    attributes: Mapping[str, Attribute]
    inputs: tuple[Fact | None, ...]
    n_outputs: int
    opset: int
    bounds: Bounds = ()

    def has(self, k: int) -> bool:
        """Input ``k`` is present."""
        return k < len(self.inputs) and self.inputs[k] is not None

    def fact(self, k: int) -> Fact:
        """Fact of input ``k``; unknown if it is absent."""
        fact = self.inputs[k] if k < len(self.inputs) else None
        return UNKNOWN if fact is None else fact

    def shape(self, k: int) -> Shape | None:
        return self.fact(k).shape

    @property
    def present(self) -> list[Fact]:
        return [fact for fact in self.inputs if fact is not None]

    def integer(self, name: str, default: int) -> int:
        value = self.attributes.get(name, default)
        if not isinstance(value, int):
            raise ContradictionError(f"attribute {name} is no integer")
        return value

    def number(self, name: str, default: float) -> float:
        value = self.attributes.get(name, default)
        if not isinstance(value, int | float):
            raise ContradictionError(f"attribute {name} is no number")
        return float(value)

    def text(self, name: str, default: str) -> str:
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else str(value)

    def integers(self, name: str) -> tuple[int, ...] | None:
        """A list attribute, or None if the node does not have it."""
        value = self.attributes.get(name)
        if value is None:
            return None
        if not isinstance(value, tuple) or not all(isinstance(v, int) for v in value):
            raise ContradictionError(f"attribute {name} is no list of integers")
        return value

    def axes(self, k: int) -> tuple[int, ...] | None:
        """The axes of an operator that moved them from an attribute to input ``k``; None if not known.

        Whether they are given at all is a question to ``gives_axes``.
        """
        return self.fact(k).ints if self.has(k) else self.integers("axes")

    def gives_axes(self, k: int) -> bool:
        return self.has(k) or "axes" in self.attributes


def rules_in(table: dict[str, Rule], kind: str) -> Callable[..., Callable[[Rule], Rule]]:
    """A decorator that enters a function into a table of rules, one for each operator that it names."""

    def declares(*op_types: str) -> Callable[[Rule], Rule]:
        def register(function: Rule) -> Rule:
            for op_type in op_types:
                if op_type in table:
                    raise ValueError(f"{op_type} has two {kind}")
                table[op_type] = function
            return function

        return register

    return declares


formula = rules_in(FORMULAS, "formulas")
"""Declares the decorated function as the formula of these operators of the default domain."""


def normal_axis(axis: int, rank: int) -> int:
    """``axis`` counted from the front; ContradictionError if it is out of range."""
    if not -rank <= axis < rank:
        raise ContradictionError(f"axis {axis} of a tensor of rank {rank}")
    return axis % rank


def normal_axes(axes: Sequence[int], rank: int) -> list[int]:
    """Axes counted from the front, none twice."""
    result = [normal_axis(a, rank) for a in axes]
    if len(set(result)) != len(result):
        raise ContradictionError(f"axes {tuple(axes)} repeat one")
    return result

"""The two sides of a law as pictures: each term a tree, operands above what is computed from them, in SVG.

Patterns are a few operators, so this descends into them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape

from egraph_opt.laws.law import Law, statements
from egraph_opt.laws.statements import Equality, Equals, Union
from egraph_opt.operators.declaration import operators
from egraph_opt.operators.expressions import OPERANDS, Constant, Expression, Variable

LETTER, ROW, GAP, HEIGHT = 6.2, 40, 10, 20
"""Pixels: the width of a letter, from row to row, between neighbours, and of a box."""

LONGEST = 28
"""Letters of a label; of longer ones the first."""


@dataclass(frozen=True)
class Box:
    """A term laid out: an operator with its attributes, or a variable, and its operands."""

    label: str
    is_operator: bool
    operands: tuple[Box, ...]

    @property
    def own_width(self) -> float:
        return LETTER * len(self.label) + 2 * GAP

    @property
    def inner_width(self) -> float:
        return sum(o.width for o in self.operands) + GAP * max(len(self.operands) - 1, 0)

    @property
    def width(self) -> float:
        return max(self.own_width, self.inner_width)

    @property
    def rows(self) -> int:
        return 1 + max((operand.rows for operand in self.operands), default=0)


def sides_of_law(law: Law) -> tuple[Expression, Expression] | None:
    """Both terms of a law's first equality; None of a law that only fills tables."""
    for statement in statements(law):
        if isinstance(statement, Equality):
            return statement.left, statement.right
        named = {c.left: c.right for c in statement.conditions if _names(c)}
        for action in statement.actions:
            if isinstance(action, Union):
                return _spelled(action.left, named), _spelled(action.right, named)
    return None


def picture(law: Law) -> str:
    """The two sides as a drawing each, in HTML; empty where there is nothing to draw."""
    sides = sides_of_law(law)
    return "" if sides is None else " = ".join(svg(boxed(side)) for side in sides)


def svg(root: Box) -> str:
    """A term as a drawing of its own, as wide as it has to be."""
    height = ROW * root.rows
    inside = "".join(_parts(root, 0.0, height - ROW / 2))
    size = f'width="{root.width:.0f}" height="{height}"'
    return f'<svg class="law-picture" role="img" {size}>{inside}</svg>'


def _parts(box: Box, left: float, y: float) -> Iterator[str]:
    x, start = left + box.width / 2, left + (box.width - box.inner_width) / 2
    for operand in box.operands:
        top = f"{start + operand.width / 2:.0f} {y - ROW + HEIGHT / 2:.0f}"
        yield f'<path d="M{top}L{x:.0f} {y - HEIGHT / 2:.0f}"/>'
        yield from _parts(operand, start, y - ROW)
        start += operand.width + GAP
    if box.is_operator:
        corner = f'x="{x - box.own_width / 2:.0f}" y="{y - HEIGHT / 2:.0f}"'
        yield f'<rect {corner} width="{box.own_width:.0f}" height="{HEIGHT}" rx="5"/>'
    yield f'<text x="{x:.0f}" y="{y + 4:.0f}" text-anchor="middle">{escape(box.label)}</text>'


def boxed(term: Expression) -> Box:
    """A term with its operands; lists are spliced in, and what is absent is left out."""
    if isinstance(term.head, (Variable, Constant)):
        return Box(_short(_text(term)), False, ())
    operands = [o for o in _operands(term) if getattr(o.head, "name", "") != "none"]
    given = [argument for argument in term.arguments if argument.sort.kind not in OPERANDS]
    title = term.head.name.rsplit("_", 1)[-1] if term.head.shorthand else term.head.name
    declared = operators().get(title)
    if declared is not None and declared.op_types and given and isinstance(given[0].head, Constant):
        title, given = str(given[0].head.value), given[1:]
    label = " ".join([title.rstrip("_"), *(_text(argument) for argument in given)])
    return Box(_short(label), True, tuple(map(boxed, operands)))


def _operands(term: Expression) -> Iterator[Expression]:
    for argument in term.arguments:
        while getattr(argument.head, "name", "") == "cons":
            yield argument.arguments[0]
            argument = argument.arguments[1]
        if argument.sort.kind in OPERANDS and getattr(argument.head, "name", "") != "nil":
            yield argument


def _text(expression: Expression) -> str:
    """An attribute: a name, a value, or what a function answers of some."""
    if isinstance(expression.head, Constant):
        return str(expression.head.value)
    name = str(expression.head.name).strip("_")
    inside = ", ".join(map(_text, expression.arguments))
    return f"{name}({inside})" if expression.arguments else name


def _short(label: str) -> str:
    return label if len(label) <= LONGEST else label[: LONGEST - 2] + ".."


def _names(condition: object) -> bool:
    """Whether a condition gives a term a name."""
    return (
        isinstance(condition, Equals)
        and isinstance(condition.left.head, Variable)
        and condition.right.sort.kind in OPERANDS
    )


def _spelled(term: Expression, named: Mapping[Expression, Expression], depth: int = 0) -> Expression:
    """A term with what its variables are names of."""
    if term in named and depth < len(named):
        return _spelled(named[term], named, depth + 1)
    arguments = tuple(_spelled(argument, named, depth) for argument in term.arguments)
    return term if arguments == term.arguments else Expression(term.head, arguments, term.sort)

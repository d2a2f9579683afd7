"""An example in another opset, without the settings that operators do not have there.

What they set is then as it was before there was a choice, which need not be what is chosen by default later.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from egraph_opt.check.shorthands import transformed, with_arguments
from egraph_opt.facts.fact import UNKNOWN
from egraph_opt.laws.law import Example
from egraph_opt.operators.declaration import operator_named, operators
from egraph_opt.operators.expressions import Expression, Function, constant
from egraph_opt.operators.node_reader import schema_defaults


def in_opset(opset: int, example: Example) -> Example:
    """The same term in a model of another opset."""
    return replace(example, opset=opset, term=transformed(example.term, partial(_as_read, opset=opset)))


def _as_read(part: Expression, opset: int) -> Expression:
    """An operator with those of its settings that an opset has."""
    if not isinstance(part.head, Function) or part.head.name not in operators():
        return part
    given = part.arguments
    kept = tuple(_settings(part, each, opset) if each.sort.name == "Settings" else each for each in given)
    return part if kept == given else with_arguments(part, kept)


def _settings(part: Expression, given: Expression, opset: int) -> Expression:
    declared = operator_named(part.head.name)
    attributes: tuple[Any, ...] = tuple(part.arguments[k].head.value for k in declared.attribute_positions)
    form = declared.form and declared.form(opset, attributes, (UNKNOWN,) * len(declared.operand_positions))
    names = schema_defaults(form.op_type, opset) if form and not form.domain else None
    if not names:  # an opset without the operator, or one whose settings are operands there
        return given
    made: Expression = constant(tuple(p for p in given.head.value if p[0] in names), given.sort)
    return made

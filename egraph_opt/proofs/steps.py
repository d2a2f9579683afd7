"""What the steps of an operator make that stands for others."""

from __future__ import annotations

from typing import Any

from egraph_opt.operators.declaration import Earlier, Operator, Scalar, operator_named
from egraph_opt.operators.expressions import OPERANDS
from egraph_opt.proofs.trail import Open
from egraph_opt.semantics.values import Value, meanings


def expanded(scene: Any, declared: Operator, given: dict[str, Any]) -> Value:
    """What an operator is of operands and attributes, by name, that is others one after another."""
    assert declared.expand is not None
    steps = declared.expand(tuple(given[declared.names[k]] for k in declared.attribute_positions))
    if steps is None:
        raise Open(f"{declared.name} has no steps with these attributes")
    operands: list[Any] = []
    for k in declared.operand_positions:
        made = given[declared.names[k]]
        operands += made if isinstance(made, tuple) else (made,)
    found: list[Value] = []
    for step in steps:
        inner = operator_named(step.operator)
        scene.operators.add(inner.name)
        values = [_operand(scene, each, operands, found) for each in step.operands]
        listed = [tuple(values)] if "tensors" in inner.kinds else values
        attributes, rest = iter(step.attributes), iter(listed)
        arguments = [next(rest) if kind in OPERANDS else next(attributes) for kind in inner.kinds]
        found.append(meanings[step.operator](scene, *arguments))
    return found[-1] if found else operands[0]


def _operand(scene: Any, each: Any, operands: list[Any], found: list[Value]) -> Any:
    if isinstance(each, Earlier):
        return found[each.step]
    if isinstance(each, Scalar):
        value = scene.real_formula(each.value)
        return Value(operands[0].dtype, (), lambda i: value, lambda: value)
    return operands[each]

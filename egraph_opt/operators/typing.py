"""The facts of what an operator makes, from its attributes and the facts of its operands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from egraph_opt.facts.fact import ABSENT, CLASH, UNKNOWN, Fact
from egraph_opt.inference.core import infer_node
from egraph_opt.inference.kernels import Types, takes_types
from egraph_opt.operators.constants import literal_fact
from egraph_opt.operators.declaration import (
    PSEUDO_DOMAIN,
    Earlier,
    Literal,
    OnnxForm,
    Scalar,
    Step,
    operator_named,
)


def form_facts(form: OnnxForm, operands: tuple[Fact, ...]) -> tuple[Fact | None, ...]:
    """The facts of a form's ONNX inputs."""
    answer: list[Fact | None] = []
    for item in form.inputs:
        if item is None:
            answer.append(None)
        elif isinstance(item, Literal):
            answer.append(literal_fact(item))
        else:
            answer.append(None if operands[item] == ABSENT else operands[item])
    return tuple(answer)


def infer_operator(name: str, opset: int, attributes: tuple[Any, ...], operands: tuple[Fact, ...]) -> Any:
    """The fact of an operator's result (a tuple of them for a bundle) from its operands' facts."""
    return _infer_operator(name, opset, attributes, operands, repr(attributes))


@lru_cache(maxsize=1 << 14)
def _infer_operator(
    name: str, opset: int, attributes: tuple[Any, ...], operands: tuple[Fact, ...], written: str
) -> Any:
    """`written` tells attributes apart that are equal, and not the same: 0.0 and -0.0."""
    declared = operator_named(name)
    if any(f.dtype == CLASH.dtype for f in operands):
        return UNKNOWN
    if declared.infer is not None:
        return declared.infer(opset, attributes, operands)
    form = declared.form(opset, attributes, operands) if declared.form is not None else None
    if declared.expand is not None and (form is None or form.domain == PSEUDO_DOMAIN):
        steps = declared.expand(attributes)
        return UNKNOWN if steps is None else (*operands[:1], *infer_steps(steps, opset, operands))[-1]
    if form is None:
        return UNKNOWN
    given = form_facts(form, operands)
    if not takes_types(form.op_type, form.domain, types_of(given), opset):
        return UNKNOWN  # it is not written
    return infer_node(form.op_type, form.domain, form.attributes, given, 1, opset=opset)[0]


def types_of(facts: Sequence[Fact | None]) -> Types:
    """The element types of operands or results."""
    return tuple(None if fact is None else fact.dtype for fact in facts)


def infer_steps(steps: Sequence[Step], opset: int, operands: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """The facts of what the steps of a pseudo-operator compute."""
    found: list[Fact] = []
    for step in steps:
        given = step_operands(step, operands, found)
        found.append(infer_operator(step.operator, opset, step.attributes, given))
    return tuple(found)


def step_operands(step: Step, operands: Sequence[Fact], earlier: Sequence[Fact]) -> tuple[Fact, ...]:
    """The facts of a step's operands.

    Args:
        operands: of the pseudo-operator.
        earlier: of the results of the steps before.
    """
    given: list[Fact] = []
    for item in step.operands:
        if isinstance(item, Scalar):
            dtype = scalar_type(step, operands, earlier)
            given.append(literal_fact(item.literal(dtype)) if dtype > 0 else UNKNOWN)
        else:
            given.append(_known(item, operands, earlier))
    return tuple(given)


def scalar_type(step: Step, operands: Sequence[Fact], earlier: Sequence[Fact]) -> int:
    """The type of a step's constants: that of an operand beside them, or of the first; 0 if not known."""
    tensors = (item for item in step.operands if not isinstance(item, Scalar))
    types = (_known(item, operands, earlier).dtype for item in tensors)
    return next((dtype for dtype in types if dtype > 0), max(operands[0].dtype, 0))


def _known(item: int | Earlier, operands: Sequence[Fact], earlier: Sequence[Fact]) -> Fact:
    return earlier[item.step] if isinstance(item, Earlier) else operands[item]

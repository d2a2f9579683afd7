"""What pseudo-operators stand for, by their own declaration."""

from __future__ import annotations

from egraph_opt.certificates.errors import CertificateError
from egraph_opt.certificates.knowledge import Knowledge
from egraph_opt.facts.fact import UNKNOWN
from egraph_opt.operators.declaration import Earlier, Scalar, declared_operators
from egraph_opt.operators.typing import infer_steps, scalar_type


def expanded(knowledge: Knowledge, term: int) -> int:
    """The term of the operators that a pseudo-operator stands for, on its operands.

    Raises:
        CertificateError: it is none, or does not say.
    """
    declared = declared_operators.get(knowledge.functions[term])
    steps = None
    if declared is not None and declared.expand is not None:
        steps = declared.expand(knowledge.attributes(term))
    if declared is None or steps is None:
        raise CertificateError(f"{knowledge.text(term)} stands for nothing else")
    operands = knowledge.each_operand(term)
    facts = tuple(knowledge.fact(operand) or UNKNOWN for operand in operands)
    inferred = infer_steps(steps, knowledge.opset, facts)
    made: list[int] = []
    for step in steps:
        given: list[int] = []
        for item in step.operands:
            if isinstance(item, Scalar):
                literal = item.literal(scalar_type(step, facts, inferred))
                given.append(knowledge.add("literal", (literal,)))
            else:
                given.append(made[item.step] if isinstance(item, Earlier) else operands[item])
        made.append(_applied(knowledge, step.operator, step.attributes, given))
    return made[-1] if made else operands[0]


def _applied(knowledge: Knowledge, name: str, attributes: tuple[object, ...], operands: list[int]) -> int:
    """An operator; where it takes a list, all operands that are left are its elements."""
    declared = declared_operators[name]
    left, rest = iter(attributes), list(operands)
    after = sum(kind != "tensors" for k, kind in enumerate(declared.kinds) if k in declared.operand_positions)
    arguments: list[object] = []
    for k, kind in enumerate(declared.kinds):
        if k not in declared.operand_positions:
            arguments.append(next(left))
        elif kind == "tensors":
            count = len(rest) - after
            items, rest = rest[:count], rest[count:]
            arguments.append(knowledge.listed(items))
        else:
            after -= 1
            arguments.append(rest.pop(0))
    return knowledge.add(name, tuple(arguments))

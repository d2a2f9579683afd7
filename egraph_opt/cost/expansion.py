"""What pseudo-operators of a snapshot stand for: steps, each with the e-node that it is, where there is one.

A pseudo-operator hides values that the e-graph mostly knows: the convolution in a fused pair is the one that
the pair's law matched.  Finding it gives the rebuilt graph the original's names back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.facts.fact import UNKNOWN
from egraph_opt.operators.declaration import (
    COMMUTATIVE,
    PSEUDO_DOMAIN,
    Earlier,
    OnnxForm,
    Scalar,
    Step,
    operator_named,
)
from egraph_opt.operators.typing import scalar_type


@dataclass(frozen=True)
class Expanded:
    """A step in its place.

    Attributes:
        step: the operator, on operands of the pseudo-operator and results of earlier steps.
        node: the e-node that it is, or -1.
    """

    step: Step
    node: int


def expand_pseudo(snapshot: Snapshot, node: int, opset: int) -> tuple[Expanded, ...]:
    """The steps of a chosen e-node, none if it stands for its first operand.

    A step that the opset does not have either is given as those that it stands for.

    Raises:
        AssertionError: it is no pseudo-operator.
    """
    return _found(snapshot, node, _written_out(_steps(snapshot, node), opset))


def stages_of_pseudo(snapshot: Snapshot, node: int) -> tuple[Expanded, ...]:
    """The same, but for steps that the opset does not have: they are given as they are."""
    return _found(snapshot, node, _steps(snapshot, node))


def stages_and_steps(
    snapshot: Snapshot, node: int, opset: int
) -> tuple[tuple[Expanded, ...], tuple[Expanded, ...]]:
    """What `stages_of_pseudo` and `expand_pseudo` say, which is mostly the same."""
    steps = _steps(snapshot, node)
    whole = _found(snapshot, node, steps)
    if all(_inner_steps(step, opset) is None for step in steps):
        return whole, whole
    return whole, _found(snapshot, node, _written_out(steps, opset))


def _steps(snapshot: Snapshot, node: int) -> tuple[Step, ...]:
    declared = operator_named(snapshot.operator[node])
    steps = declared.expand(snapshot.attributes[node]) if declared.expand is not None else None
    if steps is None:
        raise AssertionError(f"{declared.name} is no pseudo-operator")
    return steps


def _found(snapshot: Snapshot, node: int, steps: tuple[Step, ...]) -> tuple[Expanded, ...]:
    """Steps, each with the e-node that it is."""
    children = [snapshot.plain[c] for c in snapshot.children(node)]

    def classes_of(operand: int | Earlier | Scalar, dtype: int) -> list[int]:
        """What the operand is; a number may be an initializer, too."""
        if isinstance(operand, Earlier):
            return [classes[operand.step]]
        if isinstance(operand, int):
            return [children[operand]]
        known = snapshot.find("literal", (operand.literal(dtype),), ())
        nodes = [*snapshot.numbers(dtype, operand.value), *([known] if known >= 0 else [])]
        return [int(snapshot.node_class[k]) for k in nodes] or [-1]

    found: list[Expanded] = []
    classes: list[int] = []
    for wanted in steps:
        dtype = 0
        if any(isinstance(k, Scalar) for k in wanted.operands):
            facts = [[snapshot.facts[c] if c >= 0 else UNKNOWN for c in held] for held in (children, classes)]
            dtype = scalar_type(wanted, *facts)
        spelled: list[tuple[bool, int, Step]] = []
        for step in _spellings(wanted):
            for operands in product(*(classes_of(k, dtype) for k in step.operands)):
                known = snapshot.find(step.operator, step.attributes, operands)
                spelled.append((known >= 0 and snapshot.made_by[known] == 0, known, step))
        _, known, step = max(spelled, key=lambda entry: (entry[0], entry[1] >= 0))
        found.append(Expanded(step, known))
        classes.append(int(snapshot.node_class[known]) if known >= 0 else -1)
    return tuple(found)


def _written_out(steps: tuple[Step, ...], opset: int) -> tuple[Step, ...]:
    """Steps without pseudo-operators among them, which have steps of their own."""
    found: list[Step] = []
    results: list[int | Earlier | Scalar] = []  # of each of the steps given
    for step in steps:
        operands = tuple(results[k.step] if isinstance(k, Earlier) else k for k in step.operands)
        inner = _inner_steps(step, opset)
        if inner is None:
            found.append(replace(step, operands=operands))
            results.append(Earlier(len(found) - 1))
            continue
        own: list[int | Earlier | Scalar] = []
        for part in inner:
            given = (own[k.step] if isinstance(k, Earlier) else k for k in part.operands)
            found.append(
                replace(part, operands=tuple(operands[k] if isinstance(k, int) else k for k in given))
            )
            own.append(Earlier(len(found) - 1))
        results.append(own[-1] if own else operands[0])
    return tuple(found)


def _inner_steps(step: Step, opset: int) -> tuple[Step, ...] | None:
    """What a step stands for; None if the opset has it."""
    declared = operator_named(step.operator)
    if declared.expand is None or declared.form is None:
        return None
    form = declared.form(opset, step.attributes, (UNKNOWN,) * len(step.operands))
    return declared.expand(step.attributes) if form is not None and form.domain == PSEUDO_DOMAIN else None


def _spellings(step: Step) -> tuple[Step, ...]:
    """A step, and for x + y also y + x: the original may have it so."""
    if step.operator != "binary" or step.attributes[0] not in COMMUTATIVE:
        return (step,)
    return (step, replace(step, operands=step.operands[::-1]))


def is_pseudo(snapshot: Snapshot, node: int, opset: int) -> bool:
    """Whether an e-node is expanded when the graph is rebuilt."""
    if operator_named(snapshot.operator[node]).expand is None:
        return False
    form = form_of(snapshot, node, opset)
    return form is not None and form.domain == PSEUDO_DOMAIN


def form_of(snapshot: Snapshot, node: int, opset: int) -> OnnxForm | None:
    """An e-node as it is written; None where the opset cannot say it."""
    declared = operator_named(snapshot.operator[node])
    if declared.form is None:
        return None
    facts = tuple(snapshot.facts[c] for c in snapshot.children(node))
    return declared.form(opset, snapshot.attributes[node], facts)


def stood_for(snapshot: Snapshot, nodes: list[int], opset: int) -> list[int]:
    """The e-nodes given, and those that the pseudo-operators among them stand for, once each.

    One within another counts as well: the fused kernel that works in a layout.
    """
    answer = dict.fromkeys(nodes)
    for node in nodes:
        if is_pseudo(snapshot, node, opset):
            whole, parts = stages_of_pseudo(snapshot, node), expand_pseudo(snapshot, node, opset)
            answer.update((part.node, None) for part in (*whole, *parts) if part.node >= 0)
    return list(answer)

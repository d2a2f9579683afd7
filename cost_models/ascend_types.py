"""Which unit of an Ascend chip runs an operator: its AI cores take some types, the AI CPU the others."""

from __future__ import annotations

from collections.abc import Iterator

from egraph_opt.cost.model import NodeView
from egraph_opt.cost_models.ascend_device import CHIP_FLOATS
from egraph_opt.cost_models.ascend_soc import EVERY, Soc
from egraph_opt.facts.fact import Fact

CASTS = frozenset(("Cast", "CastLike"))

_OF_RESULT = CASTS | {"ConstantOfShape", "EyeLike", "OneHot"}
"""Operators whose result is of a type that they choose; of others what they read decides, since an index of
type int64 is no arithmetic on int64."""

_CHOICES = frozenset(("Where",))
"""Operators whose first operand is a condition."""


def on_ai_cpu(soc: Soc, node: NodeView) -> bool:
    """Whether no AI core runs an operator on these types."""
    if any(dtype not in soc.kernel_types | CHIP_FLOATS for dtype in (*_read(node), *_made(node))):
        return True
    if is_listed(soc, node):
        return not runs_listed(soc, node)
    dtypes = {*_read(node), *(_made(node) if node.op_type in _OF_RESULT or not node.inputs else ())}
    return any(
        (node.op_type in ops or EVERY in ops) and (not types or not dtypes.isdisjoint(types))
        for ops, types in soc.aicpu_rules
    )


def is_listed(soc: Soc, node: NodeView) -> bool:
    """Whether a list says which types the AI cores take."""
    return node.op_type in CASTS or node.op_type in soc.types


def runs_listed(soc: Soc, node: NodeView) -> bool:
    """Whether the types of an operator that has a list are in it; those that are not known are floats."""
    if node.op_type in CASTS:
        return all(
            0 in (read, made) or not _spelled(read, made).isdisjoint(soc.casts)
            for read in _read(node)
            for made in _made(node)
        )
    return all(_taken(soc, node.op_type, dtype) for dtype in _read(node))


def _taken(soc: Soc, op_type: str, dtype: int) -> bool:
    """Floats are one type on the chip: one that is in the list is all of them."""
    listed = soc.types[op_type]
    return not listed.isdisjoint(CHIP_FLOATS) if dtype in CHIP_FLOATS else dtype in listed


def _spelled(read: int, made: int) -> frozenset[tuple[int, int]]:
    """The Casts that one Cast may be, floats being one type on the chip."""
    froms, tos = (CHIP_FLOATS if dtype in CHIP_FLOATS else {dtype} for dtype in (read, made))
    return frozenset((x, y) for x in froms for y in tos)


def _read(node: NodeView) -> Iterator[int]:
    """The types of what is computed with: behind a condition both operands, else the first."""
    operands: tuple[Fact | None, ...] = node.inputs[:1]
    if node.op_type in _CHOICES:
        operands = node.inputs[1:3]
    return (fact.dtype for fact in operands if fact is not None)


def _made(node: NodeView) -> Iterator[int]:
    """The type of the first result."""
    return (fact.dtype for fact in node.outputs[:1] if fact is not None)

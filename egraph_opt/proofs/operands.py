"""Which operands an operator can have: of which ranks, and whether it may do without."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from egraph_opt.check.operands import may_be_absent
from egraph_opt.operators.declaration import Operator
from egraph_opt.semantics.values import Value, meanings

KEEP_RANK = frozenset("cast conv pad pool slice_ softmax transpose unary".split())
"""Operators whose result has the rank of their first operand."""


def may_be_left_out(declared: Operator, position: int, number: int) -> bool:
    """Whether an operand need not be there: its meaning says so, or the operator's steps."""
    meaning = meanings.get(declared.name)
    if meaning is None:
        return may_be_absent(declared.name, number)
    parameters = list(inspect.signature(meaning).parameters.values())[1:]  # behind the scene
    if position >= len(parameters) and parameters[-1].kind is not inspect.Parameter.VAR_POSITIONAL:
        return False
    return "None" in str(parameters[min(position, len(parameters) - 1)].annotation)


def fitting_ranks(operator: str, position: int, before: list[Any], ranks: Sequence[int]) -> Sequence[int]:
    """The ranks that an operand of an operator can have."""
    first = before[0] if before else None
    most = ranks[-1]
    if operator in ("conv", "conv_transpose", "pool", "global_pool"):
        return ((3, 4) if most > 3 else (3,), (first.rank if isinstance(first, Value) else 3,), (1,))[
            position
        ]
    if operator == "batchnorm":
        return range(2, most + 1) if position == 0 else (1,)
    return ranks

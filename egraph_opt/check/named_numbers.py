"""The numbers that a law names, and those that constants of a term are: inputs and neighbours hold them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from types import CodeType
from typing import Any

from egraph_opt.egraph.lowering import Lowered
from egraph_opt.laws.checking import host_functions
from egraph_opt.laws.law import Law, statements
from egraph_opt.operators.declaration import Literal
from egraph_opt.operators.expressions import Constant, parts

LARGEST_TABLE = 32
"""Of a table in which a law's host function looks something up: larger ones are not about numbers."""


def numbers_of(law: Law) -> Iterable[float]:
    """The numbers that a law names, in its statements, the host functions that it calls, and their tables."""
    pending: list[Any] = list(statements(law))
    for function in (inspect.unwrap(each.function) for each in host_functions(law)):
        tables = (function.__globals__.get(name) for name in function.__code__.co_names)
        pending += [
            function.__code__,
            *(t for t in tables if isinstance(t, dict) and len(t) <= LARGEST_TABLE),
        ]
    while pending:
        item = pending.pop()
        if hasattr(item, "arguments"):
            pending += [p.head.value for p in parts(item) if isinstance(p.head, Constant)]
        elif isinstance(item, Literal):
            pending += item.values
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            yield float(item)
        elif isinstance(item, CodeType):
            pending += item.co_consts
        elif isinstance(item, (tuple, list)):
            pending += item
        elif isinstance(item, dict):
            pending += item.values()
        elif hasattr(item, "__dataclass_fields__"):
            pending += [getattr(item, name) for name in item.__dataclass_fields__ if name != "line"]


def constants_of(lowered: Lowered) -> frozenset[float]:
    """The numbers that constants of a term are throughout."""
    found = (fact.splat for fact in lowered.facts if fact is not None and fact.splat is not None)
    return frozenset(float(n) for n in found if isinstance(n, (int, float)))

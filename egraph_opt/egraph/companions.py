"""The facts that a rule gets along with the terms that it matches.

egglog runs a rule once for every table that it joins, on what is new there.  A table of facts has something
new in every round, and tells nothing about what matches, so a rule that asks for facts of operands does not
join theirs: it matches a term in the relation that has them already (see `operators.tables`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from egraph_opt.laws.bindings import expressions_in
from egraph_opt.operators.expressions import Expression, Function, parts
from egraph_opt.operators.host import HostFunction
from egraph_opt.operators.tables import known_with_facts
from egraph_opt.operators.terms import FACTS_OF

Companions = dict[Expression, tuple[Expression, int]]
"""By operand the term that its fact comes along with, and which of that term's parameters it is."""


def companions(conditions: Iterable[Any], actions: Iterable[Any]) -> Companions:
    """Where the facts that host functions ask for in a rule come from, but for those of other terms."""
    matched = _parts(conditions)
    asked = {
        argument
        for part in (*matched, *_parts(actions))
        if isinstance(part.head, HostFunction)
        for argument in part.arguments
        if argument.sort.kind in FACTS_OF
    }
    found: Companions = {}
    for term in matched:
        if isinstance(term.head, Function) and known_with_facts(term.head) is not None:
            for k in term.head.operand_positions:
                if term.arguments[k] in asked:
                    found.setdefault(term.arguments[k], (term, k))
    return found


def _parts(statements: Iterable[Any]) -> list[Expression]:
    return [part for s in statements for expression in expressions_in(s) for part in parts(expression)]

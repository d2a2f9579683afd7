"""The facts that a rule gets along with the terms that it matches, and the operands of short lists.

egglog runs a rule once for every table that it joins, on what is new there.  A table of facts has something
new in every round, and tells nothing about what matches, so a rule that asks for facts of operands does not
join theirs: it matches a term in the relation that has them already (see `operators.tables`).  So with lists
of one or two operands, of which a pattern would be joined with all the lists that there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from egraph_opt.laws.bindings import expressions_in
from egraph_opt.operators.expressions import OPERANDS, Expression, Function, parts
from egraph_opt.operators.host import HostFunction
from egraph_opt.operators.tables import known_with_facts, place_of_list, with_listed
from egraph_opt.operators.terms import FACTS_OF, nil, unlisted

Companions = dict[Expression, tuple[Expression, int]]
"""By operand the term that its fact comes along with, and which of that term's operands it is."""


class Matched(NamedTuple):
    """Where a term is matched.

    Attributes:
        relation: that has it with facts.
        arguments: what its first columns are.
        listed: whether operands of a list are columns by themselves.
    """

    relation: Function
    arguments: tuple[Expression, ...]
    listed: bool

    @property
    def operands(self) -> list[Expression]:
        """Those whose facts the relation has, in order."""
        return [argument for argument in self.arguments if argument.sort.kind in OPERANDS]


def matched(term: Expression) -> Matched | None:
    """Where a term is matched with facts; None where there is no such relation."""
    if not isinstance(term.head, Function):
        return None
    place = place_of_list(term.head)
    if place is not None:
        items, rest = unlisted(term.arguments[place])
        relation = known_with_facts(term.head, len(items)) if rest.head is nil else None
        if relation is not None:
            return Matched(relation, with_listed(term.arguments, place, items), listed=True)
    relation = known_with_facts(term.head)
    return None if relation is None else Matched(relation, term.arguments, listed=False)


def companions(conditions: Iterable[Any], actions: Iterable[Any]) -> Companions:
    """Where the facts that host functions ask for in a rule come from, but for those of other terms."""
    matching = _parts(conditions)
    asked = {
        argument
        for part in (*matching, *_parts(actions))
        if isinstance(part.head, HostFunction)
        for argument in part.arguments
        if argument.sort.kind in FACTS_OF
    }
    found: Companions = {}
    for term in matching:
        where = matched(term)
        for k, operand in enumerate(() if where is None else where.operands):
            if operand in asked:
                found.setdefault(operand, (term, k))
    return found


def terms_of_lists(conditions: Iterable[Any]) -> frozenset[Expression]:
    """The terms in conditions whose operands are listed to the end."""
    return frozenset(
        term for term in _parts(conditions) if (where := matched(term)) is not None and where.listed
    )


def _parts(statements: Iterable[Any]) -> list[Expression]:
    return [part for s in statements for expression in expressions_in(s) for part in parts(expression)]

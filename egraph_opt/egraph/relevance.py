"""Which rules can match in an e-graph so far: those of which every term is there, or may be.

A rule without one of its terms has nothing to match, so it need not be there either.  What a rule writes may
be there as soon as it has matched.  Where that is not known to the name, it is taken to be any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

from egraph_opt.egraph.lowering import Lowered
from egraph_opt.laws.bindings import expressions_in
from egraph_opt.laws.statements import Assignment
from egraph_opt.operators.declaration import operator_named
from egraph_opt.operators.expressions import LESS, PLUS, Constant, Expression, Function, Variable, parts
from egraph_opt.operators.host import HostFunction
from egraph_opt.operators.terms import (
    bundle_facts,
    bundle_node,
    cons,
    fact,
    facts,
    list_node,
    nil,
    node,
    opset,
)

Head = tuple[str, str]
"""The name of a function and that of what it applies ("Relu" of `unary`), or a `wildcard` in its place."""

NO_NAME, ANY_FOUND, ANY = "", "?", "*"
"""Of a function without such a name; any name that occurs in the e-graph; any at all."""

_TABLES = (bundle_facts, bundle_node, fact, facts, list_node, node, opset, PLUS, LESS)
_ALWAYS = {function.name for function in _TABLES}
"""Tables of which every graph has something, and arithmetic."""


@dataclass(frozen=True)
class Terms:
    """The terms that a rule matches, all of them, and those that it may write."""

    matched: frozenset[Head]
    written: frozenset[Head]


class Occurring:
    """The terms that may be in an e-graph, and the rules that can match there.

    Args:
        rules: by name, in their order.
    """

    def __init__(self, rules: Mapping[str, Terms], asking: Mapping[Head, tuple[str, ...]]) -> None:
        self._rules, self._asking = rules, asking
        self._missing = {name: len(terms.matched) for name, terms in rules.items()}
        self._open = dict.fromkeys(asking)
        self._heads: set[Head] = set()
        self._functions: set[str] = set()
        self._names: set[str] = set()

    def copy(self) -> Occurring:
        """The same, to add to."""
        other = copy(self)
        other._missing, other._open = self._missing.copy(), self._open.copy()
        other._heads, other._functions, other._names = (
            set(self._heads),
            set(self._functions),
            set(self._names),
        )
        return other

    def add(self, heads: Iterable[Head]) -> list[str]:
        """Add terms; the rules that can match only now."""
        new = [head for head in heads if head not in self._heads]
        for head in new:
            self._heads.add(head)
            self._functions.add(head[0])
            self._names.add(head[1])
        ready: list[str] = []
        for head in [head for head in self._open if self._has(head)] if new else ():
            del self._open[head]
            for name in self._asking[head]:
                self._missing[name] -= 1
                if not self._missing[name]:
                    ready.append(name)
        return ready

    def add_written(self, rule: str) -> list[str]:
        """Add what a rule may have written that has matched; the rules that can match only now."""
        return self.add(self._rules[rule].written)

    def _has(self, head: Head) -> bool:
        function, name = head
        if function not in self._functions or name in (NO_NAME, ANY_FOUND, ANY):
            return function in self._functions
        return (
            head in self._heads
            or (function, ANY) in self._heads
            or ((function, ANY_FOUND) in self._heads and (name in self._names or ANY in self._names))
        )


def asking(rules: Mapping[str, Terms]) -> dict[Head, tuple[str, ...]]:
    """By term the rules that match it."""
    found: dict[Head, list[str]] = {}
    for name, terms in rules.items():
        for head in sorted(terms.matched):
            found.setdefault(head, []).append(name)
    return {head: tuple(names) for head, names in found.items()}


def terms_of_rule(conditions: Iterable[Any], actions: Iterable[Any]) -> Terms:
    """What a rule matches and writes."""
    matched = [part for c in conditions for expression in expressions_in(c) for part in parts(expression)]
    bound = {
        argument
        for part in matched
        if isinstance(part.head, Function)
        for argument in part.arguments
        if argument.sort.kind == "string" and isinstance(argument.head, Variable)
    }
    written = [part for a in actions for part in _written(a)]
    heads = frozenset(head for head in _heads(matched, bound) if head[0] not in _ALWAYS)
    return Terms(heads, frozenset(_heads(written, bound)))


def _written(action: Any) -> Iterator[Expression]:
    """What an action writes; tables are read there as well."""
    entries = {action.entry} if isinstance(action, Assignment) else set()
    for expression in expressions_in(action):
        for part in _parts_of_own(expression):
            if isinstance(part.head, Function) and (part.head.merge is None or part in entries):
                yield part


def _parts_of_own(expression: Expression) -> Iterator[Expression]:
    """The terms in an expression but for those that are handed to the host."""
    yield expression
    if not isinstance(expression.head, HostFunction):
        for argument in expression.arguments:
            yield from _parts_of_own(argument)


def _heads(parts: Iterable[Expression], bound: set[Expression]) -> Iterator[Head]:
    for part in parts:
        if isinstance(part.head, Function):
            names = [_name(a, bound) for a in part.arguments if a.sort.kind == "string"]
            for name in names or (NO_NAME,):  # several: of which each is taken for the first
                yield part.head.name, name


def _name(argument: Expression, bound: set[Expression]) -> str:
    if isinstance(argument.head, Constant):
        return str(argument.head.value)
    return ANY_FOUND if argument in bound else ANY


def heads_of_graph(lowered: Lowered, limits: Iterable[str]) -> set[Head]:
    """What is in an e-graph to begin with."""
    found: set[Head] = {("limit", name) for name in limits}
    for term in lowered.terms:
        declared = operator_named(term.operator)
        names = [
            a
            for k, a in zip(declared.attribute_positions, term.attributes, strict=True)
            if declared.kinds[k] == "string"
        ]
        found |= {(term.operator, name) for name in names or (NO_NAME,)}
        if "tensors" in declared.kinds:
            found |= {(nil.name, NO_NAME), (cons.name, NO_NAME)}
    return found

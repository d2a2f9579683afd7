"""Statements of laws matched against the terms of an example, without egglog.

What is found is less than what egglog finds: terms are matched as they were written, before any law has made
two of them one, and statements that ask tables are not matched at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from egraph_opt.laws.law import Example
from egraph_opt.operators.expressions import Constant, Expression, Variable
from egraph_opt.operators.host import HostFunction
from egraph_opt.testing.scope import Rejected, Scope, parts
from egraph_opt.testing.sides import Side, ask
from egraph_opt.testing.terms import Builder

Environment = dict[Expression, Any]


def scope_of(example: Example) -> Scope:
    """What is known of the terms of an example, with nothing bound."""
    builder = Builder(example.operands, 17)
    terms = example.term if isinstance(example.term, tuple) else (example.term,)
    for term in terms:
        builder.term(term)
    known: dict[Expression, Any] = {}
    for expression, index in builder.known.items():
        known[expression] = builder.bundles.get(index, builder.lowered.facts[index])
    for term in terms:
        for part in parts(term):
            if part.sort.kind == "tensors":
                known[part] = tuple(known[item] for item in _items(part))
    return Scope(limits=dict(example.limits), known=known)


def _items(expression: Expression) -> Iterator[Expression]:
    while expression.arguments:
        first, expression = expression.arguments
        yield first


def matches(side: Side, scope: Scope) -> Iterator[Scope]:
    """Every way in which the terms that a statement asks for are there."""
    wanted = [*((None, top) for top in side.tops), *side.named.items()]
    for environment in _all_matches(wanted, list(scope.known), {}):
        yield replace(scope, environment=environment)


def _all_matches(
    wanted: list[tuple[Any, Expression]], terms: list[Expression], found: Environment
) -> Iterator[Environment]:
    if not wanted:
        yield found
        return
    (name, pattern), *others = wanted
    candidates: Iterable[Any] = [found[name]] if name in found else terms
    for term in candidates:
        if term.sort.kind == pattern.sort.kind:
            for environment in _matches(pattern, term, found):
                bound = environment | {pattern: term} | ({} if name is None else {name: term})
                yield from _all_matches(others, terms, bound)


def _matches(pattern: Expression, term: Expression, found: Environment) -> Iterator[Environment]:
    """The bindings under which a pattern is a term, with what is bound already."""
    if pattern in found:
        if found[pattern] == term:
            yield found
    elif isinstance(pattern.head, (Variable, HostFunction)):
        yield found | {pattern: term}
    elif isinstance(pattern.head, Constant):
        if pattern.head == term.head:
            yield found
    elif pattern.head is term.head:
        environments = [found]
        for inner, argument in zip(pattern.arguments, term.arguments, strict=True):
            environments = [e for before in environments for e in _matches(inner, argument, before)]
        yield from environments


def meets(side: Side, scope: Scope, fail: int | None = None) -> bool:
    """Whether all conditions hold of what is bound; or all but one, if its number is given."""
    bound = scope.environment
    answers = {call: bound[call] for call in bound if isinstance(call.head, HostFunction)}
    asked = replace(scope, environment={name: bound[name] for name in bound if name not in answers})
    try:
        ask(side, asked, None if fail is None else side.conditions[fail])
        return all(asked.answer(call) == given for call, given in answers.items())
    except Rejected:
        return False

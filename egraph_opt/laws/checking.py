"""What has to hold of a declaration, so that a mistake is told with its file and line and not by egglog.

Every variable that is used is bound by a pattern, every pattern is more than a variable, and what is matched
from one side only says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from egraph_opt.errors import LawError
from egraph_opt.laws.bindings import variables_of
from egraph_opt.laws.law import Auxiliary, Law, pattern_variables, statements, where
from egraph_opt.laws.operator_names import check_names
from egraph_opt.laws.statements import (
    Absent,
    Assignment,
    Differs,
    Equality,
    Equals,
    Rule,
    Union,
    unguarded,
    without_guards,
)
from egraph_opt.operators.expressions import Expression, Function, Variable
from egraph_opt.operators.host import HostFunction


def check(entry: Law | Auxiliary) -> list[Equality | Rule]:
    """The statements of a law or an auxiliary, checked.

    Raises:
        LawError: with file, line and name.
    """
    found = statements(entry)
    if not found:
        raise LawError(f"{where(entry.function)}: {entry.name} states nothing")
    for statement in found:
        try:
            _check(statement)
            if isinstance(entry, Law):
                _check_direction(statement)
        except LawError as error:
            file = entry.function.__code__.co_filename
            raise LawError(f"{file}:{statement.line}: {entry.name}: {error}") from error
    return found


def unused(entry: Law | Auxiliary) -> list[str]:
    """The parameters that no statement of a law mentions."""
    used = {variable for statement in statements(entry) for variable in _check(statement)}
    return [repr(variable) for variable in pattern_variables(entry) if variable not in used]


def _check(statement: Equality | Rule) -> set[Expression]:
    """The variables of a statement, all of them bound, and without its guards those that it then uses."""
    for part in _terms(statement):
        check_names(part)
    used = _variables(statement, unguarded(statement.conditions))
    _variables(statement, without_guards(statement.conditions))
    return used


def _variables(statement: Equality | Rule, conditions: tuple[Any, ...]) -> set[Expression]:
    if isinstance(statement, Rule):
        return _bound_all(conditions, (), [part for a in statement.actions for part in _parts(a)])
    sides = [(statement.left, statement.right)]
    if statement.both:
        sides.append((statement.right, statement.left))
    used: set[Expression] = set()
    for matched, written in sides:
        if not isinstance(matched.head, Function):
            raise LawError(
                f"`{matched!r}` matches everything; state the law as a `rewrite` of the other side"
            )
        used |= _bound_all(conditions, (matched,), (written,))
    return used


def _check_direction(statement: Equality | Rule) -> None:
    """A law that is matched from one side only says why."""
    both = isinstance(statement, Equality) and statement.both
    for reason in (statement.because, statement.inverse):
        if not isinstance(reason, str):
            raise LawError(f"the reason is {reason!r}, and no text")
    if not (both or statement.because.strip() or statement.inverse):
        kind, hint = ("rule", "") if isinstance(statement, Rule) else ("rewrite", ", or use equal(..)")
        raise LawError(f'this {kind} does not say why it is not matched from the right: because=".."{hint}')


def binds_its_variables(statement: Equality | Rule) -> bool:
    """Whether every variable that a statement uses is bound, as it is declared and without its guards."""
    try:
        _check(statement)
    except LawError:
        return False
    return True


def _terms(statement: Equality | Rule) -> Iterator[Expression]:
    """The terms that a statement says something of."""
    if isinstance(statement, Equality):
        yield from (statement.left, statement.right)
    else:
        yield from (part for action in statement.actions for part in _parts(action))
    yield from (part for condition in unguarded(statement.conditions) for part in _expressions(condition))


def _parts(action: Any) -> Iterator[Expression]:
    if isinstance(action, Union):
        yield from (action.left, action.right)
    elif isinstance(action, Assignment):
        yield from (action.entry, action.value)
    elif isinstance(action, Expression):
        yield action
    else:
        raise LawError(f"{action!r} is no action")


def _expressions(condition: Any) -> tuple[Expression, ...]:
    if isinstance(condition, (Equals, Differs)):
        return condition.left, condition.right
    if isinstance(condition, Absent):
        return (condition.answer,)
    if isinstance(condition, Expression):
        if not isinstance(condition.head, (Function, HostFunction)):
            raise LawError(f"`{condition!r}` alone is no condition: it holds always")
        return (condition,)
    why = ": a comparison in Python is made at once; write `eq`, or a function with @hosted()"
    raise LawError(f"{condition!r} is no condition" + (why if isinstance(condition, bool) else ""))


def _bound_all(
    conditions: Iterable[Any], matched: Iterable[Expression], written: Iterable[Expression]
) -> set[Expression]:
    """The variables that are used; raises where one is not bound."""
    conditions = tuple(conditions)
    bound: set[Expression] = set()
    for pattern in matched:
        bound |= _binds(pattern)
    for condition in conditions:
        if not isinstance(condition, Differs):
            for part in _expressions(condition):
                bound |= _binds(part)
    changed = True
    while changed:  # a variable that equals what is bound is bound
        changed = False
        for condition in conditions:
            if isinstance(condition, Equals):
                for a, b in ((condition.left, condition.right), (condition.right, condition.left)):
                    if isinstance(a.head, Variable) and a not in bound and variables_of(b) <= bound:
                        bound.add(a)
                        changed = True
    used = {v for part in (*matched, *written) for v in variables_of(part)}
    used |= {v for condition in conditions for part in _expressions(condition) for v in variables_of(part)}
    unbound = sorted(used - bound, key=repr)
    if unbound:
        raise LawError(f"no pattern binds `{unbound[0]!r}`")
    return used


def host_functions(entry: Law | Auxiliary) -> set[HostFunction]:
    """The host functions that a law or an auxiliary calls."""
    return _called([term for statement in statements(entry) for term in _terms(statement)])


def denied_functions(entry: Law | Auxiliary) -> set[HostFunction]:
    """The host functions of which a no counts: it is asked for by `absent`, or taken for a value."""
    conditions = (each for statement in statements(entry) for each in unguarded(statement.conditions))
    asked = _called([each.answer for each in conditions if isinstance(each, Absent)])
    terms = (term for statement in statements(entry) for term in _terms(statement))
    values = _called([argument for term in terms for argument in term.arguments])
    return asked | {function for function in values if function.is_condition}


def _called(pending: list[Expression]) -> set[HostFunction]:
    found = set()
    while pending:
        part = pending.pop()
        if isinstance(part.head, HostFunction):
            found.add(part.head)
        pending.extend(part.arguments)
    return found


def _binds(expression: Expression) -> set[Expression]:
    """The variables that an expression binds where it is matched; handed to the host only those in terms."""
    if isinstance(expression.head, HostFunction):
        terms = (a for a in expression.arguments if a.arguments)
        return {v for term in terms for v in _binds(term)}
    if not isinstance(expression.head, Function):
        return set()
    found: set[Expression] = set()
    for argument in expression.arguments:
        found |= {argument} if isinstance(argument.head, Variable) else _binds(argument)
    return found

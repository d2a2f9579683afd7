"""How a law is declared.

A law is a generator function in a file of `rewrites/`.  Its typed parameters are the pattern variables; it
yields what `rewrite` and `rule` build.  The first line of its docstring states the law, a line that begins
with "Source:" says where it comes from.  Registration, the table of `egraph-opt rules` and the generated
tests follow from the declaration::

    @law("transpose", numerics="bitwise", examples=_composition_examples)
    def compose_transposes(x: Tensor, p: PyObject, q: PyObject, r: PyObject):
        '''Transpose_q(Transpose_p(x)) = Transpose_(p after q)(x)

        Source: TASO.
        '''
        yield rewrite(transpose(transpose(x, p), q), transpose(x, r), let(r, compose, p, q))
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, get_type_hints

import egglog
import numpy as np
from egglog import Bool, PyObject, eq, get_callable_args, get_callable_fn, ne, set_, union

from egraph_opt.errors import UnknownRulesetError
from egraph_opt.operators.declaration import Operator, operators
from egraph_opt.operators.terms import Bundle, Tensor

Numerics = Literal["bitwise", "reassociates", "approximate"]
DEFAULT = "default"
"""Stands for all rulesets that are used unless others are named."""

LEGALIZE = "legalize"
"""The ruleset of passes that are no laws: see `legalization`."""

ASSUME = "assume"
"""The ruleset of laws that take for granted what the types of values only make likely."""

OPT_IN = ("approximate", ASSUME, LEGALIZE)
"""Rulesets that run only when they are named: values change, or the result leaves the standard."""

Examples = Callable[[np.random.Generator], Iterable["Example"]]


@dataclass(frozen=True)
class Example:
    """A concrete term for the generated test of a law.

    Attributes:
        term: built with the operators' constructors and the operands of a `examples.Operands`.
        fires: whether the law must apply to it (otherwise it is a near-miss: it must not).
        why: for a near-miss, the side condition that does not hold.
        limits: what the target publishes.
        operands: the leaves of the term.
    """

    term: Any
    fires: bool = True
    why: str = ""
    limits: tuple[tuple[str, int], ...] = ()
    operands: Any = None


@dataclass(frozen=True)
class Law:
    """A registered law; `rules` are its egglog rules, named `<ruleset>.<name>#<k>`."""

    ruleset: str
    name: str
    formula: str
    source: str
    numerics: Numerics
    function: Callable[..., Any] = field(compare=False)
    examples: Examples | None = field(compare=False)
    partners: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.ruleset}.{self.name}"

    @property
    def exact(self) -> bool:
        return self.numerics != "approximate"


@dataclass(frozen=True)
class Equality:
    """left = right where the conditions hold; found by matching left."""

    left: Any
    right: Any
    conditions: tuple[Any, ...]


@dataclass(frozen=True)
class Deduction:
    """Where the facts hold, do the actions; see `closure`."""

    facts: tuple[Any, ...]
    actions: tuple[Any, ...]
    closure: bool = False


def _flatten(conditions: Iterable[Any]) -> tuple[Any, ...]:
    flat: list[Any] = []
    for condition in conditions:
        flat.extend(condition if isinstance(condition, (tuple, list)) else (condition,))
    return tuple(flat)


def rewrite(left: Any, right: Any, *conditions: Any) -> Equality:
    """left = right where all conditions hold."""
    return Equality(left, right, _flatten(conditions))


def rule(*facts: Any, then: Any) -> Deduction:
    """Where the facts hold, `then` (one action or several)."""
    return Deduction(_flatten(facts), _flatten([then]))


def closure(*facts: Any, then: Any) -> Deduction:
    """Bookkeeping of a law: a rule that runs with the analysis, to a fixed point after every round.

    It fills relations and functions of the law's own (walks along lists, sets of bounds), is not counted as a
    match, and has to end by itself: it may not write operators that it matches again.
    """
    return Deduction(_flatten(facts), _flatten([then]), closure=True)


@dataclass(frozen=True)
class Equal:
    """The action that makes two terms one class; written in a `rule`'s `then`."""

    left: Any
    right: Any


def _host_argument(argument: Any) -> Any:
    """egglog hands host functions objects only; strings and integers are wrapped."""
    if isinstance(argument, egglog.String):
        return PyObject.from_string(argument)
    if isinstance(argument, egglog.i64):
        return PyObject.from_int(argument)
    return argument


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """`function` of attributes and facts, computed by the host."""
    return PyObject(function)(*(_host_argument(a) for a in arguments))


def holds(function: Callable[..., bool], *arguments: Any) -> Any:
    """The condition that a host function answers True."""
    return eq(call(function, *arguments).to_bool()).to(Bool(True))


def let(variable: Any, function: Callable[..., Any], *arguments: Any) -> tuple[Any, ...]:
    """The condition that a host function answers something (not None), which `variable` then names."""
    return (eq(variable).to(call(function, *arguments)), ne(variable).to(PyObject(None)))


@dataclass(frozen=True)
class Guard:
    """A condition that is there to bound growth only; see `guard`."""

    condition: Any


def guard(*conditions: Any) -> tuple[Guard, ...]:
    """Conditions without which the law still holds: they keep it from firing where nobody needs it.

    `testing.proves(.., guards=False)` leaves them out.  They may not bind variables that are
    used elsewhere.
    """
    return tuple(Guard(condition) for condition in _flatten(conditions))


_laws: dict[str, Law] = {}


def law(
    ruleset: str, *, numerics: Numerics, examples: Examples | None = None, partners: tuple[str, ...] = ()
) -> Callable[[Callable[..., Any]], Law]:
    """Register a law; see the module's text.  `partners` are laws (`ruleset.name`) its test needs as well.

    Raises:
        ValueError: the name is taken, or the docstring states no law.
    """

    def register(function: Callable[..., Any]) -> Law:
        text = inspect.getdoc(function) or ""
        lines = [line.strip() for line in text.splitlines()]
        if not lines or not lines[0]:
            raise ValueError(f"law {function.__name__} does not say what it states")
        sources = [
            line.removeprefix("Source:").strip().rstrip(".") for line in lines if line.startswith("Source:")
        ]
        declared = Law(
            ruleset=ruleset,
            name=function.__name__,
            formula=lines[0],
            source=sources[0] if sources else "algebra",
            numerics=numerics,
            function=function,
            examples=examples,
            partners=partners,
        )
        if declared.key in _laws:
            raise ValueError(f"law {declared.key} is declared twice")
        _laws[declared.key] = declared
        return declared

    return register


@lru_cache(maxsize=1)
def _load_entry_points() -> None:
    for point in sorted(importlib.metadata.entry_points(group="egraph_opt.rewrites"), key=lambda p: p.name):
        point.load()


def all_laws() -> tuple[Law, ...]:
    """Every registered law, ordered by ruleset and name; loads the installed rulesets first."""
    _load_entry_points()
    return tuple(sorted(_laws.values(), key=lambda entry: entry.key))


def rulesets() -> tuple[str, ...]:
    """The names of all rulesets."""
    return tuple(sorted({entry.ruleset for entry in all_laws()}))


def opt_in(ruleset: str) -> bool:
    """Whether a ruleset runs only when it is named: it changes values, or belongs to one target."""
    return ruleset.split(".")[0] in OPT_IN or "." in ruleset


def select(names: Iterable[str] | None, extra: Iterable[str] = ()) -> tuple[Law, ...]:
    """The laws of the rulesets named, and of `extra` ones.

    The name `default` is that of all that are exact, which are taken where no names are given:
    ``["default", "approximate"]`` adds a ruleset to them.  `legalize` names no laws.

    Raises:
        UnknownRulesetError: a name that no ruleset has.
    """
    known = rulesets()
    chosen = {DEFAULT, *extra} if names is None else {*names, *extra}
    for name in sorted(chosen):
        if name not in (*known, DEFAULT, LEGALIZE):
            raise UnknownRulesetError(name, (*known, DEFAULT, LEGALIZE))
    if DEFAULT in chosen:
        chosen.update(name for name in known if not opt_in(name))
    return tuple(entry for entry in all_laws() if entry.ruleset in chosen)


def _pattern_variables(function: Callable[..., Any]) -> list[Any]:
    hints = get_type_hints(function)
    hints.pop("return", None)
    return [egglog.var(name, bound) for name, bound in hints.items()]


@lru_cache(maxsize=1)
def _by_function(declared: int) -> dict[Any, Operator]:
    """Operators by constructor; made anew when the number of declared ones has changed."""
    return {op.function: op for op in operators().values()}


def _stamps(expressions: Iterable[Any], identity: int) -> Iterator[Any]:
    """For every operator that a law writes, the action that notes which law made the e-node."""
    declared = _by_function(len(operators()))
    pending = list(expressions)
    while pending:
        current = pending.pop()
        function = get_callable_fn(current)
        if function is None:
            continue
        arguments = get_callable_args(current) or ()
        pending.extend(arguments)
        if function in declared:
            yield set_(declared[function].made_by(*arguments)).to(egglog.i64(identity))


def _compile_equality(statement: Equality, identity: int) -> tuple[tuple[Any, ...], list[Any]]:
    head = _by_function(len(operators()))[get_callable_fn(statement.left)]
    whole = egglog.var("whole__", Bundle if head.result == "bundle" else Tensor)
    facts = (eq(whole).to(statement.left), *statement.conditions)
    return facts, [union(whole).with_(statement.right), *_stamps([statement.right], identity)]


def _conditions(facts: Iterable[Any], guards: bool) -> Iterator[Any]:
    for condition in facts:
        if not isinstance(condition, Guard):
            yield condition
        elif guards:
            yield condition.condition


def compile_law(entry: Law, identity: int, *, guards: bool = True) -> tuple[list[Any], list[Any]]:
    """The egglog rules of a law, which stamp what they write with `identity`, and those of its closure.

    Without `guards` only soundness restricts them.
    """
    compiled: tuple[list[Any], list[Any]] = ([], [])
    for k, statement in enumerate(entry.function(*_pattern_variables(entry.function))):
        if isinstance(statement, Equality):
            facts, actions = _compile_equality(statement, identity)
        else:
            facts, actions = statement.facts, []
            for action in statement.actions:
                if isinstance(action, Equal):
                    actions.append(union(action.left).with_(action.right))
                    actions.extend(_stamps([action.left, action.right], identity))
                else:
                    actions.append(action)
        closing = isinstance(statement, Deduction) and statement.closure
        conditions = _conditions(facts, guards)
        compiled[closing].append(egglog.rule(*conditions, name=f"{entry.key}#{k}").then(*actions))
    return compiled

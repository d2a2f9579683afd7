"""How a law is declared, registered and selected.

A law is a generator function in a file of `rewrites/`.  Its typed parameters are the pattern variables; it
yields statements (see `laws.statements`) in the pattern language (see `operators.expressions`).  The first
line of its docstring states the law.  Registration, the table of `egraph-opt rules` and the generated tests
follow from the declaration::

    @law("transpose", numerics="bitwise", source="TASO")
    def compose_transposes(x: Tensor, p: Permutation, q: Permutation):
        '''Transpose_q(Transpose_p(x)) = Transpose_(p then q)(x)'''
        yield rewrite(transpose(transpose(x, p), q), transpose(x, then(p, q)), because="p and q are forgotten")
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, get_type_hints

import numpy as np

from egraph_opt.errors import LawError, UnknownRulesetError
from egraph_opt.laws.statements import Equality, Rule
from egraph_opt.operators.expressions import sort_of, variable

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
        term: built with the operators' constructors and the operands of an `examples.Operands`; a tuple of
            terms where the law asks for several.
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
class Auxiliary:
    """Rules that fill tables and relations which laws ask: walks along lists, sets of bounds, demand.

    They run with the analysis, to a fixed point after every round, and are not counted as matches.  They have
    to end by themselves: they may not write operators that they match again.

    Attributes:
        uses: auxiliaries whose tables these rules ask in their turn.
    """

    name: str
    function: Callable[..., Any] = field(compare=False)
    uses: tuple[Auxiliary, ...] = ()


@dataclass(frozen=True)
class Law:
    """A registered law; its rules are named `<ruleset>.<name>#<k>`.

    Attributes:
        required: laws (`ruleset.name`) without which its examples do not show it.
        uses: the auxiliaries whose tables it asks.
    """

    ruleset: str
    name: str
    formula: str
    source: str
    numerics: Numerics
    function: Callable[..., Any] = field(compare=False)
    examples: Examples | None = field(compare=False)
    required: tuple[str, ...] = ()
    uses: tuple[Auxiliary, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.ruleset}.{self.name}"

    @property
    def exact(self) -> bool:
        return self.numerics != "approximate"


_laws: dict[str, Law] = {}


def law(
    ruleset: str,
    *,
    numerics: Numerics,
    source: str = "",
    examples: Examples | None = None,
    required: tuple[str, ...] = (),
    uses: tuple[Auxiliary, ...] = (),
) -> Callable[[Callable[..., Any]], Law]:
    """Register a law; see the module's text.

    Args:
        required: laws (`ruleset.name`) that its test needs as well.
        uses: auxiliaries whose tables it asks.

    Raises:
        LawError: the name is taken, or the docstring states no law.
    """

    def register(function: Callable[..., Any]) -> Law:
        lines = [line.strip() for line in (inspect.getdoc(function) or "").splitlines()]
        if not lines or not lines[0]:
            raise LawError(f"{where(function)}: law {function.__name__} does not say what it states")
        sources = [
            line.removeprefix("Source:").strip().rstrip(".") for line in lines if line.startswith("Source:")
        ]
        declared = Law(
            ruleset=ruleset,
            name=function.__name__,
            formula=lines[0],
            source=source or (sources[0] if sources else "algebra"),
            numerics=numerics,
            function=function,
            examples=examples,
            required=required,
            uses=uses,
        )
        if declared.key in _laws:
            raise LawError(f"{where(function)}: law {declared.key} is declared twice")
        _laws[declared.key] = declared
        return declared

    return register


def auxiliary(*uses: Auxiliary) -> Callable[[Callable[..., Any]], Auxiliary]:
    """Declare the rules that fill tables of laws; the function is written as a law is, and yields `rule`s."""

    def register(function: Callable[..., Any]) -> Auxiliary:
        return Auxiliary(f"{function.__module__}.{function.__name__}", function, uses)

    return register


def where(function: Callable[..., Any]) -> str:
    """The file and line of a function, for messages."""
    code = function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


def auxiliaries(laws: Iterable[Law]) -> tuple[Auxiliary, ...]:
    """What some laws use, directly or not, each once, by name."""
    found: dict[str, Auxiliary] = {}
    pending = [entry for law in laws for entry in law.uses]
    while pending:
        entry = pending.pop()
        if entry.name not in found:
            found[entry.name] = entry
            pending.extend(entry.uses)
    return tuple(found[name] for name in sorted(found))


def statements(entry: Law | Auxiliary) -> list[Equality | Rule]:
    """What a law or an auxiliary yields on its pattern variables.

    Raises:
        LawError: it is declared wrongly; the message names its file and line.
    """
    hints = get_type_hints(entry.function, include_extras=True)
    hints.pop("return", None)
    variables = [variable(name, sort_of(bound)) for name, bound in hints.items()]
    try:
        return list(entry.function(*variables))
    except LawError as error:
        raise LawError(f"{where(entry.function)}: {entry.name}: {error}") from error


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

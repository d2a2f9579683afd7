"""How a law is declared and registered.

A law is a generator function in a file of `rewrites/`.  Its typed parameters are the pattern variables; it
yields statements (see `laws.statements`) in the pattern language (see `operators.expressions`).  The first
line of its docstring states the law.  Registration, the table of `egraph-opt rules` and the generated tests
follow from the declaration::

    @law("transpose", numerics="bitwise", kind="merge", serves="traffic", source="TASO")
    def compose_transposes(x: Tensor, p: Permutation, q: Permutation):
        '''Transpose_q(Transpose_p(x)) = Transpose_(p then q)(x)'''
        yield rewrite(transpose(transpose(x, p), q), transpose(x, then(p, q)), because="forgets p and q")
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from types import GeneratorType
from typing import Any, Literal, get_args, get_type_hints

import numpy as np

from egraph_opt.errors import LawError, nearest
from egraph_opt.forking import cached_property
from egraph_opt.graph.watching import ended_after
from egraph_opt.laws.exactness import Approximate, Numerics, approximate
from egraph_opt.laws.messages import LONGEST, Endless, told
from egraph_opt.laws.statements import Equality, Rule, with_kernels_asked
from egraph_opt.operators.expressions import Expression, sort_of, variable

Kind = Literal["eliminate", "merge", "fuse", "split", "move", "replace", "composite"]
"""What a law does: nodes go away; several of one kind become one; neighbours become one; one becomes several;
an operator changes places with another; it becomes another one; many become the one that they spell."""

Purpose = Literal["arithmetic", "traffic", "launches", "memory", "accuracy", "target"]
"""What a law serves: less to compute, to move, to start or to hold, closer results, what a target can run."""
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
        opset: of the model that it stands in.
    """

    term: Any
    fires: bool = True
    why: str = ""
    limits: tuple[tuple[str, int], ...] = ()
    operands: Any = None
    opset: int = 17


@dataclass(frozen=True)
class Auxiliary:
    """Rules that fill tables and relations which laws ask: walks along lists, sets of bounds, demand.

    They run with the analysis, to a fixed point after every round, and are not counted as matches.  They have
    to end by themselves: they may not write operators that they match again.

    Attributes:
        uses: auxiliaries whose tables these rules ask in their turn.
    """

    name: str
    function: Callable[..., Any]
    uses: tuple[Auxiliary, ...] = ()


@dataclass(frozen=True)
class Law:
    """A registered law; its rules are named `<ruleset>.<name>#<k>`.

    Attributes:
        numerics: its class; of one that is approximate `within` has the bound.
        kind, serves: what it does, and what for.
        required: laws (`ruleset.name`) without which its examples do not show it.
        uses: the auxiliaries whose tables it asks.
        resumes: its guards keep it from what it made itself: where it was used, saturation begins again from
            the graph that was chosen.
        last: it runs once, when all others are done: no law builds on what it writes.
        dropped: the statement and the condition of it that its function states and the law lacks, see
            `dropping`.
        asks_kernels: it asks what a target has kernels for as it asks what is true, see `dropping`.
    """

    ruleset: str
    name: str
    formula: str
    source: str
    numerics: Numerics
    function: Callable[..., Any]
    examples: Examples | None = field(compare=False)
    kind: Kind = "replace"
    serves: Purpose = "launches"
    required: tuple[str, ...] = ()
    uses: tuple[Auxiliary, ...] = ()
    resumes: bool = False
    last: bool = False
    dropped: tuple[int, int] | None = None
    asks_kernels: bool = False
    within: Approximate | None = None

    @cached_property  # asked for millions of times
    def key(self) -> str:
        return f"{self.ruleset}.{self.name}"

    @property
    def exact(self) -> bool:
        return self.numerics != "approximate"

    @property
    def bound(self) -> float | None:
        """By how much an approximate law changes values at most, see `exactness.approximate`."""
        return None if self.within is None else self.within.bound

    @property
    def claim(self) -> Numerics | Approximate:
        """What it promises of values: its class, or the bound of one that is approximate."""
        return self.within or self.numerics


registered: dict[str, Law] = {}
"""Every law by key; see `selection` for those that are installed."""


UNBOUNDED = (
    'numerics is "approximate", and does not say by how much: write numerics=approximate(1e-2), a bound'
    " relative to the greatest magnitude of the original value"
)


def law(
    ruleset: str,
    *,
    numerics: Numerics | Approximate,
    kind: Kind = "replace",
    serves: Purpose = "launches",
    source: str = "",
    examples: Examples | None = None,
    required: tuple[str, ...] = (),
    uses: tuple[Auxiliary, ...] = (),
    resumes: bool = False,
    last: bool = False,
) -> Callable[[Callable[..., Any]], Law]:
    """Register a law; see the module's text.

    Args:
        numerics: how exact it is, see `laws.exactness`; `approximate(1e-2)` where values change.
        examples: written by hand, where none can be drawn from the pattern, and near-misses.
        required: laws (`ruleset.name`) that its test needs as well.
        uses: auxiliaries whose tables it asks.
        resumes: it goes on from the graph that was chosen, as `Law` has it.
        last: it runs once, when all others are done, as `Law` has it.

    Raises:
        LawError: the name is taken, the docstring states no law, or a word is none of those there are.
    """

    def register(function: Callable[..., Any]) -> Law:
        _check_settings(function, ruleset, examples, required, uses)
        lines = [line.strip() for line in (inspect.getdoc(function) or "").splitlines()]
        if not lines or not lines[0]:
            raise LawError(f"{where(function)}: law {function.__name__} does not say what it states")
        within = numerics if isinstance(numerics, Approximate) else None
        if numerics in ("approximate", approximate):
            raise LawError(f"{where(function)}: {function.__name__}: {UNBOUNDED}")
        word: Numerics = "approximate" if isinstance(numerics, Approximate) else numerics
        for name, given, words in (
            ("numerics", word, Numerics),
            ("kind", kind, Kind),
            ("serves", serves, Purpose),
        ):
            _check_word(f"{where(function)}: {function.__name__}: {name}", given, get_args(words))
        sources = [
            line.removeprefix("Source:").strip().rstrip(".") for line in lines if line.startswith("Source:")
        ]
        declared = Law(
            ruleset=ruleset,
            name=function.__name__,
            formula=lines[0],
            source=source or (sources[0] if sources else "algebra"),
            numerics=word,
            function=function,
            examples=examples,
            kind=kind,
            serves=serves,
            required=required,
            uses=uses,
            resumes=resumes,
            last=last,
            within=within,
        )
        if declared.key in registered:
            first = where(registered[declared.key].function)
            raise LawError(f"{where(function)}: law {declared.key} is declared twice; first at {first}")
        registered[declared.key] = declared
        return declared

    return register


def _check_settings(function: Any, ruleset: Any, examples: Any, required: Any, uses: Any) -> None:
    """See that what a law is declared with is of the types that it is asked for."""
    if not inspect.isfunction(function):
        raise LawError(f"a law is a function, and not {function!r}")
    for name, holds, form in (
        ("ruleset", isinstance(ruleset, str) and ruleset, f"a name, and not {ruleset!r}"),
        ("examples", examples is None or callable(examples), f"a function, and not {examples!r}"),
        ("required", _is_tuple_of(str, required), f"a tuple of names, and not {required!r}"),
        ("uses", _is_tuple_of(Auxiliary, uses), f"a tuple of what @auxiliary() declares, and not {uses!r}"),
    ):
        if not holds:
            raise LawError(f"{where(function)}: {function.__name__}: {name} is {form}")


def _is_tuple_of(kind: type, given: Any) -> bool:
    return isinstance(given, tuple) and all(isinstance(item, kind) for item in given)


def _check_word(place: str, given: str, words: tuple[str, ...]) -> None:
    if given not in words:
        near = nearest(str(given), words)
        hint = f"; did you mean {near!r}?" if near else ""
        raise LawError(f"{place} is {given!r}, and not one of {', '.join(words)}{hint}")


def laws_of(ruleset: str, **common: Any) -> Callable[..., Callable[[Callable[..., Any]], Law]]:
    """`law` with what the laws of a file have in common, each of which may say otherwise::

    law = laws_of("slice", numerics="bitwise", serves="traffic")
    """
    return partial(law, ruleset, **common)


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


def statements_are_declared_in(entry: Law | Auxiliary, package: str) -> bool:
    """Whether a law is the one that a module of the package declares under its name, and no variant of it."""
    module = sys.modules.get(entry.function.__module__)
    inside = entry.function.__module__.startswith(f"{package}.")
    return inside and getattr(module, entry.function.__qualname__, None) is entry


def pattern_variables(entry: Law | Auxiliary) -> list[Expression]:
    """The typed parameters of a law, as variables."""
    hints = get_type_hints(entry.function, include_extras=True)
    hints.pop("return", None)
    code = entry.function.__code__
    count = code.co_argcount + code.co_kwonlyargcount + sum(map(bool, (code.co_flags & 4, code.co_flags & 8)))
    missing = [name for name in code.co_varnames[:count] if name not in hints]
    if missing:
        raise LawError(f"{where(entry.function)}: {entry.name}: {missing[0]} has no sort")
    return [variable(name, sort_of(bound)) for name, bound in hints.items()]


def statements(entry: Law | Auxiliary) -> list[Equality | Rule]:
    """What a law or an auxiliary yields on its pattern variables, each with its line.

    Raises:
        LawError: it is declared wrongly; the message names file and line.
    """
    found: list[Equality | Rule] = []
    file = entry.function.__code__.co_filename
    try:
        generator = entry.function(*pattern_variables(entry))
        if not isinstance(generator, GeneratorType):
            raise LawError("a law yields its statements, and does not return them")
        frame: Any = generator.gi_frame
        for statement in generator:
            if not isinstance(statement, (Equality, Rule)):
                raise LawError(f"{file}:{frame.f_lineno}: {entry.name}: {_no_statement(statement)}")
            if len(found) == MOST_STATEMENTS:
                raise LawError(
                    f"{file}:{frame.f_lineno}: {entry.name}: yields more than {len(found)} statements"
                )
            found.append(replace(statement, line=frame.f_lineno))
    except (Exception, SystemExit) as error:
        if str(error).startswith(f"{file}:"):
            raise
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
        place = f"{file}:{lines[-1]}" if lines else where(entry.function)
        raise LawError(f"{place}: {entry.name}: {told(error)}") from error
    if isinstance(entry, Law) and entry.dropped is not None:
        statement, condition = entry.dropped
        found[statement] = found[statement].without(condition)
    if isinstance(entry, Law) and entry.asks_kernels:
        found = [with_kernels_asked(statement) for statement in found]
    return found


def written_examples(entry: Law, rng: np.random.Generator) -> list[Example]:
    """The examples that the author of a law has written.

    Raises:
        LawError: they are none, or cannot be made; the message names file and line.
    """
    place = f"{where(entry.function)}: {entry.name}"
    found: list[Example] = []
    try:
        with ended_after(LONGEST, Endless):
            found += entry.examples(rng) if entry.examples else ()
    except Exception as error:
        raise LawError(f"{place}: its examples raise {told(error)}") from error
    wrong = [example for example in found if not isinstance(example, Example)]
    if wrong:
        raise LawError(
            f"{place}: {wrong[0]!r} is no example: yield what g.fires(..) or g.near_miss(..) makes"
        )
    return found


def _no_statement(found: Any) -> str:
    if isinstance(found, (list, tuple)):
        return f"yields a {type(found).__name__}; a law yields its statements one by one"
    return f"yields {found!r}, which is no statement"


MOST_STATEMENTS = 1000
"""Of a law; one that yields more does not end."""

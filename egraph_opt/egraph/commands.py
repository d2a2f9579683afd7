"""The commands that an engine begins with: what it keeps tables of, and the rules of some laws.

An engine takes the rules that can match in its graph (see `relevance`); their texts are written then, once
for all graphs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial

from egraph_opt.egraph.analysis import analysis_rules, known_rules, known_rules_of_lists
from egraph_opt.egraph.notes import relation_text, row_text
from egraph_opt.egraph.prepared import PreparedTerms, TermsOfRules, is_ours, prepared_terms
from egraph_opt.egraph.program import rule_text
from egraph_opt.egraph.relevance import NO_NAME, Head, Occurring, Terms, asking, terms_of_rule
from egraph_opt.egraph.vocabulary import declaration
from egraph_opt.errors import LawError
from egraph_opt.forking import cached_property
from egraph_opt.laws.bindings import Columns, columns_of
from egraph_opt.laws.checking import check
from egraph_opt.laws.demand import rules_of_growth
from egraph_opt.laws.law import Auxiliary, Law, auxiliaries, statements, where
from egraph_opt.laws.sides import Parts, rules_of
from egraph_opt.laws.statements import Guard, unguarded, without_guards
from egraph_opt.operators.expressions import declared_functions, functions

FACTS = "facts"
"""The ruleset of types, constants and lists."""

TABLES = "tables"
"""The ruleset of what laws ask: terms with the facts of their operands, and auxiliary tables."""


_APPLIED = re.compile(r'\(([^\s()"]+)')
"""What a command applies: a table, a primitive or a keyword."""


_LISTING = re.compile(r"known_\w+_of_[0-9]+")
"""A relation of terms with operands of a list (`operators.tables`)."""


def alone(rule: str) -> str:
    """The ruleset of a rule alone, of which those that run are made up."""
    return f"rule.{rule}"


@dataclass(frozen=True, eq=False)
class WrittenRule:
    """A rule as egglog reads it, the ruleset it runs in, and the terms it is about."""

    name: str
    ruleset: str
    terms: Terms
    write: Callable[[], str]
    noted: Callable[[], Columns] | None = None

    @cached_property
    def text(self) -> str:
        """The rule, written when it is asked for first."""
        return self.write()

    @cached_property
    def columns(self) -> Columns | None:
        """What it notes of a match; None where it notes nothing."""
        return self.noted() if self.noted is not None else None

    @property
    def commands(self) -> tuple[str, ...]:
        """What egglog is told to have the rule."""
        ruleset = f"(ruleset {alone(self.name)})"
        if self.columns is None:
            return ruleset, self.text
        return ruleset, relation_text(self.name, self.columns), self.text

    @cached_property
    def lists(self) -> frozenset[Head]:
        """The relations of listed operands that it matches terms in, which are filled only where one does."""
        return frozenset((name, NO_NAME) for name in _APPLIED.findall(self.text) if _LISTING.fullmatch(name))

    @cached_property
    def writes(self) -> int:
        """How many e-nodes a match makes, at most."""
        return self.text.count("(let w")


@dataclass(frozen=True, eq=False)
class Program:
    """The rules of some laws by name, in order.

    Attributes:
        tables: by name the declaration of each table, of all laws; an engine has those that its rules name.
        order: of a rule among all.
        recorded: rules note what they match, see `recording`.
        needed: by what graphs began with, the rules that could match in the end, for the next such graph.
        spent: by the same, what such graphs took beyond that (`engines`).
    """

    rules: Mapping[str, WrittenRule]
    tables: Mapping[str, str]
    order: Mapping[str, int]
    recorded: bool = False
    needed: dict[frozenset[Head], frozenset[str]] = field(default_factory=dict)
    spent: dict[frozenset[Head], float] = field(default_factory=dict)

    @cached_property
    def _terms(self) -> dict[str, Terms]:
        return {name: rule.terms for name, rule in self.rules.items()}

    @cached_property
    def _nothing(self) -> Occurring:
        return Occurring(self._terms, asking(self._terms))

    @cached_property
    def rulesets(self) -> tuple[str, ...]:
        """Those of laws, in order."""
        return tuple(sorted({rule.ruleset for rule in self.rules.values()} - {FACTS, TABLES}))

    @cached_property
    def always(self) -> tuple[str, ...]:
        """The rules that match no terms but those of every graph."""
        return tuple(name for name, terms in self._terms.items() if not terms.matched)

    @cached_property
    def place_of_table(self) -> dict[str, int]:
        """That of a table among all."""
        return {name: k for k, name in enumerate(self.tables)}

    def tables_in(self, *commands: str) -> frozenset[str]:
        """The tables that commands name."""
        named = {name for command in commands for name in _APPLIED.findall(command)}
        return frozenset(named & self.tables.keys())

    def found(self) -> Occurring:
        """Nothing, to begin with."""
        return self._nothing.copy()


def program_of(
    laws: tuple[Law, ...], *, apart: bool = False, guards: bool = True, recorded: bool = False
) -> Program:
    """The program of some laws, written once.

    Args:
        apart: make a ruleset of every law, to see which does what.
        guards: keep the conditions of laws that only bound growth.
        recorded: let rules note what they match.
    """
    return _program(laws, apart, guards or not _any_guards(laws), recorded, len(declared_functions))


def _any_guards(laws: tuple[Law, ...]) -> bool:
    """Whether there is a difference between keeping guards and leaving them out."""
    entries: list[Law | Auxiliary] = [*laws, *auxiliaries(laws)]
    return any(
        isinstance(condition, Guard)
        for entry in entries
        for statement in statements(entry)
        for condition in statement.conditions
    )


@lru_cache(maxsize=8)
def _program(laws: tuple[Law, ...], apart: bool, guards: bool, recorded: bool, declared: int) -> Program:
    tables, always = _of_all_programs(declared)
    prepared = prepared_terms()
    rules = {rule.name: rule for rule in always}
    unrecorded = rules_of_growth(laws) if recorded else frozenset()
    for source, ruleset in _sources(laws, apart, guards, recorded):
        rules |= {rule.name: rule for rule in _rules(source, ruleset, prepared, unrecorded)}
    prepared.keep()
    return Program(rules, tables, {name: k for k, name in enumerate(rules)}, recorded)


@lru_cache(maxsize=1)
def _of_all_programs(declared: int) -> tuple[dict[str, str], tuple[WrittenRule, ...]]:
    """The declarations of all tables, and the rules of the analysis, which no law has a part in."""
    tables = {name: declaration(function) for name, function in functions().items()}
    return tables, tuple(_analysis())


def rule_texts(laws: tuple[Law, ...]) -> list[str]:
    """The commands that declare all tables and the rules of some laws, in egglog's language."""
    program = program_of(laws)
    return [*program.tables.values(), *(rule.text for rule in program.rules.values())]


def _analysis() -> Iterator[WrittenRule]:
    for ruleset, rules in ((FACTS, analysis_rules()), (TABLES, known_rules())):
        for name, statement in rules:
            parts = statement.conditions, statement.actions
            write = partial(rule_text, *parts, ruleset=alone(name), name=name)
            yield WrittenRule(name, ruleset, terms_of_rule(*parts), write)
    for relation, (name, statement) in known_rules_of_lists().items():
        write = partial(rule_text, statement.conditions, statement.actions, ruleset=alone(name), name=name)
        asked_for = Terms(frozenset({(relation.name, NO_NAME)}), frozenset())
        yield WrittenRule(name, TABLES, asked_for, write)


def _sources(
    laws: tuple[Law, ...], apart: bool, guards: bool, recorded: bool
) -> Iterator[tuple[_Source, str]]:
    """Where rules come from, and the ruleset that they are in."""
    written: set[str] = set()
    for identity, law in enumerate(laws, start=1):
        for entry in auxiliaries([law]):  # what they write is stamped with the first law that uses them
            if entry.name not in written:
                written.add(entry.name)
                yield _Source(entry, entry.name, identity, guards, recorded), TABLES
        yield _Source(law, law.key, identity, guards, recorded), f"laws.{law.key if apart else law.ruleset}"


@dataclass(frozen=True, eq=False)
class _Source:
    """Where the rules of a law come from, which is stamped on what they write."""

    entry: Law | Auxiliary
    name: str
    identity: int
    guards: bool
    recorded: bool

    @cached_property
    def _stated(self) -> dict[str, Parts]:
        """Conditions and actions of each, by what its name has behind that of the law."""
        return rules_of(self.entry)

    @cached_property
    def _rules(self) -> dict[str, Parts]:
        """The same as they are asked."""
        return {
            suffix: (unguarded(conditions) if self.guards else without_guards(conditions), actions)
            for suffix, (conditions, actions) in self._stated.items()
        }

    def columns(self, suffix: str) -> Columns:
        """What one notes of a match."""
        return columns_of(*self._stated[suffix]) if suffix in self._stated else ()

    def terms(self) -> TermsOfRules:
        """What each is about; the law is checked before, which needs no doing again while that is kept."""
        check(self.entry)
        return {suffix: terms_of_rule(*parts) for suffix, parts in self._rules.items()}

    def write(self, suffix: str, noting: bool = False) -> str:
        """The text of one; of one that there is not, which only a file can name, none."""
        if suffix not in self._rules:
            return ""
        rule, of_law = f"{self.name}{suffix}", isinstance(self.entry, Law)
        try:
            return rule_text(
                *self._rules[suffix],
                ruleset=alone(rule),
                name=rule,
                identity=self.identity,
                of_law=of_law,
                noted=row_text(rule, self.columns(suffix)) if noting else "",
            )
        except LawError as error:
            raise LawError(f"{where(self.entry.function)}: {self.entry.name}: {error}") from error


def _rules(
    source: _Source, ruleset: str, prepared: PreparedTerms, unrecorded: frozenset[str]
) -> Iterator[WrittenRule]:
    """The rules of a law; those of others are written at once, so that a mistake is found.

    Args:
        unrecorded: the names of those that note nothing, though others do.
    """
    key = f"{source.name} {source.guards}"
    for suffix, terms in prepared.of(source.entry, key, source.terms).items():
        noting = source.recorded and f"{source.name}{suffix}" not in unrecorded
        noted = partial(source.columns, suffix) if noting else None
        write = partial(source.write, suffix, noting)
        rule = WrittenRule(f"{source.name}{suffix}", ruleset, terms, write, noted)
        if not is_ours(source.entry):
            _ = rule.text
        yield rule

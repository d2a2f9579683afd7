"""The commands that an engine begins with: what it keeps tables of, and the rules of some laws.

Texts are written once for all graphs; an engine takes the rules that can match in its own (see `relevance`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from egraph_opt.egraph.analysis import analysis_rules, known_rules
from egraph_opt.egraph.prepared import PreparedRule, prepared_rules
from egraph_opt.egraph.program import rule_text, statement_rules
from egraph_opt.egraph.relevance import Head, Occurring, Terms, asking, terms_of_rule
from egraph_opt.egraph.vocabulary import declaration
from egraph_opt.errors import LawError
from egraph_opt.laws.checking import check
from egraph_opt.laws.law import Auxiliary, Law, auxiliaries, where
from egraph_opt.laws.statements import unguarded, without_guards
from egraph_opt.operators.expressions import declared_functions, functions

FACTS = "facts"
"""The ruleset of types, constants and lists."""

TABLES = "tables"
"""The ruleset of what laws ask: terms with the facts of their operands, and auxiliary tables."""


def alone(rule: str) -> str:
    """The ruleset of a rule alone, of which those that run are made up."""
    return f"rule.{rule}"


@dataclass(frozen=True, eq=False)
class WrittenRule:
    """A rule as egglog reads it, the ruleset it runs in, and the terms it is about.

    `writes`: how many e-nodes a match makes, at most.
    """

    name: str
    ruleset: str
    text: str
    terms: Terms

    @cached_property
    def writes(self) -> int:
        return self.text.count("(let w")


@dataclass(frozen=True, eq=False)
class Program:
    """The rules of some laws by name, in order, and the declarations of all tables.

    Attributes:
        order: of a rule among all.
        needed: by what graphs began with, the rules that could match in the end, for the next such graph.
        spent: by the same, what such graphs took beyond that (`engines`).
    """

    rules: Mapping[str, WrittenRule]
    tables: tuple[str, ...]
    order: Mapping[str, int]
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

    def found(self) -> Occurring:
        """Nothing, to begin with."""
        return self._nothing.copy()


def program_of(laws: tuple[Law, ...], *, apart: bool = False, guards: bool = True) -> Program:
    """The program of some laws, written once.

    Args:
        apart: make a ruleset of every law, to see which does what.
        guards: keep the conditions of laws that only bound growth.
    """
    return _program(laws, apart, guards, len(declared_functions))


@lru_cache(maxsize=8)
def _program(laws: tuple[Law, ...], apart: bool, guards: bool, declared: int) -> Program:
    tables, always = _of_all_programs(declared)
    rules = {rule.name: rule for rule in (*always, *_rules_of_laws(laws, apart, guards))}
    prepared_rules().keep()
    return Program(rules, tables, {name: k for k, name in enumerate(rules)})


@lru_cache(maxsize=1)
def _of_all_programs(declared: int) -> tuple[tuple[str, ...], tuple[WrittenRule, ...]]:
    """The declarations of all tables, and the rules of the analysis, which no law has a part in."""
    tables = tuple(map(declaration, functions().values()))
    return tables, tuple(_analysis())


def rule_texts(laws: tuple[Law, ...]) -> list[str]:
    """The commands that declare all tables and the rules of some laws, in egglog's language."""
    program = program_of(laws)
    return [*program.tables, *(rule.text for rule in program.rules.values())]


def _analysis() -> Iterator[WrittenRule]:
    for ruleset, rules in ((FACTS, analysis_rules()), (TABLES, known_rules())):
        for name, statement in rules:
            text = rule_text(statement.conditions, statement.actions, ruleset=alone(name), name=name)
            yield WrittenRule(name, ruleset, text, terms_of_rule(statement.conditions, statement.actions))


def _rules_of_laws(laws: tuple[Law, ...], apart: bool, guards: bool) -> Iterator[WrittenRule]:
    written: set[str] = set()
    for identity, law in enumerate(laws, start=1):
        for entry in auxiliaries([law]):  # what they write is stamped with the first law that uses them
            if entry.name not in written:
                written.add(entry.name)
                yield from _rules(entry, TABLES, identity, entry.name, guards)
        ruleset = f"laws.{law.key if apart else law.ruleset}"
        yield from _rules(law, ruleset, identity, law.key, guards)


def _rules(
    entry: Law | Auxiliary, ruleset: str, identity: int, name: str, guards: bool
) -> Iterator[WrittenRule]:
    """The rules of a law, checked and written, or as they were kept."""

    def write(identity: int | str) -> Iterator[PreparedRule]:
        return _written(entry, identity, name, guards)

    for rule in prepared_rules().of(entry, f"{name} {guards}", identity, write):
        yield WrittenRule(rule.name, ruleset, rule.text, rule.terms)


def _written(entry: Law | Auxiliary, identity: int | str, name: str, guards: bool) -> Iterator[PreparedRule]:
    for k, statement in enumerate(check(entry)):
        for rule_name, conditions, actions in statement_rules(statement, f"{name}#{k}"):
            kept = unguarded(conditions) if guards else without_guards(conditions)
            try:
                text = rule_text(
                    kept,
                    actions,
                    ruleset=alone(rule_name),
                    name=rule_name,
                    identity=identity,
                    of_law=isinstance(entry, Law),
                )
            except LawError as error:
                raise LawError(f"{where(entry.function)}: {entry.name}: {error}") from error
            yield PreparedRule(rule_name, text, terms_of_rule(kept, actions))

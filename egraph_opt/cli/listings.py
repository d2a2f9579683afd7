"""`egraph-opt rules` and `operators`: in 80 columns, filtered, or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from egraph_opt.cli.application import (
    JsonOption,
    LoadOption,
    app,
    errors_as_lines,
    load_files,
    tell,
    tell_json,
    wrapped,
)

if TYPE_CHECKING:
    from egraph_opt.laws.law import Law

GrepOption = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Only entries that have this text, letter case aside.")
]


@dataclass(frozen=True)
class LawEntry:
    """What is listed of a law."""

    ruleset: str
    name: str
    law: str
    direction: str
    why: str
    kind: str
    serves: str
    exact: str
    on: str
    known: str
    source: str


@dataclass(frozen=True)
class OperatorEntry:
    """What is listed of a constructor of terms."""

    constructor: str
    result: str
    meaning: str
    op_types: tuple[str, ...]


Entry = TypeVar("Entry", LawEntry, OperatorEntry)


@app.command()
def rules(
    ruleset: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this ruleset, and those below it.")
    ] = None,
    grep: GrepOption = None,
    load: LoadOption = None,
    egglog: Annotated[
        bool, typer.Option("--egglog", help="Print them as the engine has them: egglog's rules and tables.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List laws: how exact, when on, proved or tested, formula, why one way, kind, purpose, source."""
    from egraph_opt.laws.selection import all_laws
    from egraph_opt.rebuild.legalization import legalizations

    with errors_as_lines():
        load_files(load)
        entries = [*map(_law_entry, all_laws())]
        for step in legalizations():
            fixed = ("->", "outside the standard", "replace", "target", "no", "by name", "tested")
            entries.append(LawEntry(step.ruleset, step.name, _line(step.formula), *fixed, step.source))
        entries = _within(entries, ruleset)
        found = _having(entries, grep)
        if egglog:
            _print_program({f"{entry.ruleset}.{entry.name}" for entry in found})
            return
    if as_json:
        _print_json(found)
        return
    for entry in found:
        for line in _law_lines(entry):
            tell(line)
    tell(f"{len(found)} laws in {len({entry.ruleset for entry in found})} rulesets")


def _print_program(keys: set[str]) -> None:
    """Some laws, with all that they rest on, in egglog's language."""
    from egraph_opt.egraph.commands import rule_texts
    from egraph_opt.laws.selection import all_laws

    for text in rule_texts(tuple(law for law in all_laws() if law.key in keys)):
        tell(text)


def _law_entry(law: Law) -> LawEntry:
    from egraph_opt.laws.direction import direction_of
    from egraph_opt.laws.exactness import told_class
    from egraph_opt.laws.proved import told_proof
    from egraph_opt.laws.selection import by_default

    way = direction_of(law)
    exact, on = told_class(law.numerics, law.within), "always" if by_default(law) else "by name"
    texts = (law.formula, way.sign, way.reason, law.kind, law.serves, exact, on, told_proof(law), law.source)
    return LawEntry(law.ruleset, law.name, *map(_line, texts))


def _within(entries: list[LawEntry], ruleset: str | None) -> list[LawEntry]:
    """Those of a ruleset, of which there has to be one."""
    from egraph_opt.errors import UnknownRulesetError

    if ruleset is None:
        return entries
    found = [entry for entry in entries if f"{entry.ruleset}.".startswith(f"{ruleset}.")]
    if not found:
        raise UnknownRulesetError(ruleset, sorted({entry.ruleset for entry in entries}))
    return found


def _law_lines(entry: LawEntry) -> Iterator[str]:
    head = f"{entry.ruleset}.{entry.name} ({entry.exact}; {entry.on}; {entry.known})"
    yield from wrapped(head, first="", others="  ")
    yield from wrapped(entry.law)
    why = f"{entry.direction} {entry.why}".strip()
    parts = (why, entry.kind, f"for {entry.serves}", entry.source)
    yield from wrapped("; ".join(part for part in parts if part), first="  ", others="  ")


@app.command()
def operators(grep: GrepOption = None, load: LoadOption = None, as_json: JsonOption = False) -> None:
    """List what laws are written with: constructors and sorts, ONNX operators by name, meaning."""
    from egraph_opt.laws.selection import all_laws
    from egraph_opt.operators.declaration import lowered_op_types
    from egraph_opt.operators.declaration import operators as declared

    with errors_as_lines():
        all_laws()
        load_files(load)
        found = _having(
            [
                OperatorEntry(entry.signature, entry.result, _line(entry.doc), tuple(entry.op_types))
                for entry in declared().values()
            ],
            grep,
        )
    if as_json:
        _print_json(found)
        return
    for entry in found:
        names = f" One of {', '.join(entry.op_types)}." if entry.op_types else ""
        head = f"{entry.constructor} -> {entry.result}"
        for line in (*wrapped(head, first="", others="  "), *wrapped(entry.meaning + names)):
            tell(line)
    if grep is None:
        lowered = ", ".join(lowered_op_types())
        text = f"terms are made of {lowered}; other ONNX operators are opaque"
        for line in wrapped(text, first="", others="  "):
            tell(line)


def _line(text: str) -> str:
    return " ".join(text.split())


def _having(entries: Sequence[Entry], text: str | None) -> list[Entry]:
    """The entries in which a text occurs, the whole name of a law being one."""
    if text is None:
        return list(entries)
    return [entry for entry in entries if text.casefold() in _searched(asdict(entry)).casefold()]


def _searched(values: Mapping[str, Any]) -> str:
    name = ".".join(str(values[key]) for key in ("ruleset", "name") if key in values)
    return "\n".join((name, *map(str, values.values())))


def _print_json(entries: Sequence[Any]) -> None:
    tell_json([asdict(entry) for entry in entries])

"""The one module that talks to egglog: rules and graphs go in, rounds are run, all rows come out.

Rules go in as text (see `egraph.program`), graphs command by command, which is linear in their number.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from egglog import bindings

from egraph_opt.egraph import forks
from egraph_opt.egraph.analysis import analysis_rules
from egraph_opt.egraph.lowering import Lowered, Term
from egraph_opt.egraph.objects import objects_of_thread
from egraph_opt.egraph.program import EGGLOG_SORTS, declaration, rule_text, statement_rules
from egraph_opt.errors import LawError
from egraph_opt.facts.fact import CLASH
from egraph_opt.laws.checking import check
from egraph_opt.laws.law import Auxiliary, Law, auxiliaries, where
from egraph_opt.operators.declaration import operator_named, operators
from egraph_opt.operators.expressions import functions

_log = logging.getLogger(__name__)

ANALYSIS_STEPS = 1000
"""A chain of new terms is typed one per step; no law writes chains that long."""

_SPAN = bindings.RustSpan("egraph-opt", 0, 0)
ANALYSIS = "analysis"
"""The ruleset of facts and auxiliary tables."""

_NODE = {"tensor": "node", "bundle": "bundle_node"}


def _integer(value: int) -> Any:
    return bindings.Lit(_SPAN, bindings.Int(value))


def _string(value: str) -> Any:
    return bindings.Lit(_SPAN, bindings.String(value))


def _apply(function: str, *arguments: Any) -> Any:
    return bindings.Call(_SPAN, function, list(arguments))


def _set(function: str, key: list[Any], value: Any) -> Any:
    return bindings.ActionCommand(bindings.Set(_SPAN, function, key, value))


@dataclass(frozen=True)
class Row:
    """One e-node as egglog holds it: inputs and output are values that only compare."""

    inputs: tuple[Any, ...]
    output: Any


class Engine:
    """An e-graph with the rules of some laws; serves one graph after another.

    Args:
        apart: make a ruleset of every law, to see which does what.
        guards: keep the conditions of laws that only bound growth.

    Attributes:
        rulesets: what `apply` takes, in order: "laws." and the name of a ruleset, or of a law.
    """

    def __init__(self, laws: tuple[Law, ...], *, apart: bool = False, guards: bool = True) -> None:
        self.laws = laws
        self._objects = objects_of_thread()
        self.rulesets = tuple(sorted({_ruleset_of(entry, apart) for entry in laws}))
        self._program = tuple(_program(laws, self.rulesets, apart, guards))
        self._loaded = False
        self._make()
        forks.register(self)

    def _make(self) -> None:
        """Begin with an e-graph that has nothing but the rules."""
        self._graph = bindings.EGraph()
        forks.hold(self._graph)
        for command in self._program:
            try:
                self._do(*self._graph.parse_program(command))
            except BaseException as error:  # egglog's panics are no `Exception`s
                if isinstance(error, (KeyboardInterrupt, SystemExit)):
                    raise
                raise LawError(f"egglog refuses {command}: {error}") from error

    def _do(self, *commands: Any) -> Any:
        with self._objects.stand_in():
            return self._graph.run_program(*commands)

    def _object(self, value: object) -> Any:
        return _apply("py-object", _string(self._objects.handle(value).text))

    def load(self, lowered: Lowered, limits: Mapping[str, int]) -> None:
        """Put a graph in the place of the last one."""
        if self._loaded and forks.never_drops():
            self._make()
        elif self._loaded:
            self._do(bindings.Pop(_SPAN, 1))
        self._do(bindings.Push(1))
        self._loaded = True
        commands = [_set("opset", [], _integer(lowered.opset))]
        commands += [_set("limit", [_string(name)], _integer(limits[name])) for name in sorted(limits)]
        lists: dict[tuple[int, ...], int] = {}
        for index, term in enumerate(lowered.terms):
            self._load_term(index, term, commands, lists)
            known = lowered.facts[index]
            if known is not None:
                commands.append(_set("fact", [_apply("node", _integer(index))], self._object(known)))
        self._do(*commands)
        self.analyse()

    def _load_term(
        self, index: int, term: Term, commands: list[Any], lists: dict[tuple[int, ...], int]
    ) -> None:
        declared = operator_named(term.operator)
        operands, attributes = iter(term.operands), iter(term.attributes)
        arguments = []
        for kind in declared.kinds:
            if kind == "object":
                arguments.append(self._object(next(attributes)))
            elif kind == "string":
                arguments.append(_string(next(attributes)))
            elif kind == "int":
                arguments.append(_integer(next(attributes)))
            elif kind == "tensors":
                arguments.append(self._load_list(next(operands), commands, lists))
            else:
                arguments.append(_apply(_NODE[kind], _integer(next(operands))))
        commands.append(_set(_NODE[declared.result], [_integer(index)], _apply(term.operator, *arguments)))

    def _load_list(
        self, items: tuple[int, ...], commands: list[Any], lists: dict[tuple[int, ...], int]
    ) -> Any:
        """A list, built from its end so that no expression nests deeply."""
        for start in range(len(items), -1, -1):
            tail = items[start:]
            if tail in lists:
                continue
            if tail:
                rest = _apply("list_node", _integer(lists[tail[1:]]))
                value = _apply("cons", _apply("node", _integer(tail[0])), rest)
            else:
                value = _apply("nil")
            lists[tail] = len(lists)
            commands.append(_set("list_node", [_integer(lists[tail])], value))
        return _apply("list_node", _integer(lists[items]))

    def _run(self, ruleset: str) -> bindings.RunReport:
        schedule = bindings.Run(_SPAN, bindings.RunConfig(ruleset))
        (answer,) = self._do(bindings.RunSchedule(schedule))
        assert isinstance(answer, bindings.RunScheduleOutput)
        return answer.report

    def analyse(self) -> bool:
        """Run the analysis to its fixed point: whether anything changed."""
        for count in range(ANALYSIS_STEPS):
            if not self._run(ANALYSIS).updated:
                return count > 0
        _log.warning("the analysis has found no fixed point in %d steps", ANALYSIS_STEPS)
        return True

    def apply(self, ruleset: str) -> tuple[bool, dict[str, int]]:
        """Every law of a ruleset once: (something changed, matches by rule, `<law's key>#<k>`)."""
        report = self._run(ruleset)
        return bool(report.updated), dict(report.num_matches_per_rule)

    def clashes(self) -> bool:
        """Whether the types of some class contradict each other."""
        rows = self.tables().get("fact", [])
        return any(self.decode("object", row.output).dtype == CLASH.dtype for row in rows)

    def size(self) -> int:
        """The number of e-nodes."""
        (answer,) = self._do(bindings.PrintSize(_SPAN, None))
        assert isinstance(answer, bindings.PrintAllFunctionsSize)
        names = operators()
        return sum(size for name, size in answer.sizes if name in names)

    def tables(self) -> dict[str, list[Row]]:
        """All rows of all functions."""
        frozen = self._graph.freeze()
        return {
            name: [Row(tuple(row.inputs), row.output) for row in function.rows]
            for name, function in frozen.functions.items()
        }

    def decode(self, kind: str, value: Any) -> Any:
        """The Python value of an attribute of the kind given ("object", "string" or "int")."""
        if kind == "object":
            with self._objects.stand_in():
                return self._objects.value(self._graph.value_to_pyobject(value))
        return self._graph.value_to_string(value) if kind == "string" else self._graph.value_to_i64(value)


def _ruleset_of(entry: Law, apart: bool) -> str:
    return f"laws.{entry.key if apart else entry.ruleset}"


def rule_texts(laws: tuple[Law, ...]) -> list[str]:
    """The commands that an engine of some laws begins with, in egglog's language."""
    return list(_program(laws, tuple(sorted({_ruleset_of(entry, False) for entry in laws})), False, True))


def _program(laws: tuple[Law, ...], rulesets: tuple[str, ...], apart: bool, guards: bool) -> Iterator[str]:
    """The commands that declare all functions and the rules of some laws."""
    yield from (f"(sort {name})" for name in EGGLOG_SORTS.values() if name[0] in "TB")
    yield from map(declaration, functions().values())
    # egglog cannot be stopped within a run, so each ruleset is one of its own.
    yield from (f"(ruleset {name})" for name in (*rulesets, ANALYSIS))
    for name, statement in analysis_rules():
        yield rule_text(statement.conditions, statement.actions, ruleset=ANALYSIS, name=name)
    written: set[str] = set()
    for identity, law in enumerate(laws, start=1):
        for entry in auxiliaries([law]):  # what they write is stamped with the first law that uses them
            if entry.name not in written:
                written.add(entry.name)
                yield from _rules(entry, ANALYSIS, identity, entry.name, guards)
        yield from _rules(law, _ruleset_of(law, apart), identity, law.key, guards)


def _rules(entry: Law | Auxiliary, ruleset: str, identity: int, name: str, guards: bool) -> Iterator[str]:
    for k, statement in enumerate(check(entry)):
        for rule_name, conditions, actions in statement_rules(statement, f"{name}#{k}"):
            try:
                yield rule_text(
                    conditions,
                    actions,
                    ruleset=ruleset,
                    name=rule_name,
                    identity=identity,
                    guards=guards,
                    of_law=isinstance(entry, Law),
                )
            except LawError as error:
                raise LawError(f"{where(entry.function)}: {entry.name}: {error}") from error

"""The one module that talks to egglog: rules and graphs go in, rounds are run, all rows come out.

Rules go in as text (see `egraph.program`), graphs command by command (see `egraph.loading`), which is linear
in their number.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from egraph_opt.egraph.commands import FACTS, TABLES, alone, program_of
from egraph_opt.egraph.loading import SPAN, commands_of
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.objects import objects_of_thread
from egraph_opt.egraph.ownership import OwnedGraph, never_drops
from egraph_opt.egraph.relevance import Head, heads_of_graph
from egraph_opt.egraph.vocabulary import EGGLOG_SORTS
from egraph_opt.errors import EngineError, LawError
from egraph_opt.facts.fact import CLASH
from egraph_opt.imports import bindings
from egraph_opt.laws.law import Law
from egraph_opt.operators.declaration import declared_operators

_log = logging.getLogger(__name__)

ANALYSIS_STEPS = 1000
"""A chain of new terms is typed one per step; no law writes chains that long."""

MOST_REMEMBERED = 1024
"""Kinds of graphs of which it is remembered which rules they need."""

MOST_REPORTED = 100_000
"""Runs of a rule before an e-graph is made anew: egglog keeps what it reports of each, some 400 bytes.  Rules
are declared again then, 0.7 ms each, which is half of a saturation of a small graph."""

LOADED = ("opset", "node", "bundle_node", "list_node", "fact")
"""The tables that a graph is loaded into, beside those of its terms."""


@dataclass(frozen=True)
class Row:
    """One e-node as egglog holds it: inputs and output are values that only compare."""

    inputs: tuple[Any, ...]
    output: Any


class Engine:
    """An e-graph with the rules of some laws; serves one graph after another.

    A rule is there from when it can match.  The order in which rules run is always that of the laws, so that
    the same graph becomes the same e-graph, whatever graphs, and rules, came before it.

    Args:
        apart: make a ruleset of every law, to see which does what.
        guards: keep the conditions of laws that only bound growth.
        recorded: let rules note what they match, see `recording`.

    Attributes:
        rulesets: what `apply` takes, in order: "laws." and the name of a ruleset, or of a law.
        rules: the names of those that egglog has.
    """

    def __init__(
        self, laws: tuple[Law, ...], *, apart: bool = False, guards: bool = True, recorded: bool = False
    ) -> None:
        self.laws = laws
        self.program = program_of(laws, apart=apart, guards=guards, recorded=recorded)
        self.rulesets = self.program.rulesets
        self.rules: set[str] = set()
        self._objects = objects_of_thread()
        self._make()

    def _make(self) -> None:
        """Begin with an e-graph that has neither tables nor rules."""
        self._present: frozenset[str] = frozenset()
        self._pushed = self._present
        self._loaded = self._failed = False
        self._owned, self._reported = OwnedGraph(), 0
        self._reported_before = self._reported
        self._tell(f"(sort {name})" for name in EGGLOG_SORTS.values() if name[0] in "TB")

    def _tell(self, commands: Iterable[str]) -> None:
        for command in commands:
            try:
                self._do(*self._asked("parse_program", command))
            except EngineError as error:
                raise LawError(f"egglog refuses {command}: {error.__cause__ or error}") from error

    def _declare(self, rules: Iterable[str]) -> None:
        """Let egglog have some rules, and the tables that they name."""
        new = sorted(set(rules) - self._present, key=self.program.order.__getitem__)
        commands = [command for rule in new for command in self.program.rules[rule].commands]
        self._declare_tables(self.program.tables_in(*commands))
        self._tell(commands)
        self._present |= set(new)
        self.rules |= set(new)

    def _declare_tables(self, names: Iterable[str]) -> None:
        """Let egglog have some tables: each takes time whenever classes become one, and to be copied."""
        new = sorted(set(names) - self._present, key=self.program.place_of_table.__getitem__)
        self._tell(self.program.tables[name] for name in new)
        self._present |= set(new)

    def _begin(self, heads: frozenset[Head]) -> None:
        """Be empty, but for the rules of earlier graphs and those that a graph begins with."""
        if self._failed or self._reported > MOST_REPORTED or (self._loaded and never_drops()):
            self._make()
        elif self._loaded:
            self._do(bindings.Pop(SPAN, 1))
            self._present = self._pushed
        self._failed = True  # if this is interrupted
        self._heads, self._found = heads, self.program.found()
        self._running: dict[str, list[str]] = {}
        self._combined: dict[frozenset[str], str] = {}
        active = [*self.program.always, *self._found.add(heads)]
        self._declare_tables({*LOADED, *(function for function, _ in heads)})
        self._declare({*self.rules, *active, *self.program.needed.get(heads, ())})
        self._pushed = self._present
        self._do(bindings.Push(1))
        self._loaded, self._failed = True, False
        self._activate(active)

    @property
    def is_to_be_loaded_again(self) -> bool:
        """Whether what was loaded is there no more, or egglog keeps too much of what was done with it."""
        return self._failed or never_drops() or self._reported - self._reported_before > MOST_REPORTED

    def _activate(self, rules: Iterable[str]) -> None:
        """From now on run some rules as well."""
        rules = sorted(rules, key=self.program.order.__getitem__)
        self._declare(rules)
        for rule in rules:
            ruleset = self.program.rules[rule].ruleset
            self._running.setdefault(ruleset, []).append(rule)
        if filled := self._found.add({head for rule in rules for head in self.program.rules[rule].lists}):
            self._activate(filled)

    def _do(self, *commands: Any) -> Any:
        with self._objects.stand_in():
            return self._asked("run_program", *commands)

    def _asked(self, method: str, *arguments: Any) -> Any:
        """What a method of egglog's e-graph answers; where it fails, the e-graph is of no use any more.

        No variable holds the e-graph, or an error that another thread gets would.
        """
        self._owned.check()
        try:
            return getattr(self._owned.graph, method)(*arguments)
        except BaseException as error:  # egglog's panics are no `Exception`s
            self._failed = True
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            told = " ".join(str(error).split())
            raise EngineError(
                f"the engine of e-graphs failed: {told}; please report it with the model (the next model gets"
                " a new e-graph)"
            ) from error

    def load(self, lowered: Lowered, limits: Mapping[str, int]) -> None:
        """Replace the last graph by another one."""
        self._begin(frozenset(heads_of_graph(lowered, limits)))
        self._most = len(lowered.terms)
        self._do(*commands_of(lowered, limits, lambda value: self._objects.handle(value).text))
        self.analyse()
        self._reported_before = self._reported

    def _combine(self, ruleset: str, without: frozenset[str]) -> str:
        """What runs the rules of a ruleset that can match, in their order."""
        rules = frozenset(self._running.get(ruleset, ())) - without
        if rules and rules not in self._combined:
            self._combined[rules] = name = f"{ruleset}.{len(self._combined)}"
            ordered = sorted(rules, key=self.program.order.__getitem__)
            self._do(bindings.UnstableCombinedRuleset(SPAN, name, [alone(rule) for rule in ordered]))
        return self._combined[rules] if rules else ""

    def _run(self, ruleset: str, without: frozenset[str] = frozenset()) -> tuple[bool, dict[str, int]]:
        """Run the rules of a ruleset that can match, once: (something changed, matches by rule)."""
        combined = self._combine(ruleset, without)
        if not combined:
            return False, {}
        schedule = bindings.Run(SPAN, bindings.RunConfig(combined))
        (answer,) = self._do(bindings.RunSchedule(schedule))
        assert isinstance(answer, bindings.RunScheduleOutput)
        matches = dict(answer.report.num_matches_per_rule)
        self._reported += len(matches)
        for rule in [rule for rule in self._running[ruleset] if matches.get(rule)]:
            self._most += matches[rule] * self.program.rules[rule].writes
            if ready := self._found.add_written(rule):
                self._activate(ready)
        return bool(answer.report.updated), matches

    def analyse(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Run the analysis to its fixed point: whether anything changed.

        What laws ask is noted where facts are as good as they will be: nothing is done on what is half known.

        Args:
            stop: asked between steps whether to leave it at what is known.
        """
        changed = False
        for _ in range(ANALYSIS_STEPS):
            if not self._run(FACTS)[0] and not self._run(TABLES)[0]:
                return changed
            changed = True
            if stop():
                return True
        _log.warning("the analysis has found no fixed point in %d steps", ANALYSIS_STEPS)
        return True

    def apply(self, ruleset: str, without: frozenset[str] = frozenset()) -> tuple[bool, dict[str, int]]:
        """Every law of a ruleset once, but for rules `without`: (something changed, matches by rule).

        A rule is called `<law's key>#<k>`.
        """
        return self._run(ruleset, without)

    def runs(self, ruleset: str) -> bool:
        """Whether some rule of a ruleset can match in what is there."""
        return ruleset in self._running

    def can_match(self, active: Callable[[str], bool]) -> bool:
        """Whether a law's rule among some may match in what is there; others would have to write first."""
        return any(active(rule) for name in self.rulesets for rule in self._running.get(name, ()))

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What is done within is undone at the end, but in a forked process: load the graph again there."""
        if never_drops():
            yield
            return
        kept = self._present, self._found.copy(), self._combined.copy(), self._most
        running = {ruleset: rules.copy() for ruleset, rules in self._running.items()}
        self._do(bindings.Push(1))
        try:
            yield
        finally:
            if not self._failed:
                self._do(bindings.Pop(SPAN, 1))
            self._present, self._found, self._combined, self._most = kept
            self._running = running

    def remember(self) -> None:
        """Keep in mind which rules the graph needed, for the next one that begins like it."""
        if len(self.program.needed) >= MOST_REMEMBERED:
            self.program.needed.clear()
            self.program.spent.clear()
        active = (rule for rules in self._running.values() for rule in rules)
        self.program.needed[self._heads] = frozenset(active)

    def ask(self, ruleset: str, commands: Iterable[str], tables: Iterable[str]) -> dict[str, list[Row]]:
        """The rows that rules of a ruleset of their own write into relations of their own, run once."""
        with self.aside():
            commands = tuple(commands)
            self._declare_tables(self.program.tables_in(*commands))
            self._tell((f"(ruleset {ruleset})", *commands))
            self._do(bindings.RunSchedule(bindings.Run(SPAN, bindings.RunConfig(ruleset))))
            return self.tables(*tables)

    def clashes(self) -> bool:
        """Whether the types of some class contradict each other."""
        rows = self.tables("fact").get("fact", [])
        return any(self.decode("object", row.output).dtype == CLASH.dtype for row in rows)

    def size(self) -> int:
        """The number of e-nodes."""
        (answer,) = self._do(bindings.PrintSize(SPAN, None))
        assert isinstance(answer, bindings.PrintAllFunctionsSize)
        return sum(size for name, size in answer.sizes if name in declared_operators)

    def crowd(self, operator: str) -> int:
        """The most e-nodes of one operator, whatever its attributes, in one class."""
        table = self._asked("freeze").functions.get(operator)
        return 0 if table is None else max(Counter(row.output for row in table.rows).values(), default=0)

    @property
    def most(self) -> int:
        """So many e-nodes there are at most; counted where `is_larger` had to."""
        return self._most

    def is_larger(self, nodes: int) -> bool:
        """Whether there are more e-nodes; counted only where what has matched may have made so many."""
        if self._most > nodes:
            self._most = self.size()
        return self._most > nodes

    def tables(self, *names: str) -> dict[str, list[Row]]:
        """The rows of some functions, those that there are of them; of all where none is named."""
        functions = self._asked("freeze").functions
        return {
            name: [Row(tuple(row.inputs), row.output) for row in functions[name].rows]
            for name in names or functions
            if name in functions
        }

    def decode(self, kind: str, value: Any) -> Any:
        """The Python value of an attribute of the kind given ("object", "string" or "int")."""
        if kind == "object":
            with self._objects.stand_in():
                return self._objects.value(self._asked("value_to_pyobject", value))
        return self._asked("value_to_string" if kind == "string" else "value_to_i64", value)

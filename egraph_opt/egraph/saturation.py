"""Saturation: rounds of all laws and the analysis, until nothing changes or a limit is reached."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from egraph_opt.egraph.admission import admission_of_thread
from egraph_opt.egraph.engine import Engine
from egraph_opt.egraph.engines import engine_for
from egraph_opt.egraph.lowering import Lowered
from egraph_opt.egraph.readout import take_snapshot
from egraph_opt.egraph.recording import Record, read_record
from egraph_opt.egraph.relevance import heads_of_graph
from egraph_opt.egraph.scheduling import CHAINED, FEW, MULTIPLIED, BackOff, Pace
from egraph_opt.egraph.snapshot import Snapshot
from egraph_opt.egraph.watchdog import watched
from egraph_opt.errors import UnsoundLawError
from egraph_opt.facts.fact import CLASH, Fact, meet
from egraph_opt.graph.process_memory import UNLIMITED, MemoryBudget
from egraph_opt.imports import onnx_ir as ir
from egraph_opt.laws.checking import denied_functions, host_functions
from egraph_opt.laws.law import Auxiliary, Law, auxiliaries, where
from egraph_opt.operators.host import HostFunction, calls
from egraph_opt.operators.typing import infer_operator

OVERSHOOT = 10_000
"""E-nodes that a run may write beyond twice the limit.

Most of what matches write is there already, some nine tenths where transposes meet, and is counted all the
same: without this, small limits would end saturations that fit them.
"""

ORIGINAL = "the original"
"""Whose types contradict each other, where no law made them."""

ANALYSIS = "analysis"
"""The step that follows those of laws."""


@dataclass(frozen=True)
class SaturationReport:
    """How a saturation went.

    Attributes:
        rounds: that were run; laws that run last, once, are in none.
        stop: "saturated", or the limit that ended it: "nodes", "rounds", "seconds" or "memory".
        matches: by the key of a law that matched.
        seconds: by ruleset, and of the analysis.
        dropped: laws left out because they made classes of contradicting types, or because a function of
            theirs did not come back, or raised where that cannot be taken for no, with what was seen.
        raised: laws of which a function raised, that were left out where it did, likewise.
        rule_matches: by rule, `<law's key>#<k>` for the k-th statement of a law.
        rested: laws that matched so often that they were left out of some rounds.
        by_round: how many e-nodes there were before each of these rounds, and in the end.
        record: what laws matched, where that was asked for.
    """

    rounds: int
    nodes: int
    classes: int
    stop: str
    matches: Mapping[str, int]
    seconds: Mapping[str, float]
    dropped: tuple[str, ...] = ()
    raised: tuple[str, ...] = ()
    rule_matches: Mapping[str, int] = field(default_factory=dict)
    rested: tuple[str, ...] = ()
    by_round: tuple[int, ...] = ()
    record: Record | None = field(default=None, repr=False, compare=False)

    @property
    def failed(self) -> tuple[str, ...]:
        """What went wrong with laws."""
        return (*self.dropped, *self.raised)


def saturate_terms(
    lowered: Lowered,
    laws: tuple[Law, ...],
    target_limits: Mapping[str, int],
    *,
    nodes: int,
    rounds: int,
    seconds: float,
    memory: MemoryBudget = UNLIMITED,
    strict: bool = False,
    guards: bool = True,
    recorded: bool = False,
    active: Callable[[str], bool] = lambda rule: True,
) -> tuple[Snapshot, SaturationReport]:
    """Saturate a lowered graph under laws.

    Args:
        target_limits: limits that the target publishes, by name.
        nodes, rounds, seconds, memory: where to stop.
        strict: raise where a law made a class of contradicting types; otherwise leave that law out.
        guards: keep the conditions of laws that only bound growth.
        recorded: keep what laws matched, in the report.
        active: whether a rule runs, by its name (`<law's key>#<k>`, with `<` behind it from right to left):
            the engine of all laws serves for any part of them.

    Raises:
        UnsoundLawError: with strict, where types clash; without, where they do and no law did it.
    """
    dropped: list[str] = []
    while True:
        calls.forget()
        with watched():
            snapshot, report = _saturate_once(
                *(lowered, laws, target_limits, active),
                nodes=nodes,
                rounds=rounds,
                seconds=seconds,
                memory=memory,
                guards=guards,
                recorded=recorded,
            )
        failures = {entry: told for entry in laws if (told := _failure(entry))}
        raised = tuple(f"{entry.key}: {told}" for entry, told in failures.items())
        failed = [entry for entry in failures if not _is_left_out_there(entry)]
        if failed:
            dropped += [f"{entry.key}: {failures[entry]}" for entry in failed]
            laws = tuple(entry for entry in laws if entry not in failed)
            continue
        clashes = snapshot.clashes()
        if not clashes:
            break
        with watched():
            offending = _offending_law(lowered, laws, target_limits, nodes, rounds)
        suspects = {offending} if offending else _suspects(snapshot, clashes)
        named = ", ".join(sorted(suspects)) or ORIGINAL
        message = _describe(snapshot, lowered, clashes[0])
        text = f"{named}: types contradict each other in one class: {message}"
        text += "".join([f", at {where(entry.function)}" for entry in laws if entry.key in suspects][:1])
        if strict or not suspects:
            raise UnsoundLawError(text)
        dropped.append(text)
        laws = tuple(entry for entry in laws if entry.key not in suspects)
    return snapshot, replace(report, dropped=tuple(dropped), raised=raised)


def _failure(entry: Law) -> str:
    """What went wrong in a host function that a law calls, or ""."""
    return "; ".join(
        f"{function.name} raised {calls.failures[function]}, at {function.place}"
        for function in _failed_functions(entry)
    )


def _failed_functions(entry: Law) -> list[HostFunction]:
    if not calls.failures:
        return []
    called = {function for part in _parts(entry) for function in host_functions(part)}
    return [function for function in calls.failures if function in called]


def _parts(entry: Law) -> tuple[Law | Auxiliary, ...]:
    return (entry, *auxiliaries([entry]))


def _is_left_out_there(entry: Law) -> bool:
    """Whether a law did nothing where a function of it raised, and the others may stay.

    Not where it is asked whether something does *not* hold; and one that was ended is not called again.
    """
    denied = {function for part in _parts(entry) for function in denied_functions(part)}
    return all(
        function.answers_no and function not in denied and function not in calls.ended
        for function in _failed_functions(entry)
    )


def _saturate_once(
    lowered: Lowered,
    laws: tuple[Law, ...],
    target_limits: Mapping[str, int],
    active: Callable[[str], bool],
    *,
    nodes: int,
    rounds: int,
    seconds: float,
    memory: MemoryBudget,
    guards: bool,
    recorded: bool,
) -> tuple[Snapshot, SaturationReport]:
    heads = frozenset(heads_of_graph(lowered, target_limits))
    engine = engine_for(laws, guards, heads, recorded=recorded)
    engine.load(lowered, target_limits)
    report = run_rounds(engine, active, nodes=nodes, rounds=rounds, seconds=seconds, memory=memory)
    classes: dict[tuple[str, Any], int] = {}
    snapshot = take_snapshot(engine, lowered, classes)
    record = read_record(engine, classes) if recorded else None
    engine.remember()
    return snapshot, replace(report, nodes=snapshot.n_nodes, classes=snapshot.n_classes, record=record)


def run_rounds(
    engine: Engine,
    active: Callable[[str], bool],
    *,
    nodes: int,
    rounds: int,
    seconds: float,
    memory: MemoryBudget = UNLIMITED,
) -> SaturationReport:
    """Saturate what an engine has loaded; the report has no sizes yet."""
    everything = frozenset(engine.program.rules)
    left_out = frozenset(rule for rule in everything if not active(rule))
    last = _rules_of([entry for entry in engine.laws if entry.last], everything) - left_out
    run = _Run(engine, nodes, time.monotonic() + seconds, memory)
    stop = "saturated" if not engine.laws else "rounds"
    while engine.laws and len(run.sizes) < rounds:
        changed, stopped = run.round(left_out | last)
        if stopped or not (changed or run.back_off.wake()):
            stop = stopped or "saturated"
            break
    sizes = tuple(run.sizes)
    if last and stop in ("saturated", "rounds"):
        run.round(everything - last)
    return SaturationReport(
        len(sizes),
        0,
        0,
        stop,
        run.matches,
        run.pace.seconds,
        rule_matches=run.rule_matches,
        rested=tuple(sorted({rule.split("#")[0] for rule in run.back_off.times})),
        by_round=(*sizes, engine.size()),
    )


def _rules_of(laws: Iterable[Law], rules: Iterable[str]) -> frozenset[str]:
    """The rules of some laws, by name."""
    keys = {law.key for law in laws}
    return frozenset(rule for rule in rules if rule.split("#")[0] in keys)


class _Run:
    """Rounds on a loaded engine; matches and seconds add up."""

    def __init__(self, engine: Engine, nodes: int, deadline: float, memory: MemoryBudget) -> None:
        self._engine, self._nodes, self._memory = engine, nodes, memory
        self._admission = admission_of_thread()
        self.matches: dict[str, int] = {}
        self.rule_matches: dict[str, int] = {}
        self.pace, self.back_off = Pace(deadline), BackOff()
        self._size = 0
        self.sizes: list[int] = []

    def round(self, left_out: frozenset[str]) -> tuple[bool, str]:
        """Every ruleset once, then the analysis: (something changed, the limit that was reached or "")."""
        changed, stopped, size = False, "", self._engine.size()
        if FEW < MULTIPLIED * self._size < size and self.pace.is_crowded(self._engine.crowd(CHAINED)):
            return False, "seconds"
        self._size = size
        self.sizes.append(size)
        for ruleset in self._engine.rulesets:
            if not self._engine.runs(ruleset):
                continue
            name = ruleset.removeprefix("laws.")
            if not self.pace.has_time(name, ANALYSIS, size):
                stopped = "seconds"
                break
            started = time.monotonic()
            room = 2 * self._nodes + OVERSHOOT - self._engine.most
            with self._admission.limited(room, self.pace.deadline):
                updated, found = self._engine.apply(ruleset, self.back_off.resting | left_out)
            self.pace.record(name, time.monotonic() - started, size)
            self._count(found)
            changed |= updated
            stopped = self._admission.ended_by or self._stopped(updated)
            if stopped:
                break
        self.back_off.end_round()
        started = time.monotonic()
        changed |= self._engine.analyse(self.pace.is_over)
        # What the round has made is analysed, which may be many times of what was there.
        self.pace.record(ANALYSIS, time.monotonic() - started, self._engine.size())
        return changed, stopped

    def _count(self, found: Mapping[str, int]) -> None:
        matched = dict(sorted((rule, count) for rule, count in found.items() if count))
        self.back_off.record(matched)
        for rule, count in matched.items():
            key = rule.split("#")[0]
            self.rule_matches[rule] = self.rule_matches.get(rule, 0) + count
            self.matches[key] = self.matches.get(key, 0) + count

    def _stopped(self, updated: bool) -> str:
        if self._engine.is_larger(self._nodes):
            return "nodes"
        if updated and not self._memory.left:  # nine rulesets in ten find nothing, and to look takes as long
            return "memory"
        return "seconds" if self.pace.is_over() else ""


def _offending_law(
    lowered: Lowered, laws: tuple[Law, ...], target_limits: Mapping[str, int], nodes: int, rounds: int
) -> str | None:
    """The first law that makes types clash when laws are applied one by one; None if it takes too many."""
    engine = Engine(laws, apart=True)
    engine.load(lowered, target_limits)
    if engine.clashes():
        return None
    for _ in range(rounds):
        changed = False
        for name in engine.rulesets:
            if not engine.apply(name)[0]:
                continue
            changed = True
            engine.analyse()
            if engine.clashes():
                return name.removeprefix("laws.")
        if not changed or engine.is_larger(nodes):
            break
    return None


def _suspects(snapshot: Snapshot, clashes: list[int]) -> set[str]:
    """The laws that made nodes of the clashing classes."""
    bad = set(clashes)
    made = {
        int(snapshot.made_by[k])
        for k in range(snapshot.n_nodes)
        if int(snapshot.node_class[k]) in bad and snapshot.made_by[k] > 0
    }
    return {snapshot.laws[k - 1] for k in made}


def _describe(snapshot: Snapshot, lowered: Lowered, clash: int) -> str:
    """The e-nodes of a class with their types, of which two that contradict each other are named first."""
    nodes = [k for k in range(snapshot.n_nodes) if int(snapshot.node_class[k]) == clash]
    types = {k: known for k in nodes if (known := _type_of(snapshot, lowered, k)) is not None}
    pairs = ((a, b) for a, b in combinations(types, 2) if meet(types[a], types[b]).dtype == CLASH.dtype)
    first = next(pairs, ())
    both = " and ".join(_type_text(types[k]) for k in first)
    parts = []
    for k in sorted(nodes, key=lambda k: k not in first)[:4]:
        made = int(snapshot.made_by[k])
        maker = snapshot.laws[made - 1] if made else "the original"
        shapes = ", ".join(str(snapshot.facts[c].shape) for c in snapshot.children(k))
        shapes = f" of {shapes}" if shapes else ""
        own = f" is {_type_text(types[k])}" if k in types else ""
        parts.append(f"{snapshot.operator[k]}{snapshot.attributes[k]}{shapes}{own} (by {maker})")
    return ": ".join(filter(None, (both, "; ".join(parts))))


def _type_of(snapshot: Snapshot, lowered: Lowered, node: int) -> Fact | None:
    """The type that an e-node has by itself, as the graph has it or by its operands; None where that is not
    known."""
    known = [lowered.facts[term] for term in np.flatnonzero(snapshot.term_node == node).tolist()]
    operands = tuple(snapshot.facts[c] for c in snapshot.children(node))
    try:
        found = (
            known[0]
            if known
            else infer_operator(snapshot.operator[node], lowered.opset, snapshot.attributes[node], operands)
        )
    except Exception:  # operands that do not suit an operator make inference fail in many ways
        return None
    return found.without_data() if isinstance(found, Fact) and found.dtype > 0 else None


def _type_text(known: Fact) -> str:
    dims = "?" if known.shape is None else ", ".join("?" if d is None else str(d) for d in known.shape)
    return f"{ir.DataType(known.dtype).name.lower()}[{dims}]"

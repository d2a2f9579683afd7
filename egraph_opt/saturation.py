"""Saturation: rounds of all laws and the analysis, until nothing changes or a limit is reached."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from egraph_opt.engine import engine_for
from egraph_opt.errors import UnsoundLawError
from egraph_opt.law import Law
from egraph_opt.lowering import Lowered
from egraph_opt.snapshot import Snapshot, take_snapshot


@dataclass(frozen=True)
class SaturationReport:
    """How a saturation went.

    Attributes:
        rounds: that were run.
        stop: "saturated", or the limit that ended it: "nodes", "rounds" or "seconds".
        matches: by law's key.
        dropped: rulesets left out because their laws made classes of contradicting types, with what was seen.
    """

    rounds: int
    nodes: int
    classes: int
    stop: str
    matches: Mapping[str, int]
    dropped: tuple[str, ...] = ()


def saturate_terms(
    lowered: Lowered,
    laws: tuple[Law, ...],
    target_limits: Mapping[str, int],
    *,
    nodes: int,
    rounds: int,
    seconds: float,
    strict: bool = False,
) -> tuple[Snapshot, SaturationReport]:
    """Saturate a lowered graph under laws.

    Args:
        target_limits: limits that the target publishes, by name.
        nodes, rounds, seconds: where to stop.
        strict: raise where the laws made a class of contradicting types; otherwise leave the ruleset out.

    Raises:
        UnsoundLawError: with strict, where types clash.
    """
    dropped: list[str] = []
    while True:
        snapshot, report = _saturate_once(lowered, laws, target_limits, nodes, rounds, seconds)
        clashes = snapshot.clashes()
        if not clashes:
            break
        suspects = _suspects(snapshot, clashes, laws)
        message = _describe(snapshot, clashes[0])
        if strict or not suspects:
            raise UnsoundLawError(f"types contradict each other in one class: {message}")
        dropped.append(f"{', '.join(sorted(suspects))}: {message}")
        laws = tuple(entry for entry in laws if entry.key not in suspects)
    return snapshot, SaturationReport(
        report.rounds, report.nodes, report.classes, report.stop, report.matches, tuple(dropped)
    )


def _saturate_once(
    lowered: Lowered,
    laws: tuple[Law, ...],
    target_limits: Mapping[str, int],
    nodes: int,
    rounds: int,
    seconds: float,
) -> tuple[Snapshot, SaturationReport]:
    engine = engine_for(laws)
    engine.load(lowered, target_limits)
    matches: dict[str, int] = {}
    started = time.monotonic()
    stop, done = "saturated" if not laws else "rounds", 0
    while laws and done < rounds:
        changed, found = engine.round()
        done += 1
        for key, count in found.items():
            matches[key] = matches.get(key, 0) + count
        if not changed:
            stop = "saturated"
            break
        if engine.size() > nodes:
            stop = "nodes"
            break
        if time.monotonic() - started > seconds:
            stop = "seconds"
            break
    snapshot = take_snapshot(engine, lowered)
    return snapshot, SaturationReport(done, snapshot.n_nodes, snapshot.n_classes, stop, matches)


def _suspects(snapshot: Snapshot, clashes: list[int], laws: tuple[Law, ...]) -> set[str]:
    """The laws that made nodes of the clashing classes."""
    bad = set(clashes)
    made = {
        int(snapshot.made_by[k])
        for k in range(snapshot.n_nodes)
        if int(snapshot.node_class[k]) in bad and snapshot.made_by[k] > 0
    }
    return {snapshot.laws[k - 1] for k in made}


def _describe(snapshot: Snapshot, clash: int) -> str:
    parts = []
    for k in range(snapshot.n_nodes):
        if int(snapshot.node_class[k]) == clash:
            types = [snapshot.facts[c] for c in snapshot.children(k)]
            made = int(snapshot.made_by[k])
            maker = snapshot.laws[made - 1] if made else "the original"
            shapes = ", ".join(str(t.shape) for t in types)
            parts.append(f"{snapshot.operator[k]}{snapshot.attributes[k]} of {shapes} (by {maker})")
    return "; ".join(parts[:4])

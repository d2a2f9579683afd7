"""A report as a person reads it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from egraph_opt.graph.node_counts import OperatorCount
from egraph_opt.laws.exactness import REAL
from egraph_opt.memory.objective import bytes_text

if TYPE_CHECKING:
    from egraph_opt.report.report import (
        CostReport,
        ExactnessReport,
        LatencyReport,
        MemoryReport,
        OpenPiece,
        Report,
        RewriteReport,
        RulesetReport,
    )


MOST_OPERATORS = 8
"""Of operators only the most expensive are shown."""

MOST_TENSORS = 4
"""Of tensors that are converted so many are named."""


def render(report: Report) -> RenderableType:
    """Headline, figures, and tables of operators, laws and growth."""
    parts: list[RenderableType] = [_headline(report), _figures(report)]
    if report.operators:
        parts += [Text(), _operators(report.operators)]
    if report.cost.by_operator:
        parts += [Text(), _costs(report.cost)]
    if used := [law for law in report.rewrites if law.used or law.saves or law.own]:
        parts += [Text(), _laws(used)]
    if report.rulesets:
        parts += [Text(), _growth(report.rulesets)]
    if report.warnings:
        parts.append(Text())
    parts += [Text(f"warning: {warning}", style="yellow") for warning in report.warnings]
    return Group(*parts)


def _headline(report: Report) -> Text:
    style = {"optimized": "bold green", "fallback": "bold red"}.get(report.status, "bold")
    text = Text(report.status, style=style)
    if report.reason:
        text.append(f": {report.reason}", style="")
    return text


def _change(before: float, after: float) -> str:
    if not before or not math.isfinite(after / before):
        return ""
    percent = 100 * (after - before) / before
    return f"{percent:+.1f} %" if abs(percent) >= 0.05 else "="


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "?"
    return f"{value:,.0f}" if abs(value) >= 1e6 or value == round(value) else f"{value:,.2f}"


def _figures(report: Report) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for name in ("before", "after", "change"):
        table.add_column(name, justify="right")
    table.add_column("")
    nodes, cost, saturation, check = report.nodes, report.cost, report.saturation, report.verification
    for name, before, after, note in (
        ("run-time nodes", nodes.runtime_before, nodes.runtime_after, ""),
        ("nodes in the file", nodes.before, nodes.after, ""),
        ("cost", cost.before, cost.after, f"{cost.model}, in {cost.unit}"),
    ):
        table.add_row(name, _number(before), _number(after), _change(before, after), note)
    if (memory := report.memory).before is not None and memory.after is not None:
        row = (bytes_text(memory.before), bytes_text(memory.after), _change(memory.before, memory.after))
        table.add_row("peak memory", *row, Text(_memory_note(memory)))
    gap = "nothing in the e-graph is cheaper" if cost.gap == 0 else f"gap at most {cost.gap:.1%}"
    table.add_row("lower bound", "", _number(cost.lower_bound), "", gap)
    if cost.open:
        table.add_row("open pieces", "", str(len(cost.open)), "", _where(cost.open[0], cost.pieces))
    if cost.refused:
        reasons = "; ".join(f"{reason} ({count})" for reason, count in cost.refused.items())
        table.add_row("solver refused", "", str(sum(cost.refused.values())), "", Text(reasons))
    if cost.points:
        table.add_row(
            "priced at", "", "", "", ", ".join(f"{name} = {size}" for name, size in cost.points.items())
        )
    grown = f"{saturation.classes:,} classes, {saturation.rounds} rounds, stop: {saturation.stop}"
    table.add_row("e-nodes", "", _number(saturation.nodes), "", grown)
    if report.composites:
        found = ", ".join(f"{name} {count}" for name, count in report.composites.items())
        table.add_row("composites", "", _number(sum(report.composites.values())), "", Text(found))
    if report.exactness.asked != REAL or report.exactness.matched:
        table.add_row("exactness", "", report.exactness.asked, "", _classes(report.exactness))
    error = (
        f"largest error {check.max_abs_error:.3g}"
        if check.status in ("passed", "approximate", "failed")
        else ""
    )
    detail = "; ".join(part for part in (error, check.detail) if part)
    table.add_row("verification", "", check.status, "", Text(detail))
    if report.latency is not None:
        table.add_row(*_latency(report.latency))
    slowest = sorted(report.seconds.items(), key=lambda item: (-item[1], item[0]))[:3]
    stages = ", ".join(f"{name} {value:.2f}" for name, value in slowest)
    table.add_row("seconds", "", f"{sum(report.seconds.values()):.2f}", "", stages)
    return table


def _classes(exactness: ExactnessReport) -> Text:
    """How many laws of each class were used."""
    used = ", ".join(f"{count} {numerics}" for numerics, count in exactness.used.items())
    return Text(f"laws used: {used or 'none'}")


def _latency(latency: LatencyReport) -> tuple[RenderableType, ...]:
    """Microseconds before and after, and how sure that is."""
    if not math.isfinite(latency.speedup):
        return "microseconds", "?", "?", "", Text(latency.reason)
    threads = "1 thread" if latency.threads == 1 else f"{latency.threads} threads"
    note = f"{latency.speedup:.3f} times as fast ({latency.low:.3f} to {latency.high:.3f}), {threads}"
    if latency.candidates > 1:
        note += f", best of {latency.candidates}"
    change = _change(latency.before, latency.after)
    return "microseconds", _number(latency.before), _number(latency.after), change, Text(note)


def _memory_note(memory: MemoryReport) -> str:
    notes = [] if memory.arena_after is None else [f"arena {bytes_text(memory.arena_after)}"]
    if memory.limit is not None:
        notes.append(f"limit {bytes_text(memory.limit)}")
    if memory.unknown:
        notes.append(f"{memory.unknown:,} of unknown size")
    return ", ".join(notes)


def _where(piece: OpenPiece, count: int) -> Text:
    """Where the largest gap is."""
    named = ", ".join(piece.tensors[:3]) or "tensors of its own"
    more = ", ..." if len(piece.tensors) > 3 else ""
    return Text(f"of {count}; the largest gap is at {named}{more}")


def _operators(counts: Mapping[str, OperatorCount]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("run-time nodes by operator")
    for name in ("before", "after", "change"):
        table.add_column(name, justify="right")
    for name, count in counts.items():
        change = count.after - count.before
        style = "green" if change < 0 else "cyan" if change > 0 else ""
        table.add_row(
            name, str(count.before), str(count.after), f"{change:+d}" if change else "", style=style
        )
    return table


def _costs(cost: CostReport) -> Table:
    """The most expensive operators, what binds each, and where formats are converted."""
    table = Table(box=None, pad_edge=False)
    table.add_column("cost by operator")
    for name in ("nodes", cost.unit, "share"):
        table.add_column(name, justify="right")
    table.add_column("bound by")
    for entry in cost.by_operator[:MOST_OPERATORS]:
        parts = sorted(entry.resources.items(), key=lambda item: (-item[1], item[0]))
        bound = ", ".join(
            f"{name} {share / entry.cost:.0%}" for name, share in parts if share >= 0.05 * entry.cost
        )
        if entry.tensors:
            more = ", ..." if len(entry.tensors) > MOST_TENSORS else ""
            bound += f"  at {', '.join(entry.tensors[:MOST_TENSORS])}{more}"
        share = f"{entry.cost / cost.after:.0%}" if cost.after else ""
        table.add_row(entry.operator, str(entry.nodes), _number(entry.cost), share, Text(bound))
    return table


def _laws(laws: Iterable[RewriteReport]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("applied: ruleset")
    table.add_column("law")
    for name in ("matches", "nodes used"):
        table.add_column(name, justify="right")
    for law in sorted(laws, key=lambda law: (-law.used, law.ruleset, law.name)):
        count = str(law.used) if law.used or not law.saves else "saves some"
        table.add_row(law.ruleset, law.name, f"{law.matches:,}", count)
    return table


def _growth(rulesets: Iterable[RulesetReport]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("e-graph by ruleset")
    for name in ("e-nodes", "matches", "seconds"):
        table.add_column(name, justify="right")
    for entry in rulesets:
        if not entry.nodes and entry.seconds < 0.05:
            continue
        seconds = f"{entry.seconds:.2f}" if entry.seconds else ""
        matches = f"{entry.matches:,}" if entry.matches else ""
        table.add_row(entry.ruleset, f"{entry.nodes:,}", matches, seconds)
    return table

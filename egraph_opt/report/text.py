"""The parts of a report as a person reads them: rows and tables."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from egraph_opt.foreign_text import printable
from egraph_opt.graph.node_counts import OperatorCount
from egraph_opt.memory.objective import bytes_text
from egraph_opt.report.figures import (
    CostlyNode,
    CostReport,
    ExactnessReport,
    LatencyReport,
    MemoryReport,
    OpenPiece,
    RewriteReport,
    RulesetReport,
)

MOST_OPERATORS = 8
"""Of operators only the most expensive are shown."""

MOST_TENSORS = 4
"""Of tensors that are converted so many are named."""

MOST_INSTEAD = 3
"""Of operators that came or went in a place so many are named."""

COMMAND_WIDTH = 77
"""Columns of a line of a command, without the backslash at its end."""

BUSY = 0.1
"""The share of disturbed turns from which on a reader should know."""


def change_text(before: float, after: float) -> str:
    if not before or not math.isfinite(after / before):
        return ""
    percent = 100 * (after - before) / before
    return f"{percent:+.1f} %" if abs(percent) >= 0.05 else "="


def number_text(value: float) -> str:
    if not math.isfinite(value):
        return "?"
    return f"{value:,.0f}" if abs(value) >= 1e6 or value == round(value) else f"{value:,.2f}"


def classes_used(exactness: ExactnessReport) -> Text:
    """How many laws of each class were used, and how many of all are proved."""
    used = ", ".join(f"{count} {numerics}" for numerics, count in exactness.used.items())
    proved = f"; {exactness.proved} proved" if exactness.proved else ""
    return Text(f"laws used: {used or 'none'}{proved}")


def latency_row(latency: LatencyReport) -> tuple[RenderableType, ...]:
    """Microseconds before and after, and how sure that is."""
    if not math.isfinite(latency.speedup):
        return "microseconds", "", "", "", Text(latency.reason)
    note = f"{latency.speedup:.3f} times as fast ({latency.low:.3f} to {latency.high:.3f})"
    if latency.threads:
        note += ", 1 thread" if latency.threads == 1 else f", {latency.threads} threads"
    if latency.runtime != "onnxruntime":
        note += f", {latency.runtime}"
    if latency.candidates > 1:
        note += f", best of {latency.candidates}"
    if latency.disturbed >= BUSY:
        note += f"; other programs disturbed {latency.disturbed:.0%} of the turns"
    change = change_text(latency.before, latency.after)
    return "microseconds", number_text(latency.before), number_text(latency.after), change, Text(note)


def size_rows(latency: LatencyReport) -> Iterator[tuple[RenderableType, ...]]:
    """The same at each of several sizes."""
    for at in latency.sizes:
        note = f"{at.speedup:.3f} times as fast ({at.low:.3f} to {at.high:.3f})"
        name = ", ".join(f"{dim}={size}" for dim, size in at.dims.items())
        change = change_text(at.before, at.after)
        yield f"at {name}", number_text(at.before), number_text(at.after), change, Text(note)


def places_rows(latency: LatencyReport) -> Iterator[tuple[RenderableType, ...]]:
    """What was predicted by nodes alone and in their place, and by how much the clock differs."""
    places = latency.places
    if places is None or not math.isfinite(places.before_alone + places.after_alone):
        return
    changed = f"{places.changed} nodes take something else in their place than alone"
    for name, before, after, note in (
        ("predicted", places.before_alone, places.after_alone, ""),
        ("in their place", places.before_in_place, places.after_in_place, f"; {changed}"),
    ):
        wrong = (100 * (sum_ / took - 1) for sum_, took in ((before, latency.before), (after, latency.after)))
        off = " and ".join(f"{error:+.0f} %" for error in wrong)
        yield name, number_text(before), number_text(after), "", Text(f"{off} of the time measured{note}")


def memory_note(memory: MemoryReport) -> str:
    notes = [] if memory.arena_after is None else [f"arena {bytes_text(memory.arena_after)}"]
    if memory.limit is not None:
        notes.append(f"limit {bytes_text(memory.limit)}")
    if memory.unknown:
        notes.append(f"{memory.unknown:,} of unknown size")
    return ", ".join(notes)


def where_open(piece: OpenPiece, count: int) -> Text:
    """Where the largest gap is."""
    named = ", ".join(map(printable, piece.tensors[:3])) or "tensors of its own"
    more = ", ..." if len(piece.tensors) > 3 else ""
    return Text(f"of {count}; the largest gap is at {named}{more}")


def operators_table(counts: Mapping[str, OperatorCount]) -> Table:
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


def costs_table(cost: CostReport) -> Table:
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
            bound += f"  at {', '.join(map(printable, entry.tensors[:MOST_TENSORS]))}{more}"
        share = f"{entry.cost / cost.after:.0%}" if cost.after else ""
        table.add_row(entry.operator, str(entry.nodes), number_text(entry.cost), share, Text(bound))
    return table


def costly_table(cost: CostReport) -> Table:
    """The nodes of the original that cost most: why, and what is computed there now."""
    table = Table(box=None, pad_edge=False)
    table.add_column("costly in the original")
    table.add_column(cost.unit, justify="right")
    table.add_column("why")
    table.add_column("instead")
    alike: dict[tuple[str, str, str], list[CostlyNode]] = {}
    for node in cost.costly:
        alike.setdefault((node.operator, node.why, number_text(node.cost)), []).append(node)
    for (operator, why, each), nodes in alike.items():
        named = f"{len(nodes)} {operator}, the first" if len(nodes) > 1 else operator
        name = Text(f"{named} {printable(nodes[0].name)}", overflow="fold")
        table.add_row(name, each, Text(why), Text(_instead(nodes[0])))
    return table


def _instead(node: CostlyNode) -> str:
    """The operators that came, or else those that went, and the cost of what is computed there."""
    if node.came:
        what = _counted(node.came)
    elif not node.after and not node.kept:
        what = "nothing"
    else:
        what = f"without {_counted(node.went)}" if node.went else "the same operators"
    if what == "the same operators" and math.isclose(node.before, node.after):
        return what
    return f"{what}: {number_text(node.before)} -> {number_text(node.after)}"


def _counted(operators: Mapping[str, int]) -> str:
    """Some operators, the most frequent first."""
    order = sorted(operators.items(), key=lambda item: (-item[1], item[0]))
    named = [f"{count} {name}" if count > 1 else name for name, count in order[:MOST_INSTEAD]]
    return ", ".join([*named, *(["..."] if len(order) > MOST_INSTEAD else [])])


def command_text(command: str) -> str:
    """A command line in lines of 80 columns that a shell takes as one."""
    lines = [""]
    for word in map(shlex.quote, shlex.split(command)):
        if lines[-1] and len(lines[-1]) + len(word) > COMMAND_WIDTH:
            lines[-1] += " \\"
            lines.append(f"    {word}")
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


def laws_table(laws: Iterable[RewriteReport]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("applied: ruleset")
    table.add_column("law")
    for name in ("matches", "nodes used", "saved"):
        table.add_column(name, justify="right")
    for law in sorted(laws, key=lambda law: (-law.saved, -law.used, law.ruleset, law.name)):
        count = str(law.used) if law.used or not law.saves else "merges"
        saved = number_text(law.saved) if law.saved else ""
        table.add_row(law.ruleset, law.name, f"{law.matches:,}", count, saved)
    return table


def growth_table(rulesets: Iterable[RulesetReport]) -> Table:
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

"""The first screen: what was done in at most ten lines of 80 columns; `str(report)` has the rest."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from egraph_opt.report.figures import CostReport, LatencyReport, NodesReport
from egraph_opt.report.optimization import Report
from egraph_opt.report.text import change_text, number_text

LINES, WIDTH = 10, 80

LAWS = 5
"""Of laws those are shown that saved most."""

FOLDED = "constants computed, equal nodes joined, branches decided"
"""What is done without a law."""

LEAST_OF_LAWS = 3
"""Lines about laws, with the one above them, that are there however much there is to say besides."""

WORTH = 0.005
"""The share of all that was saved from which on a law is shown."""

MORE = "-v prints the whole report"

VERIFIED = {
    "passed": "verified",
    "approximate": "verified within the bounds of approximate laws",
    "skipped": "not verified",
    "not_comparable": "outputs not compared",
}


def first_screen(report: Report, written: str = "") -> list[str]:
    """At most ten lines: what was done, the laws that saved most, warnings and hints.

    Args:
        written: what became of the file, in a line.
    """
    if report.status == "fallback":
        head = textwrap.wrap(f"{report.status}: {report.reason}", WIDTH, max_lines=2, placeholder=" ..")
    else:
        head = _wrapped_at_commas(headline(report))
    lines = [*head, *([shortened(written)] if written else [])]
    notes = [f"warning: {text}" for text in report.warnings] + [f"hint: {text}" for text in report.hints]
    wrapped = [
        textwrap.wrap(" ".join(text.split()), WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        for text in notes
    ]
    room = LINES - len(lines)
    laws = list(_laws(report))[: max(LEAST_OF_LAWS, room - sum(map(len, wrapped)))]
    return [*lines, *laws, *_that_fit(wrapped, room - len(laws))]


def _that_fit(notes: list[list[str]], room: int) -> Iterator[str]:
    """The notes for which there is room, and how many there are besides."""
    left = 0
    for k, lines in enumerate(notes):
        last = left == 0 and k + 1 == len(notes)  # else a line says what is left
        if len(lines) > (room if last else room - 1):
            left += 1
            continue
        yield from lines
        room -= len(lines)
    if left:
        yield f"{MORE}, with {left} more {'remarks' if left > 1 else 'remark'}"


def headline(report: Report) -> str:
    """What was done, in one line however long."""
    return f"{report.status}: {', '.join(_done(report))}"


def _done(report: Report) -> Iterator[str]:
    """What the headline says, part by part."""
    if report.reason:
        yield report.reason
    nodes, cost = report.nodes, report.cost
    yield _nodes(nodes, with_change=cost.unit == "nodes" or not math.isfinite(cost.before))
    if cost.unit != "nodes" and math.isfinite(cost.before):
        yield _cost(cost)
    if report.latency is not None and math.isfinite(report.latency.speedup):
        yield _timed(report.latency)
    if report.verification.status in VERIFIED:
        yield VERIFIED[report.verification.status]


def _nodes(nodes: NodesReport, *, with_change: bool) -> str:
    before, after = nodes.runtime_before, nodes.runtime_after
    noun = "node" if after == 1 else "nodes"
    if before == after:
        return f"{before:,} {noun}"
    change = f" ({change_text(before, after)})" if with_change else ""
    return f"{before:,} -> {after:,} {noun}{change}"


def _cost(cost: CostReport) -> str:
    if cost.before == cost.after:
        return f"{cost.model} {number_text(cost.before)} {cost.unit}"
    change = change_text(cost.before, cost.after)
    figures = f"{number_text(cost.before)} -> {number_text(cost.after)} {cost.unit}"
    return f"{cost.model} {figures} ({change})" if change else f"{cost.model} {figures}"


def _timed(latency: LatencyReport) -> str:
    times = f"{number_text(round(latency.before))} -> {number_text(round(latency.after))} us"
    return f"timed {times} ({latency.speedup:.2f} times as fast)"


def _wrapped_at_commas(text: str) -> list[str]:
    """A headline that is too long goes on in a second line."""
    if len(text) <= WIDTH:
        return [text]
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ", max_lines=2, placeholder=" ..")


def _laws(report: Report) -> Iterator[str]:
    """The laws that saved most, each with its formula."""
    if report.status != "optimized":
        return
    cost = report.cost
    whole = cost.before - cost.after
    rows = [(law.saved, f"{law.ruleset}.{law.name}: {law.formula}") for law in report.rewrites]
    rows.append((whole - math.fsum(saved for saved, _ in rows), FOLDED))
    shown = sorted((row for row in rows if row[0] > WORTH * whole), key=lambda row: (-row[0], row[1]))[:LAWS]
    figures = [cost.unit, *(_figure(saved) for saved, _ in shown)]
    width = max(map(len, figures))
    if shown:
        yield f"{cost.unit:>{width}} saved by"
    for figure, (_, what) in zip(figures[1:], shown, strict=True):
        yield shortened(f"{figure:>{width}} {what}")


def _figure(saved: float) -> str:
    return f"{saved:,.0f}" if saved >= 1000 else f"{saved:,.1f}"


def shortened(text: str, width: int = WIDTH) -> str:
    """A text that fits in a line, with two dots where it was cut."""
    return text if len(text) <= width else f"{text[: width - 3].rstrip()} .."

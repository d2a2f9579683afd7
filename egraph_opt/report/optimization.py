"""What an optimization did: for programs (`Report.to_dict`) and for people (`str(report)`)."""

from __future__ import annotations

import dataclasses
import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from egraph_opt.foreign_text import printable
from egraph_opt.graph.node_counts import OperatorCount
from egraph_opt.laws.exactness import REAL
from egraph_opt.memory.objective import bytes_text
from egraph_opt.report.escaped import Escaped
from egraph_opt.report.explanation import Explanation
from egraph_opt.report.figures import (
    CostReport,
    ExactnessReport,
    GrowthReport,
    LatencyReport,
    MemoryReport,
    NodesReport,
    RewriteReport,
    RulesetReport,
)
from egraph_opt.report.html import html_page
from egraph_opt.report.plain import plain
from egraph_opt.report.text import (
    change_text,
    classes_used,
    command_text,
    costly_table,
    costs_table,
    growth_table,
    latency_row,
    laws_table,
    memory_note,
    number_text,
    operators_table,
    places_rows,
    size_rows,
    where_open,
)
from egraph_opt.verification.result import SKIPPED, Verification

STAGES = ("load", "lower", "saturate", "price", "extract", "rebuild", "fold", "verify", "measure")
"""The stages of an optimization in order; the keys of `Report.seconds`."""


@dataclass(frozen=True)
class Report:
    """What an optimization did.

    Attributes:
        status: `optimized`, `unchanged` (nothing better was found, or `reason`), or `fallback` (the result
            was wrong, so it is the original).
        reason: why, where the status is not `optimized`.
        rulesets: what grew the e-graph, the one with the most e-nodes first.
        operators: run-time nodes by operator.
        seconds: by stage, see `STAGES`.
        composites: functions such as Gelu, LayerNormalization and Attention that the model was found to
            compute, spelled out or not: how many of each.
        latency: where the result was timed.
        exactness: what the result was to keep, and by laws of which classes it was found.
        hints: what would make the result better, with what it would bring.
        inputs: of the result, the sizes at which it was priced; None where nobody knows one.
        command: that builds the result for the target, where it needs one.
        made: by which version, from which file, with which options.
    """

    status: str
    reason: str
    cost: CostReport
    nodes: NodesReport
    memory: MemoryReport = field(default_factory=MemoryReport)
    saturation: GrowthReport = field(default_factory=GrowthReport)
    rewrites: tuple[RewriteReport, ...] = ()
    rulesets: tuple[RulesetReport, ...] = ()
    verification: Verification = SKIPPED
    seconds: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    operators: Mapping[str, OperatorCount] = field(default_factory=dict)
    composites: Mapping[str, int] = field(default_factory=dict)
    latency: LatencyReport | None = None
    exactness: ExactnessReport = field(default_factory=ExactnessReport)
    hints: tuple[str, ...] = ()
    inputs: Mapping[str, tuple[int | None, ...]] = field(default_factory=dict)
    command: str = ""
    made: Mapping[str, Any] = field(default_factory=dict)
    _page: Callable[[Report], str] | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without what makes the page, which holds e-graphs."""
        return {**self.__dict__, "_page": None}

    def to_html(self) -> str:
        """A page with figures, the differences of the two graphs and a picture of them, without a network.

        Of a report that was handed to another process there are figures only.
        """
        if self._page is not None:
            return self._page(self)
        return html_page("egraph-opt", self.unexplained(), None, self)

    def unexplained(self) -> Explanation:
        """The explanation where no difference is known: of a model that is handed on as it came."""
        return Explanation(self.cost.model, self.cost.unit, self.headline, (), self.nodes.after)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON has it: dicts, lists, strings and finite numbers; NaN and infinity are None."""
        names = [item.name for item in dataclasses.fields(self) if item.name != "_page"]
        fields = {name: plain(getattr(self, name)) for name in names}
        fields["seconds"] = {stage: fields["seconds"].get(stage, 0.0) for stage in STAGES} | fields["seconds"]
        return fields

    @property
    def headline(self) -> str:
        """What was done, in a line."""
        nodes, cost = self.nodes, self.cost
        priced = f" {cost.model} {cost.before:.4g} -> {cost.after:.4g} {cost.unit},"
        return (
            f"{self.status}, run-time nodes {nodes.runtime_before} -> {nodes.runtime_after},"
            f"{priced if math.isfinite(cost.before) else ''} verification {self.verification.status}"
        )

    def __repr__(self) -> str:
        return f"<Report: {self.headline}>"

    def __str__(self) -> str:
        text = io.StringIO()
        Console(file=text, width=100, color_system=None, force_terminal=False).print(self, crop=False)
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())

    def as_html(self) -> str:
        """The table as notebooks show it."""
        console = Console(file=io.StringIO(), record=True, width=100)
        console.print(self, crop=False)
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")

    _repr_html_ = as_html

    def __rich__(self) -> RenderableType:
        return Escaped(_render(self))


def _render(report: Report) -> RenderableType:
    """Headline, figures, and tables of operators, laws and growth."""
    parts: list[RenderableType] = [_headline(report), _figures(report)]
    if report.operators:
        parts += [Text(), operators_table(report.operators)]
    if report.cost.by_operator:
        parts += [Text(), costs_table(report.cost)]
    if report.cost.costly:
        parts += [Text(), costly_table(report.cost)]
    if used := [law for law in report.rewrites if law.used or law.saves or law.own]:
        parts += [Text(), laws_table(used)]
    if report.rulesets:
        parts += [Text(), growth_table(report.rulesets)]
    if report.warnings or report.hints or report.command:
        parts.append(Text())
    parts += [Text(f"warning: {printable(warning)}", style="yellow") for warning in report.warnings]
    parts += [Text(f"hint: {printable(hint)}") for hint in report.hints]
    if report.command:
        command = Text(command_text(report.command), no_wrap=True, overflow="ignore")
        parts += [Text("build with:"), command]
    return Group(*parts)


def _headline(report: Report) -> Text:
    style = {"optimized": "bold green", "fallback": "bold red"}.get(report.status, "bold")
    text = Text(report.status, style=style)
    if report.reason:
        text.append(f": {report.reason}", style="")
    return text


def _figures(report: Report) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for name in ("before", "after", "change"):
        table.add_column(name, justify="right")
    table.add_column("")
    nodes, cost, saturation, check = report.nodes, report.cost, report.saturation, report.verification
    rows: list[tuple[str, float, float, str]] = [
        ("run-time nodes", nodes.runtime_before, nodes.runtime_after, ""),
        ("nodes in the file", nodes.before, nodes.after, ""),
    ]
    written = cost.written > cost.before and not math.isclose(cost.written, cost.before)
    if written:
        # Where operators are dispatched one by one no compiler sees the graph: they share conversions.
        who = "the target" if cost.sides else "the target's compiler"
        rows.append(("cost as written", cost.written, cost.before, f"what {who} does by itself"))
    if math.isfinite(cost.before):
        rows.append(("cost", cost.before, cost.after, f"{cost.model}, in {cost.unit}"))
    for name, before, after, note in rows:
        table.add_row(name, number_text(before), number_text(after), change_text(before, after), note)
    for side, (before, after) in cost.sides.items():
        verdict = cost.verdict() if side == max(cost.sides, key=lambda name: cost.sides[name][1]) else ""
        note = "; ".join(filter(None, (verdict, "before: as written" if written else "")))
        table.add_row(side, number_text(before), number_text(after), change_text(before, after), note)
    if (memory := report.memory).before is not None and memory.after is not None:
        row = (bytes_text(memory.before), bytes_text(memory.after), change_text(memory.before, memory.after))
        table.add_row("peak memory", *row, Text(memory_note(memory)))
    if math.isfinite(cost.lower_bound):
        gap = "nothing in the e-graph is cheaper" if cost.gap == 0 else f"gap at most {cost.gap:.1%}"
        table.add_row("lower bound", "", number_text(cost.lower_bound), "", gap)
    if cost.open:
        table.add_row("open pieces", "", str(len(cost.open)), "", where_open(cost.open[0], cost.pieces))
    if cost.refused:
        reasons = "; ".join(f"{reason} ({count})" for reason, count in cost.refused.items())
        table.add_row("solver refused", "", str(sum(cost.refused.values())), "", Text(reasons))
    if cost.points or cost.observed:
        sizes = [f"{name} = {size}" for name, size in cost.points.items()]
        if cost.observed:
            sizes.append(f"{cost.observed} {'dims' if cost.observed > 1 else 'dim'} taken from a run")
        table.add_row("priced at", "", "", "", Text(", ".join(sizes)))
    if saturation.nodes:
        grown = f"{saturation.classes:,} classes, {saturation.rounds} rounds, stop: {saturation.stop}"
        table.add_row("e-nodes", "", number_text(saturation.nodes), "", grown)
    if report.composites:
        found = ", ".join(f"{name} {count}" for name, count in report.composites.items())
        table.add_row("composites", "", number_text(sum(report.composites.values())), "", Text(found))
    if report.exactness.asked != REAL or report.exactness.matched:
        table.add_row("exactness", "", report.exactness.asked, "", classes_used(report.exactness))
    error = (
        f"largest error {check.max_abs_error:.3g}"
        if check.status in ("passed", "approximate", "failed")
        else ""
    )
    detail = "; ".join(part for part in (error, check.detail) if part)
    table.add_row("verification", "", check.status, "", Text(detail))
    if report.latency is not None:
        table.add_row(*latency_row(report.latency))
        for cells in (*size_rows(report.latency), *places_rows(report.latency)):
            table.add_row(*cells)
    slowest = sorted(report.seconds.items(), key=lambda item: (-item[1], item[0]))[:3]
    stages = ", ".join(f"{name} {value:.2f}" for name, value in slowest)
    table.add_row("seconds", "", f"{sum(report.seconds.values()):.2f}", "", stages)
    return table

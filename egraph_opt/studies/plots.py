"""Studies as SVG (extra `plots`): what each law is worth, and how e-graphs grow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from egraph_opt.report.figures import svg
from egraph_opt.studies.ablation import AblationRow
from egraph_opt.studies.growth import GrowthRow

MOST_BARS = 30
"""The greatest losses; those of a model that has more are not drawn, and the title says so."""

BAR = 0.22
"""Inches."""


def plot_ablation(rows: Sequence[AblationRow], path: Path) -> None:
    """A bar for each thing that was left out: the mean over the models of what the graph costs more.

    Raises:
        OutputError: it cannot be written.
    """
    losses = sorted(mean_losses(rows).items(), key=lambda entry: (-entry[1], entry[0]))
    drawn = losses[:MOST_BARS]
    names, values = [name for name, _ in drawn], [100 * loss for _, loss in drawn]
    title = f"without it, {rows[0].cost_model}, {len({row.model for row in rows})} models"
    if len(losses) > len(drawn):
        title += f" (the first {len(drawn)} of {len(losses)})"
    with svg(path, size=(7.0, 1.2 + BAR * len(drawn))) as canvas:
        canvas.barh(range(len(drawn)), values, height=0.7)
        canvas.set_yticks(range(len(drawn)), labels=names, fontsize="small")
        canvas.invert_yaxis()
        canvas.set(title=title, xlabel="more cost, %")


def mean_losses(rows: Sequence[AblationRow]) -> dict[str, float]:
    """By what was left out, what graphs cost more as a share: the mean over all models."""
    whole = {row.model: row.cost for row in rows if not row.left_out}
    losses: dict[str, float] = {}
    for row in rows:
        if row.left_out and whole[row.model] > 0:
            losses[row.left_out] = losses.get(row.left_out, 0.0) + row.cost / whole[row.model] - 1
    return {name: loss / len(whole) for name, loss in losses.items()}


def plot_growth(rows: Sequence[GrowthRow], path: Path) -> None:
    """E-nodes, and seconds, against the nodes of the models; a limit that was reached is marked.

    Raises:
        OutputError: it cannot be written.
    """
    ordered = sorted(rows, key=lambda row: row.nodes)
    sizes = [max(row.nodes, 1) for row in ordered]
    stopped = [row for row in ordered if row.stop != "saturated"]
    ends, reached = [max(row.nodes, 1) for row in stopped], [row.e_nodes for row in stopped]
    with svg(path) as canvas:
        canvas.plot(sizes, [row.e_nodes for row in ordered], marker="o", label="e-nodes")
        canvas.plot(ends, reached, "x", color="k", markersize=9, label="a limit", gid="limit")
        canvas.set(title=f"saturation, {ordered[0].cost_model}", xlabel="nodes", ylabel="e-nodes")
        canvas.set(xscale="log", yscale="log")
        seconds = canvas.twinx()
        seconds.plot(sizes, [row.seconds for row in ordered], marker=".", color="0.6")
        seconds.set(ylabel="seconds (grey)", yscale="log")
        canvas.legend(loc="upper left")

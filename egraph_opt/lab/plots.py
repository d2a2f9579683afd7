"""Experiments as SVG files (extra `plots`); the same figures make the same bytes.

Bars of an ablation, curves of how e-graphs grow, and prices against the parameters of a sweep, with marks
where another graph is chosen.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from egraph_opt.errors import OutputError
from egraph_opt.lab.studies import AblationRow, GrowthRow
from egraph_opt.lab.sweep.running import Cells, SweepTable
from egraph_opt.model.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Canvas


SIZE = (7.0, 4.5)
"""Inches."""


@contextmanager
def svg(path: Path, *, size: tuple[float, float] = SIZE) -> Iterator[Canvas]:
    """What is drawn within becomes a file, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    import matplotlib
    from matplotlib.figure import Figure

    # No date, no ids by chance.
    with matplotlib.rc_context({"svg.hashsalt": "egraph-opt", "svg.fonttype": "none"}):
        figure = Figure(figsize=size, layout="constrained")
        yield figure.add_subplot()
        drawn = io.BytesIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    write_whole(path, drawn.getvalue())


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


MOST_LINES = 24
"""Of a plot with more lines only the first are drawn, and its title says so."""

MOST_COLOURS = 9
"""Graphs that have a colour of their own among samples; the rarer ones share a grey."""

SCALE = 30.0
"""From this ratio of the largest value to the least on the axis is logarithmic."""


def write_plots(table: SweepTable, folder: Path) -> list[Path]:
    """Write a plot for every model, cost model and numeric parameter that varies.

    Lines join runs that differ in this parameter alone, with a mark where the graph flips; where parameters
    were drawn at random there are hardly such runs, and each is a dot in the colour of its graph.

    Raises:
        OutputError: they cannot be written.
    """
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for model, cost, parameter, rows in _plotted(table):
            path = folder / f"{_slug(model)}--{_slug(cost)}--{_slug(parameter)}.svg"
            _write(path, f"{model}, {cost}", parameter, rows, table.parameters)
            written.append(path)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return written


def _plotted(table: SweepTable) -> Iterator[tuple[str, str, str, list[Cells]]]:
    """What is worth a plot: the parameter is a number and has more than one value."""
    groups: dict[tuple[str, str], list[Cells]] = {}
    for row in table.rows:
        if not row["error"]:
            groups.setdefault((row["model"], row["cost"]), []).append(row)
    for (model, cost), rows in groups.items():
        for parameter in table.parameters:
            values = {row[parameter] for row in rows if isinstance(row.get(parameter), (int, float))}
            if len(values) > 1:
                yield model, cost, parameter, [row for row in rows if row[parameter] in values]


def lines_of(rows: Sequence[Cells], parameter: str, parameters: Sequence[str]) -> list[list[Cells]]:
    """Runs that differ in one parameter alone, by its value; one that has none such beside it is alone."""
    found: dict[tuple[Any, ...], list[Cells]] = {}
    for row in rows:
        names = (*parameters, "rewrites", "extractor")
        rest = tuple(repr(row.get(name)) for name in names if name != parameter)
        found.setdefault(rest, []).append(row)
    return [sorted(line, key=lambda row: float(row[parameter])) for line in found.values()]


def flips(line: Sequence[Cells], parameter: str) -> list[tuple[float, float]]:
    """Where another graph is chosen: halfway between two neighbouring values, and the price there."""
    return [
        ((row[parameter] + after[parameter]) / 2, (row["price"] + after["price"]) / 2)
        for row, after in pairwise(line)
        if row["graph"] != after["graph"]
    ]


def _write(path: Path, title: str, parameter: str, rows: list[Cells], parameters: Sequence[str]) -> None:
    with svg(path) as canvas:
        lines = lines_of(rows, parameter, parameters)
        if len(rows) >= 2 * len(lines):
            _draw_lines(canvas, lines[:MOST_LINES], parameter)
            title += f" (the first {MOST_LINES} of {len(lines)} lines)" if len(lines) > MOST_LINES else ""
        else:
            _draw_dots(canvas, rows, parameter)
        values = [float(row[parameter]) for row in rows]
        if min(values) > 0 and max(values) / min(values) > SCALE:
            canvas.set_xscale("log")
        canvas.set(title=title, xlabel=parameter, ylabel="price")


def _draw_lines(canvas: Canvas, lines: Sequence[Sequence[Cells]], parameter: str) -> None:
    for line in lines:
        xs, ys = [row[parameter] for row in line], [row["price"] for row in line]
        (drawn,) = canvas.plot(xs, ys, linewidth=1, marker=".", markersize=3)
        for x, y in flips(line, parameter):
            canvas.plot(x, y, marker="x", color=drawn.get_color(), markersize=8, gid="flip")


def _draw_dots(canvas: Canvas, rows: Sequence[Cells], parameter: str) -> None:
    named = Counter(row["graph"] for row in rows).most_common(MOST_COLOURS)
    kept = [graph for graph, _ in named]
    for k, graph in enumerate([*kept, None]):
        own = [row for row in rows if row["graph"] == graph or (graph is None and row["graph"] not in kept)]
        if own:
            xs, ys = [row[parameter] for row in own], [row["price"] for row in own]
            label, colour = (graph, f"C{k}") if graph else ("others", "0.6")
            canvas.plot(xs, ys, linestyle="", marker=".", markersize=3, color=colour, label=label)
    canvas.legend(title="graph", fontsize="x-small")


def _slug(text: str) -> str:
    """A text as a part of a file's name."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")

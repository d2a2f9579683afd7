"""Price against parameter as SVG, with marks where another graph is chosen (extra `plots`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from egraph_opt.errors import OutputError
from egraph_opt.report.figures import svg
from egraph_opt.sweep.tables import Cells, SweepTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Canvas

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

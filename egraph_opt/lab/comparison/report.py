"""A comparison as comma-separated values, as JSON, and as one HTML page that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from html import escape
from itertools import groupby
from typing import Any

from egraph_opt.lab.comparison.running import ORIGINAL, Contender
from egraph_opt.lab.tables import csv_text

FORMAT = 1


def column_names(costs: Sequence[str]) -> list[str]:
    """The names of a row's cells: a price for each cost model."""
    names = [field.name for field in fields(Contender)]
    place = names.index("prices")
    return [*names[:place], *(f"price {cost}" for cost in costs), *names[place + 1 :]]


def cells(row: Contender, costs: Sequence[str]) -> list[Any]:
    """A row's cells, in the order of `column_names`; "" where nothing is known."""
    known = asdict(row)
    prices = {f"price {cost}": row.prices.get(cost) for cost in costs}
    found = (({**known, **prices})[name] for name in column_names(costs))
    return ["" if cell is None else cell for cell in found]


def as_csv(rows: Sequence[Contender], costs: Sequence[str]) -> str:
    return csv_text(column_names(costs), (cells(row, costs) for row in rows))


def as_json(rows: Sequence[Contender], costs: Sequence[str]) -> str:
    return json.dumps(
        {"format": FORMAT, "costs": list(costs), "rows": [asdict(row) for row in rows]}, indent=1
    )


WIDTH, HEIGHT, LABEL = 420, 18, 190
"""Pixels of the longest bar, of a row, and of the names before it."""

HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Optimisers compared</title><style>
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em; color: #222; }
table { border-collapse: collapse; } td, th { padding: 2px 8px; text-align: right; white-space: nowrap; }
td:nth-child(-n+3), th:nth-child(-n+3) { text-align: left; } th { cursor: pointer; border-bottom: 1px solid; }
tr.wrong td { color: #b00; } svg text { font: 12px system-ui, sans-serif; }
</style></head><body><h1>Optimisers compared</h1>
"""

SORTING = """<script>
for (const head of document.querySelectorAll("th")) head.onclick = () => {
  const body = head.closest("table").tBodies[0], k = head.cellIndex, up = head.dataset.up !== "1";
  const value = row => { const t = row.cells[k].textContent; return t === "" || isNaN(t) ? t : Number(t); };
  head.dataset.up = up ? "1" : "0";
  [...body.rows].sort((a, b) => { const x = value(a), y = value(b);
    return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1); }).forEach(row => body.append(row));
};
</script></body></html>
"""


def as_html(rows: Sequence[Contender], costs: Sequence[str]) -> str:
    """The page."""
    parts = [HEAD, *_table(rows, costs)]
    for model, group in groupby(rows, key=lambda row: row.model):
        contenders = list(group)
        parts.append(f"<h2>{escape(model)}</h2>")
        for cost in costs:
            parts += _bars(contenders, cost)
    return "".join((*parts, SORTING))


def _table(rows: Sequence[Contender], costs: Sequence[str]) -> Iterator[str]:
    yield "<table><thead><tr>" + "".join(f"<th>{escape(name)}</th>" for name in column_names(costs))
    yield "</tr></thead><tbody>\n"
    for row in rows:
        wrong = row.problem or row.correct == "failed"
        shown = "".join(f"<td>{escape(_text(cell))}</td>" for cell in cells(row, costs))
        yield f"<tr{' class=wrong' if wrong else ''}>{shown}</tr>\n"
    yield "</tbody></table>\n"


def _text(cell: object) -> str:
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def _bars(rows: Sequence[Contender], cost: str) -> Iterator[str]:
    """The prices of a model's contenders beside that of the original."""
    priced = [(row, price) for row in rows if (price := row.prices.get(cost)) is not None]
    base = next((price for row, price in priced if row.tool == ORIGINAL), 0.0)
    if not base > 0:
        return
    height = HEIGHT * (len(priced) + 1)
    yield f'<svg width="{LABEL + WIDTH + 60}" height="{height}" role="img"><text x="0" y="13">'
    yield f"price under {escape(cost)}, of the original's</text>"
    for k, (row, price) in enumerate(priced, start=1):
        share = price / base
        colour = "#b00" if row.correct == "failed" else "#777" if row.tool == ORIGINAL else "#27c"
        y = HEIGHT * k
        yield f'<text x="0" y="{y + 13}">{escape(row.tool)}</text>'
        end = WIDTH * min(share, 1.0)
        yield f'<rect x="{LABEL}" y="{y + 3}" width="{end:.1f}" height="{HEIGHT - 6}" fill="{colour}"/>'
        yield f'<text x="{LABEL + end + 4:.1f}" y="{y + 13}">{share:.3f}</text>'
    yield "</svg>\n"

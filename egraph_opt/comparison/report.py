"""A comparison as comma-separated values and as JSON: everything that is known of every contender."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from egraph_opt.comparison.running import Contender
from egraph_opt.report.tables import csv_text

FORMAT = 1


def columns(costs: Sequence[str]) -> list[str]:
    """The names of a row's cells: a price for each cost model."""
    names = [field.name for field in fields(Contender)]
    place = names.index("prices")
    return [*names[:place], *(f"price {cost}" for cost in costs), *names[place + 1 :]]


def cells(row: Contender, costs: Sequence[str]) -> list[Any]:
    """A row's cells, in the order of `columns`; "" where nothing is known."""
    known = asdict(row)
    prices = {f"price {cost}": row.prices.get(cost) for cost in costs}
    found = (({**known, **prices})[name] for name in columns(costs))
    return ["" if cell is None else cell for cell in found]


def as_csv(rows: Sequence[Contender], costs: Sequence[str]) -> str:
    return csv_text(columns(costs), (cells(row, costs) for row in rows))


def as_json(rows: Sequence[Contender], costs: Sequence[str]) -> str:
    return json.dumps(
        {"format": FORMAT, "costs": list(costs), "rows": [asdict(row) for row in rows]}, indent=1
    )

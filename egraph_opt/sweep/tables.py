"""The result of a sweep as a table: a row a run, what it was asked and what was answered."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from egraph_opt.model.files import write_whole
from egraph_opt.report.tables import csv_text
from egraph_opt.sweep.planning import SweepPlan
from egraph_opt.sweep.work import RunRow

IDENTITY = ("run", "model", "rewrites", "cost", "extractor")
ANSWER = tuple(entry.name for entry in fields(RunRow) if entry.name != "number")

Cells = dict[str, Any]


@dataclass(frozen=True)
class SweepTable:
    """Columns and rows; a parameter that a run does not vary has no value in its row.

    Attributes:
        parameters: the columns of parameters.
    """

    parameters: tuple[str, ...]
    rows: tuple[Cells, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return (*IDENTITY, *self.parameters, *ANSWER)


def table_of(plan: SweepPlan, rows: Iterable[RunRow]) -> SweepTable:
    """What was asked beside what was answered, by number of the run."""
    costs = plan.spec.costs
    parameters = tuple(dict.fromkeys(name for cost in costs for name in cost.axes.names))
    labels = [_label(plan, k) for k in range(len(costs))]
    return SweepTable(parameters, tuple(_cells(plan, row, labels) for row in rows))


def _label(plan: SweepPlan, number: int) -> str:
    """The name of a cost model; where several entries have one name, the later ones with a number."""
    label = plan.spec.costs[number].label
    before = [cost.label for cost in plan.spec.costs[:number]].count(label)
    return f"{label} #{before + 1}" if before else label


def _cells(plan: SweepPlan, row: RunRow, labels: Sequence[str]) -> Cells:
    run = plan.runs[row.number]
    return {
        "run": run.number,
        "model": run.model,
        "rewrites": ",".join(run.rewrites),
        "cost": labels[run.cost],
        "extractor": run.extractor,
        **run.varied,
        **{name: value for name, value in asdict(row).items() if name in ANSWER},
    }


def write_csv(table: SweepTable, path: Path) -> None:
    """Write a table whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    rows = ([_text(cells.get(name)) for name in table.columns] for cells in table.rows)
    write_whole(path, csv_text(table.columns, rows).encode())


def write_parquet(table: SweepTable, path: Path) -> None:
    """Write a table as Parquet (extra `parquet`).

    Raises:
        OutputError: it cannot be written.
    """
    import pyarrow
    from pyarrow import parquet

    columns = {name: _column([cells.get(name) for cells in table.rows]) for name in table.columns}
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), buffer)
    write_whole(path, buffer.getvalue())


def _column(values: Sequence[Any]) -> list[Any]:
    """Values of one type: numbers, or texts where some are something else."""
    given = [value for value in values if value is not None]
    if all(isinstance(value, (int, float)) for value in given):
        whole = all(isinstance(value, int) for value in given)
        return [value if value is None or whole else float(value) for value in values]
    return [None if value is None else _text(value) for value in values]


def _text(value: Any) -> Any:
    """A cell: numbers as Python reads them back, what is no number or text as JSON, nothing as nothing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return value if isinstance(value, (int, float, str)) else json.dumps(value)

"""A sweep from its plan to its result: what the journal lacks is answered, and the journal made a table.

The table has a row a run: what it was asked, and what was answered.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from egraph_opt.errors import OutputError
from egraph_opt.lab.sweep.journal import MOVE, Journal, open_journal
from egraph_opt.lab.sweep.planning import Batch, SweepPlan
from egraph_opt.lab.sweep.work import RunRow, Workers
from egraph_opt.lab.tables import csv_text
from egraph_opt.model.files import write_whole

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


RunsDone = Callable[[int, int], None]
"""Called with how many runs are done since the sweep was begun or gone on with, and how many are to do."""


def run_plan(
    plan: SweepPlan,
    output: Path,
    start_workers: Callable[[Path], Workers],
    progress: RunsDone = lambda done, runs: None,
) -> SweepTable:
    """Make the runs that are not there yet, and write the result.

    Beside the result is its journal, by which the same call goes on where it was ended.

    Args:
        start_workers: is given the folder of e-graphs, which they share.

    Raises:
        OutputError: there is another file where the result goes, or no folder for it.
        RunsError: the journal is of another sweep, or cannot be written; workers die again and again.
    """
    journal_path, folder = companion(output, ".journal"), companion(output, ".egraphs")
    if not output.parent.is_dir():
        raise OutputError(f"{output}: there is no folder {output.parent}: make it first")
    if output == parquet_beside(output):
        raise OutputError(f"{output}: is the place of the result as Parquet: name a CSV file with -o")
    for path in (output, parquet_beside(output)):
        if path.exists() and not journal_path.exists():
            raise OutputError(f"{path}: is there, and no sweep made it: {MOVE}")
    with open_journal(journal_path, plan.digests, len(plan.runs)) as journal:
        missing = [batch for batch in plan.batches if batch.number not in journal.done]
        if missing:
            with start_workers(folder) as workers:
                answer(missing, journal, workers, progress)
        table = table_of(plan, journal.rows())
        write_csv(table, output)
    _clear(folder, {batch.group.key for batch in plan.batches})
    return table


def companion(output: Path, suffix: str) -> Path:
    """A file that goes with a result."""
    return output.with_name(output.name + suffix)


def parquet_beside(output: Path) -> Path:
    """The same result as Parquet."""
    return output.with_suffix(".parquet")


def answer(missing: Sequence[Batch], journal: Journal, workers: Workers, progress: RunsDone) -> None:
    """Have batches answered and kept.

    The first batch of each e-graph goes ahead of the others: who answers it saturates the e-graph for all.
    """
    first: dict[str, Batch] = {}
    later: dict[str, list[Batch]] = {}
    for batch in missing:
        if first.setdefault(batch.group.key, batch) is not batch:
            later.setdefault(batch.group.key, []).append(batch)
    for batch in first.values():
        workers.submit(batch)
    group_of = {batch.number: batch.group.key for batch in missing}
    left, runs, made = set(group_of), sum(len(batch.tasks) for batch in missing), 0
    progress(made, runs)
    while left:
        for done in workers.wait():
            if done.batch in left:
                journal.add(done)
                left.discard(done.batch)
                made += len(done.rows)
                progress(made, runs)
            for batch in later.pop(group_of[done.batch], ()):
                workers.submit(batch)


def _clear(folder: Path, keys: set[str]) -> None:
    """Remove the e-graphs of a sweep that is done; the folder too, if nothing else is in it."""
    for key in keys:
        (folder / f"{key}.npz").unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()

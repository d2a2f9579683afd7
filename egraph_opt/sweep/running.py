"""A sweep from its plan to its result: what the journal lacks is answered, and the journal made a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from egraph_opt.errors import OutputError
from egraph_opt.sweep.journal import MOVE, Journal, open_journal
from egraph_opt.sweep.planning import Batch, SweepPlan
from egraph_opt.sweep.tables import SweepTable, table_of, write_csv
from egraph_opt.sweep.workers import Workers

Told = Callable[[int, int], None]
"""Called with how many runs are done since the sweep was begun or gone on with, and how many are to do."""


def run_plan(
    plan: SweepPlan,
    output: Path,
    start_workers: Callable[[Path], Workers],
    progress: Told = lambda done, runs: None,
) -> SweepTable:
    """Make the runs that are not there yet, and write the result.

    Beside the result stands its journal, by which the same call goes on where it was ended.

    Args:
        start_workers: is given the folder of e-graphs, which they share.

    Raises:
        OutputError: there is another file in the place of the result, or no folder for it.
        RunsError: the journal is of another sweep, or cannot be written; workers die again and again.
    """
    journal_path, folder = beside(output, ".journal"), beside(output, ".egraphs")
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


def beside(output: Path, suffix: str) -> Path:
    """A file that goes with a result."""
    return output.with_name(output.name + suffix)


def parquet_beside(output: Path) -> Path:
    """The same result as Parquet."""
    return output.with_suffix(".parquet")


def answer(missing: Sequence[Batch], journal: Journal, workers: Workers, progress: Told) -> None:
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

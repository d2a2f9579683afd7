"""`egraph-opt measurements`: what nodes were measured to take on this machine."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from egraph_opt import errors
from egraph_opt.cli.application import (
    JsonOption,
    app,
    errors_as_lines,
    print_table,
    tell,
    tell_json,
    write_text,
)

if TYPE_CHECKING:
    from egraph_opt.measurement.store import Store

measurements = typer.Typer(
    help="List, export, merge or clear what nodes were measured to take.", no_args_is_help=True
)
app.add_typer(measurements, name="measurements")


@contextmanager
def _opened() -> Iterator[Store]:
    """The user's file of measurements; what goes wrong with a file is one line."""
    from egraph_opt.measurement.store import Store, default_path

    with errors_as_lines():
        path = default_path()
        try:
            yield Store(path)
        except (sqlite3.Error, ValueError, OSError) as error:
            raise errors.OutputError(f"{path}: {error}") from error


@measurements.command("list")
def list_(as_json: JsonOption = False) -> None:
    """How many nodes were measured, by processor, version of the runtime and setting."""
    counts: Counter[tuple[str, str, str]] = Counter()
    refused: Counter[tuple[str, str, str]] = Counter()
    table = Table(box=None, pad_edge=False)
    for name in ("processor", "runtime", "setting"):
        table.add_column(name, overflow="fold")
    for name in ("nodes", "cannot run alone"):
        table.add_column(name, justify="right")
    with _opened() as store:
        for row in store.rows():
            place = str(row[0]), str(row[1]), str(row[2])
            counts[place] += 1
            refused[place] += row[-1] is not None
    if as_json:
        names = ("processor", "runtime", "setting", "nodes", "cannot_run_alone")
        rows = [(*place, counts[place], refused[place]) for place in sorted(counts)]
        tell_json([dict(zip(names, row, strict=True)) for row in rows])
        return
    for place in sorted(counts):
        table.add_row(*(Text(cell) for cell in (*place, str(counts[place]), str(refused[place]))))
    print_table(table)
    tell(f"in {store.path}" if store.path else "nothing is kept")


@measurements.command()
def export(
    target: Annotated[
        Path, typer.Argument(metavar="FILE.csv", help="The file to write.", show_default=False)
    ],
) -> None:
    """Write all measurements as comma-separated values."""
    from egraph_opt.lab.tables import csv_text
    from egraph_opt.measurement.store import COLUMNS

    with _opened() as store:
        rows = list(store.rows())
        write_text(target, csv_text(COLUMNS, rows))
    tell(f"{len(rows)} measurements written to {target}")


@measurements.command()
def merge(
    source: Annotated[
        Path, typer.Argument(metavar="FILE.sqlite", help="Another file of measurements.", show_default=False)
    ],
) -> None:
    """Take over what another file has and this one lacks."""
    with _opened() as store:
        try:
            if not source.is_file():
                there = "is a directory" if source.is_dir() else "is no regular file"
                what = there if source.exists() else "there is no such file"
                raise errors.OutputError(f"{source}: {what}")
            count = store.merge(source)
        except (sqlite3.Error, ValueError, OSError) as error:
            raise errors.OutputError(f"{source}: {error}") from error
    tell(f"{count} measurements taken over")


@measurements.command()
def clear() -> None:
    """Forget all measurements."""
    with _opened() as store:
        count = store.clear()
    tell(f"{count} measurements forgotten")

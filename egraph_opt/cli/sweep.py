"""`egraph-opt sweep`: many cost models on many models, from a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from egraph_opt.cli.application import (
    JsonOption,
    app,
    errors_as_lines,
    installed,
    print_json,
    print_table,
    progress_on,
    say,
    tell,
)

if TYPE_CHECKING:
    from egraph_opt.lab.sweep.running import RunsDone, SweepTable
    from egraph_opt.lab.sweep.spec import Spec
    from egraph_opt.lab.sweep.work import Workers

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

TELL_EVERY = 30.0
"""Seconds between two lines about progress where there is no terminal."""


class BackendName(StrEnum):
    """Who makes the runs."""

    processes = "processes"
    dask = "dask"
    ray = "ray"


@app.command(no_args_is_help=True)
def sweep(
    spec: Annotated[
        Path, typer.Argument(metavar="SPEC.toml", help="What is run.", show_default=False, dir_okay=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE.csv", help="The result, a row a run.", show_default="SPEC.csv"
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes.", show_default="one for each processor")
    ] = None,
    backend: Annotated[BackendName, typer.Option(help="Processes here, or a Dask or Ray cluster.")] = (
        BackendName.processes
    ),
    scheduler: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Of the cluster; without it one is started here.")
    ] = "",
    most: Annotated[
        int | None, typer.Option(min=1, help="Ask before more runs than these.", show_default="100000")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    plots: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Plots of price against parameter, as SVG.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Price and extract models under many cost models, and keep a row for each.

    A sweep that was ended goes on where it was: give the same command again.
    """
    with errors_as_lines():
        from egraph_opt.lab.sweep.spec import read_spec

        needed(backend, scheduler, plots)
        wanted = read_spec(spec)
        check_count(wanted, spec, most or wanted.most, yes)
        target = output or spec.with_suffix(".csv")
        table = _run(wanted, target, starter(backend, scheduler, jobs))
        written = [target, *_more(table, target, plots)]
    if as_json:
        print_json({"rows": table.rows, "files": written})
        return
    _tell(table)
    tell(f"{len(table.rows):,} runs in {', '.join(map(str, written))}")


def needed(backend: BackendName, scheduler: str, plots: Path | None) -> None:
    """Refuse what is not installed, or does not go together, before the work and not after it."""
    if scheduler and backend is BackendName.processes:
        raise typer.BadParameter(
            "is the address of a cluster: add --backend dask or --backend ray", param_hint="--scheduler"
        )
    wants = {
        "distributed": ("dask", backend is BackendName.dask),
        "ray": ("ray", backend is BackendName.ray),
        "matplotlib": ("plots", plots is not None),
    }
    for module, (extra, wanted) in wants.items():
        if wanted:
            installed(module, extra)


def check_count(spec: Spec, path: Path, most: int, yes: bool) -> None:
    """Refuse more runs than were asked for.

    Raises:
        RunsError: there are more, and nobody said `--yes`.
    """
    from egraph_opt.errors import RunsError

    if spec.count > most and not yes:
        raise RunsError(f"{path}: makes {spec.count:,} runs, more than {most:,}: --yes if that is meant")


def starter(backend: BackendName, scheduler: str, jobs: int | None) -> Callable[[Path], Workers]:
    """How workers are started that share a folder."""
    from egraph_opt.lab.sweep.work import InThisProcess, Processes, jobs_here

    count = jobs or jobs_here()
    if backend is BackendName.dask:
        from egraph_opt.lab.sweep.clusters import DaskWorkers

        return lambda folder: DaskWorkers(scheduler, count, folder)
    if backend is BackendName.ray:
        from egraph_opt.lab.sweep.clusters import RayWorkers

        return lambda folder: RayWorkers(scheduler, count, folder)
    return InThisProcess if count == 1 else lambda folder: Processes(count, folder)


def _run(spec: Spec, target: Path, start: Callable[[Path], Workers]) -> SweepTable:
    from egraph_opt.lab.sweep.planning import plan
    from egraph_opt.lab.sweep.running import companion, run_plan

    try:
        with _progress() as told:
            return run_plan(plan(spec), target, start, told)
    except KeyboardInterrupt:
        journal = companion(target, ".journal")
        say("stopped", f"the runs until here are kept in {journal}: the same command goes on")
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _progress() -> Iterator[RunsDone]:
    """A bar with the time that is left on a terminal; elsewhere a line now and then."""
    console = Console(stderr=True)
    with progress_on(console) as bar:
        started = last = time.monotonic()

        def told(done: int, runs: int) -> None:
            nonlocal last
            bar("runs", done / runs)
            now = time.monotonic()
            if not console.is_terminal and done and now - last > TELL_EVERY:
                left = (now - started) / done * (runs - done)
                say("progress", f"{done:,} of {runs:,} runs, about {_duration(left)} left")
                last = now

        yield told


def _duration(seconds: float) -> str:
    """A time in round figures.

    >>> _duration(50), _duration(400), _duration(9000)
    ('50 s', '7 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _more(table: SweepTable, target: Path, plots: Path | None) -> Iterator[Path]:
    """What is written besides the CSV file."""
    if find_spec("pyarrow") is not None:
        from egraph_opt.lab.sweep.running import parquet_beside, write_parquet

        path = parquet_beside(target)
        write_parquet(table, path)
        yield path
    if plots is not None:
        from egraph_opt.lab.plots import write_plots

        write_plots(table, plots)
        yield plots


def _tell(found: SweepTable) -> None:
    """A line for each model and cost model."""
    groups: dict[tuple[str, str], list[dict[str, object]]] = {}
    for row in found.rows:
        groups.setdefault((row["model"], row["cost"]), []).append(row)
    table = Table(box=None, pad_edge=False)
    for name in ("model", "cost", "runs", "graphs", "price", "unproved", "errors"):
        table.add_column(name, justify="left" if name in ("model", "cost") else "right")
    for (model, cost), rows in groups.items():
        prices = [float(str(row["price"])) for row in rows if not row["error"]]
        graphs = {row["graph"] for row in rows if not row["error"]}
        unproved = sum(float(str(row["gap"])) > 1e-9 for row in rows if not row["error"])
        errors = sum(bool(row["error"]) for row in rows)
        span = f"{min(prices):,.4g} .. {max(prices):,.4g}" if prices else ""
        cells = (_short(model), cost, f"{len(rows):,}", f"{len(graphs)}", span, f"{unproved}", f"{errors}")
        table.add_row(*map(Text, cells))
    print_table(table)


def _short(text: str, width: int = 28) -> str:
    return text if len(text) <= width else f"..{text[-(width - 2) :]}"

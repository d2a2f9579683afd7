"""`egraph-opt compare`: a model under every optimiser there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from egraph_opt.cli.application import (
    JsonOption,
    app,
    errors_as_lines,
    print_table,
    progress_on,
    tell,
    wrapped,
)
from egraph_opt.cost import DEFAULT_COST

if TYPE_CHECKING:
    from egraph_opt.lab.comparison.running import Contender
    from egraph_opt.lab.comparison.tools import Tool

TIMED = 1.0
"""Seconds of timing for each result."""


@app.command()
def compare(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="ONNX models.")],
    cost: Annotated[
        str, typer.Option(metavar="A,B", help="Cost models: each result is priced under all of them.")
    ] = DEFAULT_COST,
    tools: Annotated[
        str | None, typer.Option(metavar="A,B", help="Which optimisers; all that there are if left out.")
    ] = None,
    orders: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Add the best of known orders of passes and N random ones."),
    ] = None,
    measure: Annotated[bool, typer.Option("--measure", help="Time the results in onnxruntime.")] = False,
    seconds: Annotated[
        float, typer.Option(metavar="S", min=1.0, help="What any tool may take for a model.")
    ] = 300.0,
    memory: Annotated[int, typer.Option(metavar="MIB", min=256, help="And how much memory.")] = 8192,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="For CSV, JSON and an HTML page.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Original, saturation, greedy passes and other optimisers, each in a process with limits.

    Per result: nodes that run and nodes in the file, prices, bytes, seconds, memory, and whether it still
    computes what the original does.  Tools that are not installed have a row that says so.
    """
    from rich.console import Console

    from egraph_opt.cost.registry import cost_model
    from egraph_opt.lab.comparison import report as page
    from egraph_opt.lab.comparison.running import Bounds
    from egraph_opt.lab.comparison.running import compare_tools as run
    from egraph_opt.lab.comparison.tools import TOOLS, tools_named
    from egraph_opt.model.files import write_whole
    from egraph_opt.model.reading import read_model

    costs = [name.strip() for name in cost.split(",") if name.strip()]
    found: list[Contender] = []
    with errors_as_lines(), progress_on(Console(stderr=True)) as report:
        wanted = tools_named(_named(tools, TOOLS, orders))
        for name in costs:
            cost_model(name)
        for path in models:
            read_model(path)
        for path in models:
            found += run(
                path,
                wanted,
                costs,
                orders=orders or 0,
                bounds=Bounds(seconds, memory),
                measure=TIMED if measure else 0.0,
                progress=lambda step, share, path=path: report(f"{path.stem}: {step}", share),  # type: ignore[misc]
            )
            if output is not None:  # what is known so far
                output.mkdir(parents=True, exist_ok=True)
                for suffix, text in (("csv", page.as_csv), ("json", page.as_json), ("html", page.as_html)):
                    write_whole(output / f"comparison.{suffix}", text(found, costs).encode())
    if as_json:
        tell(page.as_json(found, costs))
    else:
        _tell(found, costs)


def _named(tools: str | None, known: Mapping[str, Tool], orders: int | None) -> list[str]:
    """The tools asked for; those that try orders of passes only with `--orders`, or by name."""
    trying = [name for name, tool in known.items() if tool.orders]
    if tools is None:
        return [name for name in known if orders is not None or name not in trying]
    named = [name.strip() for name in tools.split(",")]
    return [*named, *(name for name in trying if orders is not None and name not in named)]


def _tell(rows: Sequence[Contender], costs: Sequence[str]) -> None:
    """What matters, with a price for each cost model; then what others do better."""
    from egraph_opt.lab.comparison.verdicts import verdicts

    table = Table(box=None, pad_edge=False)
    priced = [f"price\n{cost}" for cost in costs]  # in two lines: several have to fit into 80 columns
    for name in ("tool", "nodes", *priced, "faster", "seconds", "MiB", "correct"):
        table.add_column(
            name, justify="left" if name in ("tool", "correct") else "right", no_wrap=name == "tool"
        )
    model = ""
    for row in rows:
        if row.model != model:
            model = row.model
            table.add_row(Text(model, style="bold"))
        if row.problem:
            table.add_row(Text(f"  {row.tool}"), "", *("" for _ in costs), "", "", "", Text(row.problem))
            continue
        prices, faster = [row.prices.get(cost) for cost in costs], row.speedup
        cells = (
            f"  {row.tool}",
            str(row.nodes),
            *("" if price is None else f"{price:,.5g}" for price in prices),
            "" if faster is None else f"{faster:.2f}",
            "" if row.seconds is None else f"{row.seconds:.2f}",
            "" if row.mib is None else f"{row.mib:.0f}",
            row.correct,
        )
        table.add_row(*map(Text, cells))
    print_table(table)
    for line in verdicts(rows, costs):
        for part in wrapped(line, first=""):
            tell(part)

"""`egraph-opt study ablate` and `study growth`: what each law is worth, and how e-graphs grow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from egraph_opt.cli.application import (
    CostOption,
    JsonOption,
    SetOption,
    cost_of,
    errors_as_lines,
    installed,
    print_json,
    print_table,
    progress_on,
    write_text,
)
from egraph_opt.cli.study import study
from egraph_opt.cost import DEFAULT_COST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from egraph_opt.lab.studies import AblationRow, GrowthRow

ModelsArgument = Annotated[list[Path], typer.Argument(metavar="MODEL...", help="ONNX models.")]
OutputOption = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE.csv", help="A CSV file, a row a run.")
]
PlotOption = Annotated[
    Path | None, typer.Option(metavar="FILE.svg", help="A plot (extra `plots`).", dir_okay=False)
]


@study.command()
def ablate(
    models: ModelsArgument,
    cost: CostOption = DEFAULT_COST,
    set_: SetOption = None,
    laws: Annotated[bool, typer.Option("--laws", help="Leave out each law, not each ruleset.")] = False,
    only: Annotated[str | None, typer.Option(metavar="A,B", help="Leave out these only.")] = None,
    output: OutputOption = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Leave out each ruleset or law that matches, and see what the cheapest graph costs without it."""
    from rich.console import Console

    from egraph_opt.cost.registry import cost_model
    from egraph_opt.lab.studies import AblationRow
    from egraph_opt.lab.studies import ablate as run
    from egraph_opt.lab.tables import records_as_csv

    if plot is not None:
        installed("matplotlib", "plots")
    found: list[AblationRow] = []
    with errors_as_lines(), progress_on(Console(stderr=True)) as report:
        target = cost_model(cost_of(cost, set_))
        names = None if only is None else [name.strip() for name in only.split(",") if name.strip()]
        for path in models:
            found += run(
                path.stem,
                path,
                target,
                by="law" if laws else "ruleset",
                only=names,
                progress=lambda share, path=path: report(path.stem, share),  # type: ignore[misc]
            )
        if output is not None:
            write_text(output, records_as_csv(found, AblationRow))
        if plot is not None:
            from egraph_opt.lab.plots import plot_ablation

            plot_ablation(found, plot)
    if as_json:
        print_json(found)
    else:
        _tell_ablation(found, target.unit)


def _tell_ablation(rows: Sequence[AblationRow], unit: str) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("without", "matches", unit, "more", "nodes", "e-nodes", "rounds"):
        table.add_column(name, justify="left" if name == "without" else "right")
    whole = 0.0
    for row in rows:
        if not row.left_out:
            table.add_row(Text(row.model, style="bold"))
            whole = row.cost
        more = f"{row.cost / whole - 1:+.1%}" if whole > 0 and row.left_out else ""
        told = (f"  {row.left_out or '(all laws)'}", str(row.matches or ""), f"{row.cost:,.5g}", more)
        table.add_row(*map(Text, told), str(row.nodes), str(row.e_nodes), str(row.rounds))
    print_table(table)


@study.command()
def growth(
    models: ModelsArgument,
    cost: CostOption = DEFAULT_COST,
    set_: SetOption = None,
    output: OutputOption = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """E-nodes, rounds and seconds of saturation by how large models are."""
    from rich.console import Console

    from egraph_opt.cost.registry import cost_model
    from egraph_opt.lab.studies import GrowthRow, grow
    from egraph_opt.lab.tables import records_as_csv

    if plot is not None:
        installed("matplotlib", "plots")
    found: list[GrowthRow] = []
    with errors_as_lines(), progress_on(Console(stderr=True)) as report:
        target = cost_model(cost_of(cost, set_))
        for done, path in enumerate(models):
            report("saturate", done / len(models))
            found.append(grow(path.stem, path, target))
        if output is not None:
            write_text(output, records_as_csv(found, GrowthRow))
        if plot is not None:
            from egraph_opt.lab.plots import plot_growth

            plot_growth(found, plot)
    if as_json:
        print_json(found)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("model", "nodes", "e-nodes", "per node", "rounds", "seconds", "stop"):
        table.add_column(name, justify="left" if name in ("model", "stop") else "right")
    for row in sorted(found, key=lambda row: row.nodes):
        told = (
            str(row.nodes),
            str(row.e_nodes),
            f"{row.per_node:.1f}",
            str(row.rounds),
            f"{row.seconds:.2f}",
        )
        table.add_row(Text(row.model), *told, row.stop)
    print_table(table)

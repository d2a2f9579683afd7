"""`egraph-opt study`: experiments on models."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from egraph_opt.cli.application import (
    JsonOption,
    RewritesOption,
    app,
    errors_as_lines,
    names_of,
    print_json,
    print_table,
    progress_on,
    tell,
    write_text,
)
from egraph_opt.cost import DEFAULT_COST

if TYPE_CHECKING:
    from egraph_opt.lab.greedy.passes import Pass
    from egraph_opt.lab.greedy.study import OrderRun, OrderStudy

study = typer.Typer(
    help="Experiments: what orders of passes reach, compared with saturation.", no_args_is_help=True
)
app.add_typer(study, name="study")

RULESETS = "rulesets"
"""The passes that are not another optimizer's: one for each ruleset."""


@study.command()
def orders(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="ONNX models.")],
    cost: Annotated[
        str, typer.Option(metavar="A,B", help="Cost models, separated by commas.")
    ] = DEFAULT_COST,
    passes: Annotated[
        str,
        typer.Option(help="auto-optimizer, onnxoptimizer, or `rulesets`: one pass for each, in their order."),
    ] = RULESETS,
    rewrites: RewritesOption = None,
    random: Annotated[int, typer.Option(min=0, help="How many random orders.")] = 0,
    search: Annotated[int, typer.Option(min=0, help="Steps of a local search over orders.")] = 0,
    pairs: Annotated[bool, typer.Option(help="Which two passes spoil each other.")] = False,
    verify: Annotated[bool, typer.Option(help="Compare what each order made with the original.")] = False,
    seed: Annotated[int, typer.Option(help="Of random orders and of the search.")] = 0,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="A CSV file, a row a run.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Passes in an order, of the same laws, against saturation: the price of ordering.

    A pass is a ruleset, applied alone to its fixed point, of which the cheapest graph is kept (gated) or the
    one with most of what it wrote (blind); what it replaced is forgotten.
    """
    from rich.console import Console

    from egraph_opt.cost.registry import cost_model
    from egraph_opt.lab.greedy.model import GreedyModel
    from egraph_opt.lab.greedy.study import orders_as_csv, study_orders

    found: list[OrderStudy] = []
    with errors_as_lines(), progress_on(Console(stderr=True)) as report:
        wanted = _passes(passes, names_of(rewrites))
        for target in [cost_model(name) for name in cost.split(",")]:
            for path in models:
                model = GreedyModel(path, target, passes=wanted)
                done = study_orders(
                    path.stem,
                    model,
                    orders=random,
                    steps=search,
                    seed=seed,
                    pairs=pairs,
                    verify=verify,
                    progress=lambda share, path=path: report(path.stem, share),  # type: ignore[misc]
                )
                found.append(done)
        if output is not None:
            write_text(output, orders_as_csv(found))
    if as_json:
        print_json([{**vars(done), "price_of_ordering": done.price_of_ordering} for done in found])
        return
    for outcome in found:
        _tell(outcome)
    if len(found) > 1:
        _sum_up(found)


def _passes(name: str, rewrites: list[str] | None) -> tuple[Pass, ...]:
    from egraph_opt.lab.greedy.passes import Pass, order_named

    if name != RULESETS:
        return order_named(name, RULESETS)
    return Pass.of_rulesets(rewrites)


def _tell(done: OrderStudy) -> None:
    """What each kind of order reached on a model."""
    tell(f"{done.model}, {done.cost_model} ({done.unit})")
    table = Table(box=None, pad_edge=False)
    for name in ("order", "manager", "keeps", "cost", "over saturation", "passes used"):
        table.add_column(name, justify="right" if name in ("cost", "over saturation") else "left")
    table.add_row("original", "", "", f"{done.original:,.4g}", _over(done.original, done))
    if done.grouped != done.original:
        told = ("original, TVM's groups", "", "", f"{done.grouped:,.4g}", _over(done.grouped, done))
        table.add_row(*told)
    for name, run in _shown(done):
        cells = (name, run.manager, run.acceptance, f"{run.cost:,.4g}", _over(run.cost, done))
        wrong = f" ({run.verification})" if run.verification not in ("", "passed") else ""
        table.add_row(*map(Text, (*cells, f"{len(run.applied.split())}{wrong}")))
    table.add_row("saturation", "", "", f"{done.saturation:,.4g}")
    print_table(table)
    for pair in done.spoiled:
        better, worse = f"{pair.cost:,.4g}", f"{pair.cost_reversed:,.4g}"
        tell(f"{pair.first} before {pair.second}: {better}; after it: {worse}")
    tell(f"price of ordering: {done.price_of_ordering:.1%} ({done.best.order}, {done.best.acceptance})")


def _shown(done: OrderStudy) -> Iterator[tuple[str, OrderRun]]:
    """The runs by name; of random ones the best, the median and the worst."""
    drawn = sorted((run for run in done.runs if run.order.startswith("random")), key=lambda run: run.cost)
    yield from ((run.order, run) for run in done.runs if run.order == "given")
    if drawn:
        yield f"best of {len(drawn)}", drawn[0]
        yield f"median of {len(drawn)}", drawn[len(drawn) // 2]
        yield f"worst of {len(drawn)}", drawn[-1]
    yield from ((run.order, run) for run in done.runs if run.order == "searched")


def _over(cost: float, done: OrderStudy) -> str:
    return f"{cost / done.saturation - 1:+.1%}" if done.saturation > 0 else ""


def _sum_up(found: list[OrderStudy]) -> None:
    mean = math.exp(math.fsum(math.log1p(done.price_of_ordering) for done in found) / len(found)) - 1
    worst = max(found, key=lambda done: done.price_of_ordering)
    above = sum(done.price_of_ordering > 1e-9 for done in found)
    typer.echo(
        f"{len(found)} studies: price of ordering {mean:.1%} (geometric mean), largest"
        f" {worst.price_of_ordering:.1%} ({worst.model}, {worst.cost_model}), above zero in {above}"
    )
